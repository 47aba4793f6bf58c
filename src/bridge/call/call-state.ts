import type { EndReason } from '../../protocol/events.ts';
import type { StreamEnd } from '../streams.ts';

/**
 * The deadline that passed before all finals had arrived: for the last words (`finals`), or for a service that is
 * unreachable (`finishWithin`).
 */
export type Deadline = 'finals' | 'finishWithin';

export type CallState =
  | { at: 'live'; streams: ReadonlySet<string> }
  /** No stream is open, but one may come back: the last stream closed without a stop, or this process was restarted. */
  | { at: 'waiting'; reason: EndReason; hungUpAt: number }
  /** The phone call is over. Some legs still have audio to send or finals to receive. */
  | {
      at: 'finishing';
      reason: EndReason;
      hungUpAt: number;
      deadline: Deadline | null;
      legs: ReadonlySet<string>;
    }
  /** Every leg has finished or missed its deadline. `call.ended` is being committed. */
  | { at: 'ending'; reason: EndReason; hungUpAt: number; deadline: Deadline | null }
  /** `call.ended` is durable. The call stays in memory until its summary is made. */
  | { at: 'ended' }
  /** The call was erased, or it is left to the next start of the process. This process does nothing more with it. */
  | { at: 'left' };

export type CallInput =
  | { type: 'stream-opened'; stream: string }
  | { type: 'stream-ended'; stream: string; how: StreamEnd; at: number; legs: ReadonlySet<string> }
  | { type: 'wait-over'; legs: ReadonlySet<string> }
  | { type: 'deadline-passed'; deadline: Deadline }
  | { type: 'leg-done'; leg: string }
  | { type: 'committed' }
  | { type: 'leave' };

export type Effect =
  /** Start the wait for a stream to come back. */
  | 'await-stream'
  | 'stop-waiting'
  /** Ask every leg to finish; each answers with `leg-done`. */
  | 'finish-legs'
  /** Declare the gaps and `call.ended` in one transaction; `committed` answers when it is durable. */
  | 'end'
  | 'summarise'
  | 'abandon-legs';

/**
 * Returns the next state of a call and its effects. Pure: `Call` owns the clock, the legs and the rows, and carries out
 * the effects.
 */
export function step(state: CallState, input: CallInput): [CallState, Effect[]] {
  if (input.type === 'leave')
    return state.at === 'ended' || state.at === 'left'
      ? [state, []]
      : [
          { at: 'left' },
          state.at === 'waiting' ? ['stop-waiting', 'abandon-legs'] : ['abandon-legs'],
        ];
  switch (state.at) {
    case 'live':
      if (input.type === 'stream-opened')
        return [{ at: 'live', streams: new Set([...state.streams, input.stream]) }, []];
      if (input.type === 'stream-ended') return streamEnded(state.streams, input);
      break;
    case 'waiting':
      // The new state forgets the hang-up: the call now ends when its last stream ends.
      if (input.type === 'stream-opened')
        return [{ at: 'live', streams: new Set([input.stream]) }, ['stop-waiting']];
      if (input.type === 'wait-over') return finish(state, input.legs);
      break;
    case 'finishing':
      if (input.type === 'deadline-passed')
        return [{ ...state, deadline: laterOf(state.deadline, input.deadline) }, []];
      if (input.type === 'leg-done') return legDone(state, input.leg);
      break;
    case 'ending':
      if (input.type === 'committed') return [{ at: 'ended' }, ['summarise']];
      break;
    case 'ended':
    case 'left':
      break;
  }
  return [state, []]; // an input without a meaning in this state changes nothing
}

/** The state after a start of a call whose row says `live`. Its streams count as ended now. */
export function recoveredLive(now: number): CallState {
  return { at: 'waiting', reason: 'restart', hungUpAt: now };
}

/** The call's state as the API and the row show it. */
export function publicState(state: CallState): 'live' | 'finishing' | 'ended' {
  switch (state.at) {
    case 'live':
    case 'waiting':
      return 'live';
    case 'finishing':
    case 'ending':
    case 'left':
      return 'finishing';
    case 'ended':
      return 'ended';
  }
}

/**
 * True if a stream may still join the call. A stream that comes after the end begins a new record, which continues this
 * one.
 */
export function takesStreams(state: CallState): boolean {
  return state.at === 'live' || state.at === 'waiting';
}

type HangUp = { reason: EndReason; hungUpAt: number };

function streamEnded(
  streams: ReadonlySet<string>,
  input: Extract<CallInput, { type: 'stream-ended' }>,
): [CallState, Effect[]] {
  if (!streams.has(input.stream)) return [{ at: 'live', streams }, []];
  const rest = new Set([...streams].filter((stream) => stream !== input.stream));
  // The call goes on while at least one of its streams is open.
  if (rest.size > 0) return [{ at: 'live', streams: rest }, []];
  const hungUpAt = input.at;
  switch (input.how) {
    case 'stop':
    case 'idle':
    case 'refused':
      return finish({ reason: input.how, hungUpAt }, input.legs);
    case 'close':
    case 'error':
      return [{ at: 'waiting', reason: input.how, hungUpAt }, ['await-stream']];
    case 'drain':
      // This process is shutting down. The next one waits for the stream.
      return [{ at: 'waiting', reason: 'drain', hungUpAt }, []];
  }
}

function finish({ reason, hungUpAt }: HangUp, legs: ReadonlySet<string>): [CallState, Effect[]] {
  const ended = { reason, hungUpAt, deadline: null };
  if (legs.size === 0) return [{ at: 'ending', ...ended }, ['end']];
  return [{ at: 'finishing', ...ended, legs }, ['finish-legs']];
}

/**
 * Returns the worse of two missed deadlines, which is reported as the cause of the end: audio that never reached the
 * service is worse than words that came too late.
 */
function laterOf(before: Deadline | null, passed: Deadline): Deadline {
  return before === 'finishWithin' ? before : passed;
}

function legDone(
  state: Extract<CallState, { at: 'finishing' }>,
  leg: string,
): [CallState, Effect[]] {
  const legs = new Set([...state.legs].filter((other) => other !== leg));
  if (legs.size > 0) return [{ ...state, legs }, []];
  const { reason, hungUpAt, deadline } = state;
  return [{ at: 'ending', reason, hungUpAt, deadline }, ['end']];
}
