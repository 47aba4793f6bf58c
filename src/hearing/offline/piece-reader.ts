import type { ExpectedAnswer, ExpectedWord } from '../expected-words.ts';
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
import type { RecognisedWord } from '../recogniser.ts';

const rateHz = 16000;
/** This much audio before the first voiced window may belong to the first word, and to the margin of its reading. */
export const onsetMarginS = 0.4;
/** The beginning of the first word is looked for within this much audio before the first voiced window. */
const onsetS = 0.1;
/** Models give the times of tokens. A token without an end lasts at most this long. */
const longestTokenS = 0.3;
/** The confidence where a model gives times but no probabilities: neither sure nor unsure. */
const unknownConfidence = 0.8;

/** A stretch that is read again gets this much audio before it, in samples. */
const marginAgain = 0.1 * rateHz;
/** Words found by reading a stretch again must have at least this mean log-probability, in nats per token. */
const leastSure = -0.6;

/** Each variant of a reading as one text costs this many times as much as the first reading. */
export const priceTogether = 0.8;
/**
 * The time from the reading in a pause to the moment when its words must be told: half of the time that callers wait
 * for them.
 */
const soonMs = 180;

export type ReadPiece = { words: RecognisedWord[]; text: string; language: string };

type PieceBounds = Pick<SpeechPiece, 'from' | 'to' | 'cutBefore'>;

/** Reads pieces of a stream's audio with a model, and gives every word its time and confidence. */
export class PieceReader {
  readonly #model: Omit<PieceModel, 'languages'>;
  readonly #track: AudioTrack;
  /** The end of the last piece, if speech continued there. The last piece is read before the next one is begun. */
  seam: Seam | undefined;
  /** The last words of the last piece and their end, if the piece ended in a pause. */
  earlier: Seam | undefined;
  readonly #expected: readonly ExpectedWord[] | undefined;
  readonly #voiced: Pick<VoicedStretches, 'within'> | undefined;
  /** The expected answers, each from a sample on. */
  #expectations: { at: number; answer: ExpectedAnswer | undefined }[] = [];

  constructor(
    model: Omit<PieceModel, 'languages'>,
    track: AudioTrack,
    voiced?: Pick<VoicedStretches, 'within'>,
    expected?: readonly ExpectedWord[],
  ) {
    this.#expected = expected;
    this.#model = model;
    this.#track = track;
    this.#voiced = voiced;
  }

  /** A piece that ends behind this sample may be such an answer. */
  expect(answer: ExpectedAnswer | undefined, at: number): void {
    this.#expectations.push({ at, answer });
  }

  /** Forgets expectations that no piece behind this sample can have. */
  dropBefore(position: number): void {
    const last = this.#expectations.findLastIndex(({ at }) => at <= position);
    if (last > 0) this.#expectations.splice(0, last);
  }

  get goesOn(): boolean {
    return this.#model.goesOn;
  }

  get estimatedTimes(): boolean {
    return this.#model.estimatedTimes;
  }

  expectedMs({ from, to }: { from: number; to: number }): number {
    return this.#model.price.expectedMs((to - from) / rateHz);
  }

  /**
   * The seam that the piece continues after. A piece that was cut out of speech must continue after one; after a short
   * pause it may. A piece is understood better with some seconds of the speech before it, but a long piece leaves less
   * room for them.
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
   * Reads the whole piece once. The answer has the seam that the reading really continues after. A doubted reading
   * should be made again as one text out of several margins.
   */
  whole(
    cut: PlacedPiece,
    variation: Variation,
    about: { hint: string; load: LoadLevel; draft: readonly number[] },
  ) {
    const { hint, load, draft } = about;
    const read = (seam: Seam | undefined) =>
      this.#read(this.#varied({ ...cut, seam }, variation), hint, {
        expects: this.#expectations.findLast(({ at }) => at <= cut.to)?.answer,
        given: seam && signsOf(seam),
        hurried: isPressed(load),
        sparing: load.isPatient !== true,
        // If the doubt might not be great enough for other margins, the piece gets four beams.
        firstOnly:
          affordsMore(load) &&
          !doubtsSparingly(load) &&
          this.#isSoonTogether({ ...cut, seam }, load),
        draft,
      });
    let { seam } = cut;
    let result = read(seam);
    let strays = this.#strays(result, cut);
    // The words before the seam were misread, or they lead the model on to words that nobody says. The model listens
    // again with fewer of them, or with none.
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
   * True when the piece can be read with all its margins between the beginning of a pause and the moment when the piece
   * is told.
   */
  #isSoonTogether(cut: PlacedPiece, load: LoadLevel): boolean {
    const wholeMs = this.expectedMs({ from: firstOf(cut), to: cut.to });
    return wholeMs * (1 + priceTogether * marginsTogether(load)) < soonMs;
  }

  /** True when the model may have continued to write without listening. */
  #strays(result: PieceResult, cut: PlacedPiece): boolean {
    if (!this.goesOn) return false;
    const words = tokenWords(result, offsetOf(cut), cut.heardTo / rateHz);
    const ahead = beforeCrowd(words) < words.length;
    return ahead || result.unended === true || saysAgain(result.ids?.flat() ?? []);
  }

  /** Reads the whole piece with further margins, together with a reading that was doubted. */
  together(cut: PlacedPiece, first: PieceResult, load: LoadLevel) {
    const margins = marginsTogether(load);
    const variants = variations.slice(0, margins).map((one) => this.#varied(cut, one));
    const result =
      this.#model.readTogether?.(first, variants, { sparing: readsSideBySide(load) }) ?? first;
    return { reading: readingOf(result.text, secondsTo(cut.to, cut)), result };
  }

  /** Reads only the beginning of the piece. The words that it finds were said before that moment. */
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
    // With a seam the audio must begin with the known words. A model that can continue after known words has no limit
    // of its own.
    const from = seam
      ? firstKnown(seam)
      : Math.max(pieceFrom - (cutBefore ? 0 : marginS * rateHz), end - longest);
    const heard = this.#track.view(from, end);
    // A partial is shown for a moment, so it is read with one beam. Signs that an earlier glance wrote cost nearly
    // nothing again.
    const given = seam && signsOf(seam);
    const result = this.#read(heard, hint, { given, hurried: true, open: true, draft });
    const { text, lang } = result;
    if (this.estimatedTimes)
      return { reading: readingOf(text, heard.length / rateHz), heard, said: lang, ids: [] };
    // The attention of the first word often lies at the very beginning of the audio, in the margin.
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

  /** The words of a model that gives times, and perhaps probabilities, for each token. */
  spelled(result: PieceResult, cut: PlacedPiece): SpelledWord[] {
    // Without a seam a first word may begin in the margin before the piece, but not before the stream.
    const leastS = cut.seam ? cut.seam.at / rateHz : 0;
    const words = this.#heard(result, offsetOf(cut), cut.heardTo / rateHz);
    const after = words.map((word) => within(word, leastS, Infinity));
    return wordsWithoutLoops(after, secondsTo(cut.heardTo, cut));
  }

  /**
   * The words before the model ran ahead of the audio. The speech that it left out is read again, or told as wordless.
   */
  #heard(result: PieceResult, offsetS: number, endOfAudioS: number): SpelledWord[] {
    const words = tokenWords(result, offsetS, endOfAudioS);
    return this.goesOn ? words.slice(0, beforeCrowd(words)) : words;
  }

  /** Adds the ends of the words, where the model tells only when they begin. */
  ended(words: SpelledWord[], { durations }: PieceResult, cut: PlacedPiece): SpelledWord[] {
    if (durations.length > 0) return words;
    const from = firstOwn(cut);
    return withEnds(words, this.#track.view(from, cut.heardTo), from / rateHz);
  }

  /** Judges each word by the whole piece, too. A model that follows only one text tells nothing about that. */
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
   * The stretches of the piece where a voice was heard and none of these words was said. A short stretch behind the
   * last word before a cut is left to the next piece, which is read from there.
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
   * Reads a passed-over stretch by itself: first as the continuation of the words before it, then as speech of its own.
   * Words that the model is not sure of are dropped: the stretch may be noise that was taken for a voice.
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
    // A last word that may continue to the end of the stretch is the word behind the stretch, if the two are equal. A
    // caller who says the word twice so quickly is heard once.
    const twice =
      next && last && bare(next.word) === bare(last.word) && spokenBy(last) > to / rateHz;
    return twice ? found.slice(0, -1) : found;
  }

  /** The piece's own words, and the seam at which the next piece continues, if the piece was cut out of speech. */
  own(
    words: readonly SpelledWord[],
    result: PieceResult,
    cut: PlacedPiece,
  ): { piece: ReadPiece; seam: Seam | undefined } {
    const divided = this.#isDivided(cut) ? divideAt(words, cut) : undefined;
    const own = divided?.own ?? words.length;
    // A piece that is cut again before the audio of its seam is empty: the next one continues after the same words.
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
   * The words of a model that gives neither times nor probabilities: the agreement of readings is the confidence, and
   * times are estimated.
   */
  timed(
    { words, text }: Reading,
    { from, to, cutBefore }: PieceBounds,
    about: { agreement: readonly number[]; language: string; earlier: PartialWords },
  ): ReadPiece {
    // The detector answers a little late at both ends, so a margin is added; its quiet part is trimmed later.
    const first = from - (cutBefore ? 0 : onsetS * rateHz);
    const audio = this.#track.view(first, to);
    const offsetS = to / rateHz - audio.length / rateHz;
    const bounds = about.earlier.bounds(words);
    const spans = estimateWordTimes(
      words,
      audio,
      rateHz,
      bounds.map(({ saidBy, notBefore }) => ({
        ...(saidBy === undefined ? {} : { saidBy: saidBy - offsetS }),
        ...(notBefore === undefined ? {} : { notBefore: notBefore - offsetS }),
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
   * the piece was cut out of speech the margin is zeros: real audio would contain a part of a word of the next piece,
   * which would be read twice. A model that can continue after known words gets the audio from the first of them to the
   * end of what was heard.
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

  /** True when the piece is read beyond its cut and its words are divided there. */
  #isDivided({ cutAfter }: SpeechPiece): boolean {
    return cutAfter && this.#model.goesOn;
  }

  #read(samples: Float32Array, hint: string, wishes: Omit<ReadingWishes, 'expected'>): PieceResult {
    return this.#model.read(samples, hint, { ...wishes, expected: this.#expected });
  }
}

/** A piece with the known words before it, if it continues after some. */
export type PlacedPiece = SpeechPiece & { seam: Seam | undefined };

/** The seams to try, in this order, when a reading cannot continue after the given one. */
function withFewer(seam: Seam, cut: SpeechPiece, { contradicted }: PieceResult) {
  const nearer = nearest(seam, contextS);
  const alone = cut.cutBefore ? { at: seam.at, known: [] } : undefined;
  return contradicted || nearer.known.length === seam.known.length ? [alone] : [nearer, alone];
}

/** The sample at which the words begin that are not known yet. */
function firstOwn(cut: Pick<PlacedPiece, 'from' | 'seam'>): number {
  return cut.seam?.at ?? cut.from;
}

/** The seconds of audio up to a sample that may contain words of the piece that are not known yet. */
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

/** The words of a text without the model's loops. Partials and finals are equally free of them. */
function readingOf(text: string, seconds: number): Reading {
  const clean = text.trim().replace(/\s+/g, ' ');
  const spoken = clean === '' ? [] : clean.split(' ');
  const words = withoutLoops(spoken, seconds).map(({ word }) => word);
  return { text: words.join(' '), words };
}

/** The audio with this many zeros before and behind it. */
function padded(audio: Float32Array, before: number, behind: number): Float32Array {
  const whole = new Float32Array(audio.length + before + behind);
  whole.set(audio, before);
  return whole;
}

/** Moves a word between two seconds: the attention of a first or last word may lie in the words around it. */
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
      ...(duration === undefined ? {} : { end: start + duration }),
      ...(logProbability === undefined ? {} : { logProbability }),
      ...(shared === undefined ? {} : { shared }),
    };
  });
  return wordsFromTokens(tokens, {
    endOfAudioS,
    longestTokenS,
    agreedConfidence: unknownConfidence,
  });
}

/**
 * Agreement of readings raises the confidence, and so do earlier readings that contained the word; never to certainty.
 */
function confidenceOf(agreement: number | undefined, steady: boolean): number {
  return 0.25 + 0.6 * (agreement ?? 0.5) + (steady ? 0.12 : 0);
}
