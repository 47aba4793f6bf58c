import { type Command, InvalidArgumentError, Option } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { carrierNames, carriers, firstCarrier, type CarrierName } from '../carriers/all.ts';
import { reasonOf } from '../lib/errors.ts';
import { printable } from '../lib/printable.ts';
import { type Api, findCall, getCall, watchCall } from '../player/api-client.ts';
import type { Encoding } from '../player/dialogue.ts';
import type { Faults } from '../player/faults.ts';
import { legsOfFiles } from '../player/leg-samples.ts';
import { type CallPlan, playCall } from '../player/play-call.ts';
import type { PlayResult } from '../player/play.ts';
import type { ApiCall, LiveFeedMessage } from '../protocol/api.ts';
import type { Role } from '../protocol/events.ts';
import { personName } from '../protocol/people.ts';
import { decodedByFfmpeg } from '../hearing/media/whole-file.ts';
import { targetBridge } from './running-process.ts';
import { printLine, printNote } from './terminal.ts';

/** The bridge lists a call within this time after its start. */
const knownWithinMs = 10_000;
/** The last words may take this long after the call has been played. */
const endedWithinMs = 30_000;

/** `trunkline call`: plays a phone call, without a phone, as its carrier would send it. */
export function registerCall(program: Command): void {
  addCallOptions(
    program
      .command('call [audio...]')
      .description(
        'play a call as a carrier would: the built-in conversation, a stereo file (customer left), or two files (customer first); WAV, mu-law or A-law, and with ffmpeg MP3 and the like',
      ),
  ).action(async (audio: string[], options: CallCommandOptions) => {
    await call(audio, options);
  });
}

async function call(audio: string[], options: CallCommandOptions): Promise<void> {
  const { api, config, mayBeForeign, publicUrl } = targetBridge(options);
  const carrier = carriers[options.carrier];
  const stop = new AbortController();
  hangUpOnSignal(stop, options.watch && options.calls === 1);
  const plan: CallPlan = {
    player: carrier.player,
    to: options.to ?? api.url,
    secrets: carrier.playerSecrets(config.carriers),
    speed: options.speed,
    faults: faultsOf(options),
    parameters: options.param,
    dtmf: options.dtmf,
    direction: options.outbound ? 'outbound' : 'inbound',
    controlFormat: options.json ? 'json' : 'plain-text',
    signal: stop.signal,
    api,
    apiIsOptional: mayBeForeign,
    ...(audio.length > 0 ? { legs: await legsOfFiles(audio, decodedByFfmpeg) } : {}),
    encoding: options.encoding,
    rateHz: options.rate,
    fromNumber: options.from,
    toNumber: options.number,
    publicUrl,
  };
  if (options.calls > 1) return callMany(plan, options.calls);
  await callOne(plan, options.watch ? api : undefined);
}

/** The first Ctrl-C hangs up, as a person would. The last words may still be on their way. */
function hangUpOnSignal(stop: AbortController, watches: boolean): void {
  process.once('SIGINT', () => {
    stop.abort();
    const waits = watches ? `waits up to ${endedWithinMs / 1_000} s for the last words` : 'ends';
    printNote(`\nhangs up and ${waits}; Ctrl-C again ends at once`);
    process.once('SIGINT', () => process.exit(130));
  });
}

async function callOne(plan: CallPlan, api: Api | undefined): Promise<void> {
  const watching = new AbortController();
  let watched: Promise<string | undefined> = Promise.resolve(undefined);
  const printer = new TranscriptPrinter(process.stdout);
  const results = await playCall({
    ...plan,
    onStarted: ({ callId }) => {
      printLine(`${plan.player.name} call ${callId}`);
      if (api) watched = watch(api, callId, printer, watching.signal);
    },
  }).catch((error: unknown) => {
    // The call was never placed, so nothing has to be watched.
    watching.abort();
    throw error;
  });
  for (const result of results) report(result);
  if (results.every(({ outcome }) => outcome === 'refused')) {
    watching.abort();
    process.exitCode = 1;
    return;
  }
  const timer = setTimeout(() => watching.abort(), endedWithinMs);
  const id = await watched;
  clearTimeout(timer);
  printer.end();
  if (!api || id === undefined) return;
  const known = await getCall(api, id);
  printLine(`\n${known.id} ${known.state}`);
  for (const line of ledgerLines(known)) printLine(line);
  if (known.state !== 'ended')
    printLine(`\nThe rest is still to be transcribed: npx trunkline doctor ${known.id} shows why.`);
}

/** Prints the call's events. Returns its id when the call has ended or the time is over. */
async function watch(
  api: Api,
  carrierCallId: string,
  printer: TranscriptPrinter,
  signal: AbortSignal,
): Promise<string | undefined> {
  const id = await waitForCall(api, carrierCallId, signal);
  if (id === undefined) return undefined;
  try {
    for await (const message of watchCall(api, id, signal)) {
      printer.show(message);
      if (message.type === 'call.ended') break;
    }
  } catch (error) {
    if (!signal.aborted) printNote(`the transcript stopped coming: ${reasonOf(error)}`);
  }
  return id;
}

async function waitForCall(
  api: Api,
  carrierCallId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const untilMs = performance.now() + knownWithinMs;
  while (performance.now() < untilMs && !signal.aborted) {
    // A bridge of another product has no list of calls. The call is then played without a transcript.
    const found = await findCall(api, carrierCallId).catch(() => undefined);
    if (found) return found.id;
    await sleep(200, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

async function callMany(plan: CallPlan, calls: number): Promise<void> {
  const startedMs = performance.now();
  const results = (await Promise.all(Array.from({ length: calls }, () => playCall(plan)))).flat();
  const byOutcome = Map.groupBy(
    results,
    ({ outcome, detail }) => `${outcome}${detail === '' ? '' : ` (${detail})`}`,
  );
  for (const [outcome, these] of byOutcome) printLine(`${these.length} ${outcome}`);
  const bytes = results
    .flatMap(({ sentBytes }) => Object.values(sentBytes))
    .reduce((sum, one) => sum + one, 0);
  printLine(
    `${calls} calls, ${bytes} bytes of audio sent in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`,
  );
  if (results.some(({ outcome }) => outcome === 'refused' || outcome === 'failed'))
    process.exitCode = 1;
}

function report({ outcome, detail, sentBytes, framesDropped, framesReordered }: PlayResult): void {
  const sent = Object.entries(sentBytes)
    .map(([leg, bytes]) => `${leg} ${bytes} bytes`)
    .join(', ');
  const faults =
    framesDropped + framesReordered > 0
      ? `, ${framesDropped} frames dropped, ${framesReordered} out of order`
      : '';
  printLine(
    `-- ${outcome}${detail === '' ? '' : ` (${detail})`}: sent ${sent || 'nothing'}${faults}`,
  );
}

type CallCommandOptions = {
  carrier: CarrierName;
  to?: string;
  url?: string;
  speed: number;
  calls: number;
  drop?: number;
  reorder?: number | true;
  cut?: number;
  reopen?: number;
  stop: boolean;
  wrongCodec?: true;
  seed: number;
  encoding?: Encoding;
  rate?: number;
  from?: string;
  number?: string;
  outbound?: true;
  param: Record<string, string>;
  dtmf: { digit: string; atMs: number }[];
  json?: true;
  publicUrl?: string;
  watch: boolean;
};

function addCallOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--carrier <name>', 'whose protocol to speak')
        .choices([...carrierNames])
        .default(firstCarrier.name),
    )
    .option('--to <ws url>', 'the bridge; with a path of its own for a bridge that is not ours')
    .option('--url <http url>', 'operator API of the bridge, for the token and the transcript')
    .option('--speed <times>', 'faster than real time', positive, 1)
    .option('--calls <count>', 'how many calls to place at once', count, 1)
    .option('--drop <share>', 'share of media frames that never arrive, 2% or 0.02', share)
    .option('--reorder [share]', 'share of media frames that change places, 5% if not said', share)
    .option('--cut <time>', 'break the socket without a close, after 5s or 1500ms', duration)
    .option('--reopen <time>', 'after the cut a new stream of the same call goes on', duration)
    .option('--no-stop', 'hang up without a stop message')
    .option('--wrong-codec', 'send A-law where mu-law is declared, or the reverse')
    .option('--seed <number>', 'the same faults in the same places', count, 1)
    .addOption(
      new Option('--encoding <name>', 'what the stream carries').choices(['mulaw', 'alaw', 'slin']),
    )
    .option('--rate <hz>', 'sample rate of the stream', count)
    .option('--from <number>', 'the number of the customer')
    .option('--number <number>', 'the number called')
    .option('--outbound', 'the agent called the customer')
    .option('--param <name=value>', 'a custom parameter of the call, as often as needed', pair, {})
    .option('--dtmf <digit@time>', 'a key press, as often as needed: 5@3s', keyPress, [])
    .option('--json', 'control messages as JSON, where the carrier has two forms of them')
    .option(
      '--public-url <url>',
      'the address that signatures are made for; by default TRUNKLINE_PUBLIC_URL, for the process of these settings',
    )
    .option('--no-watch', 'do not show the transcript and the ledger');
}

function faultsOf(options: CallCommandOptions): Faults {
  return {
    seed: options.seed,
    drop: options.drop,
    ...(options.reorder === undefined
      ? {}
      : { reorder: options.reorder === true ? 0.05 : options.reorder }),
    cutAtMs: options.cut,
    reopenAfterMs: options.reopen,
    ...(options.stop ? {} : { noStop: true }),
    ...(options.wrongCodec ? { wrongCodec: true } : {}),
  };
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0) || value > 1000)
    throw new InvalidArgumentError('give a number above 0, 1000 at most');
  return value;
}

function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 1_000_000)
    throw new InvalidArgumentError('give a whole number above 0');
  return value;
}

function share(text: string): number {
  const value = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text);
  if (!(value >= 0 && value <= 1))
    throw new InvalidArgumentError('give a share such as 2% or 0.02');
  return value;
}

function duration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text);
  if (!match) throw new InvalidArgumentError('give a time such as 5s, 1500ms or 1m');
  return Number(match[1]) * { ms: 1, s: 1000, m: 60_000 }[(match[2] ?? 's') as 'ms' | 's' | 'm'];
}

function pair(text: string, before: Record<string, string>): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('give name=value');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

function keyPress(
  text: string,
  before: { digit: string; atMs: number }[],
): { digit: string; atMs: number }[] {
  const match = /^([0-9*#A-D])@(.+)$/.exec(text);
  if (!match) throw new InvalidArgumentError('give a key and a time, such as 5@3s');
  return [...before, { digit: match[1] ?? '', atMs: duration(match[2] ?? '') }];
}

const colours = { customer: '\u001b[36m', agent: '\u001b[33m', mixed: '\u001b[35m' } as const;
const dim = '\u001b[2m';
const plain = '\u001b[0m';
const clearLine = '\r\u001b[2K';

/** Prints the conversation as it comes: each party in its own colour, the latest partial dimmed on the last line. */
class TranscriptPrinter {
  readonly #out: NodeJS.WriteStream;
  readonly #isTerminal: boolean;
  #partials = new Map<string, string>();

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
    this.#isTerminal = out.isTTY;
  }

  show(message: LiveFeedMessage): void {
    switch (message.type) {
      case 'partial':
        return this.#partial(message.role, message.utterance.text);
      case 'call.transcript':
        return this.#final(message.leg?.role ?? 'customer', message.data.start, message.data.text);
      case 'call.gap':
        return this.#line(
          `${dim}-- gap of ${message.data.duration.toFixed(2)} s (${message.data.cause})${plain}`,
        );
      case 'call.paused':
      case 'call.resumed':
      case 'call.ended':
        return this.#line(`${dim}-- ${message.type}${plain}`);
      default:
    }
  }

  end(): void {
    if (this.#isTerminal) this.#out.write(clearLine);
  }

  #partial(role: Role, text: string): void {
    if (!this.#isTerminal) return;
    this.#partials.set(role, text);
    const room = Math.max(20, (this.#out.columns ?? 80) - 12);
    const line = printable(text);
    const shown = line.length > room ? `...${line.slice(3 - room)}` : line;
    const who = personName({ role }).padEnd(9);
    this.#out.write(`${clearLine}${dim}${colours[role]}${who} ${shown}${plain}`);
  }

  #final(role: Role, startS: number, text: string): void {
    this.#partials.delete(role);
    this.#line(
      `${dim}${startS.toFixed(1).padStart(6)}${plain} ${colours[role]}${personName({ role }).padEnd(9)} ${printable(text)}${plain}`,
    );
  }

  #line(text: string): void {
    const written = this.#isTerminal ? text : text.replace(/\u001b\[[0-9;]*m/g, '');
    this.#out.write(`${this.#isTerminal ? clearLine : ''}${written}\n`);
  }
}

/** Prints the ledger of every leg: received must equal acknowledged + gaps + paused, to the byte. */
function ledgerLines(call: ApiCall): string[] {
  const rows = call.legs.map(({ role, track, encoding, ledger }) => {
    const { received, acknowledged, gaps, paused } = ledger;
    const agrees = received === acknowledged + gaps + paused;
    // If no audio arrived, the ledger balances too (0 = 0). That is not a success.
    const exact = received === 0 ? 'NOTHING CAME' : 'exact';
    return [
      role,
      track,
      encoding,
      String(received),
      String(acknowledged),
      String(gaps),
      String(paused),
      agrees ? exact : call.state === 'ended' ? 'OFF' : 'under way',
    ];
  });
  const all = [
    ['role', 'track', 'encoding', 'received', 'acknowledged', 'gaps', 'paused', ''],
    ...rows,
  ];
  const widths =
    all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
