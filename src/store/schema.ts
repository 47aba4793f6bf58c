import type { Generated } from 'kysely';

/*
 * The one schema, on SQLite and on Postgres, as the types of its rows. Migrations make the tables; these types follow
 * the newest migration. Times are ms since 1970, JSON is text, booleans are 0 and 1.
 */

/* Tables of the bridge: calls and what belongs to them. */

export type CallsTable = {
  id: string;
  /** The node that has the call. Its disk holds the call's journal. */
  node: string;
  /** Rises when another node takes the call over. A writer with the earlier number then finds no row. */
  fence: Generated<number>;
  carrier: string;
  carrier_call_id: string;
  state: 'live' | 'finishing' | 'ended';
  direction: string | null;
  from_number: string | null;
  to_number: string | null;
  started_at: number;
  /** The zero of the call's clock: the first byte of its first leg. Null before there is one. */
  zero_at: number | null;
  /** When the last stream of the call ended; null while one is open or awaited. */
  hung_up_at: number | null;
  ended_at: number | null;
  /** The wait that ran out before every final was there. */
  deadline: string | null;
  end_reason: string | null;
  /** The ended call with the same carrier call id that this record continues. */
  continues: string | null;
  /** Metadata for sessions and events, built once at the start, without the keys of a leg. */
  custom_metadata: string;
  /** Further fields of the session request, set by parameters of this call. */
  overrides: string;
  warnings: string;
  counts: string;
  /** The holder of the pause: 0 nobody, 1 an operator, 2 the carrier, 3 both. */
  paused: number;
  paused_at: number | null;
  statistics: string | null;
  /** JSON: the seconds without words of an ended call and their causes; null for a call that is whole. */
  incomplete: string | null;
  summary: string | null;
  /** 1 from `call.ended` until `call.summary` is committed, also over a crash. */
  summary_due: number;
  has_recording: number;
  /** Number of starts that tried to restore this call. A row that keeps failing is set aside. */
  recover_tries: number;
  /** Notes of people beside the call. */
  notes: string | null;
  /** JSON: the tags as people wrote them; `call_keys` has them to search by. */
  tags: string | null;
  /** Set when somebody closed the links of the call: none opens it any more. */
  links_closed_at: Generated<number | null>;
  /** The roles whose words an ended call has, in alphabetical order. Null before its end. */
  said_by: string | null;
  /** JSON: the beginning of the last turn of an ended call, for lists. */
  last_turn: string | null;
  /** The length of the phone call; 0 before its end. Lists are sorted by it. */
  duration_ms: Generated<number>;
};

/** Keys by which a call is found: the numbers of its parties in one form, and its tags. */
type CallKeysTable = { call_id: string; kind: 'number' | 'address' | 'tag'; key: string };

export type LegsTable = {
  id: string;
  call_id: string;
  role: string;
  track: string;
  encoding: string;
  sample_rate: number;
  channels: number;
  /** The place of the leg's first byte on the call's clock, in ms; null before there is one. */
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
  /** JSON: the regularity of its frames, as the last process counted it. */
  cadence: string | null;
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
  /** The speech service's own id. */
  id: string;
  leg_id: string;
  call_id: string;
  /** Leg time of the session's first byte, in seconds. */
  offset_s: number;
  opened_at: number;
};

/** One row per result that became an event. It holds the identity by which a repeated message is recognised. */
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
  /** The voice of a mixed leg, from 0. */
  speaker: Generated<number | null>;
};

/** The leg's journal state without audio and words. Another node continues from it when the leg's own node is lost. */
type LegStatesTable = { leg_id: string; call_id: string; state: string };

type StreamTokensTable = {
  /** SHA-256 of the token: a stolen database opens no stream. */
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
  /** Null once the call was erased. Then only the service's data is left to delete. */
  call_id: string | null;
  /** The node whose disk holds the recording. Only this node does the work. */
  node: string;
  /** `waiting` for its upload, `uploaded` without a job, `reading` with one, `cleaning` up at the service. */
  state: 'waiting' | 'uploaded' | 'reading' | 'cleaning';
  /** JSON: the call's redaction settings at its end. */
  redaction: string;
  created_at: number;
  due_at: number;
  /** Failed attempts since the last success. */
  tries: number;
  /** Jobs that failed because of the service itself. */
  rounds: number;
  /** 1 once a job may have been requested. The service is then asked for it before a new one is requested. */
  asked: number;
  audio_url: string | null;
  file_id: string | null;
  job_id: string | null;
  last_trouble: string | null;
  /** The speech node that has the upload and the job. Null if an earlier version began it. */
  service: string | null;
  /** JSON: the pieces of a long recording that were read. Their words stay with the service until all are read. */
  pieces: string | null;
  /** The end of the present piece, in seconds of the recording. Null for the last piece, and before it is cut. */
  piece_end_s: number | null;
  /** The length of a piece, once the service has refused a longer one. */
  piece_limit_s: number | null;
};

/**
 * Words that were said in a call or written about it, for the search. Database triggers write the rows together with
 * the result; the full-text index refers to them.
 */
type SaidTable = {
  /** Rises with time, so the newest row has the largest. Calls from before this table have negative numbers. */
  id: Generated<number>;
  call_id: string;
  leg_id: string;
  session_id: string;
  result_key: string;
  kind: 'turn' | 'note' | 'summary';
  role: string;
  start_s: number;
  end_s: number;
  text: string;
};

/** The progress of adding earlier calls to the search. */
type SaidBacklogTable = { name: string; before_call: string; next_id: number; done: number };

/** Keys that the installation makes itself, by name. All nodes have the same. */
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
  secrets: SecretsTable;
  said: SaidTable;
  said_backlog: SaidBacklogTable;
};

/* Tables of the outbox. Times are by the database's clock, so that nodes with different clocks agree. */

type EventCallsTable = {
  call_id: string;
  last_sequence: number;
  /** Set when the call was erased. The row stays without content, so that numbers are never given twice. */
  erased_at: number | null;
};

export type EventsTable = {
  id: string;
  call_id: string;
  sequence: number;
  type: string;
  occurred_at: number;
  /** The end of a transcript's speech, as the audio has it. */
  speech_ended_at: number | null;
  /** The envelope exactly as it is sent: every attempt signs these bytes. */
  body: string;
};

/** The configured endpoints, as transactions see them that enqueue events. */
type EndpointsTable = {
  name: string;
  /** `|call.started|call.ended|`, for a LIKE. */
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
  /** Null if nothing waits or if the lane is parked. */
  next_attempt_at: number | null;
  /** New for every claim. A process that writes a result must still hold it. */
  claim_id: string | null;
  claim_until: number | null;
  /** Rises with every event, so that giving a claim back notices events added meanwhile. */
  wakes: number;
  parked_at: number | null;
  parked_reason: string | null;
  /** True if the first event failed because of the endpoint, not because of its own content. */
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
  /** First bytes of the last answer. */
  last_answer: string | null;
  /** JSON: the last attempts, newest last. */
  history: string | null;
  /** JSON: answers of the mapping's finished steps, so that a retry does not repeat them. */
  progress: string | null;
  /** JSON: the last attempt's requests and answers, without secrets. */
  exchanges: Generated<string | null>;
};

/** A CRM's id of a record of a call, or the mark of a step whose answer was lost (`unsure:<step>`). */
type CrmLinksTable = {
  endpoint: string;
  call_id: string;
  kind: string;
  remote_id: string;
  noted_at: number;
};

/** The token that a CRM gave, sealed; `locked_until` while a process fetches the next one. */
type CrmTokensTable = {
  endpoint: string;
  settings: string;
  sealed: string | null;
  expires_at: number;
  locked_until: number | null;
};

/** Requests of this day, by the clock of UTC. */
type CrmUsageTable = { endpoint: string; day: string; requests: number };

type EventsTables = {
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
  /** SHA-256 of the session's token: a stolen database opens no socket. */
  token_digest: string | null;
  status: 'queued' | 'processing' | 'done' | 'error';
  created_at: number;
  completed_at: number | null;
  error_code: number | null;
  custom_metadata: string | null;
  post_session_metadata: string;
  /** The effective request. It has no content if nothing may be stored. */
  request_params: string | null;
  audio_duration: number | null;
  channels: number | null;
  result: string | null;
  /** 1 when neither content nor result may be stored (zero data retention). */
  zero_retention: number;
  /** 1 while the session's log still holds callbacks that were not delivered. */
  callbacks_due: number;
  /** The stored file, once it exists. Only pre-recorded jobs have it and the fields below. */
  file_id: string | null;
  filename: string | null;
  /** The address that the audio was fetched from; null for an upload. */
  source: string | null;
  /** Until this time of the database's clock, only `node` works on the job. */
  claimed_until: number | null;
  attempts: number | null;
  /** Seconds of the audio that are read. */
  progress_s: number | null;
  error_message: string | null;
};

/** A file that was uploaded, or fetched for a job. Its bytes are on the disk of `node`. */
export type SpeechFilesTable = {
  id: string;
  node: string;
  created_at: number;
  filename: string;
  /** The extension without the dot; empty if the name has none. */
  extension: string;
  size: number;
  audio_duration: number;
  channels: number;
  source: string | null;
};

/** A job's message to the address in its request or to a webhook of the account, until it is delivered. */
export type SpeechJobCallbacksTable = {
  /** Equal for all attempts, so that a receiver recognises a repetition. */
  id: string;
  job_id: string;
  /** `request`, or the digest of the account webhook's address. */
  target: string;
  event: string;
  /** Set if the job's row does not keep the message. */
  body: string | null;
  created_at: number;
  attempts: number;
  /** The time of the next attempt. Null after the message was given up. */
  due_at: number | null;
  last_error: string | null;
  /** The host of the last attempt. The rest of an address may hold a secret and is not stored. */
  host: string | null;
  /** The time at which the message was given up; null while it is tried. */
  parked_at: number | null;
};

/** Figures of a deleted job, for the usage count. */
type SpeechUsageTable = {
  id: string;
  kind: SpeechJobsTable['kind'];
  created_at: number;
  completed_at: number;
  status: 'done' | 'error';
  audio_duration: number | null;
};

/** One row for each pair of a job's metadata. Lists are filtered by it. */
type SpeechJobMetadataTable = {
  job_id: string;
  /** A digest of the path and the value. */
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
  /** The id of the node's disk. */
  node: string;
  /** Rises with every start, and when others give the node up. The node then finds its own row gone. */
  epoch: number;
  /** The address at which other nodes reach it. Null if it is closed to them. */
  address: string | null;
  /** Separated by commas. */
  roles: string;
  version: string;
  /** Legs that the node accepts, and legs that it has. */
  capacity: number;
  legs: number;
  /** Channels of live sessions that its speech service accepts, and those in use; 0 if it has none. */
  speech_capacity: number;
  speech_used: number;
  draining: number;
  started_at: number;
  seen_at: number;
  /** Milliseconds by which its clock is ahead of the database's. */
  ahead_ms: number;
  /** The time at which the others gave it up; null while it is running. */
  lost_at: number | null;
  /** The time at which it left on purpose with no work in progress. The others need not wait for its silence. */
  left_at: number | null;
};

/** One row for each transaction of the last minutes (Postgres): whether it was committed can be looked up. */
type CommitMarksTable = { at: number; mark: number };

type SchemaVersionTable = {
  version: number;
  name: string;
  applied_at: number;
  /**
   * The number of migrations that a program must know to run beside this one. Null for migrations older than this
   * column.
   */
  needs: number | null;
};
/* Tables of the object store. */

/** Audio in the bucket. The row is written before the first byte, so nothing in the bucket lacks a row. */
export type ObjectsTable = {
  key: string;
  /** The node that copies it or copied it. */
  node: string;
  /** `copying`: the bytes on the disk of `node` count. `stored`: those in the bucket do. */
  state: 'copying' | 'stored';
  bytes: number;
  /** A larger object is stored as several parts. */
  part_bytes: number;
  sha256: string;
  created_at: number;
};

/** Objects that are still to be deleted from the bucket. */
export type ObjectErasuresTable = {
  key: string;
  requested_at: number;
  /** The object is deleted again at this time: a copy was in progress when it was erased. */
  until_at: number;
  next_at: number;
  tries: number;
};

export type Database = CallsTables &
  EventsTables &
  SpeechTables & {
    nodes: NodesTable;
    schema_version: SchemaVersionTable;
    commit_marks: CommitMarksTable;
    objects: ObjectsTable;
    object_erasures: ObjectErasuresTable;
  };
