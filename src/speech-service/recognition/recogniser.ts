/**
 * The seam between live sessions and whatever turns samples into words. One stream per channel.
 * The pool behind it keeps the audio since the last final, so that a recogniser process that dies is
 * replaced without the session noticing more than a delay.
 */
export type RecognisedWord = {
  /** Without the leading space of live messages; punctuation stays on the word. */
  word: string;
  start: number;
  end: number;
  confidence: number;
};

export type RecognisedUtterance = {
  /** Counts up from 0 within the stream; partials and the final of one utterance share it. */
  index: number;
  text: string;
  /** Seconds of the stream's audio. */
  start: number;
  end: number;
  confidence: number;
  language: string;
  words: RecognisedWord[];
};

export type RecogniserEvent =
  | { type: 'speech-start'; at: number }
  | { type: 'speech-end'; at: number }
  | { type: 'partial'; utterance: RecognisedUtterance }
  /** With it everything before `decidedS` is decided: one event, so that no end of a process falls between. */
  | { type: 'final'; utterance: RecognisedUtterance; decidedS: number }
  /** Everything before this second has been decided: its finals were emitted before this event. */
  | { type: 'progress'; at: number }
  /** The answer to finish(): all audio is decided, nothing follows. */
  | { type: 'finished' }
  /** The stream cannot go on (replacements failed too); nothing follows. */
  | { type: 'failed'; reason: string };

export type RecogniserStreamOptions = {
  sampleRate: number;
  /** [] means detect. */
  languages: string[];
  codeSwitching: boolean;
  endpointingS: number;
  maximumDurationS: number;
  speechThreshold: number;
  audioEnhancer: boolean;
  partials: boolean;
};

export type RecogniserStream = {
  /** 16-bit linear samples at the stream's rate. Never blocks and never throws; the samples are copied. */
  push(samples: Int16Array): void;
  /** Seconds of audio pushed and not yet decoded: the session reads its socket slowly while this is high. */
  readonly backlogS: number;
  /** No more audio: decide what is left, then `finished`. */
  finish(): void;
  /** Abandon; no event follows. */
  close(): void;
};

export type RecogniserStatus = {
  state: 'ready' | 'starting' | 'no-model' | 'failed';
  /** For people: which model, which progress of its download, which command mends it. */
  detail: string;
  model: string | null;
  languages: string[];
  /** True when words carry times estimated from energy rather than given by the model. */
  estimatedTimes: boolean;
  streams: number;
  capacity: number;
};

export type StreamAdmission =
  | { outcome: 'admitted'; stream: RecogniserStream }
  /** 503 with the progress of the download. */
  | { outcome: 'no-model'; detail: string; retryAfterS: number }
  /** 429 */
  | { outcome: 'at-capacity'; detail: string; retryAfterS: number }
  /** 422 naming what is installed */
  | { outcome: 'language'; detail: string };

export type Recogniser = AsyncDisposable & {
  status(): RecogniserStatus;
  /** Would `open` admit that many streams now? Asked at POST, before a session exists. */
  admits(
    options: Pick<RecogniserStreamOptions, 'languages'>,
    streams: number,
  ): Exclude<StreamAdmission, { outcome: 'admitted' }> | { outcome: 'admitted' };
  open(
    options: RecogniserStreamOptions,
    onEvent: (event: RecogniserEvent) => void,
  ): StreamAdmission;
};
