import { until } from '../process/until.ts';
import type { AnyJson } from '../bridge/test-bridge.ts';

export type StreamMessage = { id: string | undefined; event: string; data: AnyJson };

/** Reads server-sent events as a browser does, including ids. */
export class EventStreamReader implements AsyncDisposable {
  readonly messages: StreamMessage[] = [];
  readonly #abort = new AbortController();
  #reading: Promise<void> = Promise.resolve();
  closed = false;

  static async open(url: string, headers: Record<string, string> = {}): Promise<EventStreamReader> {
    const reader = new EventStreamReader();
    const response = await fetch(url, { headers, signal: reader.#abort.signal });
    if (response.status !== 200 || response.body === null)
      throw new Error(`answered ${response.status}`);
    reader.#reading = reader
      .#read(response.body)
      .catch(() => undefined)
      .finally(() => {
        reader.closed = true;
      });
    return reader;
  }

  of(event: string): StreamMessage[] {
    return this.messages.filter((message) => message.event === event);
  }

  get lastId(): string | undefined {
    return this.messages.findLast((message) => message.id !== undefined)?.id;
  }

  waitFor(event: string, count = 1): Promise<StreamMessage[]> {
    return until(() => this.of(event).length >= count && this.of(event));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#reading;
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let text = '';
    const decoder = new TextDecoder();
    for await (const part of body) {
      text += decoder.decode(part, { stream: true });
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        this.#take(text.slice(0, end));
        text = text.slice(end + 2);
      }
    }
  }

  #take(block: string): void {
    const field = (name: string): string | undefined =>
      block
        .split('\n')
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2);
    const data = field('data');
    if (data === undefined) return;
    this.messages.push({
      id: field('id'),
      event: field('event') ?? 'message',
      data: JSON.parse(data),
    });
  }
}
