import type {
  ApiCall,
  ApiDelivery,
  ApiJobCallback,
  CallEventPage,
  CallItem,
  CallPage,
  CarrierList,
  DeliveryPage,
  EndpointPage,
  Installation,
  JobCallbackPage,
  LiveFeedMessage,
  NodeList,
  TestCall,
  TranscribeAgain,
  TranscribeAllAgain,
} from '../../protocol/api.ts';
import type { NamedEntity, SentimentItem, Word } from '../../protocol/addons.ts';
import type { CallEvent, EventLeg, GapCause, Party, Role, Turn } from '../../protocol/events.ts';
import type { PreRecordedJobList, PreRecordedJobRecord } from '../../protocol/job.ts';

/** Shapes of the page's own data, and what each address of the API answers. Types alone: no browser loads this file. */

/** The latest words of a call, as a list shows them. */
export type LatestWords = {
  role: Role;
  speaker?: number | undefined;
  speaker_provisional?: boolean | undefined;
  text: string;
  partial: boolean;
};

/** A call as the lists draw it. The feed tells the end of a call in the middle of a list's life. */
export type BookedCall = Omit<CallItem, 'last_turn'> & { words?: LatestWords | undefined };

export type LiveMessage<Type extends LiveFeedMessage['type']> = Extract<
  LiveFeedMessage,
  { type: Type }
>;
export type AboutCall<Type extends CallEvent['type']> = Extract<CallEvent, { type: Type }>;

/** An entity may say its value: the same in the form that a CRM takes, `2026-03-29` beside "the 29th of March". */
export type PageEntity = NamedEntity & { value?: unknown };
export type Feeling = Pick<SentimentItem, 'sentiment' | 'emotion' | 'text' | 'start' | 'end'>;

export type SpokenEntry = {
  kind: 'utterance';
  key?: string;
  start: number;
  end: number;
  text: string;
  language?: string | undefined;
  role?: Role | undefined;
  /** The speaker's name, where role and speaker do not tell it. */
  name?: string;
  /** The number of the voice's colour. */
  voice?: number;
  speaker?: number | undefined;
  /** Why the speaker may still change, in words; undefined where nothing is in doubt. */
  doubt?: string | undefined;
  utterance_id?: string | undefined;
  legId?: string;
  /** Its sentiment came as an event. */
  isTold?: boolean;
  words: Pick<Word, 'word' | 'start' | 'end'>[];
  entities: PageEntity[];
  sentiments: Feeling[];
  translations: { language: string | undefined; text: string }[];
};
export type GapEntry = {
  kind: 'gap';
  key: string;
  start: number;
  end: number;
  duration: number;
  cause: GapCause;
  detail?: string | undefined;
  leg?: EventLeg | undefined;
};
export type PauseEntry = {
  kind: 'pause';
  key: string;
  start: number;
  end?: number;
  duration?: number;
  by?: string;
};
export type DigitEntry = {
  kind: 'dtmf';
  key: string;
  start: number;
  digit: string;
  end?: undefined;
};
export type ConversationEntry = SpokenEntry | GapEntry | PauseEntry | DigitEntry;

/** A line of a transcript, for what follows the sound. */
export type TranscriptLine = {
  start: number;
  end: number | undefined;
  element: HTMLElement;
  words?: { at: number; element: HTMLElement }[];
};
export type ShownSummary = {
  summary: { type: string; text: string };
  chapters: readonly { headline: string; summary?: string | undefined; start: number }[];
  errors?: readonly { part: string; message: string }[] | undefined;
};

/** Talk figures of a conversation; null where too much is missing to tell. */
export type CallFigures = {
  talk: Record<Party, number> | null;
  talk_ratio: Record<Party, number> | null;
  interruptions: Record<Party, number> | null;
  dead_air: { total: number; longest: number; count: number } | null;
};

export type ShownJob = PreRecordedJobRecord;
export type JobResult = ShownJob['result'];
/** A job of the list: its words are read with the job itself. */
export type ListedJob = Omit<ShownJob, 'result'>;

/** A key of the page: `run` answers false where the key means nothing now. */
export type Shortcut = { key: string; shown?: string; name: string; run: () => unknown };

/** One view at a time stands on the page. */
export type View = {
  element: HTMLElement;
  title: string;
  shortcuts?: Shortcut[];
  close?(): void;
  /** The feed is open. */
  connected?(): void;
  take?(message: LiveFeedMessage): void;
  /** Scrolls to where the reader was, once the rows are there again. */
  goTo?(place: number): void;
  /** The address changed; true where the view goes on with it. */
  follow?(hash: string): boolean;
};

export type SignInState = { key_needed: boolean; signed_in: boolean };

type Changed = { changed: number };

/** The answer to a GET, by its path. A path that is missing here does not compile. */
export type AnswerTo<Path extends string> = Path extends '/api/session'
  ? SignInState
  : Path extends '/api/installation'
    ? Installation
    : Path extends '/api/carriers'
      ? CarrierList
      : Path extends '/api/nodes'
        ? NodeList
        : Path extends '/api/deliveries/endpoints'
          ? EndpointPage
          : Path extends `/api/deliveries?${string}`
            ? DeliveryPage
            : Path extends `/api/deliveries/${string}`
              ? ApiDelivery
              : Path extends `/api/job-callbacks?${string}`
                ? JobCallbackPage
                : Path extends `/api/calls?${string}`
                  ? CallPage
                  : Path extends `/api/calls/${string}/events?${string}`
                    ? CallEventPage
                    : Path extends `/api/calls/${string}`
                      ? ApiCall
                      : Path extends `/v2/pre-recorded?${string}`
                        ? PreRecordedJobList
                        : Path extends `/v2/pre-recorded/${string}`
                          ? ShownJob
                          : never;

/** The answer to a POST, by its path; undefined where the answer has no body. */
export type AnswerToPost<Path extends string> = Path extends '/api/session'
  ? SignInState
  : Path extends '/api/test-call'
    ? TestCall
    : Path extends `/api/calls/transcribe${'' | `?${string}`}`
      ? TranscribeAllAgain
      : Path extends `/api/calls/${string}/transcribe`
        ? TranscribeAgain
        : Path extends `/api/calls/${string}/deliveries/${string}`
          ? Changed
          : Path extends `/api/calls/${string}/${'pause' | 'resume'}`
            ? ApiCall
            : Path extends '/v2/pre-recorded'
              ? { id: string }
              : Changed | undefined;

export type { ApiCall, CallItem, ApiDelivery, ApiJobCallback, Installation, Party, Role, Turn };
export type { CallEvent, GapCause, LiveFeedMessage };
