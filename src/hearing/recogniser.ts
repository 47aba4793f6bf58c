import type { CustomVocabularyConfig } from '../protocol/addon-configs.ts';
import type { ExpectedAnswer } from '../protocol/session-hints.ts';

/**
 * The samples at 16 kHz that the voice detector processes at once. Audio that is read in several streams is divided on a
 * multiple of it, so that the windows are the same as in one stream.
 */
export const windowSamples = 512;

/**
 * The interface between sessions and speech recognition. Each channel of a session has one stream. The pool behind this
 * interface keeps the audio since the last final. If a recogniser process dies, another one processes that audio again,
 * and the session notices only a delay.
 */
export type RecognisedWord = {
  /** The word without the leading space of live messages. Punctuation stays on it. */
  word: string;
  start: number;
  end: number;
  confidence: number;
};

export type RecognisedUtterance = {
  /** Counts up from 0 in the stream. Partials and the final of one utterance share it. */
  index: number;
  text: string;
  /** In seconds of the stream's audio. */
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
   * The final. Everything before `decidedS` is decided. One event carries both facts: if a process died between two
   * events, its replacement would emit the same final again.
   */
  | {
      type: 'final';
      utterance: RecognisedUtterance;
      decidedS: number;
      /** The language of further speech, once detection is sure of it. */
      settledLanguage?: string;
    }
  /** Everything before this second is decided, and its finals were emitted before this event. */
  | { type: 'progress'; at: number }
  /** A voice was heard between these seconds, and no reading found words for it. */
  | { type: 'wordless'; from: number; to: number }
  /** The answer to `finish()`: all audio is decided, and no event follows. */
  | { type: 'finished' }
  /** The stream cannot continue, even in a replacement process. No event follows. */
  | { type: 'failed'; reason: string };

export type RecogniserStreamOptions = {
  sampleRate: number;
  /** An empty list requests detection of the language. */
  languages: string[];
  codeSwitching: boolean;
  endpointingS: number;
  maximumDurationS: number;
  speechThreshold: number;
  audioEnhancer: boolean;
  /**
   * True if nobody waits for the words. Each word is then read as well as possible, under any load and however slowly
   * the audio arrives: on a machine busy with calls, a recording comes no faster than it was spoken.
   */
  recorded: boolean;
  partials: boolean;
  /** Words that the model should prefer if they may have been said. */
  vocabulary?: CustomVocabularyConfig | undefined;
  /**
   * An utterance whose words end inside a number, a spelling or an address waits this much longer for the rest. Other
   * utterances end as ever.
   */
  numberPauseS?: number | undefined;
  /** The kind of answer expected from the beginning on. */
  expects?: ExpectedAnswer | undefined;
};

export type RecogniserStream = {
  /** Takes 16-bit linear samples at the stream's rate and copies them. Never blocks and never throws. */
  push(samples: Int16Array): void;
  /**
   * The seconds of audio that were pushed and not decoded yet. While it is high, the session reads its socket slowly.
   */
  readonly backlogS: number;
  /**
   * Sets the kind of answer that the audio from here on may be, or none. An answer that was misheard as other words is
   * then found; all other speech is read as before.
   */
  expect(answer: ExpectedAnswer | undefined): void;
  /** Tells that no more audio comes. The rest is decided, then `finished` is emitted. */
  finish(): void;
  /** Abandons the stream. No event follows. */
  close(): void;
};

export type RecogniserStatus = {
  state: 'ready' | 'starting' | 'no-model' | 'failed';
  /** A line for operators: the model, its download progress, the command that helps. */
  detail: string;
  model: string | null;
  languages: string[];
  /** True if word times are estimated from energy because the model gives none. */
  estimatedTimes: boolean;
  streams: number;
  capacity: number;
};

export type StreamAdmission =
  | { outcome: 'admitted'; stream: RecogniserStream }
  /** The route answers 503 with the progress of the download. */
  | { outcome: 'no-model'; detail: string; retryAfterS: number }
  /** The route answers 429. */
  | { outcome: 'at-capacity'; detail: string; retryAfterS: number }
  /** The route answers 422 and names the installed languages. */
  | { outcome: 'language'; detail: string };

export type Recogniser = AsyncDisposable & {
  /** The largest number of processes that may read in parallel. */
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
