import { InvalidArgumentError, Option, type Command } from 'commander';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../config.ts';
import { reasonOf, TrunklineError } from '../lib/errors.ts';
import { printable } from '../lib/printable.ts';
import { verifyWebhook } from '../lib/webhook-signature.ts';
import { withoutWords } from './for-reading.ts';
import { printJson, printLine, printNote } from './terminal.ts';

const misbehaviours = ['status', 'delay', 'hang', 'reset', 'drip', 'wrong-length'] as const;
type Misbehaviour = (typeof misbehaviours)[number];

type HooksOptions = {
  port: number;
  secret?: string;
  fail?: Misbehaviour;
  status: number;
  delayMs: number;
  every: number;
  times?: number;
  json?: boolean;
};

const bodyMaxBytes = 4 * 1_048_576;

/** `trunkline hooks`: runs a webhook receiver for tests. It prints and verifies events, and fails on request. */
export function registerHooks(program: Command): void {
  program
    .command('hooks')
    .description(
      'a webhook receiver on this machine: prints events, verifies signatures, fails on request',
    )
    .option('--port <port>', 'where it listens; 0 takes a free one', number, 9090)
    .option('--secret <whsec>', 'verifies with this; by default TRUNKLINE_WEBHOOK_SECRET')
    .addOption(new Option('--fail <how>', 'misbehaves').choices(misbehaviours))
    .option('--status <code>', 'the answer of --fail status', number, 500)
    .option('--delay-ms <ms>', 'of --fail delay and drip', number, 5_000)
    .option('--every <n>', 'misbehaves at every nth request only', number, 1)
    .option('--times <n>', 'misbehaves this often, then answers', number)
    .option('--json', 'one JSON line per event, with everything in it')
    .action(listen);
}

function number(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0)
    throw new InvalidArgumentError('a whole number is needed');
  return value;
}

async function listen(options: HooksOptions): Promise<void> {
  const { outbox } = loadConfig(process.env).config;
  const secrets = [options.secret ?? outbox.webhookSecret, outbox.webhookSecretOld].filter(
    (secret): secret is string => secret !== undefined,
  );
  if (secrets.length === 0)
    throw new TrunklineError(
      'CONFIG_INVALID',
      'No secret: give --secret or TRUNKLINE_WEBHOOK_SECRET (trunkline webhooks secret makes one)',
    );
  const seen = new Map<string, number>();
  const budget = { requests: 0, failures: options.times ?? Number.POSITIVE_INFINITY };
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const body = await receive(request);
      if (!body) return;
      const verdict = verifyWebhook(secrets, request.headers, body);
      const repeats = count(seen, String(request.headers['webhook-id']));
      const fails =
        options.fail !== undefined &&
        ++budget.requests % options.every === 0 &&
        budget.failures-- > 0;
      show(
        request,
        body,
        {
          verified: verdict.ok ? 'verified' : verdict.reason,
          repeats,
          fails: fails ? options.fail : undefined,
        },
        options,
      );
      if (!verdict.ok) response.writeHead(401).end();
      else if (fails && options.fail) await misbehave(options.fail, options, response);
      else response.writeHead(204).end();
    };
    answer().catch((error: unknown) => {
      printNote(`a request could not be answered: ${reasonOf(error)}`);
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port, '127.0.0.1', resolve);
  });
  // With --json every line of stdout is JSON, because a program reads it.
  (options.json ? printNote : printLine)(
    `receiving at http://127.0.0.1:${(server.address() as AddressInfo).port}/  (ctrl-c ends)`,
  );
}

/** Counts how often an id came before. The newest thousand ids are kept, which is enough to notice a repetition. */
function count(seen: Map<string, number>, id: string): number {
  const times = seen.get(id) ?? 0;
  seen.delete(id);
  seen.set(id, times + 1);
  if (seen.size > 1_000)
    for (const oldest of seen.keys()) return seen.delete(oldest) ? times : times;
  return times;
}

async function receive(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bodyMaxBytes) return void request.destroy();
      chunks.push(chunk);
    }
  } catch {
    return undefined; // the sender closed the connection before the end
  }
  return Buffer.concat(chunks);
}

type ReceivedWebhook = { verified: string; repeats: number; fails: Misbehaviour | undefined };

function show(
  request: IncomingMessage,
  body: Buffer,
  seen: ReceivedWebhook,
  options: HooksOptions,
): void {
  const text = body.toString('utf8');
  if (options.json) {
    const body = parsed(text) ?? text;
    printJson({ method: request.method, path: request.url, ...seen, body });
    return;
  }
  const event = parsed(text) as
    { type?: string; sequence?: number; call?: { id?: string }; data?: unknown } | undefined;
  const title =
    event?.type === undefined
      ? `${request.method ?? ''} ${request.url ?? ''}`
      : `${event.type} #${event.sequence ?? '?'} ${event.call?.id ?? ''}`;
  const notes = [
    seen.verified,
    ...(seen.repeats > 0 ? [`repetition ${seen.repeats}`] : []),
    ...(seen.fails ? [`fails: ${seen.fails}`] : []),
  ];
  // This text is not signed. A line break in it could fake further lines.
  printLine(`${printable(title)}  [${notes.join(', ')}]`);
  printLine(`  ${JSON.stringify(event?.data ?? event ?? text, withoutWords)}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // the body is shown as it came
  }
}

async function misbehave(
  how: Misbehaviour,
  options: HooksOptions,
  response: ServerResponse,
): Promise<void> {
  response.on('error', () => undefined); // the sender may disconnect before this answer ends
  switch (how) {
    case 'status':
      response.writeHead(options.status).end('as requested');
      return;
    case 'delay':
      await sleep(options.delayMs, undefined, { ref: false });
      response.writeHead(204).end();
      return;
    case 'hang':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'drip':
      response.writeHead(200, { 'content-length': 1_000_000 });
      for (let sent = 0; sent < 1_000_000 && !response.destroyed; sent++) {
        response.write('.');
        await sleep(options.delayMs, undefined, { ref: false });
      }
      return;
    case 'wrong-length':
      response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nshort');
      return;
  }
}
