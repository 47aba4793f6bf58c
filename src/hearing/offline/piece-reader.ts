import { type ExpectedAnswer, type ExpectedWord, expectedWords } from '../expected-words.ts';
import type { LoadLevel } from '../engine/engine.ts';
import { mean } from '../../lib/mean.ts';
import type { AudioTrack } from './audio-track.ts';
import { confidenceInPiece, neighbours } from './confidence.ts';
import { beforeCrowd } from './crowd.ts';
import { saysAgain, withoutLoops, wordsWithoutLoops } from './loops.ts';
import type { PieceModel, PieceResult, ReadingWishes } from './offline-model.ts';
import {
  affordsMore,
  alignedWords,
  bare,
  doubtsSparingly,
  isPressed,
  marginsTogether,
  type PartialWords,
  probesOf,
  type Reading,
  readsSideBySide,
  type Variation,
  variations,
} from './readings.ts';
import {
  contextS,
  divideAt,
  firstKnown,
  isLeft,
  isNear,
  knownBefore,
  mostContextS,
  nearest,
  type Seam,
  signsOf,
  type SpelledWord,
  withoutIds,
} from './seam.ts';
import type { SpeechPiece } from './segmenter.ts';
import { type Wordless, wordlessIn, type VoicedStretches } from './wordless.ts';
import { withEnds } from './word-ends.ts';
import { spokenBy } from './word-lengths.ts';
import { estimateWordTimes, shortestTokenS, wordsFromTokens } from './word-times.ts';
import type { RecognisedWord, RecogniserStreamOptions } from '../recogniser.ts';

const rateHz = 16000;
/** This much audio before the first voiced window may belong to the first word and to the margin of its reading. */
export const onsetMarginS = 0.4;
/** A question counts for an answer that ended at most this many samples before the question was known. */
const lateQuestion = 0.6 * rateHz;
/** The first word begins within this much audio before the first voiced window. */
const onsetS = 0.1;
/** A token whose end the model does not give lasts at most this long. */
const longestTokenS = 0.3;
/** The confidence if a model gives times but no probabilities: neither sure nor unsure. */
const unknownConfidence = 0.8;

/** A stretch that is read again gets this much audio before it, in samples. */
const marginAgain = 0.1 * rateHz;
/** Words found by reading a stretch again must have at least this mean log-probability, in nats per token. */
const leastSure = -0.6;

/** Each variant of a combined reading costs this share of the first reading. */
export const priceTogether = 0.8;
/** The time from a reading in a pause to the moment its words are due: half of the time that callers wait for them. */
const soonMs = 180;

export type ReadPiece = { words: RecognisedWord[]; text: string; language: string };

type PieceBounds = Pick<SpeechPiece, 'from' | 'to' | 'cutBefore'>;

/** Reads pieces of a stream with a model, and gives every word its time and confidence. */
export class PieceReader {
  readonly #model: Omit<PieceModel, 'languages'>;
  readonly #track: AudioTrack;
  /**
   * The seam at the end of the last piece, if speech continued there. The last piece is read before the next one
   * begins.
   */
  seam: Seam | undefined;
  /** The last words of the last piece and their end, if the piece ended in a pause. */
  earlier: Seam | undefined;
  readonly #expected: readonly ExpectedWord[] | undefined;
  readonly #judge: ReadingWishes['judge'];
  readonly #voiced: Pick<VoicedStretches, 'within'> | undefined;
  /** The kind of answer in whose middle the speaker is: the next piece may be more of it. */
  midst: ExpectedAnswer | undefined;
  /** The expected answers, each from a sample on. */
  #expectations: { at: number; answer: ExpectedAnswer | undefined }[] = [];

  constructor(
    model: Omit<PieceModel, 'languages'>,
    track: AudioTrack,
    voiced?: Pick<VoicedStretches, 'within'>,
    stream?: Pick<RecogniserStreamOptions, 'vocabulary' | 'languages'> &
      Pick<ReadingWishes, 'judge'>,
  ) {
    this.#judge = stream?.judge;
    this.#expected = stream && expectedWords(stream.vocabulary, stream.languages);
    this.#model = model;
    this.#track = track;
    this.#voiced = voiced;
  }

  /** Sets the expected answer. It applies to pieces that end after this sample. */
  expect(answer: ExpectedAnswer | undefined, at: number): void {
    this.#expectations.push({ at, answer });
  }

  /**
   * The answer that a piece which ends at this sample may be. The question for a quick answer may be known only when the
   * answer has ended.
   */
  expectedAt(position: number): ExpectedAnswer | undefined {
    if (this.midst !== undefined) return this.midst;
    const known = this.#expectations.findLast(({ at }) => at <= position)?.answer;
    const late = this.#expectations.findLast(({ at }) => at <= position + lateQuestion)?.answer;
    return late ?? known;
  }

  /** Drops expectations that only pieces before this sample could use. */
  dropBefore(position: number): void {
    const last = this.#expectations.findLastIndex(({ at }) => at <= position);
    if (last > 0) this.#expectations.splice(0, last);
  }

  get goesOn(): boolean {
    return this.#model.goesOn;
  }

  /** True if the last words before a short pause help to read the piece after it. */
  get takesEarlier(): boolean {
    return this.goesOn || (this.#model.takesEarlier === true && this.#judge === undefined);
  }

  /** True if a reading is dear, so that little can be added to it. */
  get isDear(): boolean {
    return this.#model.partialEveryS !== undefined;
  }

  get estimatedTimes(): boolean {
    return this.#model.estimatedTimes;
  }

  expectedMs({ from, to }: { from: number; to: number }): number {
    return this.#model.price.expectedMs((to - from) / rateHz);
  }

  /**
   * The seam after which the piece continues. A piece that was cut out of speech always has one. After a short pause a
   * piece has one if it is short enough: some seconds of the speech before it help the model to understand it.
   */
  seamOf(cut: PieceBounds, seconds: number): Seam | undefined {
    const { seam, earlier } = this;
    if (cut.cutBefore) {
      if (!seam) return undefined;
      const roomS = this.#model.longestS - secondsTo(cut.to, { ...cut, seam });
      return nearest(seam, Math.max(contextS, Math.min(seconds, roomS, mostContextS)));
    }
    if (seconds === 0 || !earlier || !isNear(earlier, cut.from)) return undefined;
    const at = Math.max(earlier.at, cut.from - onsetS * rateHz);
    return { at, known: nearest(earlier, seconds).known };
  }

  /**
   * Reads the whole piece once. The result has the seam that the reading really continues after. A doubted reading
   * should be repeated as one text from several margins.
   */
  whole(
    cut: PlacedPiece,
    variation: Variation,
    about: { hint: string; load: LoadLevel; draft: readonly number[] },
  ) {
    const { hint, load, draft } = about;
    const read = (seam: Seam | undefined) =>
      this.#read(this.#varied({ ...cut, seam }, variation), hint, {
        expects: this.expectedAt(cut.to),
        given: seam && signsOf(seam),
        hurried: isPressed(load),
        sparing: load.isPatient !== true,
        // If the doubt may be too small for other margins, the piece gets four beams at once.
        firstOnly:
          affordsMore(load) &&
          !doubtsSparingly(load) &&
          this.#isSoonTogether({ ...cut, seam }, load),
        draft,
      });
    let { seam } = cut;
    let result = read(seam);
    let strays = this.#strays(result, cut);
    // The words before the seam were misread, or they mislead the model into words that nobody says. The model reads
    // again with fewer of them, or none.
    for (const fewer of seam ? withFewer(seam, cut, result) : []) {
      if (!result.contradicted && !strays) break;
      seam = fewer;
      result = read(seam);
      strays = this.#strays(result, { ...cut, seam });
    }
    const reading = readingOf(result.text, secondsTo(cut.to, { ...cut, seam }));
    const doubts = this.#model.doubts?.(result, { sparing: doubtsSparingly(load) });
    const doubted = strays || doubts === true;
    return { reading, result, seam, doubted };
  }

  /**
   * True if the piece can be read with all its margins between the start of a pause and the moment its words are due.
   */
  #isSoonTogether(cut: PlacedPiece, load: LoadLevel): boolean {
    const wholeMs = this.expectedMs({ from: firstOf(cut), to: cut.to });
    return wholeMs * (1 + priceTogether * marginsTogether(load)) < soonMs;
  }

  /** True if the model may have continued without listening. */
  #strays(result: PieceResult, cut: PlacedPiece): boolean {
    if (!this.goesOn) return false;
    const words = tokenWords(result, offsetOf(cut), cut.heardTo / rateHz);
    const ahead = beforeCrowd(words) < words.length;
    return ahead || result.unended === true || saysAgain(result.ids?.flat() ?? []);
  }

  /** Reads the whole piece with further margins, together with a doubted reading. */
  together(cut: PlacedPiece, first: PieceResult, load: LoadLevel) {
    const margins = marginsTogether(load);
    const variants = variations.slice(0, margins).map((one) => this.#varied(cut, one));
    const result =
      this.#model.readTogether?.(first, variants, { sparing: readsSideBySide(load) }) ?? first;
    return { reading: readingOf(result.text, secondsTo(cut.to, cut)), result };
  }

  /** Reads only the beginning of the piece. The words found were said before that moment. */
  beginning({ from, to, cutBefore }: PieceBounds, probe: number, hint: string) {
    const first = from - (cutBefore ? 0 : onsetMarginS * rateHz);
    const end = from + ((to - from) * probe) / (probesOf((to - from) / rateHz) + 1);
    const { text } = this.#model.read(this.#track.view(first, end).slice(), hint);
    return { reading: readingOf(text, (end - first) / rateHz), atS: end / rateHz };
  }

  /** Reads the audio of an open piece once. */
  glance(
    { pieceFrom, cutBefore }: { pieceFrom: number; cutBefore: boolean },
    end: number,
    marginS: number,
    about: { hint: string; draft: readonly number[] },
  ) {
    const { hint, draft } = about;
    const seam = cutBefore && this.seam ? nearest(this.seam, contextS) : undefined;
    const longest = this.#model.longestS * rateHz;
    // With a seam, the audio must begin with the known words. A model that continues after known words has no length
    // limit of its own.
    const from = seam
      ? firstKnown(seam)
      : Math.max(pieceFrom - (cutBefore ? 0 : marginS * rateHz), end - longest);
    const heard = this.#track.view(from, end);
    // A partial is shown for a moment only, so it is read with one beam. Signs of an earlier partial cost almost
    // nothing again.
    const given = seam && signsOf(seam);
    const result = this.#read(heard, hint, { given, hurried: true, open: true, draft });
    const { text, lang } = result;
    if (this.estimatedTimes)
      return { reading: readingOf(text, heard.length / rateHz), heard, said: lang, ids: [] };
    // The attention of the first word often lies in the margin at the very beginning of the audio.
    const leastS = seam ? seam.at / rateHz : Math.max(0, pieceFrom / rateHz - onsetS);
    const spelled = this.#heard(result, (end - heard.length) / rateHz, end / rateHz);
    const timed = wordsWithoutLoops(
      spelled.map((word) => within(word, leastS, Infinity)),
      heard.length / rateHz,
    );
    const words = timed.map(({ word }) => word);
    const ids = result.ids?.flat() ?? [];
    return { reading: { text: words.join(' '), words }, timed, heard, said: lang, ids };
  }

  /** The words of a model that gives times, and perhaps probabilities, of tokens. */
  spelled(result: PieceResult, cut: PlacedPiece): SpelledWord[] {
    // Without a seam the first word may begin in the margin before the piece, but not before the stream.
    const leastS = cut.seam ? cut.seam.at / rateHz : 0;
    const words = this.#heard(result, offsetOf(cut), cut.heardTo / rateHz);
    const after = words.map((word) => within(word, leastS, Infinity));
    return wordsWithoutLoops(after, secondsTo(cut.heardTo, cut));
  }

  /**
   * The words up to the place where the model ran ahead of the audio. The speech that it skipped is read again, or
   * reported as wordless.
   */
  #heard(result: PieceResult, offsetS: number, endOfAudioS: number): SpelledWord[] {
    const words = tokenWords(result, offsetS, endOfAudioS);
    return this.goesOn ? words.slice(0, beforeCrowd(words)) : words;
  }

  /** Adds the ends of words if the model gives only their beginnings. */
  ended(words: SpelledWord[], { durations }: PieceResult, cut: PlacedPiece): SpelledWord[] {
    if (durations.length > 0) return words;
    const from = firstOwn(cut);
    return withEnds(words, this.#track.view(from, cut.heardTo), from / rateHz);
  }

  /** Judges each word by the whole piece, too. A model that follows a single text cannot do this. */
  judged(words: SpelledWord[], result: PieceResult, readings: readonly Reading[]): SpelledWord[] {
    if (result.shared === undefined) return words;
    const sureness = mean(result.ys_log_probs);
    const [first, again] = readings;
    const held = new Set(
      first && again
        ? alignedWords(
            words.map(({ word }) => word),
            first.words,
          )
        : [],
    );
    return words.map((word, index) => {
      const agreed = again ? held.has(index) : undefined;
      const beside = words.slice(Math.max(0, index - neighbours), index + neighbours + 1);
      const around = Math.min(...beside.map(({ confidence }) => confidence));
      const alone = word.confidence;
      return { ...word, confidence: confidenceInPiece({ alone, around, agreed, mean: sureness }) };
    });
  }

  /**
   * Stretches of the piece that have a voice but none of these words. A short stretch between the last word and a cut
   * is left to the next piece, which is read from there.
   */
  wordless(words: readonly SpelledWord[], cut: PlacedPiece): Wordless[] {
    if (!this.#voiced) return [];
    const wordless = wordlessIn(words, { from: firstOwn(cut), to: cut.to }, this.#voiced);
    if (!this.#isDivided(cut)) return wordless;
    return wordless.filter(
      ({ from, to, after }) => after === 0 || to < cut.to || !isLeft(from, cut.to),
    );
  }

  /**
   * Reads a skipped stretch separately: first as the continuation of the words before it, then on its own. Unsure words
   * are dropped, because the stretch may be noise that was taken for a voice.
   */
  again(
    { from, to, after }: Wordless,
    words: readonly SpelledWord[],
    attempt: number,
    hint: string,
  ): SpelledWord[] {
    const known = attempt === 0 ? knownBefore(words.slice(0, after), from / rateHz) : [];
    const first = known[0] ? Math.round(known[0].start * rateHz) : from - marginAgain;
    const { before, after: behind } = variations[0];
    const audio = padded(
      this.#track.view(first, to),
      Math.round(before * rateHz),
      Math.round(behind * rateHz),
    );
    const given = known.flatMap(({ ids }) => ids);
    const result = this.#read(audio, hint, { given });
    const logs = result.ys_log_probs;
    if (logs.length === 0 || mean(logs) < leastSure) return [];
    const timed = this.#heard(result, first / rateHz - variations[0].before, to / rateHz);
    const found = wordsWithoutLoops(
      timed.map((word) => within(word, from / rateHz, to / rateHz)),
      (to - first) / rateHz,
    );
    const next = words[after];
    const last = found.at(-1);
    // The last word may extend to the end of the stretch. If it equals the word after the stretch, both are the same
    // word. A caller who says a word twice that quickly is heard once.
    const twice =
      next && last && bare(next.word) === bare(last.word) && spokenBy(last) > to / rateHz;
    return twice ? found.slice(0, -1) : found;
  }

  /** The piece's own words, and the seam for the next piece if the piece was cut out of speech. */
  own(
    words: readonly SpelledWord[],
    result: PieceResult,
    cut: PlacedPiece,
  ): { piece: ReadPiece; seam: Seam | undefined } {
    const divided = this.#isDivided(cut) ? divideAt(words, cut) : undefined;
    const own = divided?.own ?? words.length;
    // If a piece is cut again before the audio of its seam, it is empty. The next piece then continues after those
    // known words.
    const waits = divided && cut.seam && cut.seam.at >= cut.to ? cut.seam : undefined;
    const seam = divided?.seam ?? waits;
    const endS = seam ? seam.at / rateHz : Infinity;
    const told = words.slice(0, own).map((word) => ({
      ...withoutIds(word),
      end: Math.min(word.end, Math.max(endS, word.start + shortestTokenS)),
    }));
    const text = this.#model.goesOn
      ? told.map(({ word }) => word).join(' ')
      : readingOf(result.text, secondsTo(cut.to, cut)).text;
    return { seam, piece: { text, words: told, language: result.lang } };
  }

  /**
   * The words of a model without times and probabilities. The agreement of readings gives the confidence, and times are
   * estimated.
   */
  timed(
    { words, text }: Reading,
    { from, to, cutBefore }: PieceBounds,
    about: { agreement: readonly number[]; language: string; earlier: PartialWords },
  ): ReadPiece {
    // The detector is a little late at both ends, so a margin is added. Its quiet audio is trimmed later.
    const first = from - (cutBefore ? 0 : onsetS * rateHz);
    const audio = this.#track.view(first, to);
    const offsetS = to / rateHz - audio.length / rateHz;
    const bounds = about.earlier.bounds(words);
    const spans = estimateWordTimes(
      words,
      audio,
      rateHz,
      bounds.map(({ saidBy, notBefore }) => ({
        saidBy: saidBy === undefined ? undefined : saidBy - offsetS,
        notBefore: notBefore === undefined ? undefined : notBefore - offsetS,
      })),
    );
    return {
      text,
      language: about.language,
      words: words.map((word, index) => ({
        word,
        start: offsetS + (spans[index]?.start ?? 0),
        end: offsetS + (spans[index]?.end ?? 0),
        confidence: confidenceOf(about.agreement[index], bounds[index]?.saidBy !== undefined),
      })),
    };
  }

  /**
   * The samples of a piece with a margin on both sides. The margin is the quiet audio around the piece. On a side where
   * the piece was cut out of speech the margin is zeros, because real audio would contain half a word of the next
   * piece. A model that continues after known words gets the audio from the first of them to the end of what was
   * received.
   */
  #varied(cut: PlacedPiece, variation: Variation): Float32Array {
    const paddingBefore = Math.round(variation.before * rateHz);
    const paddingAfter = Math.round(variation.after * rateHz);
    const before = cut.cutBefore ? 0 : paddingBefore;
    const after = cut.cutAfter ? 0 : paddingAfter;
    const end = this.#isDivided(cut) ? cut.heardTo : cut.to;
    const audio = this.#track.view(firstOf(cut) - before, end + after);
    const whole = padded(audio, paddingBefore - before, paddingAfter - after);
    for (let at = 0; at < whole.length; at++)
      whole[at] = Math.max(-1, Math.min(1, (whole[at] ?? 0) * variation.gain));
    return whole;
  }

  /** True if the piece is read beyond its cut and its words are divided there. */
  #isDivided({ cutAfter }: SpeechPiece): boolean {
    return cutAfter && this.#model.goesOn;
  }

  #read(samples: Float32Array, hint: string, wishes: Omit<ReadingWishes, 'expected'>): PieceResult {
    return this.#model.read(samples, hint, {
      ...wishes,
      expected: this.#expected,
      judge: this.#judge,
    });
  }
}

/** A piece with the known words before it, if it continues after some. */
export type PlacedPiece = SpeechPiece & { seam: Seam | undefined };

/** The seams to try, in this order, if a reading cannot continue after the given one. */
function withFewer(seam: Seam, cut: SpeechPiece, { contradicted }: PieceResult) {
  const nearer = nearest(seam, contextS);
  const alone = cut.cutBefore ? { at: seam.at, known: [] } : undefined;
  return contradicted || nearer.known.length === seam.known.length ? [alone] : [nearer, alone];
}

/** The sample at which the unknown words begin. */
function firstOwn(cut: Pick<PlacedPiece, 'from' | 'seam'>): number {
  return cut.seam?.at ?? cut.from;
}

/** The seconds of audio up to a sample that may contain unknown words of the piece. */
function secondsTo(sample: number, cut: Pick<PlacedPiece, 'from' | 'seam'>): number {
  return (sample - Math.min(cut.from, firstOwn(cut))) / rateHz;
}

/** The second of the stream at which the audio of a reading begins. */
function offsetOf(cut: PlacedPiece): number {
  return firstOf(cut) / rateHz - variations[0].before;
}

export function firstOf(cut: PlacedPiece): number {
  return cut.seam ? firstKnown(cut.seam) : cut.from;
}

/** The words of a text without the model's loops, for partials and finals alike. */
function readingOf(text: string, seconds: number): Reading {
  const clean = text.trim().replace(/\s+/g, ' ');
  const spoken = clean === '' ? [] : clean.split(' ');
  const words = withoutLoops(spoken, seconds).map(({ word }) => word);
  return { text: words.join(' '), words };
}

/** Returns the audio with zeros before and after it. */
function padded(audio: Float32Array, before: number, behind: number): Float32Array {
  const whole = new Float32Array(audio.length + before + behind);
  whole.set(audio, before);
  return whole;
}

/** Moves a word between two times. The attention of a first or last word may lie in the neighbouring words. */
function within(word: SpelledWord, fromS: number, toS: number): SpelledWord {
  const start = Math.max(fromS, Math.min(word.start, toS));
  return { ...word, start, end: Math.max(start + shortestTokenS, Math.min(word.end, toS)) };
}

function tokenWords(result: PieceResult, offsetS: number, endOfAudioS: number): SpelledWord[] {
  const tokens = result.tokens.map((text, index) => {
    const start = offsetS + (result.timestamps[index] ?? 0);
    const duration = result.durations[index];
    const logProbability = result.ys_log_probs[index];
    const shared = result.shared?.[index];
    return {
      text,
      ids: result.ids?.[index] ?? [],
      start,
      end: duration === undefined ? undefined : start + duration,
      logProbability,
      shared,
    };
  });
  return wordsFromTokens(tokens, {
    endOfAudioS,
    longestTokenS,
    agreedConfidence: unknownConfidence,
  });
}

/**
 * The confidence of a word. It grows with the agreement of readings, and if earlier readings contained the word, but
 * never reaches certainty.
 */
function confidenceOf(agreement: number | undefined, steady: boolean): number {
  return 0.25 + 0.6 * (agreement ?? 0.5) + (steady ? 0.12 : 0);
}
