import type { ExpectedAnswer, ExpectedWord } from './expected-words.ts';

/**
 * The interface between sessions and the recognition of speech. Each channel of a session has one stream. The pool
 * behind this interface keeps the audio since the last final: when a recogniser process dies, another one hears that
 * audio again, and the session notices nothing but a delay.
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
  /**
   * The final. Everything before `decidedS` is decided. Both facts come in one event: if a process died between two
   * events, its replacement would say the same final again.
   */
  | { type: 'final'; utterance: RecognisedUtterance; decidedS: number }
  /** Everything before this second is decided. Its finals were emitted before this event. */
  | { type: 'progress'; at: number }
  /** Somebody spoke between these seconds, and no reading gave words for it. */
  | { type: 'unread'; from: number; to: number }
  /** The answer to finish(): all audio is decided, nothing follows. */
  | { type: 'finished' }
  /** The stream cannot go on, also not in a replacement process. Nothing follows. */
  | { type: 'failed'; reason: string };

export type RecogniserStreamOptions = {
  sampleRate: number;
  /** An empty list asks for the language to be detected. */
  languages: string[];
  codeSwitching: boolean;
  endpointingS: number;
  maximumDurationS: number;
  speechThreshold: number;
  audioEnhancer: boolean;
  /**
   * True where nobody waits for the words. Each word is read as well as the model can, whatever the load is and however
   * slowly the audio comes. On a machine that is busy with calls a recording comes no faster than it was spoken.
   */
  recorded: boolean;
  partials: boolean;
  /** Words that the model should prefer where they may have been said. */
  expected?: readonly ExpectedWord[];
  /** The kind of answer that is expected from the beginning on. */
  expects?: ExpectedAnswer | undefined;
};

export type RecogniserStream = {
  /** Takes 16-bit linear samples at the stream's rate and copies them. Never blocks and never throws. */
  push(samples: Int16Array): void;
  /** Seconds of audio pushed and not yet decoded: the session reads its socket slowly while this is high. */
  readonly backlogS: number;
  /**
   * Says which kind of answer the audio from here on may be, or none. An answer that was misheard as other words is then
   * found; all other speech is read as before.
   */
  expect(answer: ExpectedAnswer | undefined): void;
  /** No more audio: decide what is left, then `finished`. */
  finish(): void;
  /** Gives the stream up. No event follows. */
  close(): void;
};

export type RecogniserStatus = {
  state: 'ready' | 'starting' | 'no-model' | 'failed';
  /** A line for operators: the model, the progress of its download, the command that mends it. */
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
  /** Answered with 503 and the progress of the download. */
  | { outcome: 'no-model'; detail: string; retryAfterS: number }
  /** Answered with 429. */
  | { outcome: 'at-capacity'; detail: string; retryAfterS: number }
  /** Answered with 422 that names the installed languages. */
  | { outcome: 'language'; detail: string };

export type Recogniser = AsyncDisposable & {
  /** The largest number of processes that may read side by side. */
  readonly mostProcesses: number;
  status(): RecogniserStatus;
  /** Tells whether `open` would admit this many streams now. The POST asks before it creates a session. */
  admits(
    options: Pick<RecogniserStreamOptions, 'languages'>,
    streams: number,
  ): Exclude<StreamAdmission, { outcome: 'admitted' }> | { outcome: 'admitted' };
  open(
    options: RecogniserStreamOptions,
    onEvent: (event: RecogniserEvent) => void,
  ): StreamAdmission;
};
