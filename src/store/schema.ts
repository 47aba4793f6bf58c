import type { Generated } from 'kysely';

/*
 * The one schema, on SQLite and on Postgres, as the types of its rows. Migrations make the tables; these types follow
 * the newest migration. Times are ms since 1970, JSON is text, booleans are 0 and 1.
 */

/* Tables of the bridge: calls and what belongs to them. */

export type CallsTable = {
  id: string;
  /** The node that has the call, and whose disk holds its journal. */
  node: string;
  /** Rises when another node takes the call over: whoever still writes with the number before finds no row. */
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
  /** The ended call of the same carrier call id that this record goes on from. */
  continues: string | null;
  /** Built once at the start: what sessions and events carry, without the keys of a leg. */
  custom_metadata: string;
  /** The further fields of the session request that parameters of this call set. */
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
  /** Starts that tried to take this call up again; a row that keeps failing is set aside. */
  recover_tries: number;
  /** Notes of people beside the call. */
  notes: string | null;
  /** JSON: the tags as people wrote them; `call_keys` has them to search by. */
  tags: string | null;
  /** Set when somebody closed the links of the call: none opens it any more. */
  links_closed_at: Generated<number | null>;
  /** The roles whose words an ended call has, in order of the alphabet; null before its end. */
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
  /** JSON: how its frames came, of the process that had it last. */
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

/** One row for each result that became an event: the identity that a repeated message is known by. */
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

/** The leg's journal without audio and words: another node goes on from here when its own is gone. */
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

/** An erased call, known by nothing but this: status callbacks of it that come later are dropped. */
type ErasedCallsTable = {
  /** SHA-256 of the carrier and its call id. */
  digest: string;
  erased_at: number;
};

/** Audio of a leg that is to be on no disk any more. */
type ErasedLegsTable = {
  leg_id: string;
  erased_at: number;
};

/** Sessions of erased calls that the speech service still has to forget. */
type ErasuresTable = {
  session_id: string;
  requested_at: number;
  next_at: number;
  tries: number;
};

/** A recording that is read again, from the call's summary until the speech service has nothing of it any more. */
export type SecondPassesTable = {
  id: string;
  /** Null once the call was erased: then only what the service still has is left to do. */
  call_id: string | null;
  /** The node whose disk holds the recording: only it does the work. */
  node: string;
  /** `waiting` for its upload, `uploaded` without a job, `reading` with one, `cleaning` up at the service. */
  state: 'waiting' | 'uploaded' | 'reading' | 'cleaning';
  /** JSON: what was to be redacted in this call when it ended. */
  redaction: string;
  created_at: number;
  due_at: number;
  /** Attempts that failed since something last succeeded. */
  tries: number;
  /** Jobs that failed for the service's own reasons. */
  rounds: number;
  /** 1 once a job may have been asked for: it is looked for before another is. */
  asked: number;
  audio_url: string | null;
  file_id: string | null;
  job_id: string | null;
  last_trouble: string | null;
  /** The speech node that has the upload and the job; null where an earlier version began. */
  service: string | null;
  /** JSON: the pieces of a long recording that are read, whose words stay with the service until all are. */
  pieces: string | null;
  /** The end of the present piece, in seconds of the recording. Null for the last piece, and before it is cut. */
  piece_end_s: number | null;
  /** The length of a piece once the service has refused a longer one. */
  piece_limit_s: number | null;
};

/**
 * The words that were said or written of a call, for the search. Triggers of the database write the rows with those of the result;
 * the index of their words hangs on them.
 */
type SaidTable = {
  /** Rises with time: the newest has the largest. Calls of before the table have negative ones. */
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

/** The place up to which the calls of before the search are in it. */
type SaidBacklogTable = { name: string; before_call: string; next_id: number; done: number };

/** Keys that are made here, by name: all nodes have the same. */
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

/* Tables of the outbox. Times are on the clock of the database, so that nodes with clocks of their own agree. */

type EventCallsTable = {
  call_id: string;
  last_sequence: number;
  /** Set when the call was erased: the row stays, without content, so that numbers are never given twice. */
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
  /** The envelope exactly as it is sent: signed bytes are these bytes on every attempt. */
  body: string;
};

/** The configured endpoints as the enqueuing transaction sees them. */
type EndpointsTable = {
  name: string;
  /** `|call.started|call.ended|`, for a LIKE. */
  types: string;
  active: number;
  /** Changes when the operator changes the address: a switched-off endpoint is then on again. */
  fingerprint: string;
  disabled_at: number | null;
  disabled_reason: string | null;
};

/** One endpoint's queue of one call: what is claimed, retried and parked as a whole. */
type LanesTable = {
  endpoint: string;
  call_id: string;
  /** Null when nothing waits or the lane is parked. */
  next_attempt_at: number | null;
  /** Fresh for every claim; whoever writes a result must still hold it. */
  claim_id: string | null;
  claim_until: number | null;
  /** Rises with every event, so that a claim that is being given back sees what came meanwhile. */
  wakes: number;
  parked_at: number | null;
  parked_reason: string | null;
  /** The head failed because of the endpoint as a whole, not because of its own content. */
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
  /** JSON: answers of the mapping's steps that are done, so that a retry does not repeat them. */
  progress: string | null;
  /** JSON: what the last attempt sent and what came back, without secrets. */
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
  /** The node whose disk holds the audio: only it takes an unfinished session up again. */
  node: string;
  /** SHA-256 of the session's token: a stolen database opens no socket. */
  token_digest: string | null;
  status: 'queued' | 'processing' | 'done' | 'error';
  created_at: number;
  completed_at: number | null;
  error_code: number | null;
  custom_metadata: string | null;
  post_session_metadata: string;
  /** The effective request; without content when nothing may be stored. */
  request_params: string | null;
  audio_duration: number | null;
  channels: number | null;
  result: string | null;
  /** 1 when neither content nor result may be stored (zero data retention). */
  zero_retention: number;
  /** 1 while the session's log still holds callbacks that were not delivered. */
  callbacks_due: number;
  /** The stored file, once there is one. Only pre-recorded jobs have it and the fields below. */
  file_id: string | null;
  filename: string | null;
  /** The address that the audio was fetched from; null for an upload. */
  source: string | null;
  /** Until then, by the database's clock, `node` works on the job and nobody else does. */
  claimed_until: number | null;
  attempts: number | null;
  /** Seconds of the audio that are read. */
  progress_s: number | null;
  error_message: string | null;
};

/** A file that was uploaded, or fetched for a job. Its bytes lie on the disk of `node`. */
export type SpeechFilesTable = {
  id: string;
  node: string;
  created_at: number;
  filename: string;
  /** Without the dot; empty when the name has none. */
  extension: string;
  size: number;
  audio_duration: number;
  channels: number;
  source: string | null;
};

/** The message of a job to the address of its request or to a webhook of the account, until it is delivered. */
export type SpeechJobCallbacksTable = {
  /** Stays the same over all attempts: a receiver recognises a repetition by it. */
  id: string;
  job_id: string;
  /** `request`, or the digest of the account webhook's address. */
  target: string;
  event: string;
  /** Set when the row of the job does not keep what is sent. */
  body: string | null;
  created_at: number;
  attempts: number;
  /** When it is tried next; null when it was given up. */
  due_at: number | null;
  last_error: string | null;
  /** The host of the last attempt. The rest of an address may hold a secret, so it is not kept here. */
  host: string | null;
  /** When it was given up; null as long as it is tried. */
  parked_at: number | null;
};

/** The figures of a job that is gone, for the count of usage. */
type SpeechUsageTable = {
  id: string;
  kind: SpeechJobsTable['kind'];
  created_at: number;
  completed_at: number;
  status: 'done' | 'error';
  audio_duration: number | null;
};

/** One row for each pair of a job's metadata: what lists are filtered by. */
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

/* Table of the nodes. Times are on the clock of the database. */

export type NodesTable = {
  /** The name of its disk. */
  node: string;
  /** Rises with every start, and when others give the node up: it then finds its own row gone. */
  epoch: number;
  /** The address at which the other nodes reach it; null where it is closed to them. */
  address: string | null;
  /** Separated by commas. */
  roles: string;
  version: string;
  /** Legs that it takes, and that it has. */
  capacity: number;
  legs: number;
  /** Channels of live sessions that its speech service takes, and that it has; 0 where it has none. */
  speech_capacity: number;
  speech_used: number;
  draining: number;
  started_at: number;
  seen_at: number;
  /** The lead of its own clock over the database's. */
  ahead_ms: number;
  /** When the others gave it up; null while it is there. */
  lost_at: number | null;
  /** When it left on purpose, with nothing under way: the others need not wait for its silence. */
  left_at: number | null;
};

/** One row for each transaction of the last minutes (Postgres): whether it was committed can be looked up. */
type CommitMarksTable = { at: number; mark: number };

type SchemaVersionTable = {
  version: number;
  name: string;
  applied_at: number;
  /** The number of migrations that a program must know to run beside this one; null for those that are older than this column. */
  needs: number | null;
};
/* Tables of the object store. */

/** Audio in the bucket. The row is there before the first byte is: nothing lies in the bucket that no row names. */
export type ObjectsTable = {
  key: string;
  /** The node that copies it, or did. */
  node: string;
  /** `copying`: the bytes on the disk of `node` count. `stored`: those in the bucket do. */
  state: 'copying' | 'stored';
  bytes: number;
  /** An object that is larger than this is several, one after the other. */
  part_bytes: number;
  sha256: string;
  created_at: number;
};

/** Objects that are still to be deleted from the bucket. */
export type ObjectErasuresTable = {
  key: string;
  requested_at: number;
  /** Deleted once more then: when it was asked for, a copy was on its way. */
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
