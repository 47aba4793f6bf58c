import { describe, expect, test } from 'vitest';
import { maxCreatingAtOnce } from '../../../src/speech-client/service-gate.ts';
import { FaultProxy } from '../../support/faults/fault-proxy.ts';
import { faultsOf, legRig } from '../../support/bridge/leg-rig.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryFolder } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';
import { linkFaults, phases, runSeed, strikesIn } from '../../support/faults/link-faults.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

const deadlines = { finalsMs: 60_000, withinMs: 120_000 };

describe('a leg through faults of its speech socket (sample of test/trials/speech-link.ts)', () => {
  /** Every fault once, in one of the phases in which it has something to strike. */
  const sample = linkFaults.map((fault, seed) => {
    const able = phases.filter((phase) => strikesIn(fault, phase));
    return { fault, phase: able[seed % able.length]!, seed };
  });
  // The fault has struck, bytes are conserved, text and times are as in the undisturbed run.
  test.each(sample)('$fault $phase', async ({ fault, phase, seed }) => {
    expect(await runSeed(seed, fault, phase)).toEqual([]);
  });
});

describe('a session that is created late', () => {
  test('refused, 500, a lost answer and 503 with a wait; every frame is heard in the end', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using proxy = await FaultProxy.start(speech.port);
    speech.publicPort = proxy.port;
    speech.script.create = (count) =>
      [{ status: 500 }, { status: 503, headers: { 'retry-after': '1' } }, { status: 302 }][
        count - 1
      ];
    await proxy.refuse();
    await using rig = await legRig({ url: proxy.url, clock: new TestClock(20) });
    const leg = rig.leg();
    leg.push(300);
    await until(() => leg.states.some((state) => state.at === 'waiting'));
    await proxy.accept();
    await until(() => leg.leg.state().at === 'live');
    leg.push(50);
    expect((await leg.leg.finish(deadlines)).finals).toBe('complete');
    expect(faultsOf(leg)).toEqual([]);
    expect(leg.states).toContainEqual({ at: 'waiting', cause: 'unreachable' });
  });

  test('a wrong key with 500 legs is asked for less than five times a second', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    speech.script.create = () => ({ status: 401 });
    const clock = new TestClock(0);
    await using rig = await legRig({ url: speech.url, clock });
    const legs = Array.from({ length: 500 }, () => rig.leg());
    await until(() => legs.every((leg) => leg.leg.state().at === 'waiting'));
    // Those that were on their way when the first answer came are the width of the gate, or one more.
    await until(() => speech.posts.length >= maxCreatingAtOnce);
    const ofSeconds: number[] = [];
    for (let second = 0; second < 60; second++) {
      const before = speech.posts.length;
      for (let tenth = 0; tenth < 10; tenth++) {
        await clock.pass(100);
        // By the time that a request of our own is answered, those of the legs have come, and have their answers.
        await (await fetch(`${speech.url}/v2/live?custom_metadata={}`)).arrayBuffer();
      }
      ofSeconds.push(speech.posts.length - before);
    }
    expect(Math.max(...ofSeconds)).toBeLessThan(5);
    expect(ofSeconds.some((asked) => asked > 0)).toBe(true);
    expect(rig.speech.health()).toMatchObject({ state: 'degraded' });
    for (const leg of legs) void leg.leg.abandon();
  });

  test('on 429 legs wait their turn by age, honour Retry-After and lose nothing', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    speech.script.maxSessions = 1;
    const clock = new TestClock(20);
    await using rig = await legRig({ url: speech.url, clock });
    const legs = [rig.leg()];
    await until(() => legs[0]!.leg.state().at === 'live');
    for (let index = 0; index < 3; index++) {
      await clock.pass(1);
      legs.push(rig.leg());
    }
    for (const leg of legs) leg.push(60);
    await until(() => legs[1]!.leg.state().at === 'waiting');
    const order: number[] = [];
    await Promise.all(
      legs.map(async (leg, index) => {
        await leg.leg.finish(deadlines);
        order.push(index);
      }),
    );
    expect(order).toEqual([0, 1, 2, 3]);
    for (const leg of legs) expect(faultsOf(leg)).toEqual([]);
  });

  test('an answer that is lost leads to a second session, no audio is lost or doubled, and the first does not stay', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using proxy = await FaultProxy.start(speech.port);
    speech.publicPort = proxy.port;
    proxy.wire.lose = 'down';
    await using rig = await legRig({ url: proxy.url, clock: new TestClock(20) });
    const leg = rig.leg();
    leg.push(100);
    await until(() => speech.posts.length === 1);
    proxy.cut();
    proxy.mend();
    await leg.leg.finish(deadlines);
    expect(faultsOf(leg)).toEqual([]);
    expect(speech.sessions.size).toBe(2);
    const [orphan, used] = [...speech.sessions.keys()];
    // While it lives it cannot be erased; the service ends it by itself when nobody connects.
    speech.expireAll();
    await until(() => speech.sessions.size === 1);
    expect([...speech.sessions.keys()]).toEqual([used]);
    expect(leg.leg.sessions().map(({ id }) => id)).toEqual([used]);
    expect(used).not.toBe(orphan);
  });

  test('a process that ended while it asked for a session leaves none behind', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using proxy = await FaultProxy.start(speech.port);
    speech.publicPort = proxy.port;
    proxy.wire.lose = 'down';
    await using folder = await temporaryFolder();
    {
      await using rig = await legRig({ url: proxy.url, dir: folder.path });
      const leg = rig.leg();
      leg.push(100);
      await until(() => speech.sessions.size === 1);
      leg.leg.leave();
    }
    proxy.cut();
    proxy.mend();
    await using rig = await legRig({ url: proxy.url, dir: folder.path, clock: new TestClock(20) });
    const recovered = rig.journal.recovered.get('leg_1');
    const leg = rig.leg({ recovered: recovered! });
    leg.pushed = 100;
    await leg.leg.finish(deadlines);
    expect(faultsOf(leg)).toEqual([]);
    speech.expireAll();
    await until(() => speech.sessions.size === 1);
    expect(leg.leg.sessions().map(({ id }) => id)).toEqual([...speech.sessions.keys()]);
  });

  test('a session that was to take over when the process ended does not stay behind', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using folder = await temporaryFolder();
    {
      await using rig = await legRig({ url: speech.url, dir: folder.path });
      const leg = rig.leg();
      leg.push(50);
      await until(() => leg.leg.ledger().acknowledged === 8_000);
      // The old session never says that it has the last frame, so the new one never has its turn.
      speech.script.ack = () => undefined;
      leg.push(1);
      await until(() => speech.open[0]?.bytes.length === 8_160);
      leg.leg.changeRequest({
        encoding: 'wav/ulaw',
        bit_depth: 8,
        sample_rate: 8_000,
        channels: 1,
        custom_metadata: { call_id: 'call_1', leg_id: 'leg_1' },
      });
      await until(() => speech.sessions.size === 2);
      leg.leg.leave();
    }
    delete speech.script.ack;
    await using rig = await legRig({ url: speech.url, dir: folder.path, clock: new TestClock(20) });
    const leg = rig.leg({ recovered: rig.journal.recovered.get('leg_1')! });
    leg.pushed = 51;
    await leg.leg.finish(deadlines);
    expect(leg.leg.ledger()).toMatchObject({ received: 51 * 160, acknowledged: 51 * 160 });
    speech.expireAll();
    await until(() => speech.sessions.size === 1);
    expect(leg.leg.sessions().map(({ id }) => id)).toEqual([...speech.sessions.keys()]);
  });

  test('a request that the service refuses keeps its audio as long as there is time, and then ends as a gap', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    speech.script.create = () => ({
      status: 400,
      body: { message: 'no', validation_errors: ['endpointing must be a number'] },
    });
    await using rig = await legRig({ url: speech.url });
    const leg = rig.leg();
    leg.push(50);
    await until(() => leg.leg.state().at === 'waiting');
    expect(leg.leg.state()).toEqual({ at: 'waiting', cause: 'refused' });
    const outcome = await leg.leg.finish({ finalsMs: 100, withinMs: 300 });
    expect(outcome).toMatchObject({
      finals: 'late',
      ledger: { received: 8_000, acknowledged: 0, gaps: 8_000 },
    });
    expect(leg.gaps).toEqual([{ startS: 0, durationS: 1, bytes: 8_000, cause: 'deadline' }]);
    expect(speech.posts).toHaveLength(1);
  });

  test('a session address that leads elsewhere is refused and gets no audio', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using other = await FakeSpeech.start({ words: 'frames' });
    speech.publicPort = other.port;
    await using rig = await legRig({ url: `http://127.0.0.1:${speech.port}` });
    const leg = rig.leg();
    leg.push(10);
    await until(() => leg.leg.state().at === 'waiting');
    expect(leg.leg.state()).toEqual({ at: 'waiting', cause: 'refused' });
    await leg.leg.abandon();
  });
});

describe('a session that is lost', () => {
  test('five minutes away, 5 legs: all is kept, caught up faster than real time, in order, no gap', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using proxy = await FaultProxy.start(speech.port);
    speech.publicPort = proxy.port;
    await using rig = await legRig({ url: proxy.url, clock: new TestClock(5) });
    const legs = Array.from({ length: 5 }, () => rig.leg());
    for (const leg of legs) leg.push(50);
    await until(() => legs.every((leg) => leg.leg.ledger().acknowledged === 8_000));
    await proxy.refuse();
    // Five minutes of frames; the service finishes the sessions that nobody comes back to.
    for (let second = 0; second < 300; second++) {
      for (const leg of legs) leg.push(50);
      if (second % 3 === 0) await rig.written();
    }
    const heldBytes = legs.reduce((sum, leg) => sum + leg.leg.heldBytes, 0);
    expect(heldBytes / legs.length).toBeLessThan(240_000);
    speech.expireAll();
    await proxy.accept();
    await Promise.all(
      legs.map(async (leg) => await leg.leg.finish({ finalsMs: 200_000, withinMs: 1_000_000 })),
    );
    for (const leg of legs) {
      expect(faultsOf(leg)).toEqual([]);
      expect(leg.gaps).toEqual([]);
    }
  }, 180_000);

  test('an outage longer than the call: the leg catches up afterwards, from the journal', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using proxy = await FaultProxy.start(speech.port);
    speech.publicPort = proxy.port;
    await proxy.refuse();
    await using rig = await legRig({ url: proxy.url, clock: new TestClock(20) });
    const leg = rig.leg({ recording: true });
    leg.push(3_000);
    const outcome = leg.leg.finish({ finalsMs: 60_000, withinMs: 10_000_000 });
    await until(() => leg.states.some(({ at }) => at === 'waiting'));
    expect(leg.leg.state().at).not.toBe('ended');
    await proxy.accept();
    expect((await outcome).finals).toBe('complete');
    expect(faultsOf(leg)).toEqual([]);
  });

  test('out of time: what was never acknowledged is one declared gap, and the ledger comes out even', async () => {
    await using rig = await legRig({ url: 'http://127.0.0.1:9', clock: new TestClock(20) });
    const leg = rig.leg();
    leg.push(100);
    const outcome = await leg.leg.finish({ finalsMs: 1_000, withinMs: 2_000 });
    expect(outcome.ledger).toEqual({
      received: 16_000,
      acknowledged: 0,
      gaps: 16_000,
      paused: 0,
      filler: 0,
    });
    expect(leg.gaps).toEqual([{ startS: 0, durationS: 2, bytes: 16_000, cause: 'deadline' }]);
    expect(outcome.finals).toBe('late');
  });

  test('acks that stop are noticed, and the socket is renewed', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using rig = await legRig({ url: speech.url, clock: new TestClock(20) });
    const leg = rig.leg();
    leg.push(10);
    await until(() => leg.leg.ledger().acknowledged === 1_600);
    speech.script.ack = () => undefined;
    leg.push(10);
    await until(() => [...speech.sessions.values()].some((session) => session.sockets > 1));
    delete speech.script.ack;
    await leg.leg.finish(deadlines);
    expect(faultsOf(leg)).toEqual([]);
  });

  test('messages that come twice, on the socket or from the record, are given once', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using rig = await legRig({ url: speech.url });
    const leg = rig.leg();
    leg.push(60);
    await until(() => leg.words.length >= 50);
    const [session] = speech.sessions.values();
    for (const text of session!.messages) session!.socket!.send(text);
    // Also another session's words, which prove nothing about ours.
    session!.socket!.send(
      session!.messages[0]!.replace(session!.id, '00000000-0000-4000-8000-000000000000'),
    );
    session!.socket!.terminate();
    leg.push(40);
    await leg.leg.finish(deadlines);
    expect(faultsOf(leg)).toEqual([]);
  });

  test('finals that a lost socket swallowed come from GET, duplicates dropped', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using rig = await legRig({ url: speech.url });
    const leg = rig.leg();
    leg.push(30);
    await until(() => leg.words.length === 25);
    speech.script.swallow = (type) => type === 'transcript';
    leg.push(50);
    await until(() => leg.leg.ledger().acknowledged === 80 * 160);
    speech.closeAll(1012);
    leg.push(20);
    expect((await leg.leg.finish(deadlines)).finals).toBe('complete');
    expect(faultsOf(leg)).toEqual([]);
  });

  test.each([
    { heard: 45, what: 'of which it has said nothing yet' },
    { heard: 60, what: 'and said more than it acknowledged' },
  ])(
    'a session that ends with $heard frames heard and 30 acknowledged, $what, is read long after another took over: no word twice, none missing',
    async ({ heard }) => {
      await using speech = await FakeSpeech.start({ words: 'frames' });
      await using rig = await legRig({ url: speech.url, clock: new TestClock(10) });
      const leg = rig.leg();
      leg.push(30);
      await until(() => leg.leg.ledger().acknowledged === 30 * 160);
      const [first] = speech.sessions.values();
      speech.script.ack = () => undefined;
      leg.push(heard - 30);
      await until(() => first!.bytes.length === heard * 160);
      await until(() => leg.words.length === heard - (heard % 25));
      // Over for us, and still being processed there.
      first!.socket!.close(4404);
      await until(() => speech.sessions.size === 2);
      delete speech.script.ack;
      leg.push(60);
      await until(() => leg.leg.ledger().acknowledged === leg.pushed * 160);
      // Words are no acknowledgement: all that none has named is heard again.
      const [, second] = speech.sessions.values();
      expect(second!.bytes.length).toBe((leg.pushed - 30) * 160);
      speech.expire(first!);
      const { ledger } = await leg.leg.finish(deadlines);
      expect(ledger).toMatchObject({ acknowledged: leg.pushed * 160, gaps: 0 });
      expect(faultsOf(leg)).toEqual([]);
    },
  );

  test('words on a channel that the leg does not have hold up nothing', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using rig = await legRig({ url: speech.url });
    const leg = rig.leg();
    leg.push(30);
    await until(() => leg.words.length === 25);
    const [first] = speech.sessions.values();
    const utterance = {
      start: 0,
      end: 0.5,
      confidence: 1,
      channel: 4_000_000_000,
      words: [],
      text: 'strange',
      language: 'en',
    };
    first!.socket!.send(
      JSON.stringify({
        session_id: first!.id,
        created_at: new Date().toISOString(),
        type: 'transcript',
        data: { id: '99_0', is_final: true, utterance },
      }),
    );
    await until(() => leg.messages.some((one) => JSON.stringify(one).includes('strange')));
    first!.socket!.close(4404);
    leg.push(30);
    await until(() => speech.sessions.size === 2);
    // The service shut the socket and keeps the session open: its last words are waited for in vain.
    const { ledger } = await leg.leg.finish({ finalsMs: 2_000, withinMs: 120_000 });
    expect(ledger).toMatchObject({ acknowledged: leg.pushed * 160, gaps: 0 });
  });

  test('finals that are late are waited for, and no longer than the deadline', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    speech.script.finalsDelayMs = 300;
    await using rig = await legRig({ url: speech.url });
    const patient = rig.leg();
    patient.push(30);
    expect((await patient.leg.finish(deadlines)).finals).toBe('complete');
    expect(faultsOf(patient)).toEqual([]);
    speech.script.finalsDelayMs = 60_000;
    const hasty = rig.leg();
    hasty.push(30);
    expect((await hasty.leg.finish({ finalsMs: 200, withinMs: 60_000 })).finals).toBe('late');
    expect(hasty.leg.ledger()).toMatchObject({ received: 4_800, acknowledged: 4_800 });
  });

  test('a service that reads slowly does not make us grow, and hears everything', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using rig = await legRig({ url: speech.url, clock: new TestClock(2) });
    const leg = rig.leg();
    leg.push(5);
    await until(() => leg.leg.ledger().acknowledged === 800);
    speech.deaf(true);
    leg.push(20_000);
    await until(() => leg.leg.heldBytes < 100_000);
    speech.deaf(false);
    await leg.leg.finish(deadlines);
    expect(faultsOf(leg)).toEqual([]);
  });

  test('the 3 h limit: a new session takes over between two frames, times go on', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using rig = await legRig({
      url: speech.url,
      clock: new TestClock(4),
      config: { catchUpSpeed: 1_000 },
    });
    // At 8 bytes a second three hours are 86 kB.
    const leg = rig.leg({
      request: { encoding: 'wav/ulaw', bit_depth: 8, sample_rate: 8 as 8000, channels: 1 },
    });
    for (let frame = 0; frame < 800; frame++) {
      leg.push(1);
      if (frame % 10 === 0) await rig.written();
    }
    await leg.leg.finish(deadlines);
    const sessions = leg.leg.sessions();
    expect(sessions).toHaveLength(2);
    expect(sessions[1]!.offsetS).toBeGreaterThan(10_500);
    expect(leg.leg.ledger()).toMatchObject({ received: 128_000, acknowledged: 128_000, gaps: 0 });
    // In order of time: the old session is read on until it closes, while the new one speaks already.
    const inTime = leg.words.toSorted((one, other) => one.atS - other.atS);
    expect(inTime.map(({ word }) => word)).toEqual(
      Array.from({ length: 800 }, (_, index) => `f${index}`),
    );
  });

  test('sessions up to a bound, then the audio is journalled only and the gap says why', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    speech.script.closeAt = () => 4400;
    await using rig = await legRig({
      url: speech.url,
      clock: new TestClock(20),
      config: { maxSessionsPerLeg: 3 },
    });
    const leg = rig.leg();
    const timer = setInterval(() => leg.push(1), 5);
    await until(() => leg.leg.state().at === 'journal-only');
    clearInterval(timer);
    expect(speech.sessions.size).toBe(3);
    const outcome = await leg.leg.finish(deadlines);
    expect(leg.gaps.at(-1)).toMatchObject({ cause: 'sessions' });
    expect(outcome.ledger.received).toBe(outcome.ledger.acknowledged + outcome.ledger.gaps);
  });
});

test('sessions that are all good for nothing are asked for slowly, and one that is good is used at once', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  speech.script.closeAtOnce = 4400;
  const clock = new TestClock(0);
  await using rig = await legRig({ url: speech.url, clock });
  const leg = rig.leg();
  leg.push(50);
  // Each pause is about twice as long as the one before: a minute costs a dozen sessions of fifty.
  for (let tenth = 0; tenth < 600; tenth++) {
    await clock.pass(100);
    // By the time that a request of our own is answered, what the leg asked has come, and has its answer.
    if (speech.sessions.size < 50)
      await (await fetch(`${speech.url}/v2/live?custom_metadata={}`)).arrayBuffer();
  }
  expect(speech.sessions.size).toBeGreaterThan(4);
  expect(speech.sessions.size).toBeLessThan(25);
  delete speech.script.closeAtOnce;
  await until(async () => {
    await clock.pass(1_000);
    return leg.leg.state().at === 'live';
  });
  expect(leg.states).not.toContainEqual({ at: 'journal-only' });
  await leg.leg.abandon();
});

describe('pause', () => {
  test('paused bytes reach neither journal nor wire; silence of the same length does; times stay true', async () => {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using rig = await legRig({ url: speech.url });
    const leg = rig.leg({ recording: true });
    leg.push(50);
    leg.leg.pause();
    leg.push(25); // card numbers
    speech.closeAll(4500);
    leg.push(25);
    leg.leg.resume();
    leg.push(50);
    leg.leg.filler(1_600);
    leg.push(25);
    await leg.leg.finish(deadlines);
    expect(leg.leg.ledger()).toEqual({
      received: 175 * 160,
      acknowledged: 125 * 160,
      gaps: 0,
      paused: 50 * 160,
      filler: 60 * 160,
    });
    const heard = [...speech.sessions.values()][0]!.bytes;
    for (let frame = 50; frame < 100; frame++)
      expect(heard.subarray(frame * 160, frame * 160 + 160).every((byte) => byte === 0xff)).toBe(
        true,
      );
    expect(leg.words.find(({ word }) => word === 'f100')?.atS).toBeCloseTo(2, 5);
    expect(leg.words.find(({ word }) => word === 'f150')?.atS).toBeCloseTo(3.2, 5);
    const recording = await rig.journal.recordingOf(leg.leg.legId);
    const kept: Buffer[] = [];
    for await (const part of recording!.read(0, recording!.bytes)) kept.push(part);
    expect(Buffer.concat(kept).equals(heard)).toBe(true);
  });
});

test('frames are forwarded one for one, or joined where coalesceMs asks for it', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  const sizes: number[] = [];
  speech.script.ack = (range) => {
    sizes.push(range[1] - range[0]);
    return range;
  };
  await using rig = await legRig({ url: speech.url });
  const leg = rig.leg();
  await until(() => leg.leg.state().at === 'live');
  leg.push(20);
  await leg.leg.finish(deadlines);
  expect(sizes).toEqual(Array.from({ length: 20 }, () => 160));
  sizes.length = 0;
  await using joined = await legRig({ url: speech.url, config: { coalesceMs: 100 } });
  const other = joined.leg();
  await until(() => other.leg.state().at === 'live');
  for (let frame = 0; frame < 22; frame++) {
    other.push(1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await other.leg.finish(deadlines);
  expect(sizes).toEqual([800, 800, 800, 800, 320]);
  expect(faultsOf(other)).toEqual([]);
});
