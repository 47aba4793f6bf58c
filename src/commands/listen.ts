import type { Command } from 'commander';
import { systemClock, wait } from '../lib/clock.ts';
import { TrunklineError } from '../lib/errors.ts';
import { messagesOf, type StreamedMessage } from '../lib/event-stream.ts';
import { printable } from '../lib/printable.ts';
import { newWebhookSecret } from '../lib/webhook-signature.ts';
import { endpointOf, EndpointSetting, typesNamed } from '../outbox/config.ts';
import { queuedOf, Sender } from '../outbox/sender.ts';
import { fetchWithKey, isKeyRefused, keyRefused, type Api } from '../player/api-client.ts';
import { isLoopback } from '../port/addresses.ts';
import type { CallEvent } from '../protocol/events.ts';
import { withoutWords } from './for-reading.ts';
import { runningProcess, whyUnreachable } from './running-process.ts';
import { printJson, printLine, printNote } from './terminal.ts';

type ListenOptions = {
  forwardTo?: string;
  events: string;
  url?: string;
  json?: boolean;
  allowRemote?: boolean;
};

const connectWithinMs = 10_000;
/** The process sends a comment every 15 s. If three are missing, the connection counts as dead. */
const silentMs = 45_000;
const firstWaitMs = 500;
const longestWaitMs = 10_000;
const forwardWithinMs = 10_000;
/** After a reconnection the process repeats the events of the last two seconds. Known ids are left out. */
const maxIdsKept = 5_000;

/** `trunkline listen`: prints the events of a running installation, or forwards them to a program on this machine. */
export function registerListen(program: Command): void {
  program
    .command('listen')
    .description(
      "events of a running installation as they happen, here or at a developer's own webhook; the configured webhooks get theirs all the same",
    )
    .option(
      '--forward-to <url>',
      'sends each event there, signed, such as http://localhost:3000/hook',
    ) // prettier-ignore
    .option('--events <list>', 'types, or completed, live, all; with commas', 'all')
    .option('--url <url>', 'the running process; by default that of the settings')
    .option(
      '--allow-remote',
      'lets --forward-to lead to another machine: events hold what was said',
    ) // prettier-ignore
    .option('--json', 'one JSON line per event')
    .action(listenToEvents);
}

async function listenToEvents(options: ListenOptions): Promise<void> {
  const types = options.events.split(',').map((one) => one.trim());
  const chosen = typesNamed(types);
  if ('problem' in chosen) throw new TrunklineError('BAD_INPUT', `--events: ${chosen.problem}`);
  const target = options.forwardTo === undefined ? undefined : targetOf(options.forwardTo, options);
  const { api } = runningProcess(options.url);
  const stop = new AbortController();
  // The first signal ends the command in order. The handler is then gone, so a second signal ends the process at
  // once.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  // With --json every line of stdout is JSON, because a program reads it.
  const say: Say = options.json ? printNote : printLine;
  const secret = newWebhookSecret();
  await using forwarder =
    target === undefined ? undefined : new Forwarder(target, secret, stop.signal);
  const follower = new EventFollower(api, types, stop.signal, say, () => {
    say(`listening to ${api.url}: ${options.events}  (ctrl-c ends)`);
    if (target !== undefined) say(`forwarding to ${target}, signed with the secret of this session: ${secret}`); // prettier-ignore
  });
  let printed = 0;
  for await (const message of follower.events()) {
    const event = JSON.parse(message.data) as CallEvent;
    if (forwarder === undefined) {
      printed++;
      print(event, options);
      continue;
    }
    const outcome = await forwarder.forward(event, message.data);
    if (outcome === undefined) break;
    const { id, type, sequence } = event;
    if (options.json) printJson({ id, type, call_id: event.call.id, sequence, ...outcome }); // prettier-ignore
    else printLine(`${titleOf(event)}  ${outcome.status ?? 'no answer'}  ${outcome.ms} ms${outcome.reason === null ? '' : `  ${printable(outcome.reason)}`}`); // prettier-ignore
  }
  say(forwarder?.summary() ?? `${printed} ${printed === 1 ? 'event' : 'events'}`);
}

type Say = (line: string) => void;

function targetOf(text: string, { allowRemote }: ListenOptions): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new TrunklineError('BAD_INPUT', '--forward-to is no address: write it like http://localhost:3000/hook'); // prettier-ignore
  if (allowRemote !== true && !isLoopback(url.hostname))
    throw new TrunklineError('BAD_INPUT', `--forward-to leads to another machine (${url.hostname}), and events hold what was said: say --allow-remote if it may`); // prettier-ignore
  return url.href;
}

function titleOf(event: CallEvent): string {
  const time = new Date().toTimeString().slice(0, 8);
  return printable(`${time}  ${event.type} #${event.sequence} ${event.call.id}`);
}

function print(event: CallEvent, { json }: ListenOptions): void {
  if (json) return printJson(event);
  printLine(titleOf(event));
  printLine(`  ${JSON.stringify(event.data, withoutWords)}`);
}

/* ---- To the target ---- */

type Forwarded = { status: number | null; ms: number; reason: string | null };

/** Forwards events like the outbox: one after the other, each once. */
class Forwarder implements AsyncDisposable {
  readonly #sender: Sender;
  readonly #signal: AbortSignal;
  #taken = 0;
  #refused = 0;
  #unanswered = 0;

  constructor(url: string, secret: string, signal: AbortSignal) {
    const endpoint = { name: 'listen', url, secrets: [secret], timeoutMs: forwardWithinMs };
    this.#sender = new Sender(endpointOf(EndpointSetting.parse(endpoint)), systemClock);
    this.#signal = signal;
  }

  /** Returns undefined if the command was stopped meanwhile. */
  async forward(event: CallEvent, body: string): Promise<Forwarded | undefined> {
    const startedMs = systemClock.monotonicMs();
    const now = systemClock.now();
    const { verdict } = await this.#sender.send(
      queuedOf(event, body),
      forwardWithinMs,
      now,
      this.#signal,
    );
    if (this.#signal.aborted && verdict.status === null) return undefined;
    if (verdict.kind === 'delivered') this.#taken++;
    else if (verdict.status === null) this.#unanswered++;
    else this.#refused++;
    const reason = verdict.kind === 'delivered' ? null : verdict.reason;
    return {
      status: verdict.status,
      ms: Math.round(systemClock.monotonicMs() - startedMs),
      reason: reason === null || !verdict.answer ? reason : `${reason}: ${verdict.answer}`,
    };
  }

  summary(): string {
    const failed = [
      ...(this.#refused > 0 ? [`${this.#refused} refused`] : []),
      ...(this.#unanswered > 0 ? [`${this.#unanswered} without an answer`] : []),
    ];
    return [`${this.#taken} taken`, ...failed].join(', ');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#sender[Symbol.asyncDispose]();
  }
}

/* ---- From the process ---- */

/**
 * Reads the events of a process, each once and in order. It reads the next event when the last was taken, so nothing
 * waits here. A process that disconnects a slow reader is asked for the events after the last one.
 */
class EventFollower {
  readonly #api: Api;
  readonly #path: string;
  readonly #signal: AbortSignal;
  readonly #say: Say;
  readonly #onFirst: () => void;
  readonly #seen = new Set<string>();
  #lastId: string | undefined;
  /** The reason for a lost stream. It is printed once, however many retries follow. */
  #lost: string | undefined;

  constructor(
    api: Api,
    types: readonly string[],
    signal: AbortSignal,
    say: Say,
    onFirst: () => void,
  ) {
    this.#api = api;
    this.#path = `/api/live?events=${encodeURIComponent(types.join(','))}`;
    this.#signal = signal;
    this.#say = say;
    this.#onFirst = onFirst;
  }

  async *events(): AsyncGenerator<StreamedMessage, void> {
    for (let waitMs = firstWaitMs; !this.#signal.aborted;) {
      using line = new Line(this.#signal);
      try {
        const body = await this.#open(line);
        for await (const message of messagesOf(line.alive(body))) {
          waitMs = firstWaitMs;
          if (this.#isNew(message)) yield message;
          // Only an event that was taken is a place to resume from.
          this.#lastId = message.id ?? this.#lastId;
        }
        this.#losesLine('it closed the stream');
      } catch (error) {
        if (this.#signal.aborted) return;
        // A refusal would be repeated, and the first connection failed.
        if (error instanceof TrunklineError) throw error;
        this.#losesLine(line.isSilent ? 'it has fallen silent' : whyUnreachable(error));
      }
      await wait(systemClock, waitMs, this.#signal);
      waitMs = Math.min(longestWaitMs, waitMs * 2);
    }
  }

  #losesLine(why: string): void {
    if (this.#signal.aborted) return;
    if (this.#lost === undefined) this.#say(`${this.#api.url} is away: ${why}; trying again`);
    this.#lost = why;
  }

  async #open(line: Line): Promise<AsyncIterable<Uint8Array>> {
    const { url } = this.#api;
    let response: Response;
    try {
      response = await line.within(connectWithinMs, (signal) =>
        fetchWithKey(this.#api, this.#path, {
          headers: this.#lastId === undefined ? {} : { 'last-event-id': this.#lastId },
          signal,
        }),
      );
    } catch (error) {
      if (error instanceof TrunklineError) throw error;
      if (this.#lastId !== undefined || this.#signal.aborted) throw error;
      const why = line.isSilent ? 'no answer within 10 s' : whyUnreachable(error);
      throw new TrunklineError('UNREACHABLE', `nothing answers at ${url} (${why}): start it with npm start, or name another with --url`, { cause: error }); // prettier-ignore
    }
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    if (response.ok && response.body !== null && isStream) return response.body;
    await response.body?.cancel();
    if (isKeyRefused(response.status)) throw keyRefused(this.#api, response.status);
    if (response.status >= 500 && this.#lastId !== undefined)
      throw new Error(`it answered ${response.status}`);
    const hint =
      response.status === 404 || response.ok ? ': it runs no bridge, or is an older version' : '';
    throw new TrunklineError('UNREACHABLE', `${url} answered ${response.status}${hint}`);
  }

  #isNew({ id, event }: StreamedMessage): boolean {
    if (event === 'listening') {
      if (this.#lastId === undefined) this.#onFirst();
      if (this.#lost !== undefined) this.#say('listening again');
      this.#lost = undefined;
      return false;
    }
    if (event === 'reset')
      this.#say('NOT FORWARDED: more events came in the meantime than can be sent after; the API and the page have them'); // prettier-ignore
    if (id === undefined || this.#seen.has(id)) return false;
    this.#seen.add(id);
    for (const oldest of this.#seen) {
      if (this.#seen.size <= maxIdsKept) break;
      this.#seen.delete(oldest);
    }
    return true;
  }
}

/** One connection. It ends with the given signal, or when no data comes for too long while somebody waits. */
class Line implements Disposable {
  readonly #abort = new AbortController();
  readonly #signal: AbortSignal;
  readonly #end = (): void => this.#abort.abort();
  isSilent = false;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#end);
  }

  async within<T>(ms: number, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const cancel = systemClock.after(ms, () => {
      this.isSilent = true;
      this.#end();
    });
    try {
      return await run(this.#abort.signal);
    } finally {
      cancel();
    }
  }

  async *alive(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    const chunks = body[Symbol.asyncIterator]();
    for (;;) {
      const next = await this.within(silentMs, () => chunks.next());
      if (next.done === true) return;
      yield next.value;
    }
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this.#end);
    this.#abort.abort();
  }
}
