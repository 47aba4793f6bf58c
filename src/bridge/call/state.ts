import type { EndReason } from '../../protocol/events.ts';
import type { StreamEnd } from '../streams.ts';

/** The wait that ran out before every final was there: for the last words, or for a service that is away. */
export type Deadline = 'finals' | 'finishWithin';

export type CallState =
  | { at: 'live'; streams: ReadonlySet<string> }
  /** No stream, but one may come back: the last closed without a stop, or this process was restarted. */
  | { at: 'waiting'; reason: EndReason; hungUpAt: number }
  /** The phone call is over; legs still owe audio or finals. */
  | {
      at: 'finishing';
      reason: EndReason;
      hungUpAt: number;
      deadline: Deadline | null;
      legs: ReadonlySet<string>;
    }
  /** Every leg is done or out of time: `call.ended` is being committed. */
  | { at: 'ending'; reason: EndReason; hungUpAt: number; deadline: Deadline | null }
  /** `call.ended` is durable; the summary is owed until the call leaves memory. */
  | { at: 'ended' }
  /** Erased, or left to the next start of the process: nothing more happens here. */
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
  /** Gaps, then `call.ended`, in one transaction; answered with `committed`. */
  | 'end'
  | 'summarise'
  | 'abandon-legs';

/** What a call does next. Pure: `Call` owns the clock, the legs and the rows and carries out the effects. */
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
      // The hang-up is forgotten with this state: the call ends when its last stream does.
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
  return [state, []]; // an input that means nothing in this state changes nothing
}

/** A call whose rows say `live` when the process starts again: the end of its streams is now. */
export function recoveredLive(now: number): CallState {
  return { at: 'waiting', reason: 'restart', hungUpAt: now };
}

/** The call's state as the API and its row say it. */
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

/** Only a stream of a call that is not over may join it; later ones begin a record that continues it. */
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
  // While another stream of the call goes on, so does the call.
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
      // This process is going away; the next one waits for the stream.
      return [{ at: 'waiting', reason: 'drain', hungUpAt }, []];
  }
}

function finish({ reason, hungUpAt }: HangUp, legs: ReadonlySet<string>): [CallState, Effect[]] {
  const ended = { reason, hungUpAt, deadline: null };
  if (legs.size === 0) return [{ at: 'ending', ...ended }, ['end']];
  return [{ at: 'finishing', ...ended, legs }, ['finish-legs']];
}

/** Audio that never reached the service says more than words that came too late: it is what the end names. */
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
