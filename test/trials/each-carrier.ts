/**
 * Each carrier by its own player: `node test/trials/each-carrier.ts [carrier...]`.
 * - 50 legs for a minute in real time, byte for byte (SECONDS, LEGS);
 * - 200 hostile conversations, proven ones, beside an honest call that loses nothing (HOSTILE);
 * - kill -9 of the whole process in mid-call: after the restart the call ends, and its ledger comes out even;
 * - all carriers at once, 20 calls on one process, exact.
 * A line of figures for each; exit code 1 when one of them does not hold.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { carrierNames, carriers, type CarrierName } from '../../src/carriers/all.ts';
import { randomFrom } from '../../src/player/faults.ts';
import type { PlayedCall } from '../../src/player/dialogue.ts';
import { play } from '../../src/player/play.ts';
import { CarrierClient } from '../support/carriers/carrier-client.ts';
import { carrierServer, type CarrierServer } from '../support/carriers/carrier-server.ts';
import { trackOf, usualForm } from '../support/carriers/carrier-shape.ts';
import { playedCall } from '../support/carriers/played-call.ts';
import { provenConfig, provenEnv } from '../support/carriers/proven-config.ts';
import { startApp, type App } from '../support/process/app.ts';
import { until } from '../support/process/until.ts';
import { FakeSpeech } from '../support/speech/fake-speech.ts';

const seconds = Number(process.env['SECONDS'] ?? 60);
const legsAtOnce = Number(process.env['LEGS'] ?? 50);
const hostileCount = Number(process.env['HOSTILE'] ?? 200);
const config = provenConfig();

type SentLeg = { leg: 'customer' | 'agent'; bytes: Buffer };

function newCall(name: CarrierName): PlayedCall {
  const { encoding, rateHz, legs } = usualForm(name);
  return playedCall({ ...carriers[name].player.newIds(), encoding, rateHz, legs });
}

function audioOf(name: CarrierName, call: PlayedCall, lengthS: number): SentLeg[] {
  const { bytesPerMs } = usualForm(name);
  return call.legs.map((leg) => ({ leg, bytes: randomBytes(lengthS * 1_000 * bytesPerMs) }));
}

/** One call through its own framing; a sentence where something of it is not as it was sent. */
async function exactCall(
  server: CarrierServer,
  name: CarrierName,
  options: { lengthS: number; path?: string },
): Promise<string | undefined> {
  const call = newCall(name);
  const audio = audioOf(name, call, options.lengthS);
  const { player } = carriers[name];
  const result = await play({
    to: `${server.url}${options.path ?? `/carriers/${name}`}`,
    player,
    call,
    audio,
    secrets: carriers[name].playerSecrets(config),
    speed: 1,
  });
  if (result.outcome !== 'played') return `${result.outcome} ${result.detail}`;
  const find = () => server.bridge.streams.find(({ start }) => start.carrierCallId === call.callId);
  await until(() => find()?.ends.length === 1);
  const stream = find();
  for (const { leg, bytes } of audio)
    if (!stream?.bytes(trackOf(name, leg)).equals(bytes)) return `${leg}: bytes differ`;
  const odd = Object.keys(stream?.counts() ?? {});
  return odd.length > 0 ? `counted as odd: ${odd.join(', ')}` : undefined;
}

async function relay(name: CarrierName): Promise<string> {
  await using server = await carrierServer({ config });
  const perCall = usualForm(name).legs.length;
  const calls = Math.ceil(legsAtOnce / perCall);
  const faults = await Promise.all(
    Array.from({ length: calls }, () => exactCall(server, name, { lengthS: seconds })),
  );
  const wrong = faults.filter((fault) => fault !== undefined);
  return verdict(
    wrong.length === 0,
    `${name}: ${calls * perCall} legs for ${seconds} s, exact ${calls - wrong.length} of ${calls} calls ${wrong[0] ?? ''}`,
  );
}

const below = (random: () => number, limit: number): number => Math.floor(random() * limit);

/** A frame as the worst peer would send it. */
function spoiled(frame: string | Buffer, random: () => number): (string | Buffer)[] {
  const isText = typeof frame === 'string';
  const data = Buffer.from(frame);
  switch (below(random, 8)) {
    case 0:
      return [isText ? data.subarray(0, below(random, data.length)).toString() : data.subarray(0, below(random, data.length))]; // prettier-ignore
    case 1:
      if (data.length > 0) data[below(random, data.length)] = below(random, 256);
      return [isText ? data.toString('latin1') : data];
    case 2:
      return [frame, frame, frame, frame];
    case 3:
      return [randomBytes(1 + below(random, 4_000))];
    case 4:
      return [isText ? frame.replaceAll(/\d+/g, () => ['-1', '1e308', '99999999999999999999', '0'][below(random, 4)] ?? '0') : frame]; // prettier-ignore
    case 5:
      return [`${'['.repeat(2_000)}${']'.repeat(2_000)}`, '{"__proto__":{"event":"start"}}'];
    case 6:
      return [Buffer.alloc(0), ''];
    default:
      return [`{"event":"start","start":{"x":"${'y'.repeat(20_000)}"}}`, frame];
  }
}

async function hostileOne(server: CarrierServer, name: CarrierName, seed: number): Promise<void> {
  const random = randomFrom(seed);
  const { player } = carriers[name];
  const call = newCall(name);
  const url = `${server.url}/carriers/${name}`;
  const secrets = carriers[name].playerSecrets(config);
  const client = await CarrierClient.connect(url, player.headers(url, call, secrets), {
    protocols: [...(player.protocols ?? [])],
  });
  if (!(client instanceof CarrierClient)) throw new Error(`refused with ${client.status}`);
  const dialogue = player.newDialogue(call);
  const frames = [...dialogue.opening()];
  const frameBytes = usualForm(name).bytesPerMs * player.frameMs;
  for (let at = 0; at < 40; at++)
    frames.push(
      ...dialogue.media(
        call.legs.map((leg) => ({ leg, bytes: randomBytes(frameBytes) })),
        at * player.frameMs,
      ),
    );
  frames.push(...dialogue.closing(800));
  for (const frame of frames) {
    if (client.closed) break;
    client.send(...(random() < 0.3 ? spoiled(frame, random) : [frame]));
  }
  // Half of them are cut off, half say good-bye.
  if (seed % 2 === 0) client.socket.terminate();
  else await client.close().catch(() => client.socket.terminate());
}

async function hostile(name: CarrierName): Promise<string> {
  await using server = await carrierServer({ config });
  const honest = exactCall(server, name, { lengthS: 5 });
  let failed = '';
  for (let at = 0; at < hostileCount; at += 10)
    await Promise.all(
      Array.from({ length: 10 }, (_, of) =>
        hostileOne(server, name, at + of + 1).catch((error: unknown) => {
          failed = String(error);
        }),
      ),
    );
  const fault = await honest;
  await until(() => server.bridge.streams.every(({ ends }) => ends.length === 1), 90_000);
  const errors = server.log.filter((line) => line.includes('"level":50')).length;
  return verdict(
    fault === undefined && failed === '' && errors === 0,
    `${name}: ${hostileCount} hostile conversations, ${server.bridge.streams.length - 1} of them became streams and each ended once; ` +
      `the honest call ${fault ?? 'exact'}; errors of ours ${errors} ${failed}`,
  );
}

/** Killed under a live call: the next start ends it, and every byte that was counted is acknowledged or declared. */
async function killed(name: CarrierName): Promise<string> {
  await using speech = await FakeSpeech.start();
  const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-each-'));
  const env = {
    ...provenEnv(),
    TRUNKLINE_SPEECH_URL: speech.url,
    TRUNKLINE_ROLES: 'bridge',
    TRUNKLINE_REJOIN_WAIT_MS: '200',
  };
  const call = newCall(name);
  try {
    let receivedBefore = 0;
    {
      await using app = await startApp({ env, dataDir });
      const url = `${app.url.replace('http', 'ws')}/carriers/${name}`;
      void play({
        to: url,
        player: carriers[name].player,
        call,
        audio: audioOf(name, call, 30),
        secrets: carriers[name].playerSecrets(config),
        speed: 1,
      }).catch(() => undefined);
      await until(async () => {
        receivedBefore = (await firstCall(app))?.legs.reduce((sum, { ledger }) => sum + ledger.received, 0) ?? 0; // prettier-ignore
        return receivedBefore > 16_000;
      });
      await app.end('SIGKILL');
    }
    await using app = await startApp({ env, dataDir });
    await until(async () => (await firstCall(app))?.state === 'ended', 60_000);
    const after = await firstCall(app);
    const ledgers = after?.legs.map(({ ledger }) => ledger) ?? [];
    const received = ledgers.reduce((sum, ledger) => sum + ledger.received, 0);
    const isEven = ledgers.every(
      (one) => one.received === one.acknowledged + one.gaps + one.paused,
    );
    const events = (await json<{ items: { type: string }[] }>(app, `/api/calls/${after?.id ?? ''}/events?limit=1000`)).items; // prettier-ignore
    const ends = events.filter(({ type }) => type === 'call.ended').length;
    // Audio that was only in memory when the kill came: a fifth of a second of each leg.
    const lost = Math.max(0, receivedBefore - received);
    return verdict(
      isEven && ends === 1 && lost <= ledgers.length * usualForm(name).bytesPerMs * 200,
      `${name}: killed after ${receivedBefore} bytes, ${received} of them known after the restart, ledger ${isEven ? 'even' : 'UNEVEN'}, call.ended ${ends} times`,
    );
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

type Ledger = { received: number; acknowledged: number; gaps: number; paused: number };
type ListedCall = { id: string; state: string; legs: { ledger: Ledger }[] };

async function json<T>(app: App, path: string): Promise<T> {
  return (await (await app.get(path)).json()) as T;
}

async function firstCall(app: App): Promise<ListedCall | undefined> {
  const [first] = (await json<{ items: { id: string }[] }>(app, '/api/calls')).items;
  return first === undefined ? undefined : json<ListedCall>(app, `/api/calls/${first.id}`);
}

/** Twenty calls of all kinds at once through one process, on the one address where that can be. */
async function mixed(names: readonly CarrierName[]): Promise<string> {
  await using server = await carrierServer({ config });
  const calls = Array.from({ length: 20 }, (_, at) => names[at % names.length] ?? 'twilio');
  const faults = await Promise.all(
    calls.map(async (name, at) => {
      const path = at % 2 === 0 && name !== 'freeswitch' ? '/carriers' : `/carriers/${name}`;
      const fault = await exactCall(server, name, { lengthS: 20, path });
      return fault && `${name}: ${fault}`;
    }),
  );
  const wrong = faults.filter((fault) => fault !== undefined);
  return verdict(wrong.length === 0, `20 calls of ${names.length} carriers at once: exact ${20 - wrong.length} ${wrong.join('; ')}`); // prettier-ignore
}

/** Lines of code of the carrier's own folder, players and settings with it. */
async function linesOf(name: CarrierName): Promise<string> {
  const folder = new URL(`../../src/carriers/${name}/`, import.meta.url);
  const files = (await readdir(folder)).filter((file) => file.endsWith('.ts'));
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), 'utf8')));
  const lines = texts.flatMap((text) => text.split('\n')).filter((line) => line.trim() !== '');
  return `${name}: ${lines.length} lines in ${files.length} files`;
}

function verdict(holds: boolean, line: string): string {
  if (holds) return line.trim();
  process.exitCode = 1;
  return `BROKEN ${line.trim()}`;
}

if (import.meta.main) {
  const asked = process.argv.slice(2);
  const names = carrierNames.filter((name) => asked.length === 0 || asked.includes(name));
  console.log(await mixed(names));
  for (const name of names)
    for (const trial of [linesOf, hostile, killed, relay]) console.log(await trial(name));
}
