/** Tables of the bridge: calls and what belongs to them. Times are ms since 1970, JSON is text, booleans 0/1. */
export type CallsTable = {
  id: string;
  /** The node whose disk holds the journal: only it recovers the call. */
  node: string;
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
  /** Who holds the pause: 0 nobody, 1 an operator, 2 the carrier, 3 both. */
  paused: number;
  paused_at: number | null;
  statistics: string | null;
  summary: string | null;
  /** 1 from `call.ended` until `call.summary` is committed, also over a crash. */
  summary_due: number;
  has_recording: number;
  /** How often a start tried to take this call up again; a row that keeps failing is set aside. */
  recover_tries: number;
};

export type LegsTable = {
  id: string;
  call_id: string;
  role: string;
  track: string;
  encoding: string;
  sample_rate: number;
  channels: number;
  /** Where the leg's first byte lies on the call's clock, in ms; null before there is one. */
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

export type StreamsTable = {
  id: string;
  call_id: string;
  carrier_stream_id: string;
  opened_at: number;
  closed_at: number | null;
  end_reason: string | null;
};

export type LegSessionsTable = {
  /** The speech service's own id. */
  id: string;
  leg_id: string;
  call_id: string;
  /** Leg time of the session's first byte, in seconds. */
  offset_s: number;
  opened_at: number;
};

/** One row for each result that became an event: the identity that a repeated message is known by. */
export type LegResultsTable = {
  leg_id: string;
  session_id: string;
  kind: string;
  key: string;
  call_id: string;
  role: string;
  start_s: number;
  end_s: number;
  text: string;
};

export type StreamTokensTable = {
  /** SHA-256 of the token: a stolen database opens no stream. */
  digest: string;
  carrier: string;
  carrier_call_id: string | null;
  metadata: string;
  expires_at: number;
  used_at: number | null;
};

export type CallStatusesTable = {
  id: string;
  carrier: string;
  carrier_call_id: string;
  received_at: number;
  status: string;
};

/** Sessions of erased calls that the speech service still has to forget. */
export type ErasuresTable = {
  session_id: string;
  requested_at: number;
  next_at: number;
  tries: number;
};

export type CallsTables = {
  calls: CallsTable;
  legs: LegsTable;
  streams: StreamsTable;
  leg_sessions: LegSessionsTable;
  leg_results: LegResultsTable;
  stream_tokens: StreamTokensTable;
  call_statuses: CallStatusesTable;
  erasures: ErasuresTable;
};
