import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { carrierNames, carriers, type CarrierName } from '../../../src/carriers/all.ts';
import type { PlayedCall } from '../../../src/player/dialogue.ts';
import {
  fixtureLine,
  idsOf,
  readFixtureLines,
  type RecordedFrame,
} from '../../../src/player/fixture.ts';
import { Masker } from '../../../src/player/masking.ts';
import { play } from '../../../src/player/play.ts';
import { startRecorder } from '../../../src/player/recorder.ts';
import { replay } from '../../../src/player/replay.ts';
import { trackOf, usualForm } from '../../support/carriers/carrier-shape.ts';
import { carrierServer, type CarrierServer } from '../../support/carriers/carrier-server.ts';

const players = Object.values(carriers).map(({ player }) => player);

async function recordCall(
  server: CarrierServer,
  carrier: CarrierName,
  masker?: Masker,
): Promise<{ frames: RecordedFrame[]; sent: Buffer; call: PlayedCall }> {
  const frames: RecordedFrame[] = [];
  let ended: () => void = () => undefined;
  const end = new Promise<void>((resolve) => (ended = resolve));
  await using recorder = await startRecorder({
    host: '127.0.0.1',
    port: 0,
    to: server.url,
    onConversation: () => ({
      frame: (frame) => void frames.push(masker ? masker.mask(frame) : frame),
      end: () => ended(),
    }),
  });
  const player = carriers[carrier].player;
  const call: PlayedCall = {
    ...player.newIds(),
    legs: ['customer'],
    encoding: usualForm(carrier).encoding,
    rateHz: 8000,
    from: '+15557654321',
    to: '+4915112345678',
    direction: 'inbound',
    parameters: { crmCase: 'C-20417' },
    controlFormat: 'plain-text',
  };
  const sent = randomBytes(4_800);
  const result = await play({
    to: `ws://127.0.0.1:${recorder.port}/carriers/${carrier}`,
    player,
    call,
    audio: [{ leg: 'customer', bytes: sent }],
    speed: 10,
  });
  expect(result.outcome).toBe('played');
  await end;
  return { frames, sent, call };
}

describe.each(carrierNames)('a call of %s through the recorder', (carrier) => {
  test('reaches the bridge unchanged, is kept whole, and can be sent again as a new call', async () => {
    await using server = await carrierServer({ insecure: true });
    const { frames, sent, call } = await recordCall(server, carrier);
    const track = trackOf(carrier, 'customer');
    expect((await server.bridge.ended(0)).bytes(track).equals(sent)).toBe(true);
    expect(idsOf(frames, players)).toMatchObject({
      carrier,
      callId: carrier === 'asterisk' ? call.streamId : call.callId,
    });
    const again = readFixtureLines(frames.map(fixtureLine).join(''));
    const result = await replay({ players, to: server.url, frames: again, speed: 20 });
    const stream = await server.bridge.ended(1);
    expect(stream.bytes(track).equals(sent)).toBe(true);
    expect(stream.start.carrierCallId).toBe(result.callId);
    expect(result.callId).not.toBe(call.callId);
    expect(stream.counts()).toEqual({});
  });

  test('is masked: same frames and lengths, no number, no voice', async () => {
    await using server = await carrierServer({ insecure: true });
    const { frames, sent } = await recordCall(
      server,
      carrier,
      new Masker({ keepNumbers: false, keepAudio: false }),
    );
    const content = frames.map(fixtureLine).join('');
    for (const secret of [
      '5557654321',
      '15112345678',
      sent.subarray(0, 30).toString('base64'),
      sent.subarray(160, 190).toString('base64'),
    ])
      expect(content).not.toContain(secret);
    await replay({ players, to: server.url, frames: readFixtureLines(content), speed: 20 });
    const silence = usualForm(carrier).encoding === 'slin' ? 0 : 0xff;
    const stream = await server.bridge.ended(1);
    const track = trackOf(carrier, 'customer');
    expect(stream.bytes(track).equals(Buffer.alloc(sent.length, silence))).toBe(true);
    expect(stream.counts()).toEqual({});
  });
});

test('masking keeps what is not private and can be told to keep everything', () => {
  const text = JSON.stringify({
    timestamp: '1772617871000',
    from: '+15557654321',
    to: '+15557654321',
    callSid: 'CA1234567890',
    note: 'ring 15557654321 back',
    token: 'one-time',
  });
  const masked = new Masker({ keepNumbers: false, keepAudio: false }).mask({
    atMs: 0,
    from: 'carrier',
    text,
  });
  expect(masked).toEqual({ atMs: 0, from: 'carrier', text: expect.any(String) });
  expect(JSON.parse('text' in masked ? masked.text : '')).toEqual({
    timestamp: '1772617871000',
    from: '+15550100000',
    to: '+15550100000',
    callSid: 'CA1234567890',
    note: 'ring +15550100001 back',
    token: 'masked',
  });
  const kept = new Masker({ keepNumbers: true, keepAudio: true });
  expect(kept.mask({ atMs: 0, from: 'carrier', text })).toEqual({ atMs: 0, from: 'carrier', text });
  expect(kept.mask({ atMs: 0, from: 'carrier', base64: 'AQID' })).toEqual({
    atMs: 0,
    from: 'carrier',
    base64: 'AQID',
  });
});

test.each([
  'nonsense',
  '{"atMs":"0","from":"carrier","text":""}',
  '{"atMs":0,"from":"nobody","text":""}',
  '{"atMs":0,"from":"carrier"}',
])('a file with the line %s is refused with its number', (line) => {
  expect(() => readFixtureLines(`{"atMs":0,"from":"carrier","text":"x"}\n${line}\n`)).toThrow(
    /^line 2/,
  );
});

test.each(['//other/carriers/twilio', 'ftp://x/', 'http://other/', '/\\\\other/x', '*'])(
  'a request for %s reaches no host but the bridge, and the recorder goes on',
  async (target) => {
    await using server = await carrierServer({ insecure: true });
    const asked: string[] = [];
    const other = createServer((request) => asked.push(request.url ?? ''));
    other.on('upgrade', (request) => asked.push(request.url ?? ''));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const conversations: string[] = [];
    await using recorder = await startRecorder({
      host: '127.0.0.1',
      port: 0,
      to: server.url,
      onConversation: (path) => {
        conversations.push(path);
        return { frame: () => undefined, end: () => undefined };
      },
    });
    const host = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    for (let time = 0; time < 2; time++) {
      const socket = connect(recorder.port, '127.0.0.1');
      socket.write(
        `GET ${target.replace('other', host)} HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
          'authorization: Basic c2VjcmV0\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
      );
      expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 40[01]/);
      socket.destroy();
    }
    expect(asked).toEqual([]);
    expect(conversations).toEqual([]);
    other.close();
    other.closeAllConnections();
  },
);

test('the commands record and replay over processes of their own', async () => {
  await using server = await carrierServer({ insecure: true });
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-record-'));
  const command = (...words: string[]): ReturnType<typeof spawn> =>
    spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'src/cli.ts', ...words], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TRUNKLINE_DATA: folder },
    });
  const recorder = command(
    'record',
    '--listen',
    '127.0.0.1:0',
    '--to',
    server.url,
    '--out',
    folder,
  );
  try {
    const lines = createInterface({ input: recorder.stdout! });
    let port = '';
    let finished: () => void = () => undefined;
    const written = new Promise<void>((resolve) => (finished = resolve));
    const listening = new Promise<void>((resolve) => {
      lines.on('line', (line) => {
        port ||= /listening on ws:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1] ?? '';
        if (port !== '') resolve();
        if (line.includes('frames')) finished();
      });
    });
    await listening;
    const caller = command(
      'call',
      '--to',
      `ws://127.0.0.1:${port}/carriers/twilio`,
      '--no-watch',
      '--speed',
      '200',
    );
    // The recorder has no API to ask for a token; the bridge behind it is open to anyone.
    expect((await once(caller, 'exit'))[0]).toBe(0);
    await written;
    const other = command('replay', join(folder, 'missing.jsonl'));
    expect((await once(other, 'exit'))[0]).toBe(1);
    const { frames } = await recordCall(server, 'telnyx');
    await writeFile(join(folder, 'telnyx.jsonl'), frames.map(fixtureLine).join(''));
    const before = server.bridge.streams.length;
    const again = command(
      'replay',
      join(folder, 'telnyx.jsonl'),
      '--to',
      `${server.url}/carriers/telnyx`,
      '--speed',
      '20',
    );
    expect((await once(again, 'exit'))[0]).toBe(0);
    expect((await server.bridge.ended(before)).start.carrier).toBe('telnyx');
  } finally {
    recorder.kill('SIGINT');
    await once(recorder, 'exit');
    const files = (await readdir(folder)).filter((name) => name.endsWith('.jsonl'));
    for (const name of files) readFixtureLines(await readFile(join(folder, name), 'utf8'));
    await rm(folder, { recursive: true });
  }
});
