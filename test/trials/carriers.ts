/**
 * The carriers at length: `node test/trials/carriers.ts [frames a carrier]`.
 * Mutated frames into every codec, a million frames out of order, 500 live legs that each claim another's call,
 * silent and dripping sockets, 10,000 mutated openings at the detecting address. Unauthenticated upgrades by the thousand are the trial `upgrade-flood`.
 */
import { connect, type Socket } from 'node:net';
import { carriers } from '../../src/carriers/all.ts';
import { carrierNames, type CarrierName } from '../../src/carriers/all.ts';
import { CarriersConfig } from '../../src/carriers/config.ts';
import { FrameOrder } from '../../src/carriers/json/frame-order.ts';
import { randomFrom } from '../../src/player/faults.ts';
import { twilioSignature } from '../../src/carriers/twilio/player.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
  twilioStop,
} from '../support/carriers/carrier-client.ts';
import {
  fixtureNames,
  openingOf,
  readFixture,
  upgradeRequest,
} from '../support/carriers/carrier-fixture.ts';
import { provenConfig } from '../support/carriers/proven-config.ts';
import { carrierServer, type CarrierServer } from '../support/carriers/carrier-server.ts';
import { upgrade } from '../support/faults/upgrade-flood.ts';

const authToken = 'twilio-secret-of-the-trial';

export async function run(): Promise<string[]> {
  const frames = Number(process.argv[2] ?? 2_000_000);
  return [
    ...carrierNames.map((name) => fuzz(name, frames)),
    permute(1_000_000),
    await swapped(500),
    await slow(500, 200, 50),
    await mutatedOpenings(10_000),
  ];
}

function broken(line: string): string {
  process.exitCode = 1;
  return `BROKEN ${line}`;
}

/** Nothing is thrown past the codec, and no frame holds the loop for 100 ms. */
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
  const text = `${name}: ${rounds} frames, ${counted} counted as odd, longest ${worstMs.toFixed(1)} ms`;
  return worstMs < 100 ? text : broken(text);
}

/** Shuffled within the window, every byte comes out in order. */
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
      if (event.type === 'lost') return broken(`frame ${number} was declared lost`);
      if (event.type === 'audio' && event.payload.readUInt32BE() !== expected++)
        return broken(`frame ${number} out of order`);
    }
  }
  return expected === frames + 1
    ? `${frames} frames permuted, all in order`
    : broken(`${expected - 1} of ${frames} came out`);
}

async function signedCall(server: CarrierServer, at: number): Promise<{ client: CarrierClient }> {
  const url = `${server.url}/carriers/twilio`;
  const client = await CarrierClient.open(url, {
    'x-twilio-signature': twilioSignature(url, authToken),
  });
  client.send(twilioConnected, twilioStart({ callSid: `CA${at}`, streamSid: `MZ${at}` }));
  return { client };
}

/** Every leg holds a token of its own call and claims another's. */
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
  const text = `${legs} legs with another's call id: ${refused} refused, ${server.bridge.streams.length} crossings`;
  return refused === legs && server.bridge.streams.length === 0 ? text : broken(text);
}

/** Silent and dripping sockets are gone within 15 s; the good calls lose nothing. */
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
  const text = `${silent} silent and ${dripping} dripping sockets gone after ${goneS.toFixed(1)} s, ${exact} of ${good} good calls byte-exact`;
  return goneS < 15 && exact === good ? text : broken(text);
}

/** With every carrier's secret set: none is let in, and none is taken for another carrier's. */
async function mutatedOpenings(rounds: number): Promise<string> {
  const random = randomFrom(20);
  const below = (limit: number): number => Math.floor(random() * limit);
  await using server = await carrierServer({ config: provenConfig() });
  const openings = fixtureNames().map((name) => ({
    name: name.split('-')[0] ?? '',
    frames: openingOf(name),
  }));
  const reasons = new Map<string, number>();
  const knock = async (round: number): Promise<void> => {
    const { frames } = openings[round % openings.length] ?? { frames: [] };
    const at = below(frames.length);
    const client = await CarrierClient.open(`${server.url}/carriers`);
    for (const [index, { data, isBinary }] of frames.entries()) {
      const bytes = Buffer.from(data);
      if (index === at && bytes.length > 0)
        for (let change = 0; change <= below(3); change++)
          bytes[below(bytes.length)] = isBinary ? below(256) : 32 + below(95);
      client.socket.send(isBinary ? bytes : bytes.toString('latin1'), { binary: isBinary });
    }
    await Promise.race([client.untilClosed(), client.ping().catch(() => undefined)]);
    await client.close();
    const reason = client.closed?.reason ?? '';
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  };
  for (let round = 0; round < rounds; round += 50)
    await Promise.all(Array.from({ length: 50 }, (_, at) => knock(round + at)));
  const told = [...reasons].map(([reason, count]) => `${count} ${reason || 'left before a word'}`);
  const text = `${rounds} mutated openings: ${server.bridge.streams.length} let in; ${told.join(', ')}`;
  return server.bridge.streams.length === 0 ? text : broken(text);
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
