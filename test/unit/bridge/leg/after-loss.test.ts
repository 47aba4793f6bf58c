import { expect, test } from 'vitest';
import { legAfterLoss, type SharedLegState } from '../../../../src/bridge/leg/after-loss.ts';
import { LegLedger } from '../../../../src/bridge/records/ledger.ts';

/** A leg that had received 1,000 bytes, of which 600 were acknowledged, all in one session that began at 200. */
function state(): SharedLegState {
  const ledger = new LegLedger();
  ledger.audio(1_000);
  ledger.acknowledge(600);
  const flight = { base: 200, acknowledged: 600, everSent: 1_000, rebases: [] };
  return {
    legId: 'leg_1',
    callId: 'call_1',
    recording: true,
    paused: false,
    finishing: false,
    silence: 0xff,
    spilled: 900,
    ledger: ledger.snapshot(),
    current: { id: 'two', url: 'wss://service.example/two', flight },
    sessions: [
      { id: 'one', base: 0, end: 200, unread: true },
      { id: 'two', base: 200, unread: true },
    ],
  };
}

test.each([
  { heard: 800, received: 1_000, acknowledged: 1_000, gap: undefined },
  { heard: 500, received: 1_000, acknowledged: 700, gap: { start: 700, end: 1_000 } },
  { heard: 0, received: 1_000, acknowledged: 600, gap: { start: 600, end: 1_000 } },
  { heard: undefined, received: 1_000, acknowledged: 600, gap: { start: 600, end: 1_000 } },
  // A millisecond more or less is the last byte.
  { heard: 804, received: 1_000, acknowledged: 1_000, gap: undefined },
  { heard: 793, received: 1_000, acknowledged: 1_000, gap: undefined },
  // The lost node had received and sent more than it had shared.
  { heard: 1_100, received: 1_300, acknowledged: 1_300, gap: undefined },
])('a session that has heard $heard bytes: the ledger comes out even', (example) => {
  const { snapshot, gaps } = legAfterLoss(state(), example.heard, 8_000);
  const ledger = new LegLedger(snapshot.ledger);
  expect(gaps).toEqual(example.gap === undefined ? [] : [example.gap]);
  expect(ledger.counts()).toMatchObject({
    received: example.received,
    acknowledged: example.acknowledged,
    gaps: example.received - example.acknowledged,
  });
  expect([ledger.balanced(), ledger.isSettled]).toEqual([true, true]);
});

test('the old session takes nothing more and is read: where it ended is known when it said so', () => {
  const { snapshot } = legAfterLoss(state(), 500, 8_000);
  expect(snapshot).not.toHaveProperty('current');
  expect(snapshot.spilled).toBe(0);
  expect(snapshot.sessions).toEqual([
    { id: 'one', base: 0, end: 200, unread: true },
    { id: 'two', base: 200, end: 700, unread: true },
  ]);
  expect(legAfterLoss(state(), undefined, 8_000).snapshot.sessions[1]).not.toHaveProperty('end');
});

test.each([
  { kept: [{ start: 0, end: 1_000 }], gaps: [], received: 1_000, lost: 0 },
  {
    kept: [
      { start: 500, end: 700 },
      { start: 800, end: 1_200 },
    ],
    gaps: [{ start: 700, end: 800 }],
    received: 1_200,
    lost: 100,
  },
  {
    kept: [{ start: 0, end: 300 }],
    gaps: [{ start: 600, end: 1_000 }],
    received: 1_000,
    lost: 400,
  },
])('what the object store has of it is no gap: $kept', ({ kept, gaps, received, lost }) => {
  const after = legAfterLoss(state(), undefined, 8_000, kept);
  expect(after.gaps).toEqual(gaps);
  const ledger = new LegLedger(after.snapshot.ledger);
  expect(ledger.counts()).toMatchObject({ received, acknowledged: 600, gaps: lost });
  ledger.acknowledge(ledger.end);
  expect(ledger.counts()).toMatchObject({ received, acknowledged: received - lost, gaps: lost });
  expect(ledger.balanced()).toBe(true);
});
