import { get } from './api.js';
import { connection } from './page-state.js';

/** @import { LiveFeedMessage } from './shapes.ts' */

const names = [
  'board',
  ...['call', 'partial', 'levels', 'reset', 'call-deleted'],
  ...['call.started', 'call.transcript', 'call.sentiment', 'call.entities', 'call.translation'],
  ...[
    'call.gap',
    'call.paused',
    'call.resumed',
    'call.dtmf',
    'call.agent',
    'call.ended',
    'call.summary',
  ],
  ...['call.hint', 'call.alert', 'call.checklist', 'call.tagged', 'call.signal'],
  ...['call.completed', 'call.wrapped'],
  ...['call.transcript.revised', 'call.warning', 'call.skipped'],
];

const tickMs = 5_000;
/** A timer that is this late means that the machine slept. The connection may be dead without the browser knowing. */
const sleptMs = 15_000;
const longestWaitMs = 10_000;

/**
 * One stream of server-sent events that survives restarts, sleep and a new sign-in. It continues after the last event
 * it saw, so nothing is missed or requested twice.
 * @template {{ type: string }} [Message=LiveFeedMessage]
 */
export class Feed {
  #path;
  #onMessage;
  #onState;
  /** @type {EventSource | undefined} */
  #source;
  #lastId = '';
  #waitMs = 1_000;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;
  #tick;
  #tickedAt = performance.now();
  #closed = false;

  /**
   * @param {string} path
   * @param {(message: Message) => void} onMessage
   * @param {(state: string) => void} onState
   */
  constructor(path, onMessage, onState) {
    this.#path = path;
    this.#onMessage = onMessage;
    this.#onState = onState;
    this.#tick = setInterval(() => this.#lookAtTheClock(), tickMs);
    window.addEventListener('online', this.#reopen);
    this.#open();
  }

  close() {
    this.#closed = true;
    clearInterval(this.#tick);
    clearTimeout(this.#retry);
    window.removeEventListener('online', this.#reopen);
    this.#source?.close();
  }

  #open() {
    if (this.#closed) return;
    this.#source?.close();
    this.#onState('connecting');
    const resume = this.#lastId ? `?last_event_id=${encodeURIComponent(this.#lastId)}` : '';
    const source = new EventSource(this.#path + resume);
    this.#source = source;
    source.addEventListener('open', () => {
      this.#waitMs = 1_000;
      connection.back();
      this.#onState('live');
    });
    source.addEventListener('error', () => this.#lost(source));
    for (const name of names) source.addEventListener(name, (event) => this.#take(event));
  }

  /** @param {MessageEvent<string>} event */
  #take(event) {
    if (event.lastEventId) this.#lastId = event.lastEventId;
    /** @type {Message} */
    const message = JSON.parse(event.data);
    if (message.type === 'reset') this.#lastId = '';
    this.#onMessage(message);
  }

  /**
   * The browser reconnects by itself after a cut, but not after an answer that is no stream.
   * @param {EventSource | undefined} source
   */
  #lost(source) {
    if (this.#closed || source === undefined || source !== this.#source) return;
    // A closed stream got an answer that is no stream. The next request shows the reason.
    const isAnswered = source.readyState === EventSource.CLOSED;
    if (!isAnswered) connection.lost();
    this.#onState('away');
    if (!isAnswered) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#tryAgain(), this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, longestWaitMs);
  }

  async #tryAgain() {
    // Checks first whether the page is still signed in, which it is not after a restart.
    const session = await get('/api/session').catch(() => undefined);
    if (this.#closed) return;
    if (session === undefined) this.#lost(this.#source);
    else if (!session.signed_in) this.#onState('signed-out');
    else this.#open();
  }

  #reopen = () => this.#open();

  #lookAtTheClock() {
    const now = performance.now();
    const slept = now - this.#tickedAt > sleptMs;
    this.#tickedAt = now;
    if (slept) this.#open();
  }
}
