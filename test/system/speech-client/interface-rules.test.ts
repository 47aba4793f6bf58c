import { describe, expect, test } from 'vitest';
import { createLog } from '../../../src/lib/log.ts';
import { speechTotals } from '../../../src/speech-client/metrics.ts';
import { FaultProxy } from '../../support/faults/fault-proxy.ts';
import { faultsOf, legRig } from '../../support/bridge/leg-rig.ts';
import { frameBytes, numberedFrame } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { until } from '../../support/process/until.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

const deadlines = { finalsMs: 600_000, withinMs: 1_200_000 };

/** Demands of the interface on a client that no other test shows, point by point. */
describe('a dropped socket', () => {
  test('exactly what is unacknowledged is sent again, in pieces of at most 512 KiB of whole frames', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using proxy = await FaultProxy.start(speech.port);
    speech.publicPort = proxy.port;
    await using rig = await legRig({ url: proxy.url, config: { catchUpSpeed: 1_000 } });
    const leg = rig.leg();
    leg.push(50);
    await until(() => leg.leg.ledger().acknowledged === 50 * frameBytes);
    speech.script.ack = () => undefined;
    leg.push(10);
    const [session] = speech.sessions.values();
    await until(() => session!.bytes.length === 60 * frameBytes);
    await proxy.refuse();
    leg.push(7_440); // two and a half minutes
    delete speech.script.ack;
    await proxy.accept();
    await until(() => leg.leg.ledger().acknowledged === leg.pushed * frameBytes);
    const again = session!.pieces.filter(({ socket }) => socket > 1).map(({ bytes }) => bytes);
    expect(again.reduce((sum, bytes) => sum + bytes, 0)).toBe((7_500 - 50) * frameBytes);
    expect(again.length).toBeGreaterThan(2);
    expect(Math.max(...again)).toBeLessThanOrEqual(524_288);
    for (const bytes of again) expect(bytes % frameBytes).toBe(0);
    await leg.leg.finish(deadlines);
    expect(faultsOf(leg)).toEqual([]);
    expect(leg.leg.sessions()).toHaveLength(1);
  });

  test('a socket that is lost while audio is read from the disk does not hold up the first message on the next one', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using rig = await legRig({ url: speech.url });
    const created = await rig.speech.create({
      body: { encoding: 'wav/ulaw', bit_depth: 8, sample_rate: 8_000, channels: 1 },
      sinceMs: 0,
      signal: new AbortController().signal,
      onWaiting: () => undefined,
    });
    if (created.outcome !== 'created') throw new Error(created.outcome);
    const audio = Buffer.concat(Array.from({ length: 500 }, (_, at) => numberedFrame(at)));
    const reads: { position: number; maxBytes: number; answer: () => void }[] = [];
    let opened = 0;
    const session = rig.speech.session({
      ...created,
      from: 0,
      takenOver: false,
      bytesPerSecond: 8_000,
      log: createLog({ level: 'silent' }),
      // A disk that answers when it is told to.
      source: {
        end: () => audio.length,
        ended: () => true,
        read: (position, maxBytes) =>
          new Promise((resolve) => {
            const answer = (): void => resolve(audio.subarray(position, position + maxBytes));
            reads.push({ position, maxBytes, answer });
          }),
      },
      onMessage: () => undefined,
      onAcknowledged: () => undefined,
      onTakenBack: () => undefined,
      onLink: (link) => {
        if (link === 'open') opened++;
      },
      onOver: () => undefined,
    });
    await until(() => reads.length === 1);
    speech.closeAll(1012);
    await until(() => opened === 2);
    // Asked for again at once, and for all that may be in doubt, not for a share of catching up.
    await until(() => reads.length === 2);
    expect(reads.map(({ position, maxBytes }) => [position, maxBytes])).toEqual([
      [0, audio.length],
      [0, audio.length],
    ]);
    session.stop();
    for (const { answer } of reads) answer();
    await until(() => session.over === 'finished');
    expect([...speech.sessions.values()][0]!.bytes.equals(audio)).toBe(true);
  });

  test('1009: a piece that the service finds too big is never sent so big again', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using proxy = await FaultProxy.start(speech.port);
    speech.publicPort = proxy.port;
    speech.script.messageBytesAtMost = 100_000;
    await using rig = await legRig({
      url: proxy.url,
      clock: new TestClock(20),
      config: { catchUpSpeed: 1_000 },
    });
    const leg = rig.leg();
    leg.push(50);
    await until(() => leg.leg.ledger().acknowledged === 50 * frameBytes);
    await proxy.refuse();
    leg.push(4_000);
    await proxy.accept();
    await until(() => leg.leg.ledger().acknowledged === leg.pushed * frameBytes);
    const [session] = speech.sessions.values();
    const refused = session!.pieces
      .filter(({ bytes }) => bytes > 100_000)
      .map(({ bytes }) => bytes);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused).toEqual([...new Set(refused)].sort((one, other) => other - one));
    await leg.leg.finish(deadlines);
    expect(faultsOf(leg)).toEqual([]);
    expect(leg.leg.sessions()).toHaveLength(1);
  });

  test('a service that takes every handshake and closes at once is asked less and less, and a minute of it ends the session', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using rig = await legRig({ url: speech.url, clock: new TestClock(20) });
    const leg = rig.leg();
    leg.push(20);
    await until(() => leg.leg.ledger().acknowledged === 20 * frameBytes);
    speech.script.closeAtOnce = 1011;
    speech.closeAll(1011);
    leg.push(20);
    await until(() => speech.sessions.size === 2);
    const [first] = speech.sessions.values();
    // 0.3, 0.6, 1.2, 2.4, 4.8 and then every 5 s make sixteen in a minute; each a fifth sooner at most.
    expect(first!.sockets).toBeGreaterThan(3);
    expect(first!.sockets).toBeLessThan(25);
    delete speech.script.closeAtOnce;
    speech.expireAll();
    await leg.leg.finish(deadlines);
    // The new session hears the old one's unacknowledged audio too; nothing is lost.
    expect(faultsOf(leg, { repeats: true })).toEqual([]);
  });

  test('a service that counts resent audio twice is followed: nothing is lost, and later times stay true', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    speech.script.naive = true;
    await using rig = await legRig({ url: speech.url });
    const leg = rig.leg();
    leg.push(50);
    await until(() => leg.leg.ledger().acknowledged === 50 * frameBytes);
    speech.script.ack = () => undefined;
    leg.push(25);
    const [session] = speech.sessions.values();
    await until(() => session!.bytes.length === 75 * frameBytes);
    delete speech.script.ack;
    const before = speechTotals.rebases;
    speech.closeAll(1012);
    leg.push(50);
    await until(() => leg.leg.ledger().acknowledged === 125 * frameBytes);
    await leg.leg.finish(deadlines);
    expect(speechTotals.rebases).toBe(before + 1);
    expect(faultsOf(leg, { repeats: true })).toEqual([]);
  });

  test('a service that comes back without audio that it had acknowledged: that much is a declared gap, and later times stay true', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using rig = await legRig({ url: speech.url });
    const leg = rig.leg();
    leg.push(50);
    await until(() => leg.leg.ledger().acknowledged === 50 * frameBytes);
    const [session] = speech.sessions.values();
    // As a machine that lost its power: the last ten frames never reached its disk.
    session!.bytes = session!.bytes.subarray(0, 40 * frameBytes);
    session!.said = 40 * frameBytes;
    speech.closeAll(1012);
    leg.push(50);
    await until(() => leg.gaps.length === 1);
    const { ledger } = await leg.leg.finish(deadlines);
    expect(leg.gaps).toEqual([
      { startS: 0.8, durationS: 0.2, bytes: 10 * frameBytes, cause: 'service' },
    ]);
    expect(ledger).toMatchObject({
      received: 100 * frameBytes,
      acknowledged: 90 * frameBytes,
      gaps: 10 * frameBytes,
    });
    expect(session!.bytes.length).toBe(ledger.acknowledged);
    expect(faultsOf(leg)).toEqual([]);
  });
});

describe('what a client of the service must bear and keep to', () => {
  test('the region goes into the query and nowhere else, the key into the header of HTTP alone', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using rig = await legRig({ url: speech.url });
    const leg = rig.leg({ region: 'eu-west' });
    await until(() => leg.leg.state().at === 'live');
    expect(speech.posts).toMatchObject([{ query: '?region=eu-west', key: 'secret' }]);
    const [session] = speech.sessions.values();
    expect(session!.request).not.toHaveProperty('region');
    expect(session!.request).toMatchObject({ messages_config: { receive_acknowledgments: true } });
    expect(JSON.stringify(session!.upgradeHeaders)).not.toContain('secret');
    await leg.leg.finish(deadlines);
  });

  test('messages of unknown types, without data, without words, not JSON or after the end do no harm', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using rig = await legRig({ url: speech.url });
    const leg = rig.leg();
    leg.push(30);
    await until(() => leg.words.length === 25);
    const [session] = speech.sessions.values();
    const envelope = { session_id: session!.id, created_at: '2026-02-03T09:15:03.618Z' };
    const failed = { error: { message: 'engine unavailable' }, data: null };
    const utterance = {
      start: 0.2,
      end: 0.4,
      confidence: 1,
      channel: 0,
      language: 'en',
      text: ' hm',
      words: [],
    };
    const before = speechTotals.strange;
    const strange = ['not JSON', '[]', 'null', '{"type":"transcript"}'];
    const fine = [
      { type: 'error', error: { message: 'a warning' }, data: { code: 400, message: 'a warning' } },
      { type: 'sentiment_analysis', ...failed },
      { type: 'named_entity_recognition', ...failed },
      { type: 'translation', ...failed },
      { type: 'audio_chunk', acknowledged: true, error: null, data: null, more: 1 },
      { type: 'transcript', more: {}, data: { id: 'x', is_final: true, more: 1, utterance } },
    ].map((message) => JSON.stringify({ ...envelope, ...message }));
    const unknown = JSON.stringify({ ...envelope, type: 'brand_new', data: { deep: [1] } });
    for (const text of [...strange, unknown, ...fine]) session!.socket!.send(text);
    session!.socket!.send(Buffer.from([0, 1, 2]));
    leg.push(30);
    await until(() => leg.leg.ledger().acknowledged === 60 * frameBytes);
    expect(speechTotals.strange - before).toBeGreaterThanOrEqual(strange.length);
    expect(leg.messages.filter(({ type }) => type === 'transcript').map(textOf)).toContain(' hm');
    const outcome = await leg.leg.finish(deadlines);
    expect(outcome.finals).toBe('complete');
    expect(faultsOf(leg)).toEqual([]);
    expect(leg.leg.sessions()).toHaveLength(1);
  });

  test('no session is left open that nobody reads: one given up for its late finals is closed with 1000', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    speech.script.finalsDelayMs = 600_000;
    await using rig = await legRig({ url: speech.url });
    const leg = rig.leg();
    leg.push(30);
    expect((await leg.leg.finish({ finalsMs: 200, withinMs: 60_000 })).finals).toBe('late');
    await until(() => speech.open.length === 0);
  });

  test.each([
    { encoding: 'wav/ulaw', bit_depth: 8, silence: 0xff },
    { encoding: 'wav/alaw', bit_depth: 8, silence: 0xd5 },
    { encoding: 'wav/pcm', bit_depth: 8, silence: 0x80 },
    { encoding: 'wav/pcm', bit_depth: 16, silence: 0 },
  ] as const)(
    'silence is never suppressed: a pause of $encoding at $bit_depth bits is $silence on the wire',
    async ({ encoding, bit_depth, silence }) => {
      await using speech = await FakeSpeech.start({ words: 'frames' });
      await using rig = await legRig({ url: speech.url });
      const leg = rig.leg({ request: { encoding, bit_depth, sample_rate: 8_000, channels: 1 } });
      leg.leg.pause();
      leg.push(50);
      leg.leg.resume();
      await leg.leg.finish(deadlines);
      const [session] = speech.sessions.values();
      expect(session!.bytes.equals(Buffer.alloc(50 * frameBytes, silence))).toBe(true);
    },
  );
});

function textOf(message: { type: string; data?: unknown }): unknown {
  return (message.data as { utterance: { text: string } }).utterance.text;
}
