import { connect } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { carriers } from '../../../src/carriers/all.ts';
import type { OpenedStream } from '../../../src/bridge/streams.ts';
import { maxHeldOpeningBytes } from '../../../src/bridge/opening-queue.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
  twilioStop,
} from '../../support/carriers/carrier-client.ts';
import { openingOf, readFixture } from '../../support/carriers/carrier-fixture.ts';
import { carrierServer, type CarrierServer } from '../../support/carriers/carrier-server.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { until } from '../../support/process/until.ts';

const frame = (at: number): Buffer => Buffer.alloc(160, at + 1);

async function liveCall(server: CarrierServer, start = twilioStart()): Promise<CarrierClient> {
  const client = await CarrierClient.open(`${server.url}/carriers/twilio`);
  client.send(twilioConnected, start, twilioMedia(2, frame(0)));
  await server.bridge.until(
    () => server.bridge.streams.at(-1)?.bytes('inbound').length === 160,
    'the first frame',
  );
  return client;
}

function openingFrames(name: string): (string | Buffer)[] {
  return openingOf(name).map(({ data, isBinary }) => (isBinary ? data : data.toString()));
}

describe('deadlines of a carrier socket', () => {
  test('silence and chatter without a start are closed after 5 s, and nothing was opened', async () => {
    const clock = new TestClock(1);
    await using server = await carrierServer({ insecure: true, clock });
    await using silent = await CarrierClient.open(`${server.url}/carriers/twilio`);
    await using unknown = await CarrierClient.open(`${server.url}/carriers`);
    await using chatty = await CarrierClient.open(`${server.url}/carriers/twilio`);
    chatty.send(twilioConnected, twilioMedia(2, frame(0)));
    await chatty.ping();
    await clock.pass(5_500);
    expect(await silent.untilClosed()).toEqual({ code: 1008, reason: 'no first message' });
    expect((await unknown.untilClosed()).code).toBe(1008);
    expect(await chatty.untilClosed()).toEqual({ code: 1008, reason: 'no start message' });
    expect(server.bridge.streams).toEqual([]);
  });

  test('a peer that answers no ping ends after 15 s, one that answers lives on', async () => {
    const clock = new TestClock(1);
    await using server = await carrierServer({ insecure: true, clock });
    await using alive = await liveCall(server);
    await using dead = await CarrierClient.open(
      `${server.url}/carriers/twilio`,
      {},
      { autoPong: false },
    );
    dead.send(twilioConnected, twilioStart({ callSid: 'CA2', streamSid: 'MZ2' }));
    await server.bridge.stream(1);
    for (let pings = 1; pings <= 2; pings++) {
      await clock.pass(11_000);
      await until(() => alive.pings === pings);
      await server.hasRead(alive);
    }
    expect((await server.bridge.ended(1)).ends).toEqual([
      { reason: 'error', detail: 'no answer to pings' },
    ]);
    expect((await server.bridge.stream(0)).ends).toEqual([]);
  });

  test('a carrier that goes quiet is not dead until the idle time; where closing would hang up, the socket stays', async () => {
    const clock = new TestClock(1);
    await using server = await carrierServer({
      insecure: true,
      clock,
      config: { idleTimeoutMs: 25_000 },
    });
    await using fork = await liveCall(server);
    await using held = await liveCall(
      server,
      twilioStart({ callSid: 'CA2', streamSid: 'MZ2', tracks: ['inbound'] }),
    );
    await server.bridge.stream(1);
    for (let step = 1; step <= 2; step++) {
      await clock.pass(9_000);
      await Promise.all([fork.ping(), held.ping()]);
    }
    expect((await server.bridge.stream(0)).ends).toEqual([]);
    await clock.pass(9_000);
    expect((await server.bridge.ended(0)).ends).toEqual([{ reason: 'idle', detail: undefined }]);
    expect((await server.bridge.ended(1)).ends).toEqual([{ reason: 'idle', detail: undefined }]);
    expect((await fork.untilClosed()).code).toBe(1000);
    expect(held.closed).toBeUndefined();
  });

  test('Asterisk is not pinged unless the operator says that its version bears it', async () => {
    const clock = new TestClock(1);
    await using server = await carrierServer({ insecure: true, clock });
    await using client = await CarrierClient.open(`${server.url}/carriers/asterisk`);
    client.send(...openingFrames('asterisk-plain'));
    await server.bridge.stream();
    // Twice the time in which a peer that is pinged must answer.
    await clock.pass(32_000);
    await client.ping();
    expect(client.pings).toBe(0);
    expect((await server.bridge.stream()).ends).toEqual([]);
  });
});

describe('the end of a stream happens once', () => {
  test.each([
    [
      'stop, then close',
      async (client: CarrierClient) => {
        client.send(twilioStop);
        await client.close(1000);
      },
      'stop',
    ],
    [
      'stop twice',
      async (client: CarrierClient) => {
        client.send(twilioStop, twilioStop);
        await client.close();
      },
      'stop',
    ],
    ['close 1000 without stop', (client: CarrierClient) => client.close(1000), 'close'],
    ['close 1001 without stop', (client: CarrierClient) => client.close(1001), 'close'],
    ['close without a code', (client: CarrierClient) => client.close(), 'close'],
    [
      'a cut',
      (client: CarrierClient) => {
        client.socket.terminate();
        return Promise.resolve();
      },
      'close',
    ],
    [
      'stop and a cut',
      async (client: CarrierClient) => {
        client.send(twilioStop);
        await client.ping();
        client.socket.terminate();
      },
      'stop',
    ],
    [
      'a frame that is too big',
      (client: CarrierClient) => {
        client.send('x'.repeat(70_000));
        return Promise.resolve();
      },
      'error',
    ],
  ] as const)('%s', async (_what, hangUp, reason) => {
    await using server = await carrierServer({ insecure: true });
    await using client = await liveCall(server);
    await hangUp(client);
    const stream = await server.bridge.ended();
    await client.untilClosed().catch(() => undefined);
    expect(stream.ends.map((end) => end.reason)).toEqual([reason]);
  });

  const states = ['connected', 'introduced', 'opening', 'live', 'stopped'] as const;
  const closes = [1000, 1001, undefined, 1006] as const;
  test.each(states.flatMap((state) => closes.map((code) => ({ state, code }))))(
    'a close with $code of a stream that is $state ends it once, and one that was never opened stays so',
    async ({ state, code }) => {
      await using server = await carrierServer({ insecure: true });
      let open: () => void = () => undefined;
      const opened = new Promise<void>((resolve) => (open = resolve));
      if (state === 'opening')
        server.bridge.answer = async () => {
          await opened;
          return undefined;
        };
      await using client = await CarrierClient.open(`${server.url}/carriers/twilio`);
      const said = [twilioConnected, twilioStart(), twilioMedia(2, frame(0)), twilioStop];
      client.send(...said.slice(0, { connected: 0, introduced: 1, opening: 3, live: 3, stopped: 4 }[state])); // prettier-ignore
      await client.ping();
      if (code === 1006) client.socket.terminate();
      else await client.close(code);
      if (state === 'connected' || state === 'introduced') {
        // A stream beside it is opened and ended meanwhile: nothing is still on its way.
        await using after = await liveCall(server);
        await after.close();
        expect((await server.bridge.ended(0)).ends.length).toBe(1);
        expect(server.bridge.streams.length).toBe(1);
        return;
      }
      open();
      const stream = await server.bridge.ended();
      expect(stream.ends.map(({ reason }) => reason)).toEqual([
        state === 'stopped' ? 'stop' : 'close',
      ]);
      expect(stream.bytes('inbound').equals(frame(0))).toBe(true);
    },
  );

  test('media after the stop is counted as late and not played', async () => {
    await using server = await carrierServer({ insecure: true });
    await using client = await liveCall(server);
    client.send(twilioStop, twilioMedia(3, frame(1)), twilioMedia(4, frame(2)));
    await client.ping();
    const stream = await server.bridge.ended();
    expect(stream.bytes('inbound').length).toBe(160);
    expect(stream.counts()).toEqual({ late: 2 });
  });

  test('a carrier that says stop and stays is shown out', async () => {
    const clock = new TestClock(1);
    await using server = await carrierServer({ insecure: true, clock });
    await using client = await liveCall(server);
    client.send(twilioStop);
    await server.bridge.ended();
    await clock.pass(11_000);
    expect((await client.untilClosed()).code).toBe(1000);
  });
});

describe('a failure of ours does not touch the phone call', () => {
  /** Closing would hang up, or move the call on. */
  const holding = ['twilio-connect', 'plivo-both', 'asterisk-plain'];
  const harmless = ['twilio-fork', 'telnyx-pcmu'];

  test.each(holding)(
    '%s: a bridge that refuses, fails or hangs leaves the socket open',
    async (name) => {
      await using server = await carrierServer({ insecure: true });
      const answers: (() => Promise<OpenedStream | undefined>)[] = [
        () => Promise.resolve({ outcome: 'refused', reason: 'disk low' }),
        () => Promise.reject(new Error('the store failed')),
        () => new Promise(() => undefined),
        () => Promise.resolve({ outcome: 'duplicate', callId: 'call_0' }),
      ];
      for (const answer of answers) {
        server.bridge.answer = answer;
        await using client = await CarrierClient.open(
          `${server.url}/carriers/${name.split('-')[0] ?? ''}`,
        );
        client.send(...openingFrames(name));
        await client.ping();
        await client.ping();
        expect(client.closed).toBeUndefined();
      }
      expect(server.bridge.streams).toEqual([]);
    },
  );

  test.each(harmless)('%s: a refused stream is closed with the reason', async (name) => {
    await using server = await carrierServer({ insecure: true });
    server.bridge.answer = () => Promise.resolve({ outcome: 'refused', reason: 'disk low' });
    await using client = await CarrierClient.open(
      `${server.url}/carriers/${name.split('-')[0] ?? ''}`,
    );
    client.send(...openingFrames(name));
    expect(await client.untilClosed()).toEqual({ code: 1003, reason: 'disk low' });
  });

  test('an error in the bridge while audio flows ends this stream only, and the socket stays', async () => {
    await using server = await carrierServer({ insecure: true });
    await using bad = await liveCall(server, twilioStart({ callSid: 'CA1', streamSid: 'MZ1' }));
    await using good = await liveCall(server, twilioStart({ callSid: 'CA2', streamSid: 'MZ2' }));
    const stream = await server.bridge.stream(0);
    stream.take = () => {
      throw new Error('a bug of the bridge');
    };
    bad.send(twilioMedia(3, frame(1)), twilioMedia(4, frame(2)));
    good.send(twilioMedia(3, frame(1)));
    await Promise.all([bad.ping(), good.ping()]);
    expect(stream.ends).toEqual([{ reason: 'error', detail: 'internal' }]);
    expect(bad.closed).toBeUndefined();
    expect((await server.bridge.stream(1)).bytes('inbound').length).toBe(320);
  });

  test('a bridge that fails with every event, while frames wait for a hole, ends this stream only', async () => {
    await using server = await carrierServer({ insecure: true });
    await using bad = await liveCall(server, twilioStart({ callSid: 'CA1', streamSid: 'MZ1' }));
    await using good = await liveCall(server, twilioStart({ callSid: 'CA2', streamSid: 'MZ2' }));
    const stream = await server.bridge.stream(0);
    stream.take = () => {
      throw new Error('a bug of the bridge');
    };
    // Frame 3 never comes: 4 and 5 wait for it when the unreadable one is counted.
    bad.send(twilioMedia(4, frame(1)), twilioMedia(5, frame(2)), '{"event":');
    good.send(twilioMedia(3, frame(1)));
    await Promise.all([bad.ping(), good.ping()]);
    expect(stream.ends).toEqual([{ reason: 'error', detail: 'internal' }]);
    expect(bad.closed).toBeUndefined();
    expect((await server.bridge.stream(1)).bytes('inbound').length).toBe(320);
  });

  test('a stream that cannot be made on the detecting path ends by itself, and nothing else', async () => {
    await using server = await carrierServer({ insecure: true });
    const newCodec = vi.spyOn(carriers.twilio, 'newCodec').mockImplementationOnce(() => {
      throw new Error('a bug of the codec');
    });
    await using bad = await CarrierClient.open(`${server.url}/carriers`);
    bad.send(twilioConnected, twilioStart());
    expect(await bad.untilClosed()).toMatchObject({ code: 1011 });
    newCodec.mockRestore();
    await using good = await liveCall(server);
    good.send(twilioMedia(3, frame(1)));
    await good.ping();
  });

  test('the same stream a second time is left open and unheard', async () => {
    await using server = await carrierServer({ insecure: true });
    await using first = await liveCall(server);
    server.bridge.answer = () => Promise.resolve({ outcome: 'duplicate', callId: 'call_0' });
    await using second = await CarrierClient.open(`${server.url}/carriers/twilio`);
    second.send(twilioConnected, twilioStart(), twilioMedia(2, frame(9)));
    await second.ping();
    first.send(twilioMedia(3, frame(1)));
    await first.ping();
    expect(second.closed).toBeUndefined();
    expect(server.bridge.streams.length).toBe(1);
    expect(
      (await server.bridge.stream()).bytes('inbound').equals(Buffer.concat([frame(0), frame(1)])),
    ).toBe(true);
  });

  test('an encoding that cannot be transcribed: Telnyx is told which setting to change, Asterisk keeps its call', async () => {
    await using server = await carrierServer({ insecure: true });
    await using telnyx = await CarrierClient.open(`${server.url}/carriers/telnyx`);
    telnyx.send(...openingFrames('telnyx-g722'));
    expect(await telnyx.untilClosed()).toEqual({
      code: 1003,
      reason: expect.stringContaining('stream_codec=PCMU'),
    });
    await using asterisk = await CarrierClient.open(`${server.url}/carriers/asterisk`);
    asterisk.send(...openingFrames('asterisk-opus'));
    await asterisk.ping();
    expect(asterisk.closed).toBeUndefined();
    expect(server.bridge.streams).toEqual([]);
    expect(server.log.join('')).toContain('c(ulaw)');
  });
});

describe('a bridge that takes its time', () => {
  test('AudioHook is answered at once, and what it says meanwhile is not lost', async () => {
    await using server = await carrierServer({ insecure: true });
    let open: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => (open = resolve));
    server.bridge.answer = async () => {
      await waiting;
      return undefined;
    };
    await using client = await CarrierClient.open(`${server.url}/carriers/audiohook`);
    const lines = readFixture('audiohook-stereo').filter(({ from }) => from === 'carrier');
    client.send(...lines.map(({ data, isBinary }) => (isBinary ? data : data.toString())));
    await client.ping();
    const types = client.received.map((text) => (JSON.parse(text) as { type: string }).type);
    expect(types).toEqual(['opened', 'pong', 'pong', 'updated', 'closed']);
    expect(server.bridge.streams).toEqual([]);
    open();
    const stream = await server.bridge.ended();
    expect(stream.bytes('external').length).toBe(4 * 1600);
    expect(stream.bytes('internal').length).toBe(4 * 1600);
    const happened = stream.happened.map(({ type }) => type);
    // A message before the audio tells how long its first byte has waited; one behind it tells that the wait is over.
    expect(happened).toEqual(['waited', 'paused', 'resumed', 'lost', 'lost', 'language', 'waited']);
    expect(stream.happened.at(-1)).toEqual({ type: 'waited', durationMs: 0 });
    expect(stream.ends).toEqual([{ reason: 'stop', detail: 'end' }]);
  });

  test('minutes of audio before the answer are bounded, and what had to go is declared', async () => {
    await using server = await carrierServer({ insecure: true });
    let open: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => (open = resolve));
    server.bridge.answer = async () => {
      await waiting;
      return undefined;
    };
    await using client = await CarrierClient.open(`${server.url}/carriers/twilio`);
    client.send(twilioConnected, twilioStart());
    const frames = 30_000;
    for (let at = 0; at < frames; at++) client.send(twilioMedia(at + 2, frame(at % 200)));
    await client.ping();
    open();
    const stream = await server.bridge.until(() => server.bridge.streams[0]);
    const kept = stream.bytes('inbound').length;
    const lost = stream.happened.reduce(
      (sum, event) => sum + (event.type === 'lost' ? event.durationMs * 8 : 0),
      0,
    );
    expect(kept).toBeLessThanOrEqual(maxHeldOpeningBytes);
    expect(lost).toBeGreaterThan(0);
    expect(kept + lost).toBe(frames * 160);
  });
});

test('AudioHook takes finals back, those after its close too, and only then its closed', async () => {
  const clock = new TestClock(1);
  await using server = await carrierServer({
    insecure: true,
    clock,
    config: { audiohookResults: true },
  });
  await using client = await CarrierClient.open(`${server.url}/carriers/audiohook`);
  const lines = readFixture('audiohook-stereo').filter(({ from }) => from === 'carrier');
  client.send(...lines.map(({ data, isBinary }) => (isBinary ? data : data.toString())));
  const stream = await server.bridge.ended();
  await client.ping();
  const types = (): string[] =>
    client.received.map((text) => (JSON.parse(text) as { type: string }).type);
  expect(types().at(-1)).toBe('updated');
  const final = {
    track: 'external',
    text: 'Goodbye.',
    startS: 1,
    endS: 2,
    confidence: 0.9,
    language: 'en',
  };
  stream.control.result?.(final);
  await clock.pass(2_000);
  stream.control.result?.({ ...final, track: 'internal' });
  await client.ping();
  expect(types().slice(-2)).toEqual(['event', 'event']);
  await clock.pass(4_500);
  await client.ping();
  expect(types().slice(-3)).toEqual(['event', 'event', 'closed']);
});

describe('bad input on the wire', () => {
  test('huge frames, floods of fragments and broken framing close their own socket and harm no other', async () => {
    await using server = await carrierServer({ insecure: true });
    await using good = await liveCall(server);
    await using huge = await CarrierClient.open(`${server.url}/carriers/twilio`);
    huge.send(
      twilioConnected,
      JSON.stringify(twilioStart({ customParameters: { note: 'x'.repeat(1_000_000) } })),
    );
    expect((await huge.untilClosed()).code).toBe(1009);
    await using shredded = await CarrierClient.open(`${server.url}/carriers/twilio`);
    for (let at = 0; at < 100; at++) shredded.socket.send('x', { fin: false });
    expect([1008, 1009]).toContain((await shredded.untilClosed()).code);
    await using compressed = await CarrierClient.open(
      `${server.url}/carriers/twilio`,
      {},
      { perMessageDeflate: true },
    );
    expect(compressed.socket.extensions).toBe('');
    good.send(twilioMedia(3, frame(1)));
    await good.ping();
    expect((await server.bridge.stream()).bytes('inbound').length).toBe(320);
  });

  test('truncated JSON, wrong types, unknown events and binary are counted, and the call goes on', async () => {
    await using server = await carrierServer({ insecure: true });
    await using client = await liveCall(server);
    client.send(
      '{"event":"media","media":{"pay',
      '[1]',
      { event: 'media', media: { track: 5, payload: {} } },
      { event: 'brand_new' },
      Buffer.alloc(160),
    );
    client.send(
      { event: 'media', sequenceNumber: '3', media: { track: 'inbound', payload: '!!!!' } },
      twilioStart(),
    );
    client.send(twilioMedia(3, frame(1)), twilioStop);
    const stream = await server.bridge.ended();
    expect(stream.counts()).toEqual({ malformed: 5, unknown: 1, duplicate: 1 });
    expect(stream.bytes('inbound').length).toBe(320);
  });

  test('a stream of nothing but rubbish ends; where closing is harmless it is closed', async () => {
    await using server = await carrierServer({ insecure: true });
    await using client = await liveCall(server);
    for (let at = 0; at < 120; at++) client.send('rubbish');
    expect((await server.bridge.ended()).ends).toEqual([
      { reason: 'error', detail: 'most frames are undecodable' },
    ]);
    expect((await client.untilClosed()).code).toBe(1003);
  });

  test('a message that drips in byte by byte never becomes a stream', async () => {
    const clock = new TestClock(1);
    await using server = await carrierServer({ insecure: true, clock });
    const raw = connect(server.port, '127.0.0.1');
    raw.on('error', () => undefined);
    raw.write(
      'GET /carriers/twilio HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    await new Promise((resolve) => raw.once('data', resolve));
    raw.write(Buffer.from([0x81, 0xfe, 0x00, 0xff, 0, 0, 0, 0, 0x7b]));
    await clock.pass(5_500);
    const closed = await new Promise((resolve) => {
      raw.on('data', (data: Buffer) => resolve(data[0]));
      raw.on('close', () => resolve('closed'));
    });
    expect([0x88, 'closed']).toContain(closed);
    raw.destroy();
    expect(server.bridge.streams).toEqual([]);
  });
});

describe('the process stops', () => {
  test('nothing new is taken, AudioHook is told, the calls are told once', async () => {
    await using server = await carrierServer({ insecure: true });
    await using twilio = await liveCall(server);
    await using audiohook = await CarrierClient.open(`${server.url}/carriers/audiohook`);
    audiohook.send(...openingFrames('audiohook-stereo'));
    await server.bridge.stream(1);
    const drained = server.part.drain?.(300);
    expect(await CarrierClient.connect(`${server.url}/carriers/twilio`)).toMatchObject({
      status: 503,
    });
    await drained;
    expect((await server.bridge.ended(0)).ends.map(({ reason }) => reason)).toEqual(['drain']);
    expect((await server.bridge.ended(1)).ends.map(({ reason }) => reason)).toEqual(['drain']);
    expect((await twilio.untilClosed()).code).toBe(1001);
    await audiohook.untilClosed();
    expect(JSON.parse(audiohook.received.at(-1) ?? '{}')).toMatchObject({
      type: 'disconnect',
      parameters: { reason: 'completed' },
    });
  });
});

test('neither numbers nor parameters nor tokens nor audio reach the log', async () => {
  await using server = await carrierServer();
  const { token } = await server.bridge.mintToken({ carrier: 'twilio' });
  await using client = await CarrierClient.open(`${server.url}/carriers/twilio`);
  const secrets = { from: '+15550100123', to: '+15550100200', note: 'Emily Johnson', token };
  client.send(
    twilioConnected,
    twilioStart({ customParameters: secrets }),
    'not json with Emily Johnson',
    twilioMedia(2, frame(0)),
    twilioStop,
  );
  await server.bridge.ended();
  const log = server.log.join('');
  expect(log).toContain('stream opened');
  for (const secret of [
    ...Object.values(secrets),
    '15550100123',
    frame(0).toString('base64').slice(0, 20),
  ])
    expect(log).not.toContain(secret);
});
