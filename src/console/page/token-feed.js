import { authorization } from './api.js';
import { connection } from './page-state.js';

const longestWaitMs = 10_000;

/**
 * A stream of server-sent events that shows a token in a header, which the browser's own reader of such streams cannot.
 * It continues after the last event it saw.
 * @template Message
 */
export class TokenFeed {
  #path;
  #onMessage;
  #onRefused;
  #lastId = '';
  #waitMs = 1_000;
  #abort = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;

  /**
   * @param {string} path
   * @param {(message: Message) => void} onMessage
   * @param {(status: number) => void} onRefused
   */
  constructor(path, onMessage, onRefused) {
    this.#path = path;
    this.#onMessage = onMessage;
    this.#onRefused = onRefused;
    void this.#read();
  }

  close() {
    clearTimeout(this.#retry);
    this.#abort.abort();
  }

  async #read() {
    const { signal } = this.#abort;
    try {
      const response = await fetch(this.#path, {
        ...{ cache: 'no-store', credentials: 'omit', signal },
        headers: { ...authorization(), ...(this.#lastId ? { 'last-event-id': this.#lastId } : {}) },
      });
      if ([401, 403, 404].includes(response.status)) return this.#onRefused(response.status);
      if (response.ok && response.body) {
        connection.back();
        this.#waitMs = 1_000;
        await this.#take(response.body);
      }
    } catch {
      if (!signal.aborted) connection.lost();
    }
    if (signal.aborted) return;
    this.#retry = setTimeout(() => void this.#read(), this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, longestWaitMs);
  }

  /** @param {ReadableStream<Uint8Array<ArrayBuffer>>} body */
  async #take(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += value;
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        this.#message(text.slice(0, end).split('\n'));
        text = text.slice(end + 2);
      }
    }
  }

  /** @param {readonly string[]} lines */
  #message(lines) {
    const field = (/** @type {string} */ name) =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const data = field('data');
    if (data === undefined || this.#abort.signal.aborted) return;
    this.#lastId = field('id') ?? this.#lastId;
    if (field('event') === 'reset') this.#lastId = '';
    // The only place where the type of a message is assumed: this page and the API have the same version.
    this.#onMessage(/** @type {Message} */ (JSON.parse(data)));
  }
}
