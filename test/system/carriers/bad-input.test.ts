import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { carrierNames, type CarrierName } from '../../../src/carriers/all.ts';
import { framesTotal } from '../../../src/carriers/metrics.ts';
import { carriers } from '../../../src/carriers/all.ts';
import type { Frame } from '../../../src/player/dialogue.ts';
import { CarrierClient } from '../../support/carriers/carrier-client.ts';
import { CarrierLine } from '../../support/carriers/carrier-line.ts';
import { trackOf, usualForm } from '../../support/carriers/carrier-shape.ts';
import { carrierServer, type CarrierServer } from '../../support/carriers/carrier-server.ts';
import { until } from '../../support/process/until.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

async function oddFrames(carrier: CarrierName): Promise<Record<string, number>> {
  const { values } = await framesTotal.get();
  return Object.fromEntries(
    values
      .filter(({ labels }) => labels.carrier === carrier)
      .map(({ labels, value }) => [String(labels.what), value]),
  );
}

type FrameCounts = Record<string, number>;

/** Beside a call of the same carrier that loses nothing; the counters tell exactly this much. */
async function beside(
  carrier: CarrierName,
  counts: FrameCounts,
  misbehave: (server: CarrierServer, clock: TestClock, good: CarrierLine) => Promise<void>,
): Promise<void> {
  const clock = new TestClock(1);
  await using server = await carrierServer({
    insecure: true,
    clock,
    config: { idleTimeoutMs: 25_000 },
  });
  const before = await oddFrames(carrier);
  await using good = await CarrierLine.connect(server, carrier);
  await good.open();
  good.speak(20);
  await misbehave(server, clock, good);
  good.speak(20);
  await good.finish();
  const stream = await server.bridge.ended(0);
  good.expectWhole(stream);
  expect(stream.counts()).toEqual({});
  // A frame that is too big is counted by the socket a moment after its peer has heard of it.
  const told = await until(async () => {
    const after = await oddFrames(carrier);
    const changed = Object.entries(after).map(([what, value]): [string, number] => [
      what,
      value - (before[what] ?? 0),
    ]);
    const found = Object.fromEntries(changed.filter(([, count]) => count > 0));
    return Object.keys(found).length >= Object.keys(counts).length && found;
  });
  expect(told).toEqual(counts);
}

const family = {
  'truncated JSON': '{"event":"media","media":{"pay',
  'wrong types': '{"event":"media","sequenceNumber":[],"media":{"track":5,"payload":{}}}',
  'an unknown event': '{"event":"brand_new","media":{"track":"inbound","payload":"AAAA"}}',
  'binary where text belongs': Buffer.alloc(160),
};
const bandwidthFamily = {
  ...family,
  'truncated JSON': '{"eventType":"media","track":"inbound","pay',
  'wrong types': '{"eventType":"media","track":5,"payload":{}}',
  'an unknown event': '{"eventType":"brand_new","track":"inbound","payload":"AAAA"}',
};
const ringcxFamily = {
  ...family,
  'truncated JSON': '{"event":"Media","perspective":"Conference","med',
  'wrong types': '{"event":"Media","perspective":5,"sequenceId":{},"media":{}}',
};
const misplaced: Record<CarrierName, Record<keyof typeof family, Frame>> = {
  twilio: family,
  telnyx: family,
  signalwire: family,
  plivo: family,
  exotel: family,
  ringcx: ringcxFamily,
  bandwidth: bandwidthFamily,
  jambonz: {
    'truncated JSON': '{"event":"dt',
    'wrong types': '{"event":"dtmf","dtmf":{}}',
    'an unknown event': '{"event":"brand_new"}',
    // A sample for one of two channels.
    'binary where text belongs': Buffer.alloc(322),
  },
  freeswitch: {
    'truncated JSON': '{"event":"dt',
    'wrong types': '{"event":"dtmf","dtmf":{}}',
    'an unknown event': 'a text of the dialplan',
    'binary where text belongs': Buffer.alloc(322),
  },
  infobip: {
    'truncated JSON': '{"callId":"dt',
    'wrong types': '{"callId":{},"sampleRate":"none"}',
    'an unknown event': '{"event":"brand_new"}',
    'binary where text belongs': Buffer.alloc(321),
  },
  vonage: {
    'truncated JSON': '{"event":"websocket:dt',
    'wrong types': '{"event":"websocket:dtmf","digit":{},"dtmf":[]}',
    'an unknown event': '{"event":"websocket:brand_new"}',
    // Half a sample.
    'binary where text belongs': Buffer.alloc(321),
  },
  asterisk: {
    'truncated JSON': '{"event":"DTMF_E',
    'wrong types': '{"event":"DTMF_END","digit":{}}',
    'an unknown event': 'BRAND_NEW channel_id:1',
    'binary where text belongs': 'text where audio belongs',
  },
  audiohook: {
    'truncated JSON': '{"version":"2","type":"pi',
    'wrong types':
      '{"version":"2","type":"ping","id":5,"seq":"2","serverseq":{},"position":[],"parameters":7}',
    'an unknown event': '', // made below: it has to have the number and the session of its call
    // Two channels: no whole number of samples.
    'binary where text belongs': Buffer.alloc(161),
  },
};
/** Their audio stands in messages of its own and may come ahead of the first text. */
const holding: readonly CarrierName[] = ['asterisk', 'vonage', 'jambonz', 'freeswitch', 'infobip'];
const countOf = (what: string): FrameCounts => ({
  [what === 'an unknown event' ? 'unknown' : 'malformed']: 1,
});

describe.each(carrierNames)('bad input from %s beside a good call', (carrier) => {
  const endsBy = (what: string): boolean =>
    // AudioHook's specification ends a session whose text cannot be read.
    carrier === 'audiohook' && (what === 'truncated JSON' || what === 'wrong types');

  test.each(Object.keys(family) as (keyof typeof family)[])(
    '%s in the middle of a call is counted, and the call goes on or ends by the rule of its protocol',
    async (what) => {
      await beside(carrier, countOf(what), async (server) => {
        await using bad = await CarrierLine.connect(server, carrier);
        await bad.open();
        bad.speak(4);
        if (carrier === 'audiohook' && what === 'an unknown event')
          bad.slip(
            JSON.stringify({ version: '2', type: 'brand_new', id: bad.streamId, seq: 2, serverseq: 1, position: 'PT1S', parameters: {} }),
            1,
          ); // prettier-ignore
        else bad.slip(misplaced[carrier][what]);
        const stream = await server.bridge.stream(1);
        if (endsBy(what)) {
          await until(() => bad.client.received.length >= 3);
          expect(bad.client.received.map((text) => JSON.parse(text).type).slice(1)).toEqual([
            'disconnect',
            'closed',
          ]);
          expect(stream.ends.map(({ reason }) => reason)).toEqual(['error']);
          expect(stream.bytes('external').length).toBe(4 * 1_600);
          return;
        }
        bad.speak(5);
        await bad.finish();
        bad.expectWhole(await server.bridge.ended(1));
        expect(stream.counts()).toEqual(countOf(what));
      });
    },
  );

  test('media before the start is no audio of ours, only carriers with bare audio may send it', async () => {
    const isHeld = holding.includes(carrier);
    const early = carrier === 'audiohook' ? 1 : usualForm(carrier).legs.length;
    await beside(carrier, isHeld ? {} : { malformed: early }, async (server) => {
      await using bad = await CarrierLine.connect(server, carrier);
      await using other = await CarrierLine.connect(server, carrier);
      // Frames of another line of its carrier: they do not belong to what comes after them.
      await other.open();
      other.speak(1);
      const frames = other.frame();
      await other.finish();
      bad.client.send(...frames);
      await bad.open();
      bad.speak(5);
      await bad.finish();
      const stream = await server.bridge.ended(2);
      const track = trackOf(carrier, 'customer');
      const frameBytes = carriers[carrier].player.frameMs * usualForm(carrier).bytesPerMs;
      expect(stream.bytes(track).length).toBe((isHeld ? 6 : 5) * frameBytes);
    });
  });

  test('a second start is a repeat that changes nothing; AudioHook ends by its specification', async () => {
    const ends = carrier === 'audiohook';
    await beside(carrier, ends ? { malformed: 1 } : { duplicate: 1 }, async (server) => {
      await using bad = await CarrierLine.connect(server, carrier);
      const opening = bad.opening();
      bad.client.send(...opening);
      await bad.client.ping();
      await bad.client.ping();
      bad.speak(4);
      const again = opening.at(-1)!;
      bad.slip(ends ? JSON.stringify({ ...JSON.parse(String(again)), seq: 2 }) : again);
      const stream = await server.bridge.stream(1);
      if (ends) {
        await until(() => stream.ends.length > 0);
        expect(stream.ends).toEqual([{ reason: 'error', detail: 'open a second time' }]);
        return;
      }
      bad.speak(5);
      await bad.finish();
      bad.expectWhole(await server.bridge.ended(1));
      expect(server.bridge.streams.length).toBe(2);
    });
  });

  test.each(['text', 'binary'])('a huge %s frame ends its own stream with 1009', async (form) => {
    await beside(carrier, { malformed: 1 }, async (server) => {
      await using bad = await CarrierLine.connect(server, carrier);
      await bad.open();
      bad.speak(5);
      bad.slip(form === 'text' ? 'x'.repeat(1_000_000) : Buffer.alloc(1_000_000));
      expect((await bad.client.untilClosed()).code).toBe(1009);
      const stream = await server.bridge.ended(1);
      expect(stream.ends.map(({ reason }) => reason)).toEqual(['error']);
      const track = trackOf(carrier, 'customer');
      expect(stream.bytes(track).length).toBe(
        5 * carriers[carrier].player.frameMs * usualForm(carrier).bytesPerMs,
      );
    });
  });

  test('a parameter of a million bytes never becomes a stream', async () => {
    await beside(carrier, { malformed: 1 }, async (server) => {
      const note = 'x'.repeat(1_000_000);
      await using bad = await CarrierLine.connect(server, carrier, { note });
      const opening = bad.opening();
      // The parameters of Asterisk and RingCX stand in the address, which the port bounds: here one comes in the message.
      if (carrier === 'asterisk') opening[0] = `${String(opening[0])} note:${note}`;
      if (carrier === 'ringcx')
        opening[1] = String(opening[1]).replace('{"callId"', `{"note":"${note}","callId"`);
      bad.client.send(...opening);
      expect((await bad.client.untilClosed()).code).toBe(1009);
      expect(server.bridge.streams.length).toBe(1);
    });
  });

  test('a first message that drips in is shown out in words', async () => {
    await beside(carrier, {}, async (server, clock) => {
      const raw = connect(server.port, '127.0.0.1').on('error', () => undefined);
      raw.write(
        `GET /carriers/${carrier} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
          'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      );
      await new Promise((resolve) => raw.once('data', resolve));
      const closing = new Promise<Buffer>((resolve) => raw.once('data', resolve));
      const head = Buffer.from([0x81, 0xfe, 0x00, 0xff, 0, 0, 0, 0, 0x7b]);
      for (const byte of head) raw.write(Buffer.from([byte]));
      await clock.pass(5_500);
      // Opcode 8 is close, and its reason says what was missing.
      const frame = await closing;
      expect([frame[0], frame.subarray(4).toString()]).toEqual([0x88, 'no first message']);
      raw.destroy();
      expect(server.bridge.streams.length).toBe(1);
    });
  });
});

describe.each(carrierNames)('a message of %s that drips', (carrier) => {
  test('within a call keeps the socket, not the call: it is over after the idle time', async () => {
    await beside(carrier, {}, async (server, clock, good) => {
      await using bad = await CarrierLine.connect(server, carrier);
      await bad.open();
      bad.speak(3);
      await bad.client.ping();
      const { wire } = bad.client;
      wire.write(Buffer.from([0x81, 0xfe, 0x0f, 0xff, 0, 0, 0, 0, 0x7b]));
      for (let step = 0; step < 2; step++) {
        good.speak(1);
        await good.client.ping();
        wire.write(' ');
        await server.hasRead(bad.client);
        // Two of these are the idle time, one is not even the time in which a ping must be answered.
        await clock.pass(13_000);
      }
      expect((await server.bridge.ended(1)).ends).toEqual([{ reason: 'idle', detail: undefined }]);
    });
  });
});

describe('bad input on the detecting path', () => {
  test.each([
    ['truncated JSON', ['{"event":"conn']],
    ['wrong types', ['{"event":5}']],
    ['an unknown event', ['{"event":"brand_new"}']],
    ['a second message that fits no carrier', ['{"event":"connected"}', '{"event":"start"}']],
    ['media before the start', ['{"event":"media","media":{"payload":"AAAA"}}']],
    ['more binary than any carrier sends first', Array<Buffer>(5).fill(Buffer.alloc(16_000))],
    ['many small frames', Array<Buffer>(70).fill(Buffer.alloc(1))],
  ] satisfies [string, Frame[]][])('%s is refused in words', async (_what, frames) => {
    await beside('twilio', {}, async (server) => {
      await using bad = await CarrierClient.open(`${server.url}/carriers`);
      bad.send(...frames);
      expect(await bad.untilClosed()).toEqual({
        code: 1008,
        reason: 'not recognised: use the path of the carrier',
      });
      expect(server.bridge.streams.length).toBe(1);
    });
  });
});
