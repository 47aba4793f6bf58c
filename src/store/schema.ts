import type { Generated } from 'kysely';
import type { KnowledgePassagesTable, KnowledgeQuestionsTable } from './knowledge-tables.ts';
import type { PanelTokensTable } from './panel-tables.ts';
import type { CallScoresTable } from './score-tables.ts';

/*
 * The one schema, on SQLite and on Postgres, as the types of its rows. Migrations make the tables; these types follow
 * the newest migration. Long because the tables of all parts stand together. Times are ms since 1970, JSON is text, booleans are 0 and 1.
 */

/* Tables of the bridge: calls and what belongs to them. */

export type CallsTable = {
  id: string;
  /** The node that runs the call. The call's journal is on its disk. */
  node: string;
  /**
   * Increases when another node takes the call over. A writer that still has the earlier number finds no row to change.
   */
  fence: Generated<number>;
  carrier: string;
  carrier_call_id: string;
  state: 'live' | 'finishing' | 'ended';
  direction: string | null;
  from_number: string | null;
  to_number: string | null;
  started_at: number;
  /** The zero of the call's clock, which is the time of the first byte of its first leg. Null before that byte. */
  zero_at: number | null;
  /** The time at which the last stream of the call ended. Null while a stream is open or awaited. */
  hung_up_at: number | null;
  ended_at: number | null;
  /** The name of the deadline that passed before every final had come. */
  deadline: string | null;
  end_reason: string | null;
  /** The ended call that this record continues. It has the same carrier call id. */
  continues: string | null;
  /** Metadata for sessions and events, built once at the start, without the keys of a leg. */
  custom_metadata: string;
  /** Further fields of the session request, which parameters of this call set. */
  overrides: string;
  warnings: string;
  counts: string;
  /** The holder of the pause: 0 nobody, 1 an operator, 2 the carrier, 3 both. */
  paused: number;
  paused_at: number | null;
  statistics: string | null;
  /** JSON: the seconds of an ended call whose words are missing, and the causes. Null if none are missing. */
  incomplete: string | null;
  summary: string | null;
  /** 1 from `call.ended` until `call.summary` is committed. A crash in between does not change it. */
  summary_due: number;
  has_recording: number;
  /** The number of starts that tried to restore this call. A row that keeps failing is set aside. */
  recover_tries: number;
  /** The notes that people wrote about the call. */
  notes: string | null;
  /** JSON: the tags as people wrote them. The table `call_keys` has them in a form for searches. */
  tags: string | null;
  /** The time at which somebody closed the links to this call. From then on, no link opens it. */
  links_closed_at: Generated<number | null>;
  /** The roles that spoke in an ended call, in alphabetical order. Null before the call's end. */
  said_by: string | null;
  /** JSON: the beginning of the last turn of an ended call, for lists. */
  last_turn: string | null;
  /** The length of the phone call; 0 before its end. Lists can be sorted by it. */
  duration_ms: Generated<number>;
  /** JSON: the agent who has the call, and since when. */
  agent: string | null;
  /** JSON: the contact of the other party, as the CRM had it when the call began. */
  contact: Generated<string | null>;
  /** The language of the customer. Null while it is in doubt. */
  language: Generated<string | null>;
};

/** Keys by which a call is found: its parties in one form, its tags and agent, and what was noticed in it. */
type CallKeysTable = {
  call_id: string;
  kind: 'number' | 'address' | 'tag' | 'agent' | 'mood' | 'entity' | 'disposition' | 'rule';
  key: string;
};

export type LegsTable = {
  id: string;
  call_id: string;
  role: string;
  track: string;
  encoding: string;
  sample_rate: number;
  channels: number;
  /** The position of the leg's first byte on the call's clock, in ms. Null before that byte. */
  offset_ms: number | null;
  started_at: number;
  state: 'open' | 'done';
  session_id: string | null;
  received: number;
  acknowledged: number;
  gaps: number;
  paused: number;
  filler: number;
  reconnects: number;
  /** JSON: how regularly the leg's frames arrived, as last counted. */
  cadence: string | null;
  /** JSON: the languages of the leg that are sure, the present one last. Null before there is one. */
  languages: Generated<string | null>;
};

type StreamsTable = {
  id: string;
  call_id: string;
  carrier_stream_id: string;
  opened_at: number;
  closed_at: number | null;
  end_reason: string | null;
};

type LegSessionsTable = {
  /** The id that the speech service gave the session. */
  id: string;
  leg_id: string;
  call_id: string;
  /** The time of the session's first byte on the leg's clock, in seconds. */
  offset_s: number;
  opened_at: number;
};

/**
 * Results of the speech service that became events, one row each. A result that is sent again is recognised by its row.
 */
type LegResultsTable = {
  leg_id: string;
  session_id: string;
  kind: string;
  key: string;
  call_id: string;
  role: string;
  start_s: number;
  end_s: number;
  text: string;
  /** The number of the voice on a mixed leg, counted from 0. */
  speaker: Generated<number | null>;
  /** The words of a turn as they were said, where `text` has their numbers in figures. */
  spoken: Generated<string | null>;
  /** When the rules of the call heard it, as JSON. Null in calls of older versions. */
  heard: Generated<string | null>;
};

/** The leg's journal state without audio and words. Another node continues from it when the leg's own node is lost. */
type LegStatesTable = { leg_id: string; call_id: string; state: string };

type StreamTokensTable = {
  /** SHA-256 of the token. A thief of the database cannot open a stream with it. */
  digest: string;
  carrier: string;
  carrier_call_id: string | null;
  metadata: string;
  expires_at: number;
  used_at: number | null;
};

type CallStatusesTable = {
  id: string;
  carrier: string;
  carrier_call_id: string;
  received_at: number;
  status: string;
};

/** An erased call, known only by this digest. Status callbacks that arrive later are dropped. */
type ErasedCallsTable = {
  /** SHA-256 of the carrier and its call id. */
  digest: string;
  erased_at: number;
};

/** A leg whose audio must be deleted from every disk. */
type ErasedLegsTable = {
  leg_id: string;
  erased_at: number;
};

/** Sessions of erased calls that the speech service still has to delete. */
type ErasuresTable = {
  session_id: string;
  requested_at: number;
  next_at: number;
  tries: number;
};

/**
 * A recording that is read again. The row exists from the call's summary until the speech service has deleted its
 * data.
 */
export type SecondPassesTable = {
  id: string;
  /** The call; null once it was erased. Then only the service's data is left to delete. */
  call_id: string | null;
  /** The node whose disk holds the recording. Only this node does the work. */
  node: string;
  /** `waiting` for its upload, `uploaded` but without a job, `reading` with a job, or `cleaning` up at the service. */
  state: 'waiting' | 'uploaded' | 'reading' | 'cleaning';
  /** JSON: the call's redaction settings at its end. */
  redaction: string;
  created_at: number;
  due_at: number;
  /** The number of failed attempts since the last success. */
  tries: number;
  /** The number of jobs that failed because of the service itself. */
  rounds: number;
  /** 1 once a job may have been requested. The service is then asked for that job before a new one is requested. */
  asked: number;
  audio_url: string | null;
  file_id: string | null;
  job_id: string | null;
  last_trouble: string | null;
  /** The speech node that has the upload and the job. Null if an earlier version of the program began it. */
  service: string | null;
  /** JSON: the pieces of a long recording that were read. Their words stay at the service until all pieces are read. */
  pieces: string | null;
  /** The end of the current piece, in seconds of the recording. Null for the last piece, and until the piece is cut. */
  piece_end_s: number | null;
  /** The longest piece to send, once the service has refused a longer one. */
  piece_limit_s: number | null;
};

/**
 * Words that were said in a call or written about it, for the search. Database triggers write the rows together with
 * the result; the full-text index refers to them.
 */
type SaidTable = {
  /** Increases with time, so the newest row has the largest. Calls from before this table have negative numbers. */
  id: Generated<number>;
  call_id: string;
  leg_id: string;
  session_id: string;
  result_key: string;
  kind: 'turn' | 'note' | 'summary' | 'wrap-up' | 'tag' | 'parameter';
  role: string;
  start_s: number;
  end_s: number;
  text: string;
};

type SavedSearchesTable = { name: string; query: string; saved_at: number };

/** The progress of adding earlier calls. */
type SaidBacklogTable = { name: string; before_call: string; next_id: number; done: number };

/** The meaning of a row of `said`, as 384 bytes. Triggers delete it together with the words. */
type SaidDirectionsTable = {
  /** Increases in the order in which rows are committed: nodes read what is new. */
  seq: Generated<number>;
  /** The id of the row in `said`. */
  id: number;
  call_id: string;
  role: string;
  direction: Uint8Array;
};

/** Rows of `said` that came since a node has the model, and have no direction yet. */
type SaidWantingTable = { id: number };

/** One row: which earlier words still want a direction, and which node writes directions now. */
type SaidMeaningTable = {
  name: string;
  /** 1 once a node had the model. */
  is_on: number;
  /** All earlier rows of `said` from this id on are done. Null if all are. */
  before_id: number | null;
  /** The row at which that began. */
  first_id: number | null;
  taken_by: string | null;
  taken_until: number;
};

/** A rule of a playbook that fired in a call. */
type AssistHitsTable = {
  call_id: string;
  hit_key: string;
  /** The playbook and the rule, with a slash between them. */
  rule: string;
  at_ms: number;
  /** The hit as JSON. */
  body: string;
  /** The agent's word on the hint. */
  verdict: 'useful' | 'not_useful' | 'used' | 'dismissed' | null;
  verdict_at: number | null;
};

/** A moment of a call that is no result, as its rules heard it. */
export type AssistMoment = {
  call_id: string;
  /** When it reached the rules, in milliseconds of the call. */
  heard_ms: number;
  kind: 'speaking' | 'dtmf' | 'card' | 'language' | 'hang-up' | 'blind';
  /** The place in the call, in milliseconds. */
  at_ms: number;
  language: string | null;
};

/** Keys that the installation made itself, by name. All nodes use the same keys. */
type SecretsTable = { name: string; value: string };

type CallsTables = {
  calls: CallsTable;
  call_keys: CallKeysTable;
  legs: LegsTable;
  streams: StreamsTable;
  leg_sessions: LegSessionsTable;
  leg_results: LegResultsTable;
  leg_states: LegStatesTable;
  stream_tokens: StreamTokensTable;
  call_statuses: CallStatusesTable;
  erasures: ErasuresTable;
  erased_calls: ErasedCallsTable;
  erased_legs: ErasedLegsTable;
  second_passes: SecondPassesTable;
  wrap_ups: WrapUpsTable;
  secrets: SecretsTable;
  said: SaidTable;
  said_directions: SaidDirectionsTable;
  said_wanting: SaidWantingTable;
  said_meaning: SaidMeaningTable;
  assist_hits: AssistHitsTable;
  assist_moments: AssistMoment;
  knowledge_passages: KnowledgePassagesTable;
  knowledge_questions: KnowledgeQuestionsTable;
  call_scores: CallScoresTable;
  panel_tokens: PanelTokensTable;
  said_backlog: SaidBacklogTable;
  saved_searches: SavedSearchesTable;
};

/* Tables of the outbox. Times are by the database's clock, so that nodes with different clocks agree. */

type EventCallsTable = {
  call_id: string;
  last_sequence: number;
  /**
   * The time at which the call was erased. The row stays without content, so that no sequence number is given twice.
   */
  erased_at: number | null;
};

export type EventsTable = {
  id: string;
  call_id: string;
  sequence: number;
  type: string;
  occurred_at: number;
  /** The end of the speech in a transcript, according to its audio. */
  speech_ended_at: number | null;
  /** The envelope exactly as it is sent. Every attempt signs these bytes. */
  body: string;
};

/** The configured endpoints. Transactions that enqueue events read them here. */
type EndpointsTable = {
  name: string;
  /** The chosen event types as `|call.started|call.ended|`, to be searched with LIKE. */
  types: string;
  active: number;
  /** Changes when the operator changes the address. A disabled endpoint is then enabled again. */
  fingerprint: string;
  disabled_at: number | null;
  disabled_reason: string | null;
};

/** The queue of one call at one endpoint. It is claimed, retried and parked as a whole. */
type LanesTable = {
  endpoint: string;
  call_id: string;
  /** The time of the next attempt. Null if nothing waits or if the lane is parked. */
  next_attempt_at: number | null;
  /** A new id for every claim. A process must still hold this claim to write a result. */
  claim_id: string | null;
  claim_until: number | null;
  /** Increases with every event. A process that gives its claim back notices from it that events were added. */
  wakes: number;
  parked_at: number | null;
  parked_reason: string | null;
  /** 1 if the first event failed because of the endpoint and not because of its own content. */
  held_by_endpoint: number;
  first_attempt_at: number | null;
};

export type DeliveryState = 'waiting' | 'delivered' | 'parked' | 'skipped';

type DeliveriesTable = {
  endpoint: string;
  event_id: string;
  call_id: string;
  sequence: number;
  type: string;
  state: DeliveryState;
  attempts: number;
  first_attempt_at: number | null;
  last_attempt_at: number | null;
  settled_at: number | null;
  last_status: number | null;
  last_error: string | null;
  /** The first bytes of the endpoint's last answer. */
  last_answer: string | null;
  /** JSON: the last attempts, newest last. */
  history: string | null;
  /** JSON: answers of the mapping's finished steps, so that a retry does not repeat them. */
  progress: string | null;
  /** JSON: the last attempt's requests and answers, without secrets. */
  exchanges: Generated<string | null>;
};

/** The id that a CRM gave to the record of a call. `unsure:<step>` marks a step whose answer was lost. */
/** The record of an ended call. */
export type WrapUpsTable = {
  call_id: string;
  /** JSON, see `protocol/wrap-up.ts`. */
  record: string;
  text: string;
  /** JSON: who changed which field. */
  edits: string;
  /** Rises by one with each `call.wrapped`. */
  revision: number;
  /** Null once the record has gone out. */
  due_at: number | null;
  /** The disposition that a person chose, and when. Null until then. */
  chosen: string | null;
  chosen_at: number | null;
};

type CrmLinksTable = {
  endpoint: string;
  call_id: string;
  kind: string;
  remote_id: string;
  noted_at: number;
};

/** The token that a CRM gave, encrypted. `locked_until` is set while a process fetches the next token. */
type CrmTokensTable = {
  endpoint: string;
  settings: string;
  sealed: string | null;
  expires_at: number;
  locked_until: number | null;
};

/** The number of requests to a CRM on this day in UTC. */
type CrmUsageTable = { endpoint: string; day: string; requests: number };

/** An endpoint that was connected while the process ran. */
type ConnectedEndpointsTable = {
  name: string;
  preset: string | null;
  host: string;
  /** The whole setting, sealed with a key that is not in the database. */
  sealed: string;
  /** Another one for each change, by which the other nodes see it. */
  version: string;
  changed_at: number;
};

type EventsTables = {
  connected_endpoints: ConnectedEndpointsTable;
  crm_links: CrmLinksTable;
  crm_tokens: CrmTokensTable;
  crm_usage: CrmUsageTable;
  event_calls: EventCallsTable;
  events: EventsTable;
  endpoints: EndpointsTable;
  lanes: LanesTable;
  deliveries: DeliveriesTable;
};

/* Tables of the speech service. */

export type SpeechJobsTable = {
  id: string;
  kind: 'live' | 'pre-recorded';
  /** The node whose disk holds the audio. Only this node resumes an unfinished session. */
  node: string;
  /** SHA-256 of the session's token. A thief of the database cannot open a socket with it. */
  token_digest: string | null;
  status: 'queued' | 'processing' | 'done' | 'error';
  created_at: number;
  completed_at: number | null;
  error_code: number | null;
  custom_metadata: string | null;
  post_session_metadata: string;
  /** The request with all defaults. It has no content if nothing may be stored. */
  request_params: string | null;
  audio_duration: number | null;
  channels: number | null;
  result: string | null;
  /** 1 if neither content nor result may be stored (zero data retention). */
  zero_retention: number;
  /** 1 if the session's log still holds callbacks that were not delivered. */
  callbacks_due: number;
  /** The stored file, once it exists. This field and the ones below are only for pre-recorded jobs. */
  file_id: string | null;
  filename: string | null;
  /** The address from which the audio was fetched; null for an upload. */
  source: string | null;
  /** Until this time on the database's clock, only `node` works on the job. */
  claimed_until: number | null;
  attempts: number | null;
  /** The seconds of audio that have been read. */
  progress_s: number | null;
  error_message: string | null;
};

/** A file that was uploaded, or fetched for a job. Its bytes are on the disk of `node`. */
export type SpeechFilesTable = {
  id: string;
  node: string;
  created_at: number;
  filename: string;
  /** The extension of the file name without the dot; empty if it has none. */
  extension: string;
  size: number;
  audio_duration: number;
  channels: number;
  source: string | null;
};

/** A job's message to the address in its request or to a webhook of the account, until it is delivered. */
export type SpeechJobCallbacksTable = {
  /** The id of the message. It is the same in all attempts, so that a receiver recognises a repetition. */
  id: string;
  job_id: string;
  /** `request` for the address in the job's request, otherwise the digest of the account webhook's address. */
  target: string;
  event: string;
  /** The message; set only if the job's row does not hold it. */
  body: string | null;
  created_at: number;
  attempts: number;
  /** The time of the next attempt. Null once the message was given up. */
  due_at: number | null;
  last_error: string | null;
  /** The host of the last attempt. The rest of the address may hold a secret and is not stored. */
  host: string | null;
  /** The time at which the message was given up; null before that. */
  parked_at: number | null;
};

/** Figures about a deleted job, kept for counting usage. */
type SpeechUsageTable = {
  id: string;
  kind: SpeechJobsTable['kind'];
  created_at: number;
  completed_at: number;
  status: 'done' | 'error';
  audio_duration: number | null;
};

/** The metadata of jobs, one row for each pair of name and value. Lists of jobs are filtered by these rows. */
type SpeechJobMetadataTable = {
  job_id: string;
  /** A digest of the pair's path and value. */
  pair: string;
  kind: SpeechJobsTable['kind'];
  created_at: number;
};

/** A node that works on jobs, and its latest sign of life by the database's clock. */
type SpeechNodesTable = { node: string; seen_at: number };

type SpeechTables = {
  speech_jobs: SpeechJobsTable;
  speech_job_metadata: SpeechJobMetadataTable;
  speech_files: SpeechFilesTable;
  speech_job_callbacks: SpeechJobCallbacksTable;
  speech_usage: SpeechUsageTable;
  speech_nodes: SpeechNodesTable;
};

/* Table of the nodes. Times are by the database's clock. */

export type NodesTable = {
  /** The id of the node's disk, which names the node. */
  node: string;
  /** Increases with every start, and when others give the node up. The node then finds that its own row is gone. */
  epoch: number;
  /** The address at which other nodes reach this node. Null if it has no port for them. */
  address: string | null;
  /** The roles of the node, separated by commas. */
  roles: string;
  version: string;
  /** The number of legs that the node accepts, and the number that it has. */
  capacity: number;
  legs: number;
  /**
   * The number of live channels that its speech service accepts, and the number in use. Both are 0 if it has no speech
   * service.
   */
  speech_capacity: number;
  speech_used: number;
  draining: number;
  started_at: number;
  seen_at: number;
  /** Milliseconds by which the node's clock is ahead of the database's. */
  ahead_ms: number;
  /** The time at which the other nodes gave this one up; null while it is running. */
  lost_at: number | null;
  /**
   * The time at which the node stopped on purpose with no call in progress. The other nodes then need not wait for its
   * silence.
   */
  left_at: number | null;
};

/** One row for each transaction of the last minutes, on Postgres. It shows whether the transaction was committed. */
type CommitMarksTable = { at: number; mark: number };

type SchemaVersionTable = {
  version: number;
  name: string;
  applied_at: number;
  /**
   * A program must know at least this many migrations to run beside this one. Null for migrations that are older than
   * this column.
   */
  needs: number | null;
};
/* Tables of the object store. */

/** Audio in the bucket. The row is written before the first byte, so nothing in the bucket lacks a row. */
export type ObjectsTable = {
  key: string;
  /** The node that copies the object or has copied it. */
  node: string;
  /**
   * `copying`: the file on the disk of `node` is the valid copy. `stored`: the object in the bucket is the valid copy.
   */
  state: 'copying' | 'stored';
  bytes: number;
  /** The size of a part. A larger object is stored as several parts. */
  part_bytes: number;
  sha256: string;
  created_at: number;
};

/** Objects that are still to be deleted from the bucket. */
export type ObjectErasuresTable = {
  key: string;
  requested_at: number;
  /** The object is deleted once more at this time, because a copy was in progress when it was erased. */
  until_at: number;
  next_at: number;
  tries: number;
};

/* Tables of people, their keys and sign-ins, and of what they did. */

/**
 * The number of the last change (`people`); the last line of the record with its hash (`audit`), and the last line that
 * was forgotten (`audit-start`). Each writer changes the row first, so that changes are committed in the order of their
 * numbers.
 */
type PeopleStateTable = {
  name: 'people' | 'audit' | 'audit-start';
  revision: number;
  hash: string;
};

export type PeopleTable = {
  id: string;
  /** The name to sign in with, in lower case. */
  login: string;
  name: string;
  /** JSON: see `protocol/rights.ts`. */
  roles: string;
  /** JSON: names of teams. */
  teams: string;
  /** The agent whose calls are this person's own. */
  agent_id: string | null;
  /** Salt and result of scrypt. Null for people who sign in elsewhere. */
  password: string | null;
  /** Issuer and subject of the provider where this person signs in. */
  subject: string | null;
  made_at: number;
  removed_at: number | null;
  revision: number;
};

export type ApiKeysTable = {
  id: string;
  name: string;
  /** JSON. */
  scopes: string;
  /** SHA-256 of the key. A thief of the database has no key. */
  digest: string;
  made_by: string;
  made_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  revision: number;
};

export type SignInsTable = {
  id: string;
  /** SHA-256 of the cookie. */
  digest: string;
  kind: 'person' | 'key' | 'setting';
  /** The id of the person or the key, or a mark by which a key of the settings is known again. */
  holder: string;
  address: string;
  made_at: number;
  expires_at: number;
  ended_at: number | null;
  revision: number;
};

/** The record of deeds. Each line's hash covers the line and the hash of the line before. */
export type AuditTable = {
  seq: number;
  at: number;
  actor_kind: string;
  actor_id: string;
  actor: string;
  action: string;
  call_id: string | null;
  detail: string;
  address: string;
  node: string;
  hash: string;
};

type OwnPeopleTables = {
  people_state: PeopleStateTable;
  people: PeopleTable;
  api_keys: ApiKeysTable;
  sign_ins: SignInsTable;
  audit: AuditTable;
};

export type Database = CallsTables &
  EventsTables &
  OwnPeopleTables &
  SpeechTables & {
    nodes: NodesTable;
    schema_version: SchemaVersionTable;
    commit_marks: CommitMarksTable;
    objects: ObjectsTable;
    object_erasures: ObjectErasuresTable;
  };
