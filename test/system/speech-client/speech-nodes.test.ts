import { expect, test } from 'vitest';
import { FaultProxy } from '../../support/faults/fault-proxy.ts';
import { faultsOf, legRig, type RigLeg } from '../../support/bridge/leg-rig.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { until } from '../../support/process/until.ts';
import { temporaryFolder } from '../../support/store/store.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

const deadlines = { finalsMs: 60_000, withinMs: 120_000 };

const isLive = ({ leg }: RigLeg): boolean => leg.state().at === 'live';

test('a speech node that is full is passed over, without asking it again before it says so', async () => {
  await using full = await FakeSpeech.start({ words: 'frames' });
  await using other = await FakeSpeech.start({ words: 'frames' });
  full.script.create = () => ({ status: 429, headers: { 'retry-after': '60' } });
  await using rig = await legRig({ url: full.url, others: [other.url] });
  const legs: RigLeg[] = [];
  for (let at = 0; at < 6; at++) {
    const leg = rig.leg();
    leg.push(60);
    await until(() => isLive(leg));
    legs.push(leg);
  }
  expect(full.posts.length).toBeLessThanOrEqual(1);
  expect(other.sessions.size).toBe(6);
  for (const leg of legs) {
    await leg.leg.finish(deadlines);
    expect(faultsOf(leg)).toEqual([]);
    expect(leg.states.some(({ at }) => at === 'waiting')).toBe(false);
  }
});

test('a speech node that takes connections and answers nothing costs one leg seconds, and the next ones nothing', async () => {
  await using silent = await FakeSpeech.start({ words: 'frames' });
  await using other = await FakeSpeech.start({ words: 'frames' });
  silent.script.create = () => 'hang';
  await using rig = await legRig({ url: silent.url, others: [other.url] });
  // Chance says who is asked first: one leg after the other, until it is the silent one.
  const first: RigLeg[] = [];
  while (silent.posts.length === 0) {
    const leg = rig.leg();
    first.push(leg);
    await until(() => isLive(leg));
  }
  const before = silent.posts.length;
  const legs = Array.from({ length: 5 }, () => rig.leg());
  await until(() => legs.every(isLive));
  // It answers other requests: then it is asked once more, and no more often than that.
  expect(silent.posts.length - before).toBeLessThanOrEqual(2);
  expect(other.sessions.size).toBe(first.length + 5);
  for (const leg of [...first, ...legs]) await leg.leg.abandon();
});

test('a speech node dies in the middle of its sessions: they go on at another with exactly what it had not acknowledged, no word twice', async () => {
  await using dying = await FakeSpeech.start({ words: 'frames' });
  await using other = await FakeSpeech.start({ words: 'frames' });
  await using proxy = await FaultProxy.start(dying.port);
  dying.publicPort = proxy.port;
  await using rig = await legRig({
    url: proxy.url,
    others: [other.url],
    clock: new TestClock(10),
  });
  const legs = Array.from({ length: 8 }, () => rig.leg());
  for (const leg of legs) leg.push(300);
  await until(() => legs.every(isLive) && dying.sessions.size > 0 && other.sessions.size > 0);
  await until(() => legs.every((leg) => leg.leg.ledger().acknowledged === 300 * 160));
  const struck = dying.sessions.size;
  await proxy.refuse();
  for (const leg of legs) leg.push(200);
  await until(() => legs.every(isLive) && other.sessions.size === 8);
  // Back again: what it had heard and not said is in its records, and it is asked for new sessions.
  await proxy.accept();
  for (const leg of legs) {
    leg.push(100);
    const { ledger } = await leg.leg.finish(deadlines);
    expect(ledger).toMatchObject({ received: 600 * 160, acknowledged: 600 * 160, gaps: 0 });
    expect(faultsOf(leg)).toEqual([]);
  }
  expect(struck).toBeGreaterThan(0);
});

test('a speech node dies for good: what it had acknowledged and not said is a gap, and its leg ends without it', async () => {
  await using dying = await FakeSpeech.start({ words: 'frames' });
  await using other = await FakeSpeech.start({ words: 'frames' });
  await using proxy = await FaultProxy.start(dying.port);
  dying.publicPort = proxy.port;
  await using rig = await legRig({
    url: proxy.url,
    others: [other.url],
    clock: new TestClock(20),
  });
  // Whichever node is asked first by chance, the session is at the one that dies.
  other.script.create = () => ({ status: 429, headers: { 'retry-after': '1' } });
  const leg = rig.leg();
  await until(() => isLive(leg));
  delete other.script.create;
  // Twenty frames after the last final: acknowledged, and no words of them were said.
  leg.push(70);
  await until(() => leg.leg.ledger().acknowledged === 70 * 160);
  await proxy.refuse();
  leg.push(50);
  await until(() => other.sessions.size === 1 && isLive(leg));
  await leg.leg.finish({ finalsMs: 5_000, withinMs: 600_000 });
  expect(leg.gaps).toEqual([{ startS: 1, durationS: 0.4, bytes: 0, cause: 'service' }]);
});

test('after a restart, too, only what a lost session had not said is a gap', async () => {
  await using folder = await temporaryFolder();
  await using dying = await FakeSpeech.start({ words: 'frames' });
  await using other = await FakeSpeech.start({ words: 'frames' });
  await using proxy = await FaultProxy.start(dying.port);
  dying.publicPort = proxy.port;
  const options = { url: proxy.url, others: [other.url], dir: folder.path };
  other.script.create = () => ({ status: 429, headers: { 'retry-after': '1' } });
  {
    await using rig = await legRig({ ...options, clock: new TestClock(20) });
    const leg = rig.leg();
    await until(() => isLive(leg));
    leg.push(70);
    await until(() => leg.leg.ledger().acknowledged === 70 * 160);
    leg.leg.leave();
  }
  await using rig = await legRig({ ...options, clock: new TestClock(20) });
  const leg = rig.leg({ recovered: rig.journal.recovered.get('leg_1')! });
  await until(() => isLive(leg));
  delete other.script.create;
  await proxy.refuse();
  leg.pushed = 70;
  leg.push(50);
  await until(() => other.sessions.size === 1 && isLive(leg));
  await leg.leg.finish({ finalsMs: 5_000, withinMs: 600_000 });
  expect(leg.gaps).toEqual([{ startS: 1, durationS: 0.4, bytes: 0, cause: 'service' }]);
});
