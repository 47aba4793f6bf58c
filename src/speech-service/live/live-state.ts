/**
 * Decides what a live session does next. It is pure: `LiveSession` owns the clock, the socket and the disk,
 * and carries out the effects that `step` returns.
 *
 *   queued ──audio──▶ recording ──stop, 1000, time-out──▶ finishing ──all said──▶ ended
 *      └────────────── stop, 1000, time-out ────────────────▲   └── cannot go on ──▶ ended (error)
 */
export type SessionState =
  /** The POST was answered, and no audio has come yet. */
  | { at: 'queued'; socket: boolean; everConnected: boolean }
  | { at: 'recording'; socket: boolean }
  /** No more audio is accepted. The received audio is recognised, and the result is sent and stored. */
  | { at: 'finishing'; socket: boolean; stopSeenHere: boolean }
  | { at: 'ended'; outcome: 'done' | 'error' };

export type Wait = 'never-connected' | 'idle' | 'abandoned' | 'longest';

export type SessionEvent =
  | { type: 'connected' }
  /** A client that closes with 1000 means stop. After any other code it may return. */
  | { type: 'disconnected'; code: number }
  /** `resent` marks audio in the first second of a socket, which the client may have held from before its stop. */
  | { type: 'audio'; resent: boolean }
  | { type: 'stop' }
  | { type: 'waited'; for: Wait }
  | { type: 'broken'; closeCode: number; reason: string; errorCode: number }
  /** All messages of the ending are sent and the result is stored. */
  | { type: 'finished' };

export type SessionEffect =
  | { do: 'close-replaced' }
  | { do: 'send-waiting' }
  | { do: 'start-recording' }
  | { do: 'take-audio' }
  | { do: 'refuse-audio' }
  | { do: 'ack-stop' }
  | { do: 'refuse-stop' }
  | { do: 'finish' }
  | { do: 'fail'; errorCode: number; reason: string }
  | { do: 'close'; code: number; reason: string };

export const firstState: SessionState = { at: 'queued', socket: false, everConnected: false };

export function step(state: SessionState, event: SessionEvent): [SessionState, SessionEffect[]] {
  switch (event.type) {
    case 'connected':
      return connected(state);
    case 'disconnected':
      return disconnected(state, event.code);
    case 'audio':
      return audio(state, event.resent);
    case 'stop':
      return stop(state);
    case 'waited':
      return waited(state, event.for);
    case 'broken':
      return broken(state, event);
    case 'finished':
      if (state.at === 'ended') return [state, []];
      return [{ at: 'ended', outcome: 'done' }, [{ do: 'close', code: 1000, reason: '' }]];
  }
}

/** The newer socket wins. Usually the older one is dead and has not noticed it. */
function connected(state: SessionState): [SessionState, SessionEffect[]] {
  const replaced: SessionEffect[] =
    'socket' in state && state.socket ? [{ do: 'close-replaced' }] : [];
  switch (state.at) {
    case 'queued':
      return [
        { ...state, socket: true, everConnected: true },
        [...replaced, { do: 'send-waiting' }],
      ];
    case 'recording':
      return [{ ...state, socket: true }, [...replaced, { do: 'send-waiting' }]];
    case 'finishing':
      // A client that resumes has forgotten that it stopped. The ending continues and goes to this socket.
      return [
        { at: 'finishing', socket: true, stopSeenHere: false },
        [...replaced, { do: 'send-waiting' }],
      ];
    case 'ended':
      return [
        state,
        [{ do: 'send-waiting' }, { do: 'close', code: 4403, reason: 'session ended' }],
      ];
  }
}

function disconnected(state: SessionState, code: number): [SessionState, SessionEffect[]] {
  if (state.at === 'ended') return [state, []];
  if (state.at === 'finishing') return [{ ...state, socket: false }, []];
  if (code === 1000) return [finishing(false), [{ do: 'finish' }]];
  return [{ ...state, socket: false }, []];
}

function audio(state: SessionState, resent: boolean): [SessionState, SessionEffect[]] {
  switch (state.at) {
    case 'queued':
      return [
        { at: 'recording', socket: state.socket },
        [{ do: 'start-recording' }, { do: 'take-audio' }],
      ];
    case 'recording':
      return [state, [{ do: 'take-audio' }]];
    case 'finishing':
      // The client held this audio when its socket was lost, and the session was finished meanwhile.
      return [
        state,
        [resent && !state.stopSeenHere ? { do: 'take-audio' } : { do: 'refuse-audio' }],
      ];
    case 'ended':
      return [state, [{ do: 'refuse-audio' }]];
  }
}

function stop(state: SessionState): [SessionState, SessionEffect[]] {
  switch (state.at) {
    case 'queued':
    case 'recording':
      return [
        { at: 'finishing', socket: state.socket, stopSeenHere: true },
        [{ do: 'ack-stop' }, { do: 'finish' }],
      ];
    case 'finishing':
      // The first stop on a new socket is accepted, because the client repeats a stop that was not answered.
      if (state.stopSeenHere) return [state, [{ do: 'refuse-stop' }]];
      return [{ ...state, stopSeenHere: true }, [{ do: 'ack-stop' }]];
    case 'ended':
      return [state, [{ do: 'refuse-stop' }]];
  }
}

function waited(state: SessionState, wait: Wait): [SessionState, SessionEffect[]] {
  if (state.at === 'finishing' || state.at === 'ended') return [state, []];
  if (wait === 'longest') return [finishing(state.socket), [{ do: 'finish' }]];
  // The timer fired after the state had changed, so its wait is over.
  if (waitOf(state) !== wait) return [state, []];
  switch (wait) {
    case 'never-connected':
      return [
        { at: 'ended', outcome: 'error' },
        [{ do: 'fail', errorCode: 408, reason: 'nobody connected' }],
      ];
    case 'idle':
      return [
        finishing(false),
        [{ do: 'close', code: 4408, reason: 'no audio received' }, { do: 'finish' }],
      ];
    case 'abandoned':
      return [finishing(false), [{ do: 'finish' }]];
  }
}

function broken(
  state: SessionState,
  { closeCode, reason, errorCode }: { closeCode: number; reason: string; errorCode: number },
): [SessionState, SessionEffect[]] {
  if (state.at === 'ended') return [state, []];
  return [
    { at: 'ended', outcome: 'error' },
    [
      { do: 'fail', errorCode, reason },
      { do: 'close', code: closeCode, reason },
    ],
  ];
}

function finishing(socket: boolean): SessionState {
  return { at: 'finishing', socket, stopSeenHere: true };
}

/** The event that a session in this state waits for. The limit of its total length runs in parallel. */
export function waitOf(state: SessionState): Exclude<Wait, 'longest'> | undefined {
  if (state.at !== 'queued' && state.at !== 'recording') return undefined;
  if (state.socket) return 'idle';
  return state.at === 'queued' && !state.everConnected ? 'never-connected' : 'abandoned';
}
