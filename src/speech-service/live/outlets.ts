import type { LiveRequest } from '../../protocol/live-request.ts';
import type { ServerMessage } from '../../protocol/live-messages.ts';
import type { CallbackQueue } from '../callbacks/queue.ts';
import { isWanted, kindOf } from './flags.ts';
import type { Outbound } from './outbound.ts';
import type { SessionLog } from './session-log.ts';

export type OutletsOptions = {
  sessionId: string;
  request: LiveRequest;
  socket: Outbound;
  journal: SessionLog;
  /** The session's own callback, when it asked for one. */
  callbacks: CallbackQueue | undefined;
  /** The account's webhooks. */
  webhooks: CallbackQueue[];
  errorMessages: boolean;
  startSessionMessage: boolean;
};

const webhookTypes = new Set(['start_session', 'start_recording', 'end_recording', 'end_session']);

/** Where a message goes: socket, callback, webhooks and the session's log, each under its own flags. */
export class Outlets {
  readonly #options: OutletsOptions;

  constructor(options: OutletsOptions) {
    this.#options = options;
  }

  get socket(): Outbound {
    return this.#options.socket;
  }

  emit(message: ServerMessage): void {
    this.emitText(message, JSON.stringify(message));
  }

  /** For a message whose text is stored before it is sent. */
  emitText(message: ServerMessage, text: string): void {
    const { request, socket, journal, callbacks } = this.#options;
    const kind = kindOf(message);
    const onSocket = this.isForSocket(message);
    const onCallback = callbacks !== undefined && isWanted(message, request.callback_config);
    // An ack concerns one socket only; stored, 50 a second would drown what matters.
    if ((onSocket && kind !== 'ack') || onCallback)
      journal.write({
        line: 'message',
        socket: onSocket && kind === 'message',
        callback: onCallback,
        text,
      });
    if (onSocket) socket.send(text, kind);
    this.#outside(message, text, onCallback);
  }

  /** For callbacks and webhooks only: what the socket learns by its close code. */
  emitOutside(message: ServerMessage): void {
    const { request, journal, callbacks } = this.#options;
    const text = JSON.stringify(message);
    const onCallback = callbacks !== undefined && isWanted(message, request.callback_config);
    if (onCallback) journal.write({ line: 'message', socket: false, callback: true, text });
    this.#outside(message, text, onCallback);
  }

  /** Stand-alone errors: off unless the operator says otherwise, some clients stop at the first. */
  emitError(message: ServerMessage): void {
    if (this.#options.errorMessages) this.emit(message);
  }

  isForSocket(message: ServerMessage): boolean {
    if (message.type === 'start_session' && !this.#options.startSessionMessage) return false;
    return isWanted(message, this.#options.request.messages_config);
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

  #outside(message: ServerMessage, text: string, onCallback: boolean): void {
    const { sessionId, callbacks, webhooks } = this.#options;
    if (onCallback) callbacks?.add(callbackBody(sessionId, message.type, text), kindOf(message));
    if (!webhookTypes.has(message.type)) return;
    const body = JSON.stringify({ event: `live.${message.type}`, payload: { id: sessionId } });
    for (const queue of webhooks) queue.add(body, 'message');
  }
}

/** The payload is the socket's message, byte for byte (notes 4.1). */
export function callbackBody(sessionId: string, type: string, text: string): string {
  return `{"id":"${sessionId}","event":"live.${type}","payload":${text}}`;
}
