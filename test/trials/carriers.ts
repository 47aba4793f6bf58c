/**
 * The carriers at length: `node test/trials/carriers.ts [frames a carrier] [seconds of flood]`.
 * Mutated frames into every codec, a million frames out of order, unauthenticated upgrades by the thousand
 * beside good calls, 500 live legs that each claim another's call, silent and dripping sockets.
 */
import { connect, type Socket } from 'node:net';
import { carriers } from '../../src/carriers/all.ts';
import { carrierNames, type CarrierName } from '../../src/carriers/all.ts';
import { CarriersConfig } from '../../src/carriers/config.ts';
import { FrameOrder } from '../../src/carriers/frame-order.ts';
import { randomFrom } from '../../src/player/faults.ts';
import { voices } from '../../src/player/carriers/all.ts';
import { play, type PlayResult } from '../../src/player/play.ts';
import { twilioSignature } from '../../src/player/signing.ts';
import { startApp, type App } from '../support/app.ts';
import type { Json } from '../support/bridge.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
  twilioStop,
} from '../support/carrier-client.ts';
import { fixtureNames, readFixture, upgradeRequest } from '../support/carrier-fixture.ts';
import { carrierServer, type CarrierServer } from '../support/carrier-server.ts';
import { playedCall } from '../support/played-call.ts';
import { ScriptedSpeech, seededAudio } from '../support/scripted-speech.ts';
import { until } from '../support/until.ts';

const authToken = 'twilio-secret-of-the-trial';
const goodCalls = 5;
const floodPerSecond = 2_000;

export async function run(): Promise<string[]> {
  const frames = Number(process.argv[2] ?? 2_000_000);
  const floodS = Number(process.argv[3] ?? 10);
  return [
    ...carrierNames.map((name) => fuzz(name, frames)),
    permute(1_000_000),
    await flood(floodS),
    await swapped(500),
    await slow(500, 200, 50),
  ];
}

function broken(line: string): string {
  process.exitCode = 1;
  return `BROKEN ${line}`;
}

/** T9: nothing is thrown past the codec, and no frame holds the loop for 100 ms. */
function fuzz(name: CarrierName, rounds: number): string {
  const random = randomFrom(7);
  const below = (limit: number): number => Math.floor(random() * limit);
  const files = fixtureNames()
    .filter((file) => file.startsWith(name))
    .map((file) => readFixture(file).filter(({ from }) => from === 'carrier'));
  const config = CarriersConfig.parse({});
  let codec = carriers[name].newCodec(config, upgradeRequest());
  let worstMs = 0;
  let counted = 0;
  for (let round = 0; round < rounds; round++) {
    // A fresh conversation now and then, so that every state is met.
    if (round % 500 === 0) codec = carriers[name].newCodec(config, upgradeRequest());
    const lines = files[below(files.length)] ?? [];
    const line = lines[round % 500 < 4 ? round % 500 : below(lines.length)];
    if (!line) continue;
    const data = Buffer.from(
      line.data.subarray(0, random() < 0.2 ? below(line.data.length) : line.data.length),
    );
    if (random() < 0.7 && data.length > 0) data[below(data.length)] = below(256);
    // Processor time, not the wall's: other programs of the machine are not on trial.
    const before = process.cpuUsage();
    try {
      for (const event of codec.decode(data, line.isBinary)) if (event.type === 'count') counted++;
    } catch (error) {
      return broken(`${name}: round ${round} threw ${String(error)}`);
    }
    const { user, system } = process.cpuUsage(before);
    worstMs = Math.max(worstMs, (user + system) / 1_000);
  }
  const text = `T9 ${name}: ${rounds} frames, ${counted} counted as odd, longest ${worstMs.toFixed(1)} ms`;
  return worstMs < 100 ? text : broken(text);
}

/** F7: shuffled within the window, every byte comes out in order. */
function permute(frames: number): string {
  const random = randomFrom(3);
  const order = new FrameOrder({ tracks: 1, first: 1, firstIsSure: true });
  const due = Array.from({ length: frames }, (_, at) => ({
    number: at + 1,
    due: at + random() * 9,
  })).sort((a, b) => a.due - b.due);
  let expected = 1;
  for (const { number } of due) {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(number);
    for (const event of order.push({
      number,
      track: 'inbound',
      timestampMs: number * 20,
      durationMs: 20,
      payload,
    })) {
      if (event.type === 'lost') return broken(`F7 frame ${number} was declared lost`);
      if (event.type === 'audio' && event.payload.readUInt32BE() !== expected++)
        return broken(`F7 frame ${number} out of order`);
    }
  }
  return expected === frames + 1
    ? `F7 ${frames} frames permuted, all in order`
    : broken(`F7 ${expected - 1} of ${frames} came out`);
}

/**
 * T1: unsigned upgrades at the whole program, in a process of its own: no speech session comes of them, every
 * one is refused in words and counted, and the calls that go on lose nothing.
 */
async function flood(seconds: number): Promise<string> {
  await using speech = await ScriptedSpeech.start();
  await using app = await startApp({
    env: {
      TRUNKLINE_ROLES: 'bridge',
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_TWILIO_AUTH_TOKEN: authToken,
      TRUNKLINE_PLIVO_AUTH_TOKEN: 'plivo-secret-of-the-trial',
      TRUNKLINE_REJOIN_WAIT_MS: '200',
      TRUNKLINE_QUIET_FILL_MS: '0',
    },
  });
  const hangUp = new AbortController();
  const calls = Array.from({ length: goodCalls }, (_, at) =>
    playGood(app.url, at, seconds + 60, hangUp.signal),
  );
  const ledgers = async (): Promise<Json[]> => {
    const { items } = (await (await app.get('/api/calls')).json()) as Json;
    return items.map((call: Json) => ({ state: call.state, ...call.legs[0]?.ledger }));
  };
  await until(async () => {
    const all = await ledgers();
    return all.length === goodCalls && all.every(({ received }) => received > 8_000);
  });
  const refusedBefore = await refusedUpgrades(app);
  const port = Number(new URL(app.url).port);
  const startedMs = performance.now();
  const answers = new Map<string, number>();
  let sent = 0;
  let inFlight = 0;
  while (performance.now() - startedMs < seconds * 1_000) {
    // On schedule, but never more at once than a listener's queue holds.
    const due = ((performance.now() - startedMs) / 1_000) * floodPerSecond - sent;
    for (let one = 0; one < due && inFlight < 400; one++) {
      inFlight++;
      void knock(port, sent++).then((answer) => {
        inFlight--;
        answers.set(answer, (answers.get(answer) ?? 0) + 1);
      });
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await until(() => inFlight === 0);
  const tookS = (performance.now() - startedMs) / 1_000;
  const counted = (await refusedUpgrades(app)) - refusedBefore;
  hangUp.abort();
  const played = await Promise.all(calls);
  const ended = await until(async () => {
    const all = await ledgers();
    return all.every(({ state }) => state === 'ended') && all;
  }, 60_000);
  const sentBytes = played.map((result) => result.sentBytes['customer'] ?? 0).sort();
  const heardBytes = [...speech.sessions.values()].map(({ bytes }) => bytes.length).sort();
  const exact = sentBytes.filter((bytes, at) => bytes === heardBytes[at]).length;
  const noGaps = ended.every(({ gaps, received, acknowledged }) => gaps === 0 && received === acknowledged); // prettier-ignore
  const answered = [...answers.values()].reduce((sum, count) => sum + count, 0);
  const unreadable = [...answers].filter(
    ([answer]) =>
      !answer.includes('no stream token') &&
      !/^HTTP\/1\.1 (40[13]|503) [^]*\r\n\r\n\S/.test(answer),
  );
  const text =
    `T1 ${sent} unauthenticated upgrades in ${tookS.toFixed(1)} s (${Math.round(sent / tookS)} a second of ${floodPerSecond} asked for), ` +
    `${answered} answered, ${unreadable.length} of them not in words, ${counted} counted; ` +
    `${speech.created - goodCalls} speech sessions came of them; ${exact} of ${goodCalls} good calls byte-exact at the speech service, ` +
    `${noGaps ? 'no gap' : 'GAPS'} in their ledgers`;
  for (const [answer, count] of unreadable.slice(0, 5))
    console.error(count, JSON.stringify(answer));
  return answered === sent &&
    unreadable.length === 0 &&
    counted === sent &&
    exact === goodCalls &&
    noGaps &&
    speech.created === goodCalls
    ? text
    : broken(text);
}

function playGood(
  base: string,
  at: number,
  seconds: number,
  signal: AbortSignal,
): Promise<PlayResult> {
  return play({
    to: `${base.replace('http', 'ws')}/carriers/twilio`,
    voice: voices.twilio,
    call: playedCall({
      ...voices.twilio.newIds(),
    }),
    secrets: { twilioAuthToken: authToken },
    audio: [{ leg: 'customer', bytes: seededAudio(8_000 * seconds, at) }],
    speed: 1,
    signal,
  });
}

/** All upgrades that were not let in as proven ones, by the program's own count. */
async function refusedUpgrades(app: App): Promise<number> {
  const text = await (await app.get('/metrics')).text();
  const rows = text.matchAll(/^trunkline_carrier_upgrades_total\{.*outcome="([^"]+)"\} (\d+)$/gm);
  return [...rows].reduce((sum, [, outcome, count]) => sum + (outcome === 'proven' ? 0 : Number(count)), 0); // prettier-ignore
}

const wrong = Buffer.alloc(32, 7).toString('base64');
/** Each carrier with wrong credentials, and strangers with none who go on to their first messages. */
const strangers: { path: string; headers: string; speaks: boolean }[] = [
  { path: 'twilio', headers: 'X-Twilio-Signature: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n', speaks: false },
  { path: 'telnyx', headers: 'Authorization: Bearer not-the-secret\r\n', speaks: false },
  { path: 'audiohook', headers: 'X-API-KEY: not-the-key\r\n', speaks: false },
  { path: 'asterisk', headers: 'Authorization: Basic bm90OnRoZSBzZWNyZXQ=\r\n', speaks: false },
  { path: 'signalwire', headers: 'Authorization: Bearer not-the-secret\r\n', speaks: false },
  { path: 'plivo', headers: `X-Plivo-Signature-V3: ${wrong}\r\nX-Plivo-Signature-V3-Nonce: 1\r\n`, speaks: false },
  { path: 'twilio', headers: '', speaks: true },
  { path: '', headers: '', speaks: true },
]; // prettier-ignore

/** An upgrade by hand is cheaper than a whole client: the server is what is on trial. The answer, to its last byte. */
function knock(port: number, at: number): Promise<string> {
  return new Promise((resolve) => {
    const { path, headers, speaks } = strangers[at % strangers.length]!;
    // From many addresses: one alone would run out of ports.
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (at % 100)}` });
    let text = '';
    socket.on('error', (error) => (text ||= String(error)));
    socket.on('data', (data) => {
      text += data.toString('latin1');
      if (speaks && text.startsWith('HTTP/1.1 101') && text.endsWith('\r\n\r\n'))
        socket.write(Buffer.concat([unmasked(twilioConnected), unmasked(twilioStart())]));
      else if (text.includes('no stream token')) socket.destroy();
    });
    socket.on('close', () => resolve(text));
    socket.write(upgrade(`/carriers${path && `/${path}`}`, headers));
  });
}

/** A text frame as a client sends it, under a mask of zeros. */
function unmasked(message: object): Buffer {
  const payload = Buffer.from(JSON.stringify(message));
  const length = payload.length < 126 ? [0x80 | payload.length] : [0xfe, payload.length >> 8, payload.length & 255]; // prettier-ignore
  return Buffer.concat([Buffer.from([0x81, ...length, 0, 0, 0, 0]), payload]);
}

async function signedCall(server: CarrierServer, at: number): Promise<{ client: CarrierClient }> {
  const url = `${server.url}/carriers/twilio`;
  const client = await CarrierClient.open(url, {
    'x-twilio-signature': twilioSignature(url, authToken),
  });
  client.send(twilioConnected, twilioStart({ callSid: `CA${at}`, streamSid: `MZ${at}` }));
  return { client };
}

function upgrade(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers}\r\n`;
}

/** T4: every leg holds a token of its own call and claims another's. */
async function swapped(legs: number): Promise<string> {
  await using server = await carrierServer();
  const tokens = await Promise.all(
    Array.from({ length: legs }, (_, at) =>
      server.bridge.mintToken({ carrier: 'twilio', carrierCallId: `CA${at}` }),
    ),
  );
  const closed = await Promise.all(
    tokens.map(async ({ token }, at) => {
      const client = await CarrierClient.open(`${server.url}/carriers/twilio/${token}`);
      client.send(
        twilioConnected,
        twilioStart({ callSid: `CA${(at + 1) % legs}`, streamSid: `MZ${at}` }),
        twilioMedia(2, Buffer.alloc(160)),
      );
      return client.untilClosed();
    }),
  );
  const refused = closed.filter(
    ({ code, reason }) => code === 1008 && reason === 'stream token other-call',
  ).length;
  const text = `T4 ${legs} legs with another's call id: ${refused} refused, ${server.bridge.streams.length} crossings`;
  return refused === legs && server.bridge.streams.length === 0 ? text : broken(text);
}

/** T7: silent and dripping sockets are gone within 15 s; the good calls lose nothing. */
async function slow(silent: number, dripping: number, good: number): Promise<string> {
  await using server = await carrierServer({ config: { twilioAuthToken: [authToken] } });
  const calls = await Promise.all(Array.from({ length: good }, (_, at) => signedCall(server, at)));
  const sockets = [
    ...Array.from({ length: silent }, () => slowSocket(server.port, false)),
    ...Array.from({ length: dripping }, () => slowSocket(server.port, true)),
  ];
  const startedMs = performance.now();
  let frame = 0;
  const sending = setInterval(() => {
    for (const { client } of calls)
      client.send(twilioMedia(frame + 2, Buffer.alloc(160, frame & 255)));
    frame++;
  }, 20);
  await Promise.race([
    Promise.all(sockets.map(({ gone }) => gone)),
    new Promise((resolve) => setTimeout(resolve, 30_000)),
  ]);
  const goneS = (performance.now() - startedMs) / 1_000;
  clearInterval(sending);
  for (const { socket } of sockets) socket.destroy();
  for (const { client } of calls) client.send(twilioStop);
  await server.bridge.until(
    () => server.bridge.streams.every(({ ends }) => ends.length > 0),
    'the good calls to end',
  );
  const exact = server.bridge.streams.filter(
    (stream) => stream.bytes('inbound').length === frame * 160,
  ).length;
  const text = `T7 ${silent} silent and ${dripping} dripping sockets gone after ${goneS.toFixed(1)} s, ${exact} of ${good} good calls byte-exact`;
  return goneS < 15 && exact === good ? text : broken(text);
}

function slowSocket(port: number, drips: boolean): { socket: Socket; gone: Promise<void> } {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.resume();
  socket.write(upgrade('/carriers/twilio'));
  const message = Buffer.from([0x81, 0xfe, 0x00, 0xff, 0, 0, 0, 0]);
  let at = 0;
  const drip = drips
    ? setInterval(
        () => socket.write(message.subarray(at % message.length, (at++ % message.length) + 1)),
        500,
      )
    : undefined;
  const gone = new Promise<void>((resolve) => {
    socket.on('close', () => {
      clearInterval(drip);
      resolve();
    });
  });
  return { socket, gone };
}

for (const line of await run()) console.log(line);
