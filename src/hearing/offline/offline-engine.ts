import type { ExpectedAnswer } from '../expected-words.ts';
import {
  type Engine,
  type EngineOptions,
  type EngineSession,
  type Arrival,
  type LoadLevel,
  ranks,
  type Urgency,
} from '../engine/engine.ts';
import { LanguageChoice } from '../engine/language-choice.ts';
import { measure } from './measured-cost.ts';
import { pauseOf } from '../pause.ts';
import { AudioTrack } from './audio-track.ts';
import type { PieceModel } from './offline-model.ts';
import { onsetMarginS, PieceReader, type ReadPiece } from './piece-reader.ts';
import { PieceReading } from './piece-reading.ts';
import { aheadAfterS, longestPartialMs, mostForDear, PartialWords, sureWords } from './readings.ts';
import { firstKnown, isNear, type SpelledWord, withoutIds } from './seam.ts';
import { Segmenter, type SegmenterEvent } from './segmenter.ts';
import { isSignal } from './tonality.ts';
import { answerAfter, answerAtEnd, goesOn, isUnfinished, withoutStop } from './unfinished.ts';
import { VoicedStretches } from './wordless.ts';
import { Audible, type VoiceActivity, VoiceDetector } from './voice-activity.ts';
import {
  type RecognisedUtterance,
  type RecogniserEvent,
  type RecogniserStreamOptions,
  windowSamples,
} from '../recogniser.ts';

/** The engine for models that read whole pieces of speech, cut out by voice detection. */
export function openOfflineEngine(
  model: PieceModel,
  options: Pick<EngineOptions, 'vadModel' | 'textLanguage' | 'load'>,
): Engine {
  /**
   * The cost of a hurried reading as a share of an unhurried one. A leg's cost is its cost under load, where readings
   * are hurried.
   */
  let hurriedShare = 1;
  let opened: VoiceDetector | undefined;
  const detector = () => (opened ??= new VoiceDetector(options.vadModel));
  return {
    estimatedTimes: model.estimatedTimes,
    get readS() {
      return model.price.spentS;
    },
    measure: () => {
      const { listening, reading, hurried } = measure(model, detector());
      hurriedShare = Math.min(1, hurried / reading);
      return { listening, reading: hurried };
    },
    readingShare: () => model.price.share * hurriedShare,
    open: (stream, emit) => {
      const track = new AudioTrack();
      const voiced = new VoicedStretches();
      const bySound = model.judgesLanguages === true;
      const language = new LanguageChoice(model.languages, stream, options.textLanguage, bySound);
      const parts = {
        reader: new PieceReader(model, track, voiced, { ...stream, judge: language.judge }),
        voiced,
        longestS: model.longestS,
        track,
        voice: detector().open(stream.speechThreshold),
        language,
        partialEveryS: model.partialEveryS,
        load: options.load,
      };
      if (stream.expects) parts.reader.expect(stream.expects, 0);
      return new OfflineSession(parts, stream, emit);
    },
  };
}

const rateHz = 16000;
const progressEveryS = 0.5;
/** A reading for a partial begins this far before the first voiced window of the piece. */
const glanceMarginS = 0.2;
/** The first partial is tried after 0.5 s of speech, then every 0.15 s. */
const firstPartialS = 0.5;
const firstEveryS = 0.15;
/**
 * Under load the first of these readings comes up to this much later. Half of the first readings find no word yet, and
 * the next ones keep their interval.
 */
const latestFirstS = 0.15;
/**
 * Two readings of less audio than this may agree by chance. A first word is then shown only if a third reading, with
 * another margin, begins with the same word.
 */
const youngS = 0.85;
const partialEveryS = 0.7;
/**
 * After a pause of this length the last word is complete. Shorter pauses also occur inside words, for example before a
 * `p`.
 */
const wholeWordS = 0.2;
/**
 * A partial reads the whole piece again, so long pieces are read less often. The interval between partials is at least
 * this share of their length.
 */
const partialGrowth = 0.4;
/** Under load the interval between partials grows at most by this factor. */
const mostSeldom = 4;
/**
 * A live final may be sent this long after its end is decided. No reading begins that would end later. With 100 ms, of
 * ten calls at once in noise, one in five doubted pieces got no reading with other margins; with this value one in ten
 * gets none.
 */
const patienceMs = 150;
/** Audio that came faster than it was spoken waits for idle time. After this long it is read before partials. */
const bulkPatienceMs = 2_000;
/**
 * At most this much audio may wait behind a piece that is not read yet. Beyond it the stream takes no more blocks: its
 * audio waits in the process, then in the parent, and then the session reads its socket slowly.
 */
export const maxWaitingAudioS = 2;

type OfflineParts = {
  reader: PieceReader;
  /** The longest audio that the model reads in one run. */
  longestS: number;
  track: AudioTrack;
  voiced: VoicedStretches;
  voice: Pick<VoiceActivity, 'push' | 'take'>;
  language: LanguageChoice;
  /** The interval between partials of an expensive model. */
  partialEveryS?: number | undefined;
  load: () => LoadLevel;
};

type UtteranceEnd = Extract<SegmenterEvent, { type: 'end' }>;

/** Starts of speech and pieces that are not emitted yet, in order. */
type Untold =
  | { type: 'start'; from: number }
  | { type: 'piece'; reading: PieceReading; ending: UtteranceEnd | undefined; due: DueTime };

type DueTime = { live: boolean; atMs: number };

const atEase: LoadLevel = { needed: 0, latenessMs: 0, togetherMs: 0, isPatient: true };

/**
 * One stream over a model that reads whole pieces. Voice detection and cutting happen as audio arrives.
 * Pieces are read later, one reading at a time, when the loop serves this stream:
 *
 *     speech   ▆▇▆▂▇▇▆▁▁▁▁▁▁▁▁
 *     ahead            ^ the pause may be the end, so the piece is read while the stream waits
 *     end                   ^ the end is decided, and a piece that was read ahead is emitted at once
 */
export class OfflineSession implements EngineSession {
  readonly #parts: OfflineParts;
  readonly #options: RecogniserStreamOptions;
  readonly #emit: (event: RecogniserEvent) => void;
  readonly #segmenter: Segmenter;
  readonly #audible = new Audible();
  readonly #waiting: Untold[] = [];
  /** The reading of the open piece that began during the current pause. */
  #ahead: PieceReading | undefined;
  #index = 0;
  #progressS = 0;
  /** The pieces of the open utterance that are read completely. */
  #pieces: ReadPiece[] = [];
  #partial = new PartialWords();
  #partialAt = 0;
  #partials = 0;
  /** The tokens of the last reading of the open piece, which begins at `from`. */
  #drafted: { from: number; ids: readonly number[] } = { from: -1, ids: [] };
  #started = false;
  /** The utterance is over by its pause, and its words say that more may come: it waits until this sample. */
  #held: { ending: UtteranceEnd; until: number } | undefined;
  /** Speech came within that wait, and its first words are not read yet. */
  #isResumed = false;
  #live = true;
  #finishing = false;

  constructor(
    parts: OfflineParts,
    options: RecogniserStreamOptions,
    emit: (event: RecogniserEvent) => void,
  ) {
    this.#parts = parts;
    this.#options = options;
    this.#emit = emit;
    this.#segmenter = new Segmenter({
      pauseS: pauseOf(options.endpointingS),
      maximumDurationS: options.maximumDurationS,
      longestPieceS: parts.longestS,
      goesOn: parts.reader.goesOn,
      quietest: (from, to) => parts.track.quietest(from, to, rateHz / 10),
    });
  }

  get settled(): boolean {
    return this.#waiting.length === 0;
  }

  get full(): boolean {
    const piece = this.#waiting.find((one) => one.type === 'piece');
    return (
      piece !== undefined &&
      this.#parts.track.end - piece.reading.cut.to > maxWaitingAudioS * rateHz
    );
  }

  get dueMs(): number | undefined {
    const head = this.#head;
    return head?.due.live ? head.due.atMs : undefined;
  }

  get firstReadingMs(): number {
    const { reader } = this.#parts;
    let ms = 0;
    for (const one of this.#waiting)
      if (one.type === 'piece' && one.due.live && !one.reading.started)
        ms += reader.expectedMs(one.reading.cut);
    const { open } = this.#segmenter;
    if (open && this.#live && !this.#ahead?.started)
      ms += reader.expectedMs({ from: open.pieceFrom, to: open.voicedEnd });
    return ms;
  }

  push(block: Float32Array): void {
    this.#parts.track.push(block);
    this.#parts.voice.push(block);
  }

  listen(arrival: Arrival): void {
    this.#live = arrival.live;
    this.#parts.voice.take((voiced, end) => {
      const audible = this.#audible.window(
        voiced,
        this.#parts.track.view(end - windowSamples, end),
      );
      if (audible) this.#parts.voiced.add(end - windowSamples, end);
      for (const event of this.#segmenter.window(audible, end)) this.#handle(event, arrival);
      if (this.#segmenter.neededFrom !== undefined || !this.settled) return;
      if (this.#held && end >= this.#held.until) this.#tellHeld(this.#held.ending);
      if (!this.#held) this.#idle(end);
    });
    if (this.#ahead && this.#ahead.cut.to !== this.#segmenter.open?.voicedEnd)
      this.#ahead = undefined; // the speech continued, so the pause was not the end
  }

  expect(answer: ExpectedAnswer | undefined, fromS: number): void {
    this.#parts.reader.expect(answer, Math.round(fromS * rateHz));
  }

  finish(arrival: Arrival): void {
    for (const event of this.#segmenter.finish()) this.#handle(event, arrival);
    this.#finishing = true;
    this.#tell();
  }

  urgency(nowMs: number): Urgency | undefined {
    return this.#next(nowMs)?.urgency;
  }

  step(nowMs: number): void {
    this.#next(nowMs)?.run();
  }

  #next(nowMs: number): { urgency: Urgency; run: () => void } | undefined {
    const head = this.#head;
    if (head)
      return { urgency: this.#urgencyOf(head, nowMs), run: () => this.#readOn(head, nowMs) };
    const partial = this.#partialDue();
    const glance = () => this.#glance();
    if (partial && this.#partial.silent)
      return { urgency: { rank: ranks.glimpse, dueMs: nowMs, needed: false }, run: glance };
    const ahead = this.#aheadReading();
    if (ahead)
      return {
        // A first reading comes before further readings of other streams, because several callers may stop together.
        urgency: {
          rank: ranks.ahead,
          dueMs: nowMs + (ahead.started ? 1 : 0),
          needed: !ahead.started,
        },
        run: () => this.#readAhead(ahead),
      };
    if (!partial) return undefined;
    return { urgency: { rank: ranks.partial, dueMs: nowMs, needed: false }, run: glance };
  }

  #readOn(head: Extract<Untold, { type: 'piece' }>, nowMs: number): void {
    if (this.#worthOn(head, nowMs))
      head.reading.step(this.#loadFor(head.due), this.#partial, this.#parts.language.hint);
    if (!this.#worthOn(head, performance.now())) this.#tell();
  }

  #readAhead(ahead: PieceReading): void {
    this.#ahead = ahead;
    const begun = ahead.started;
    ahead.step(this.#parts.load(), this.#partial, this.#parts.language.hint);
    if (begun) return;
    this.#drafted = { from: ahead.cut.from, ids: ahead.written };
    this.#showAhead(ahead);
  }

  get #head() {
    const [head] = this.#waiting;
    return head?.type === 'piece' ? head : undefined;
  }

  #urgencyOf(head: Extract<Untold, { type: 'piece' }>, nowMs: number): Urgency {
    const { due, reading } = head;
    const about = { dueMs: due.atMs, needed: due.live && !reading.started };
    // nothing is left to read; the final only has to be emitted
    if (!this.#worthOn(head, nowMs)) return { rank: ranks.first, ...about };
    if (!due.live) return { rank: nowMs > due.atMs ? ranks.more : ranks.bulk, ...about };
    const ends = this.#waiting.find((one) => one.type === 'piece' && one.ending) !== undefined;
    return { rank: reading.started || !ends ? ranks.more : ranks.first, ...about };
  }

  /** True if this piece needs another reading that would be done in time. */
  #worthOn({ reading, due }: Extract<Untold, { type: 'piece' }>, nowMs: number): boolean {
    if (!reading.started) return true;
    const nextMs = reading.nextMs(this.#loadFor(due));
    return nextMs !== undefined && (!due.live || nowMs + nextMs <= due.atMs);
  }

  /**
   * The load that counts for a reading. Audio that comes faster than it is spoken is read with care under any load,
   * because nobody waits for its words.
   */
  #loadFor(due: DueTime): LoadLevel {
    return due.live ? this.#parts.load() : atEase;
  }

  /** The next reading of the open piece during a pause that may be its end, if the load permits it. */
  #aheadReading(): PieceReading | undefined {
    const { open } = this.#segmenter;
    const { track, reader, load } = this.#parts;
    if (!open || !this.#live) return undefined;
    const level = load();
    const afterS = aheadAfterS(level);
    if (afterS === undefined || track.end - open.voicedEnd < afterS * rateHz) return undefined;
    const { pieceFrom: from, voicedEnd: to, cutBefore } = open;
    const reading =
      this.#ahead ??
      new PieceReading(
        reader,
        { from, to, cutBefore, cutAfter: false, heardTo: to },
        this.#draftOf(from),
      );
    return reading.canGoOn(track.end, level) ? reading : undefined;
  }

  #partialDue(): boolean {
    if (!this.#options.partials) return false;
    const open = this.#segmenter.open;
    if (!open) return false;
    const { track, reader, load, partialEveryS } = this.#parts;
    const level = load();
    const { needed, latenessMs } = level;
    const most = partialEveryS === undefined ? 0.8 : mostForDear;
    if (latenessMs > 150 || needed > most) return false;
    // A reading cannot be interrupted. Under load a long partial would delay other callers' finals.
    const takesMs = reader.expectedMs({ from: open.pieceFrom, to: track.end });
    if (takesMs > longestPartialMs(level)) return false;
    const everyS = this.#partialEveryS(needed, (track.end - open.pieceFrom) / rateHz);
    const since = Math.max(this.#partialAt, open.from);
    return track.end - since >= everyS * rateHz && open.voicedEnd > since;
  }

  /**
   * The interval between partials. Partials are given up first: with ten legs in a process, a leg gets one every 1.9 s.
   */
  #partialEveryS(needed: number, lengthS: number): number {
    const { partialEveryS: own } = this.#parts;
    if (own !== undefined) return own;
    if (!this.#partial.silent)
      return (
        Math.max(partialEveryS, partialGrowth * lengthS) * Math.min(mostSeldom, 1 + 15 * needed)
      );
    if (this.#partials > 0) return firstEveryS;
    return firstPartialS + Math.min(latestFirstS, needed / 2);
  }

  #glance(): void {
    const open = this.#segmenter.open;
    if (!open) return;
    const { track, reader, language } = this.#parts;
    const end = track.end;
    this.#partialAt = end;
    this.#partials++;
    const about = { hint: language.hint, draft: this.#draftOf(open.pieceFrom) };
    const { reading, heard, said, timed, ids } = reader.glance(open, end, glanceMarginS, about);
    this.#drafted = { from: open.pieceFrom, ids };
    const young = end - open.pieceFrom <= youngS * rateHz;
    const words = this.#partial.update(reading.words, end / rateHz, {
      again: young
        ? () => reader.glance(open, end, glanceMarginS / 2, { ...about, draft: ids }).reading.words
        : undefined,
      sure: timed ? sureWords(timed) : 0,
    });
    this.#show(words, { heard, text: reading.text, said, timed });
  }

  /** The tokens of the last reading of the piece that begins there. */
  #draftOf(pieceFrom: number): readonly number[] {
    return this.#drafted.from === pieceFrom ? this.#drafted.ids : [];
  }

  /** Shows the first reading that was made ahead, which is as good as one for a partial. */
  #showAhead({ cut, first, said }: PieceReading): void {
    if (!this.#options.partials || !first) return;
    this.#partialAt = this.#parts.track.end;
    this.#partials++;
    const { reading, timed } = first;
    const words = this.#partial.update(reading.words, cut.to / rateHz, {
      sure: timed ? sureWords(timed) : 0,
      paused: this.#partialAt - cut.to >= wholeWordS * rateHz,
    });
    const heard = this.#parts.track.view(cut.from, cut.to);
    this.#show(words, { heard, text: reading.text, said, timed });
  }

  #show(
    words: string[] | undefined,
    read: { heard: Float32Array; text: string; said: string; timed: SpelledWord[] | undefined },
  ): void {
    const open = this.#segmenter.open;
    if (!open || !words || isSignal(words.length, read.heard)) return;
    const { reader } = this.#parts;
    const { pieceFrom: from, voicedEnd: to, cutBefore } = open;
    const language = this.#parts.language.ofPartial(read.text, read.said);
    const text = words.join(' ');
    const piece = read.timed
      ? { words: read.timed.slice(0, words.length).map(withoutIds), text, language }
      : reader.timed(
          { words, text },
          { from, to, cutBefore },
          { agreement: [], language, earlier: this.#partial },
        );
    this.#emit({
      type: 'partial',
      utterance: this.#utterance([...this.#pieces, piece], open.from),
    });
  }

  #handle(event: SegmenterEvent, arrival: Arrival): void {
    if (event.type === 'start') {
      this.#waiting.push(event);
      this.#tell();
      return;
    }
    const ending = event.type === 'end' ? event : undefined;
    const { from, to, cutBefore, cutAfter, heardTo } = event;
    const begun = this.#ahead;
    this.#ahead = undefined;
    const reading =
      begun?.cut.from === from && begun.cut.to === to && !cutAfter
        ? begun
        : new PieceReading(
            this.#parts.reader,
            { from, to, cutBefore, cutAfter, heardTo },
            this.#draftOf(from),
          );
    const patience = arrival.live ? patienceMs : bulkPatienceMs;
    const due = { live: arrival.live, atMs: arrival.atMs + patience };
    // The end of speech is emitted when it is decided, not after its words are read.
    const first = this.#waiting.every((one) => one.type === 'piece' && !one.ending);
    if (ending && first) this.#speechEnds(ending);
    this.#waiting.push({ type: 'piece', reading, ending, due });
    this.#tell();
  }

  /** Emits, from the front, everything that needs no further reading. */
  #tell(): void {
    for (let head = this.#waiting[0]; head; head = this.#waiting[0]) {
      if (head.type === 'start') {
        if (this.#held && head.from > this.#held.until) this.#tellHeld(this.#held.ending);
        // Otherwise the speech goes on with the utterance that waited for it.
        this.#isResumed ||= this.#held !== undefined;
        this.#held = undefined;
        this.#started = true;
        this.#emit({ type: 'speech-start', at: head.from / rateHz });
      } else {
        if (this.#worthOn(head, performance.now())) return;
        if (head.ending) this.#speechEnds(head.ending);
        this.#keep(head.reading);
        if (head.ending) this.#endOrHold(head.ending);
      }
      this.#waiting.shift();
    }
    if (!this.#finishing) return;
    if (this.#held) this.#tellHeld(this.#held.ending);
    this.#emit({ type: 'progress', at: this.#parts.track.end / rateHz });
    this.#emit({ type: 'finished' });
  }

  #speechEnds({ speechEnd }: UtteranceEnd): void {
    if (this.#started) this.#emit({ type: 'speech-end', at: speechEnd / rateHz });
    this.#started = false;
  }

  #keep(reading: PieceReading): void {
    const { track, language } = this.#parts;
    const { cut } = reading;
    const { piece, seam, earlier, wordless } = reading.done(this.#partial);
    this.#partial = new PartialWords();
    this.#parts.reader.seam = seam;
    this.#parts.reader.earlier = earlier;
    for (const { from, to } of wordless)
      this.#emit({ type: 'wordless', from: from / rateHz, to: to / rateHz });
    if (piece.words.length === 0) return;
    if (isSignal(piece.words.length, track.view(cut.from, cut.to))) {
      this.#parts.reader.earlier = undefined;
      return;
    }
    if (this.#isResumed && goesOn(this.#textSoFar(), piece.text))
      this.#pieces = this.#pieces.map(withoutStop);
    this.#isResumed = false;
    this.#pieces.push({ ...piece, language: language.ofFinal(piece.text, piece.language) });
  }

  /** A number, a spelling or an address that is not over is waited for; everything else is told at once. */
  #endOrHold(ending: UtteranceEnd): void {
    const pauseS = this.#options.numberPauseS ?? 0;
    const since = (this.#pieces[0]?.words[0]?.start ?? 0) * rateHz;
    const isLong = ending.speechEnd - since >= this.#options.maximumDurationS * rateHz;
    const text = this.#textSoFar();
    const expects = this.#parts.reader.expectedAt(ending.to) !== undefined;
    if (pauseS === 0 || ending.cutAfter || isLong || !isUnfinished(text, { expects })) {
      this.#end(ending);
      return;
    }
    const until = ending.speechEnd + (pauseOf(this.#options.endpointingS) + pauseS) * rateHz;
    this.#held = { ending, until };
    this.#segmenter.belongsTo(since);
    this.#parts.reader.midst = answerAtEnd(text);
  }

  /** Ends the utterance where its speech ended, because nothing more was said. */
  #tellHeld(ending: UtteranceEnd): void {
    this.#held = undefined;
    this.#end(ending);
  }

  #textSoFar(): string {
    return this.#pieces.map((piece) => piece.text).join(' ');
  }

  #end({ to, speechEnd }: UtteranceEnd): void {
    this.#segmenter.belongsTo(undefined);
    this.#isResumed = false;
    this.#parts.reader.midst = answerAfter(this.#textSoFar());
    const decided = this.#parts.reader.seam?.at ?? Math.max(to, speechEnd);
    if (this.#pieces.length > 0) {
      const first = this.#pieces[0]?.words[0]?.start ?? 0;
      const utterance = this.#utterance(this.#pieces, first * rateHz);
      const found = this.#parts.language.found;
      const settled = found === undefined ? {} : { settledLanguage: found };
      this.#emit({ type: 'final', utterance, decidedS: decided / rateHz, ...settled });
      this.#index++;
    }
    this.#pieces = [];
    this.#partialAt = 0;
    this.#partials = 0;
    this.#progress(decided);
  }

  #idle(end: number): void {
    const at = end - onsetMarginS * rateHz;
    if (at / rateHz - this.#progressS >= progressEveryS) this.#progress(at);
  }

  #progress(at: number): void {
    this.#progressS = at / rateHz;
    const { reader } = this.#parts;
    if (reader.earlier && !isNear(reader.earlier, at)) reader.earlier = undefined;
    const { seam, earlier } = reader;
    const needed = Math.min(at, ...[seam, earlier].map((one) => (one ? firstKnown(one) : at)));
    this.#parts.track.dropBefore(needed - onsetMarginS * rateHz);
    this.#parts.voiced.dropBefore(needed - onsetMarginS * rateHz);
    reader.dropBefore(needed);
    this.#emit({ type: 'progress', at: this.#progressS });
  }

  #utterance(pieces: readonly ReadPiece[], from: number): RecognisedUtterance {
    const words = pieces.flatMap((piece) => piece.words);
    const sum = words.reduce((total, word) => total + word.confidence, 0);
    return {
      index: this.#index,
      text: pieces.map((piece) => piece.text).join(' '),
      start: words[0]?.start ?? from / rateHz,
      end: words.at(-1)?.end ?? from / rateHz,
      confidence: words.length === 0 ? 0 : sum / words.length,
      language: pieces[0]?.language ?? '',
      words,
    };
  }
}
