import type {
  ApiCall,
  ApiJobCallback,
  CallEventPage,
  CallItem,
  CallPage,
  CarrierList,
  Installation,
  JobCallbackPage,
  LiveFeedMessage,
  NodeList,
  TestCall,
  TranscribeAgain,
  TranscribeAllAgain,
} from '../../protocol/api.ts';
import type {
  ApiCallDelivery,
  ApiDelivery,
  ApiEndpoint,
  CallDeliveryPage,
  DeliveryPage,
  EndpointPage,
} from '../../protocol/delivery-reports.ts';
import type {
  CallAssistance,
  PlaybookFileList,
  PlaybookText,
} from '../../protocol/assist-events.ts';
import type { CallScore, CallScoreList, ScoreReport } from '../../protocol/call-scores.ts';
export type { CallScore, ScoreReport } from '../../protocol/call-scores.ts';
export type { BoardCard, BoardMessage } from '../../protocol/board-messages.ts';
export type {
  CallAssistance,
  HintVerdict,
  PlaybookFileList,
  PlaybookPreview,
  PlaybookDeleted,
  PlaybookSaved,
  PlaybookTrial,
} from '../../protocol/assist-events.ts';
import type { KnowledgeFound, KnowledgeText } from '../../protocol/articles.ts';
export type { KnowledgeFound } from '../../protocol/articles.ts';
import type {
  ApiConnection,
  ApiCrmPreset,
  Connected,
  ConnectionList,
  ConnectionTrial,
  CrmPresetList,
} from '../../protocol/connection-reports.ts';
import type { ApiModel, LanguageModelTrial, ModelList } from '../../protocol/model-reports.ts';
import type { NamedEntity, SentimentItem, Word } from '../../protocol/addons.ts';
import type { CallEvent, EventLeg, GapCause, Party, Role, Turn } from '../../protocol/events.ts';
import type {
  ApiKeyList,
  ApiKeyMade,
  ApiKeyShown,
  AuditPage,
  ApiPerson,
  NewPerson,
  PersonChange,
  PersonList,
  SignInList,
  SignInState,
} from '../../protocol/people-reports.ts';
import type { MintedPanelToken, PanelHolder } from '../../protocol/panel.ts';
export type { PanelHolder, PanelMessage } from '../../protocol/panel.ts';
import type { CallWrapUp, WrapUp } from '../../protocol/wrap-up.ts';
import type { SavedSearch, SavedSearchList, SearchPage } from '../../protocol/search.ts';
import type { JsonSchema } from './yaml-completion.js';
import type { PreRecordedJobList, PreRecordedJobRecord } from '../../protocol/job.ts';

/** Types of the page's own data, and of the API's answer at each address. No browser loads this file. */

/** The latest words of a call, as a list shows them. */
export type LatestWords = {
  role: Role;
  speaker?: number | undefined;
  speaker_provisional?: boolean | undefined;
  text: string;
  partial: boolean;
};

/** A call as the lists show it. The feed may report the call's end while a list is open. */
export type BookedCall = Omit<CallItem, 'last_turn'> & { words?: LatestWords | undefined };

export type LiveMessage<Type extends LiveFeedMessage['type']> = Extract<
  LiveFeedMessage,
  { type: Type }
>;
export type AboutCall<Type extends CallEvent['type']> = Extract<CallEvent, { type: Type }>;

/**
 * An entity of an utterance. Its value may be in a form that a CRM takes, such as `2026-03-29` for "the 29th of March".
 */
export type PageEntity = Omit<NamedEntity, 'value'> & { value?: unknown };
export type Feeling = Pick<SentimentItem, 'sentiment' | 'emotion' | 'text' | 'start' | 'end'>;

export type SpokenEntry = {
  kind: 'utterance';
  key?: string;
  start: number;
  end: number;
  text: string;
  language?: string | undefined;
  role?: Role | undefined;
  /** The speaker's name, if it does not follow from role and speaker. */
  name?: string;
  /** The number that decides the colour of the voice. */
  voice?: number;
  speaker?: number | undefined;
  /** The reason why the speaker may still change. Undefined if there is no doubt. */
  doubt?: string | undefined;
  utterance_id?: string | undefined;
  legId?: string;
  /** True if the sentiment of this utterance came as an event. */
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

/** A line of a transcript. The page marks the line that is being played. */
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

/** Figures about who spoke for how long. Null if too much is missing. */
export type CallFigures = {
  talk: Record<Party, number> | null;
  talk_ratio: Record<Party, number> | null;
  interruptions: Record<Party, number> | null;
  dead_air: { total: number; longest: number; count: number } | null;
};

export type ShownJob = PreRecordedJobRecord;
export type JobResult = ShownJob['result'];
/** A job in the list. Its words are loaded with the job itself. */
export type ListedJob = Omit<ShownJob, 'result'>;

/** A keyboard shortcut. `run` returns false if the key has no meaning at the moment. */
export type Shortcut = { key: string; shown?: string; name: string; run: () => unknown };

/** A view of the page. Only one view is shown at a time. */
export type View = {
  element: HTMLElement;
  title: string;
  shortcuts?: Shortcut[];
  close?(): void;
  /** Called when the live feed is connected. */
  connected?(): void;
  take?(message: LiveFeedMessage): void;
  /** Scrolls to the reader's earlier place. Called once the rows exist. */
  goTo?(place: number): void;
  /** Called when the address changed. Returns true if the view handles the new one itself. */
  follow?(hash: string): boolean;
};

/** A call that a search found, and the places of the words in it. */
export type FoundCall = SearchPage['items'][number];
export type FoundPlace = FoundCall['hits'][number];

type Changed = { changed: number };

/** The type of the answer to a GET, by its path. A missing path does not compile. */
/** The record of a call as an event or an answer tells it. */
export type ShownWrapUp = Pick<CallWrapUp, 'wrap_up' | 'revision' | 'edits'>;

type AnswerOfAssist<Path extends string> = Path extends '/api/assist/schema'
  ? JsonSchema
  : Path extends '/api/assist/files'
    ? PlaybookFileList
    : PlaybookText;

export type AnswerTo<Path extends string> = Path extends `/api/calls/${string}/knowledge?${string}`
  ? KnowledgeFound
  : Path extends `/api/knowledge/articles/${string}`
    ? KnowledgeText
    : Path extends '/api/session'
      ? SignInState
      : Path extends '/api/panel/me'
        ? PanelHolder
        : Path extends `/api/scores?${string}`
          ? ScoreReport
          : Path extends `/api/assist/${string}`
            ? AnswerOfAssist<Path>
            : Path extends `/api/calls/${string}/scores`
              ? CallScoreList
              : Path extends '/api/people'
                ? PersonList
                : Path extends '/api/keys'
                  ? ApiKeyList
                  : Path extends '/api/sign-ins'
                    ? SignInList
                    : Path extends `/api/audit?${string}`
                      ? AuditPage
                      : Path extends '/api/installation'
                        ? Installation
                        : Path extends '/api/carriers'
                          ? CarrierList
                          : Path extends '/api/nodes' | '/api/models'
                            ? Path extends '/api/nodes'
                              ? NodeList
                              : ModelList
                            : Path extends '/api/deliveries/endpoints'
                              ? EndpointPage
                              : Path extends '/api/crm-presets'
                                ? CrmPresetList
                                : Path extends '/api/connections'
                                  ? ConnectionList
                                  : Path extends `/api/deliveries/calls?${string}`
                                    ? CallDeliveryPage
                                    : Path extends `/api/deliveries?${string}`
                                      ? DeliveryPage
                                      : Path extends `/api/deliveries/${string}`
                                        ? ApiDelivery
                                        : Path extends `/api/job-callbacks?${string}`
                                          ? JobCallbackPage
                                          : Path extends `/api/search?${string}`
                                            ? SearchPage
                                            : Path extends '/api/saved-searches'
                                              ? SavedSearchList
                                              : Path extends `/api/calls?${string}`
                                                ? CallPage
                                                : Path extends `/api/calls/${string}/assist`
                                                  ? CallAssistance
                                                  : Path extends `/api/calls/${string}/wrap-up`
                                                    ? CallWrapUp
                                                    : Path extends `/api/calls/${string}/events?${string}`
                                                      ? CallEventPage
                                                      : Path extends `/api/calls/${string}`
                                                        ? ApiCall
                                                        : Path extends `/v2/pre-recorded?${string}`
                                                          ? PreRecordedJobList
                                                          : Path extends `/v2/pre-recorded/${string}`
                                                            ? ShownJob
                                                            : never;

/** The type of the answer to a PATCH: what was changed, as it is now. */
export type AnswerToPatch<Path extends string> = Path extends `/api/people/${string}`
  ? ApiPerson
  : ApiCall;

/** The type of the answer to a POST, by its path. Undefined if the answer has no body. */
export type AnswerToPost<Path extends string> = Path extends '/api/session'
  ? SignInState
  : Path extends '/api/panel/tokens'
    ? MintedPanelToken
    : Path extends '/api/keys'
      ? ApiKeyMade
      : Path extends '/api/test-call'
        ? TestCall
        : Path extends `/api/calls/${string}/scores/${string}/dispute`
          ? CallScore
          : Path extends `/api/calls/${string}/assist/feedback`
            ? CallAssistance
            : Path extends '/api/connections/trial'
              ? ConnectionTrial
              : Path extends '/api/language-model/trial'
                ? LanguageModelTrial
                : Path extends `/api/models/${string}`
                  ? ModelList
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

export type {
  ApiPerson,
  NewPerson,
  PersonChange,
  ApiKeyShown,
  SignInState,
  ApiConnection,
  ApiCrmPreset,
  Connected,
  ApiCall,
  CallItem,
  ApiCallDelivery,
  ApiDelivery,
  ApiEndpoint,
  ApiJobCallback,
  ApiModel,
  Installation,
  Party,
  Role,
  Turn,
};
export type { SavedSearch, SearchPage };
export type { CallEvent, CallWrapUp, GapCause, LiveFeedMessage, WrapUp };
