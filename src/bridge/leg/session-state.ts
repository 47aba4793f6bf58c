import { backOffMs } from '../../speech-client/back-off.ts';
import type { LegGapCause } from '../records/ledger.ts';

/**
 * A leg waits at most this long for the record of a lost session. The record prevents the next session from hearing the
 * same audio again.
 */
const liveDoubtMs = 1_500;
/**
 * After the service refused the request, the leg asks again after this pause. Only a change at the service can help, so
 * it asks rarely.
 */
const refusedRetryMs = 60_000;
/**
 * Up to this many sessions that end without any result are replaced at once, because one bad node of the service may
 * be the reason.
 */
const barrenAtOnce = 3;
/**
 * Pauses after further sessions without a result. They make the limited number of sessions last for minutes. A call
 * that is over uses shorter pauses.
 */
const barrenMs = { first: 250, max: 10_000, finishing: 1_000 };

/** A session that the service made. `service` is its speech node; journals of an earlier version do not have it. */
export type MadeSession = { id: string; url: string; service?: string | undefined };

/** The next session exists. The current one hears the audio before `cut`, the next one the rest. */
export type CutOver = { cut: number; next: MadeSession };

/** The stage of the leg's end, as its sessions see it. */
type LegEnd =
  | { at: 'open' }
  /** The leg's audio is complete. */
  | { at: 'finishing'; finalsMs: number }
  /** The service has every byte, and the wait for its last words has begun. */
  | { at: 'last-words'; finalsMs: number };

type Asking = {
  /**
   * At most one request for a session is in progress. After a refusal or a session without a result, a timer runs
   * instead.
   */
  request: 'none' | 'asked' | 'refused' | 'pausing';
  /** Number of sessions in a row that ended before the service acknowledged any of their audio. */
  barren: number;
  /** True if the leg's request has changed since a session was last asked for. */
  isOutdated: boolean;
  end: LegEnd;
};

type Without = Asking & { at: 'without' };
type InDoubt = Asking & { at: 'in-doubt'; sessionId: string; handOver?: CutOver | undefined };
type Hearing = Asking & { at: 'hearing'; sessionId: string; isOpen: boolean };
type HandingOver = Asking & {
  at: 'handing-over';
  sessionId: string;
  isOpen: boolean;
  handOver: CutOver;
};

/**
 * The sessions of one leg:
 *
 *   without ──asked, created──▶ hearing ──too old or outdated: asked, created──▶ handing-over ──cut reached──▶ hearing
 *      ▲                           │                                                  │
 *      └── record read, or late ── in-doubt ◀── lost, and acks may be missing ────────┘
 */
export type SessionsState =
  /** No session hears the leg, and its audio waits in the journal. */
  | Without
  /** A session was lost, perhaps together with acks. Its record says how much it had heard. */
  | InDoubt
  | Hearing
  | HandingOver
  /** The sessions have finished. No input changes this state. */
  | { at: 'over' };

type Going = Exclude<SessionsState, { at: 'over' }>;

/** Facts about the leg at the time of an input. */
export type LegFacts = {
  /** The leg position up to which every byte is acknowledged or declared. */
  settled: number;
  /** The leg position after the last byte in the journal. */
  writtenTo: number;
  isSettled: boolean;
  /** The number of sessions that the leg has had so far. */
  sessions: number;
  maxSessions: number;
  /**
   * True if the audio stays on disk after the call. The leg then need not wait for a service that refuses the request.
   */
  recording: boolean;
};

export type SessionAnswer =
  { outcome: 'created'; made: MadeSession } | { outcome: 'refused' | 'aborted' };

export type SessionOverInput = {
  type: 'session-over';
  sessionId: string;
  reason: 'finished' | 'gone' | 'crowded' | 'lost' | 'dropped';
  /** True if the service acknowledged some of the session's audio. */
  wasUseful: boolean;
  /** True if messages may have been lost with a socket. */
  hasSwallowed: boolean;
  /** True if bytes were sent and not acknowledged. */
  isInDoubt: boolean;
};

export type SessionsInput =
  /** The leg begins. An earlier process may have left a session. */
  | { type: 'begun'; left?: MadeSession | undefined }
  /** Some audio may have no session that hears it. */
  | { type: 'needed' }
  /**
   * The service answered a request. `orphans` counts earlier requests whose answer was lost; each may have made a
   * session.
   */
  | { type: 'answered'; answer: SessionAnswer; orphans: number }
  /** A session was made, but a bug of ours kept it from being opened. */
  | { type: 'not-begun' }
  | { type: 'waiting'; cause: 'unreachable' | 'busy' | 'unauthorized' }
  | { type: 'link'; sessionId: string; link: 'open' | 'lost' }
  | SessionOverInput
  | { type: 'doubt-over'; sessionId: string }
  | { type: 'acknowledged' }
  /** The current session approaches the speech interface's time limit. */
  | { type: 'grown-old' }
  | { type: 'request-changed' }
  | { type: 'retry-due' }
  | { type: 'finish'; finalsMs: number; withinMs: number }
  | { type: 'finals-due' }
  /** The last words of a finished session cannot be read. */
  | { type: 'words-missing' }
  /** The leg has no time left. */
  | { type: 'given-up' }
  | { type: 'closed' }
  | { type: 'released' };

export type SessionsEffect =
  | { do: 'tell'; state: LegState }
  /** Ask the service for a session; the reply is the input `answered`. */
  | { do: 'ask' }
  /** Withdraw the request for a session, because the session is no longer wanted. */
  | { do: 'withdraw-request' }
  | { do: 'retry-after'; ms: number }
  | { do: 'stop-retry' }
  | { do: 'start'; made: MadeSession }
  /** Continue the session that an earlier process left. */
  | { do: 'resume'; left: MadeSession }
  /** The current session takes no audio from this leg position on. */
  | { do: 'cut'; position: number }
  /** Tell the session that its audio is complete, and read its messages until it closes. */
  | { do: 'stop-session' }
  /** End the session like `stop-session`, after another one has replaced it. */
  | { do: 'retire-session' }
  | { do: 'close-session' }
  /** Close the current session, and read from its record the messages that its socket did not deliver. */
  | { do: 'close-and-read' }
  /**
   * Read the session's record. With `doubtMs`, the input `doubt-over` follows when the record was read or that time has
   * passed.
   */
  | { do: 'read-record'; sessionId: string; doubtMs?: number }
  | { do: 'await-deadline'; ms: number }
  | { do: 'await-finals'; ms: number }
  | { do: 'stop-finals' }
  | { do: 'say-late' }
  | { do: 'cancel-orphans' }
  /** Journal the changed snapshot within a second. */
  | { do: 'changed' }
  /** Check whether the leg is done now. */
  | { do: 'idle' }
  /** The rest of the leg's audio can no longer be transcribed. */
  | { do: 'hopeless'; cause: LegGapCause }
  | { do: 'release' };

export type LegState =
  /** A session is being requested, and the audio waits in the journal. */
  | { at: 'opening' }
  | { at: 'live'; sessionId: string }
  /** The socket was lost, and the same session is being resumed. */
  | { at: 'resuming'; sessionId: string }
  /** No session is available for now. The leg asks again by itself. */
  | { at: 'waiting'; cause: 'unreachable' | 'busy' | 'unauthorized' | 'refused' }
  /** The leg has used up its sessions. Its audio is kept but no longer sent. */
  | { at: 'journal-only' }
  | { at: 'finishing'; sessionId?: string | undefined }
  | { at: 'ended' };

type SessionsStep<S extends SessionsState = SessionsState> = [S, SessionsEffect[]];

export const noSession: Without = {
  at: 'without',
  request: 'none',
  barren: 0,
  isOutdated: false,
  end: { at: 'open' },
};

/**
 * Returns the next state of a leg's sessions and the effects. Pure: `LegSessions` owns the sockets and the timers and
 * carries out the effects.
 */
export function step(state: SessionsState, input: SessionsInput, leg: LegFacts): SessionsStep {
  const [after, effects] = advance(state, input, leg);
  const next = nextOf(state);
  const isForgotten =
    next !== undefined &&
    // When a process stops, it keeps this state in the journal for the next process.
    after.at !== 'over' &&
    nextOf(after) !== next &&
    !effects.some((effect) => effect.do === 'start' && effect.made === next);
  return [after, isForgotten ? [...effects, { do: 'cancel-orphans' }] : effects];
}

function advance(state: SessionsState, input: SessionsInput, leg: LegFacts): SessionsStep {
  if (state.at === 'over') return [state, isMade(input) ? [{ do: 'cancel-orphans' }] : []];
  switch (input.type) {
    case 'begun':
      if (input.left === undefined) return ensure(state, leg);
      return [hearing(state, input.left), [{ do: 'resume', left: input.left }]];
    case 'needed':
      return ensure(state, leg);
    case 'retry-due':
      return isWaiting(state) ? ensure({ ...state, request: 'none' }, leg) : [state, []];
    case 'answered':
      return answered(state, input, leg);
    case 'not-begun':
      return then(refused(without(state), leg), { do: 'idle' });
    case 'waiting':
      return isHeard(state)
        ? [state, []]
        : [state, [{ do: 'tell', state: { at: 'waiting', cause: input.cause } }]];
    case 'link':
      return linkChanged(state, input, leg);
    case 'session-over':
      return sessionOver(state, input, leg);
    case 'doubt-over':
      if (state.at !== 'in-doubt' || state.sessionId !== input.sessionId) return [state, []];
      return then(afterSession(state, leg), { do: 'idle' });
    case 'acknowledged':
      return isCutReached(state, leg.settled) ? afterCut(state, leg) : awaitFinals(state, leg);
    case 'grown-old':
      return state.request === 'none' ? changeOver(state) : [state, []];
    case 'request-changed':
      // One session stays reserved for failures, because a carrier that keeps changing its request must not use up all
      // of them.
      if (isFinishing(state) || leg.sessions + 2 > leg.maxSessions) return [state, []];
      return changeOver({ ...state, isOutdated: true });
    case 'finish':
      return finish(state, input, leg);
    case 'finals-due':
      return finalsDue(state);
    case 'words-missing':
      return [state, isFinishing(state) ? [{ do: 'say-late' }] : []];
    case 'given-up':
      return [without(state), [{ do: 'say-late' }, { do: 'close-session' }]];
    case 'closed':
      return [without(state), [{ do: 'close-session' }]];
    case 'released':
      return [{ at: 'over' }, [{ do: 'release' }]];
  }
}

// --- questions about a state: the class asks them for each frame and ack, and steps only if the answer is yes
// --------

/** True if a session may be asked for. */
export function mayAsk(state: SessionsState): boolean {
  return state.at === 'without' && state.request === 'none';
}

/** True if an acknowledgement up to `settled` changes the state. */
export function heedsAck(state: SessionsState, settled: number): boolean {
  return isFinishing(state) || isCutReached(state, settled);
}

export function isFinishing(state: SessionsState): boolean {
  return state.at !== 'over' && state.end.at !== 'open';
}

/** True if a session is being asked for. */
export function isAsking(state: SessionsState): boolean {
  return state.at !== 'over' && state.request === 'asked';
}

/** The session that takes over at the cut. */
export function nextOf(state: SessionsState): MadeSession | undefined {
  return state.at === 'handing-over' || state.at === 'in-doubt' ? state.handOver?.next : undefined;
}

function isCutReached(
  state: SessionsState,
  settled: number,
): state is HandingOver | (InDoubt & { handOver: CutOver }) {
  return (
    (state.at === 'handing-over' || state.at === 'in-doubt') &&
    state.handOver !== undefined &&
    settled >= state.handOver.cut
  );
}

function isHeard(state: Going): state is Hearing | HandingOver {
  return state.at === 'hearing' || state.at === 'handing-over';
}

function isWaiting(state: Going): boolean {
  return state.request === 'refused' || state.request === 'pausing';
}

function isMade(input: SessionsInput): boolean {
  if (input.type !== 'answered') return false;
  return input.orphans > 0 || input.answer.outcome === 'created';
}

// --- asking for a session ---------------------------------------------------------------------------

function ensure(state: Going, leg: LegFacts): SessionsStep<Going> {
  if (state.at !== 'without' || state.request !== 'none') return [state, []];
  if (leg.isSettled && (isFinishing(state) || leg.sessions > 0)) return [state, []];
  if (leg.sessions < leg.maxSessions)
    return [
      { ...state, request: 'asked', isOutdated: false },
      [{ do: 'tell', state: { at: 'opening' } }, { do: 'changed' }, { do: 'ask' }],
    ];
  const told: SessionsEffect[] = [{ do: 'tell', state: { at: 'journal-only' } }];
  return [state, isFinishing(state) ? [...told, { do: 'hopeless', cause: 'sessions' }] : told];
}

/**
 * Prepares a change of session, before the 3 h limit or for another language: the next session is requested while
 * this one goes on.
 */
function changeOver(state: Going): SessionsStep<Going> {
  if (state.at !== 'hearing' || state.request === 'asked' || isFinishing(state)) return [state, []];
  const effects: SessionsEffect[] = isWaiting(state) ? [{ do: 'stop-retry' }] : [];
  return [{ ...state, request: 'asked', isOutdated: false }, [...effects, { do: 'ask' }]];
}

function answered(
  before: Going,
  { answer, orphans }: Extract<SessionsInput, { type: 'answered' }>,
  leg: LegFacts,
): SessionsStep {
  const lost: SessionsEffect[] = orphans > 0 ? [{ do: 'cancel-orphans' }] : [];
  const state: Going = { ...before, request: 'none' };
  const [after, effects] =
    answer.outcome === 'created'
      ? created(state, answer.made, leg)
      : answer.outcome === 'refused'
        ? refused(state, leg)
        : ([state, []] satisfies SessionsStep<Going>);
  return then([after, [...lost, ...effects]], { do: 'idle' });
}

function created(state: Going, made: MadeSession, leg: LegFacts): SessionsStep<Going> {
  if (state.at === 'hearing') {
    const cut = leg.writtenTo;
    const handOver = { cut, next: made };
    const handing: HandingOver = { ...state, at: 'handing-over', handOver };
    const effects: SessionsEffect[] = [{ do: 'changed' }, { do: 'cut', position: cut }];
    if (leg.settled < cut) return [handing, effects];
    const [after, more] = afterCut(handing, leg);
    return [after, [...effects, ...more]];
  }
  if (state.at === 'handing-over') return [state, [{ do: 'cancel-orphans' }]];
  return started(state, made);
}

/**
 * Handles a refused request. If the audio is recorded, the call may end without words and be recognised again later.
 * Otherwise the journal has the only copy, and the leg keeps it as long as for an unreachable service.
 */
function refused(before: Going, leg: LegFacts): SessionsStep<Going> {
  const state: Going = { ...before, request: 'refused' };
  const told: SessionsEffect[] = isHeard(state)
    ? []
    : [{ do: 'tell', state: { at: 'waiting', cause: 'refused' } }];
  return isFinishing(state) && leg.recording
    ? [state, [...told, { do: 'hopeless', cause: 'refused' }]]
    : [state, [...told, { do: 'retry-after', ms: refusedRetryMs }]];
}

// --- losing a session, and changing to the next -----------------------------------------------------

function sessionOver(before: Going, input: SessionOverInput, leg: LegFacts): SessionsStep {
  const { sessionId, reason, wasUseful } = input;
  const isCurrent = isHeard(before) && before.sessionId === sessionId;
  if (reason === 'dropped') return [isCurrent ? without(before) : before, []];
  const isInDoubt = isCurrent && input.hasSwallowed && input.isInDoubt;
  const { end } = before;
  const doubtMs = end.at === 'open' ? liveDoubtMs : end.finalsMs;
  const effects: SessionsEffect[] = [];
  if (isInDoubt) effects.push({ do: 'read-record', sessionId, doubtMs });
  else if (input.hasSwallowed) effects.push({ do: 'read-record', sessionId });
  effects.push({ do: 'changed' });
  if (!isCurrent) return [before, [...effects, { do: 'idle' }]];
  const state = { ...before, barren: wasUseful ? 0 : before.barren + 1 };
  // Audio that the session has heard must not be sent to the next one.
  if (isInDoubt) {
    const handOver = handOverOf(state);
    const doubt: InDoubt = { ...asking(state), at: 'in-doubt', sessionId, handOver };
    return [doubt, [...effects, { do: 'idle' }]];
  }
  const [after, more] = afterSession(state, leg);
  return [after, [...effects, ...more, { do: 'idle' }]];
}

/**
 * Moves on when the cut is reached: the old session only delivers its last messages, and the next one hears the leg.
 */
function afterCut(state: HandingOver | InDoubt, leg: LegFacts): SessionsStep<Going> {
  const [after, effects] = afterSession(state, leg);
  const retired: SessionsEffect[] = state.at === 'handing-over' ? [{ do: 'retire-session' }] : [];
  return [after, [...retired, ...effects]];
}

function afterSession(state: InDoubt | Hearing | HandingOver, leg: LegFacts): SessionsStep<Going> {
  const made = handOverOf(state)?.next;
  if (made) return started(state, made);
  const alone = without(state);
  if (alone.request !== 'none' || alone.barren <= barrenAtOnce) return ensure(alone, leg);
  // A leg has a limited number of sessions. If all of them end without a result, the leg pauses before it uses another.
  const maxMs = isFinishing(alone) ? barrenMs.finishing : barrenMs.max;
  const ms = backOffMs(alone.barren - barrenAtOnce - 1, { firstMs: barrenMs.first, maxMs });
  return [{ ...alone, request: 'pausing' }, [{ do: 'retry-after', ms }]];
}

/** Moves on when a new session hears the leg. If its request is already outdated, it is replaced at once. */
function started(before: Going, made: MadeSession): SessionsStep<Going> {
  const effects: SessionsEffect[] = [{ do: 'start', made }];
  if (isFinishing(before)) effects.push({ do: 'stop-session' });
  const state = hearing(before, made);
  if (!state.isOutdated) return [state, effects];
  const [after, more] = changeOver(state);
  return [after, [...effects, ...more]];
}

function linkChanged(
  before: Going,
  { sessionId, link }: Extract<SessionsInput, { type: 'link' }>,
  leg: LegFacts,
): SessionsStep {
  if (!isHeard(before) || before.sessionId !== sessionId) return [before, []];
  const state = { ...before, isOpen: link === 'open' };
  if (state.end.at === 'open') {
    const at = link === 'open' ? 'live' : 'resuming';
    return [state, [{ do: 'tell', state: { at, sessionId } }]];
  }
  if (link === 'open') return awaitFinals(state, leg);
  if (state.end.at !== 'last-words') return [state, []];
  return [{ ...state, end: { ...state.end, at: 'finishing' } }, [{ do: 'stop-finals' }]];
}

// --- the end ----------------------------------------------------------------------------------------

/** Handles the end of the audio. The session is told so. If audio still waits without a session, one is requested. */
function finish(
  before: Going,
  { finalsMs, withinMs }: Extract<SessionsInput, { type: 'finish' }>,
  leg: LegFacts,
): SessionsStep {
  const deadline: SessionsEffect = { do: 'await-deadline', ms: withinMs };
  const state: Going = { ...before, end: { at: 'finishing', finalsMs } };
  // Nobody spoke and no session exists yet, so none is needed.
  if (leg.isSettled && state.request === 'asked' && state.at === 'without' && leg.sessions === 0)
    return [{ ...state, request: 'none' }, [deadline, { do: 'withdraw-request' }]];
  if (state.request === 'refused' && leg.recording)
    return [state, [deadline, { do: 'hopeless', cause: 'refused' }]];
  const effects: SessionsEffect[] = [deadline];
  if (state.request === 'pausing') effects.push({ do: 'stop-retry' });
  const rested: Going = state.request === 'pausing' ? { ...state, request: 'none' } : state;
  if (isHeard(rested)) {
    const [after, more] = awaitFinals(rested, leg);
    return [after, [...effects, { do: 'stop-session' }, ...more]];
  }
  const [after, more] = ensure(rested, leg);
  return [after, [...effects, ...more]];
}

/** Starts the time for the last finals when the service has every byte and is reachable. */
function awaitFinals(state: Going, leg: LegFacts): SessionsStep<Going> {
  const { end } = state;
  if (end.at !== 'finishing' || !isHeard(state) || !state.isOpen || !leg.isSettled)
    return [state, []];
  return [
    { ...state, end: { ...end, at: 'last-words' } },
    [{ do: 'await-finals', ms: end.finalsMs }],
  ];
}

/**
 * Handles a service that has every byte and is reachable, but whose last words did not come through the socket. Its
 * record may have them.
 */
function finalsDue(before: Going): SessionsStep {
  const { end } = before;
  if (end.at !== 'last-words') return [before, []];
  const state: Going = { ...before, end: { ...end, at: 'finishing' } };
  if (!isHeard(state) || !state.isOpen) return [state, []];
  return [without(state), [{ do: 'say-late' }, { do: 'close-and-read' }, { do: 'idle' }]];
}

// --- from one state to another ----------------------------------------------------------------------

function asking({ request, barren, isOutdated, end }: Going): Asking {
  return { request, barren, isOutdated, end };
}

function without(state: Going): Without {
  return { ...asking(state), at: 'without' };
}

function hearing(state: Going, { id }: MadeSession): Hearing {
  return { ...asking(state), at: 'hearing', sessionId: id, isOpen: false };
}

function handOverOf(state: Going): CutOver | undefined {
  return state.at === 'handing-over' || state.at === 'in-doubt' ? state.handOver : undefined;
}

function then([state, effects]: SessionsStep, effect: SessionsEffect): SessionsStep {
  return [state, [...effects, effect]];
}
