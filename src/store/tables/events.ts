/** Tables of the outbox. Times are ms since 1970 on the database's clock, JSON is text, booleans 0/1. */
export type EventCallsTable = {
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
  /** The envelope exactly as it is sent: signed bytes are these bytes on every attempt. */
  body: string;
};

/** The configured endpoints as the enqueuing transaction sees them. */
export type EndpointsTable = {
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
export type LanesTable = {
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

export type DeliveriesTable = {
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
};

export type EventsTables = {
  event_calls: EventCallsTable;
  events: EventsTable;
  endpoints: EndpointsTable;
  lanes: LanesTable;
  deliveries: DeliveriesTable;
};
