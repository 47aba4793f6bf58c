import type { ServerMessage } from '../../../protocol/live-messages.ts';
import type { LiveRequest } from '../../../protocol/live-request.ts';
import type { CallbackQueue } from '../../callbacks/callback-queue.ts';
import { isWanted, kindOf } from '../words/server-messages.ts';
import type { Outbound } from './outbound.ts';
import type { SessionLog } from './session-log.ts';
import type { SessionState } from '../live-state.ts';

type BroadcastOptions = {
  sessionId: string;
  request: LiveRequest;
  socket: Outbound;
  sessionLog: SessionLog;
  /** The callback that the session's request asked for. */
  callbacks: CallbackQueue | undefined;
  /** The account's webhooks. */
  webhooks: CallbackQueue[];
  /** Once-only messages that an earlier run of the process has already sent. */
  said: ReadonlySet<string>;
  webhooksTold: ReadonlySet<string>;
  errorMessages: boolean;
  startSessionMessage: boolean;
};

const webhookTypes = new Set<string>([
  'start_session',
  'start_recording',
  'end_recording',
  'end_session',
] satisfies WebhookEvent[]);

type WebhookEvent = 'start_session' | 'start_recording' | 'end_recording' | 'end_session';

/**
 * Sends each message of a session to its socket, its callback, the account's webhooks and its log. The
 * request's flags decide for socket and callback; webhooks receive the four events of a session's life.
 */
export class Broadcast {
  readonly #options: BroadcastOptions;

  constructor(options: BroadcastOptions) {
    this.#options = options;
  }

  get socket(): Outbound {
    return this.#options.socket;
  }

  emit(message: ServerMessage): void {
    this.emitText(message, JSON.stringify(message));
  }

  /** Sends a message whose text the caller has already stored. */
  emitText(message: ServerMessage, text: string): void {
    const { socket, sessionLog } = this.#options;
    const kind = kindOf(message);
    const onSocket = this.isForSocket(message);
    const onCallback = this.#isForCallback(message);
    // Acks are not logged: an ack concerns one socket only, and there are up to 50 in a second.
    if ((onSocket && kind !== 'ack') || onCallback)
      sessionLog.write({
        line: 'message',
        socket: onSocket && kind === 'message',
        callback: onCallback,
        text,
      });
    if (onSocket) socket.send(text, kind);
    this.#outside(message, text, onCallback);
  }

  /** Sends a message to the callback and the webhooks only. The socket's close code tells its client the same. */
  emitOutside(message: ServerMessage): void {
    const { sessionLog } = this.#options;
    const text = JSON.stringify(message);
    const onCallback = this.#isForCallback(message);
    if (onCallback) sessionLog.write({ line: 'message', socket: false, callback: true, text });
    this.#outside(message, text, onCallback);
  }

  /**
   * Sends a separate error message if the operator has switched these on. Some clients stop reading at the first one.
   */
  emitError(message: ServerMessage): void {
    if (this.#options.errorMessages) this.emit(message);
  }

  isForSocket(message: ServerMessage): boolean {
    const { startSessionMessage, said, request } = this.#options;
    if (message.type === 'start_session' && !startSessionMessage) return false;
    return !said.has(message.type) && isWanted(message, request.messages_config);
  }

  /** Resolves when every callback and webhook is delivered or given up. */
  async settled(): Promise<void> {
    const { callbacks, webhooks } = this.#options;
    await Promise.all([callbacks?.idle(), ...webhooks.map((queue) => queue.idle())]);
  }

  close(): void {
    this.#options.callbacks?.close();
    for (const queue of this.#options.webhooks) queue.close();
  }

  #isForCallback(message: ServerMessage): boolean {
    const { callbacks, said, request } = this.#options;
    if (callbacks === undefined || said.has(message.type)) return false;
    return isWanted(message, request.callback_config);
  }

  #outside(message: ServerMessage, text: string, onCallback: boolean): void {
    const { sessionId, callbacks, webhooks, webhooksTold } = this.#options;
    if (onCallback) callbacks?.add(callbackBody(sessionId, message.type, text), kindOf(message));
    if (!webhookTypes.has(message.type) || webhooksTold.has(message.type)) return;
    const body = webhookBody(sessionId, message.type);
    for (const queue of webhooks) queue.add(body, 'message');
  }
}

/** The payload of a callback is the socket's message, byte for byte, because clients compare the two. */
export function callbackBody(sessionId: string, type: string, text: string): string {
  return `{"id":"${sessionId}","event":"live.${type}","payload":${text}}`;
}

export function webhookBody(sessionId: string, type: string): string {
  return JSON.stringify({ event: `live.${type}`, payload: { id: sessionId } });
}

/**
 * The webhook events, in order, that a restored session owes. An interrupted ending starts again at once, so its first
 * event is included.
 */
export function webhookEventsOf(state: SessionState, hasAudio: boolean): WebhookEvent[] {
  const begun: WebhookEvent[] = hasAudio ? ['start_session', 'start_recording'] : ['start_session'];
  if (state.at === 'finishing') return [...begun, 'end_recording'];
  if (state.at !== 'ended') return begun;
  return state.outcome === 'error'
    ? [...begun, 'end_session']
    : [...begun, 'end_recording', 'end_session'];
}
