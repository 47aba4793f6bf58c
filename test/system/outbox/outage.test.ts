import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { Clock } from '../../../src/lib/clock.ts';
import type { GuardedAnswer, GuardedRequest } from '../../../src/lib/guarded-fetch.ts';
import type { WebhookClient } from '../../../src/outbox/sender.ts';
import { violations, type ReceivedEvent, type Issued } from '../../support/crm/delivery-checker.ts';
import { digestOf } from '../../support/crm/crm.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { enqueue, outboxOn } from '../../support/crm/outbox.ts';
import { temporaryStore } from '../../support/store/store.ts';

/** Still until a test passes time, and no time that the program begins with by chance. */
const beganMs = Date.parse('2026-02-03T09:00:00Z');
function stillClock(): TestClock {
  const clock = new TestClock(0);
  clock.setWallAhead(beganMs);
  return clock;
}

/** A CRM without a network: it is there or it is not. */
class SimulatedCrm implements WebhookClient {
  isUp = false;
  /** Done in the middle of each attempt. */
  onAttempt: (() => void) | undefined;
  readonly attemptsMs: number[] = [];
  readonly arrivals: ReceivedEvent[] = [];
  /** Attempts whose signature says another time than the wall clock did. */
  wronglyTimed = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async send(request: GuardedRequest): Promise<GuardedAnswer> {
    await Promise.resolve();
    const atMs = this.#clock.monotonicMs();
    this.attemptsMs.push(atMs);
    const signedS = Number(request.headers?.['webhook-timestamp']);
    if (!(Math.abs(signedS - this.#clock.now() / 1_000) <= 1)) this.wronglyTimed++;
    this.onAttempt?.();
    if (!this.isUp) return { ok: false, failure: 'connect', reason: 'connect: ECONNREFUSED' };
    const event = JSON.parse(Buffer.from(request.body!).toString()) as {
      id: string;
      sequence: number;
      call: { id: string };
    };
    this.arrivals.push({
      callId: event.call.id,
      sequence: event.sequence,
      id: event.id,
      digest: digestOf(request.body!),
      atMs,
    });
    return {
      ok: true,
      status: 200,
      headers: {},
      body: Buffer.alloc(0),
      bodyEnd: 'complete',
      url: request.url,
    };
  }
}

const hour = 3_600_000;
const calls = 1_000;

test(
  'a CRM that is away for 72 hours: few probes, nothing parked, everything in order within ten minutes',
  { timeout: 240_000 },
  async () => {
    const clock = stillClock();
    const crm = new SimulatedCrm(clock);
    await using store = await temporaryStore({ clock });
    await using outbox = await outboxOn(store, 'http://crm.example/', {
      clock,
      client: crm,
      random: () => 0.5,
      config: { pollMs: 1_000 },
    });
    /** Lets the store and the couriers come to rest: real threads work between two moments of simulated time. */
    const rest = async () => {
      let before = -1;
      for (let quiet = 0; quiet < 1;) {
        await store.db.selectFrom('lanes').select('endpoint').limit(1).execute();
        await store.db.updateTable('endpoints').set({ active: 1 }).execute();
        quiet = before === crm.attemptsMs.length ? quiet + 1 : 0;
        before = crm.attemptsMs.length;
      }
    };
    const advance = async (forMs: number, stepMs: number) => {
      for (const endMs = clock.monotonicMs() + forMs; clock.monotonicMs() < endMs;) {
        await clock.pass(Math.min(endMs - clock.monotonicMs(), stepMs));
        await rest();
      }
    };
    const issued: Issued[] = await Promise.all(
      Array.from({ length: calls * 2 }, (_, index) =>
        enqueue(store, `call_${index % calls}`, 'call.transcript', clock.now()),
      ),
    );
    outbox.wake();
    await rest();
    await advance(60_000, 1_000);
    await advance(2 * hour - 60_000, 60_000);
    await advance(70 * hour, 300_000);
    const perSecond = new Map<number, number>();
    for (const atMs of crm.attemptsMs.slice(50)) {
      const second = Math.floor((atMs - crm.attemptsMs[0]!) / 1_000);
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
    }
    // Before the breaker opened a handful went out at once; from then on it is one at a time.
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(2);
    expect(crm.attemptsMs.length).toBeLessThan(72 * 60 + 200);
    expect((await outbox.deliveries.list({ state: 'parked', limit: 1 })).items).toEqual([]);

    crm.isUp = true;
    const backMs = clock.monotonicMs();
    while (crm.arrivals.length < issued.length && clock.monotonicMs() < backMs + 20 * 60_000)
      await advance(5_000, 1_000);
    const acknowledged = new Set(issued.map((event) => event.id));
    expect(
      violations({
        issued,
        acknowledged,
        arrivals: crm.arrivals,
        crashes: 0,
        deadlineMs: backMs + 10 * 60_000,
      }),
    ).toEqual([]);
  },
);

test(
  '200 jumps of the wall clock under waiting webhooks: nothing is late or lost, no jump makes a storm, and what goes out is signed with the time that it is',
  { timeout: 120_000 },
  async () => {
    const clock = stillClock();
    const crm = new SimulatedCrm(clock);
    await using store = await temporaryStore({ clock });
    await using outbox = await outboxOn(store, 'http://crm.example/', {
      clock,
      client: crm,
      random: () => 0.5,
      config: { pollMs: 1_000 },
    });
    const day = 24 * hour;
    const year = 365 * day;
    const second2038 = 2 ** 31 * 1_000;
    const rightMs = () => beganMs + clock.monotonicMs();
    /** The next settings of the wall clock; -1 s and +1 s are leap seconds as clocks take them. */
    const places = [
      (nowMs: number) => nowMs - hour,
      (nowMs: number) => nowMs + hour,
      (nowMs: number) => nowMs + 10 * year,
      () => second2038 - 1,
      () => second2038 + day,
      (nowMs: number) => nowMs - 1_000,
      (nowMs: number) => nowMs + 1_000,
      (nowMs: number) => nowMs - 10 * year,
      () => rightMs() - 10 * year,
      () => rightMs(),
    ];
    const rounds = 20;
    const arrived = () => new Set(crm.arrivals.map(({ id }) => id));
    let jumps = 0;
    for (let round = 0; round < rounds; round++) {
      const before = crm.attemptsMs.length;
      crm.isUp = false;
      // Said by a clock that is right: an event that is ten years old is removed as such.
      clock.setWallAhead(beganMs);
      await enqueue(store, `call_${round}`, 'call.transcript', clock.now());
      outbox.wake();
      await expect.poll(() => crm.attemptsMs.length, { timeout: 20_000 }).toBe(before + 1);
      crm.isUp = true;
      // Twice the schedule's five seconds, while the wall clock is put elsewhere nearly every second.
      for (let second = 0; second < 12; second++) {
        const place = places[(second + round) % places.length]!;
        if (second < places.length && ++jumps)
          clock.setWallAhead(place(clock.now()) - clock.monotonicMs());
        await clock.pass(1_000);
        for (let turn = 0; turn < 4; turn++)
          await store.db.updateTable('endpoints').set({ active: 1 }).execute();
      }
      await expect.poll(() => arrived().size, { timeout: 20_000 }).toBe(round + 1);
      const first = crm.arrivals.find(({ callId }) => callId === `call_${round}`)!;
      expect(first.atMs - crm.attemptsMs[before]!).toBeLessThanOrEqual(12_000);
      // The one that failed, the one that arrived, and at most one more for a jump under an attempt.
      expect(crm.attemptsMs.length - before).toBeLessThanOrEqual(2 + places.length);
    }
    expect(jumps).toBe(200);
    expect(crm.wronglyTimed).toBe(0);
  },
);

test('a process that begins while a CRM is away says so, and says when the CRM answers again', async () => {
  const clock = stillClock();
  const crm = new SimulatedCrm(clock);
  await using store = await temporaryStore({ clock });
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const settings = { clock, client: crm, random: () => 0.5, log };
  {
    await using outbox = await outboxOn(store, 'http://crm.example/', settings);
    expect(outbox.notes?.()).toEqual([]);
    await enqueue(store, 'call_1', 'call.transcript', clock.now());
    outbox.wake();
    await expect.poll(() => crm.attemptsMs.length).toBe(1);
    await outbox.drain?.(10_000);
  }
  crm.isUp = true;
  await using outbox = await outboxOn(store, 'http://crm.example/', settings);
  expect(outbox.notes?.()).toEqual([
    '1 call waits for webhook webhook, last failure 2026-02-03 09:00 UTC: connect: ECONNREFUSED (npx trunkline deliveries list)',
  ]);
  expect((await outbox.health?.())?.['delivery']).toMatchObject({ state: 'degraded' });
  await expect
    .poll(
      async () => {
        await clock.pass(1_000);
        return crm.arrivals.length;
      },
      { timeout: 20_000 },
    )
    .toBe(1);
  await expect.poll(async () => (await outbox.health?.())?.['delivery']).toBeUndefined();
  expect(lines.filter((line) => line.includes('endpoint answers again'))).toHaveLength(1);
});

/** Steps of a clock that nobody has looked at yet: of a machine that slept, and of one whose clock was wrong. */
const sets = [
  ['ahead', 8 * hour],
  ['back', -8 * hour],
] as const;

test.each(sets)(
  'a clock that is set %s under an attempt: the next attempt is by the schedule, and a budget is not spent by it',
  { timeout: 60_000 },
  async (_, setMs) => {
    const clock = stillClock();
    const crm = new SimulatedCrm(clock);
    await using store = await temporaryStore({ clock });
    await using outbox = await outboxOn(store, 'http://crm.example/', {
      clock,
      client: crm,
      random: () => 0.5,
      config: { pollMs: 1_000, retryBudgetMs: hour },
    });
    await enqueue(store, 'call_1', 'call.transcript', clock.now());
    for (const tries of [1, 2]) {
      // Both times: the first failure begins the budget, the second is held against it.
      crm.onAttempt = () => clock.setWallAhead(clock.now() - clock.monotonicMs() + setMs);
      outbox.wake();
      await expect.poll(() => crm.attemptsMs.length, { timeout: 20_000 }).toBe(tries);
      crm.onAttempt = undefined;
      await expect
        .poll(async () => {
          const lane = await store.db.selectFrom('lanes').selectAll().executeTakeFirstOrThrow();
          return lane.claim_id === null && lane.parked_at === null && lane.next_attempt_at;
        })
        .toSatisfy((at: unknown) => {
          const waitMs = Number(at) - clock.now();
          return typeof at === 'number' && waitMs > 0 && waitMs <= 60_000;
        });
      await clock.pass(60_000);
    }
  },
);

test.each(sets)(
  'an event of a clock that is set %s is due at once',
  { timeout: 60_000 },
  async (_, setMs) => {
    const clock = stillClock();
    const crm = new SimulatedCrm(clock);
    crm.isUp = true;
    await using store = await temporaryStore({ clock });
    await using _outbox = await outboxOn(store, 'http://crm.example/', {
      clock,
      client: crm,
      config: { pollMs: 1_000 },
    });
    const arrivedInTime = async (): Promise<string[]> => {
      await clock.pass(1_000);
      return crm.arrivals.map(({ callId }) => callId);
    };
    const times = { before: clock.now(), after: clock.now() + setMs };
    clock.setWallAhead(times.after - clock.monotonicMs());
    await enqueue(store, 'call_after', 'call.transcript', times.after);
    await expect.poll(arrivedInTime, { timeout: 20_000 }).toEqual(['call_after']);
    // Said before the clock was set, stored after it was noticed.
    const beganMs = clock.monotonicMs();
    await enqueue(store, 'call_before', 'call.transcript', times.before);
    await expect.poll(arrivedInTime, { timeout: 20_000 }).toEqual(['call_after', 'call_before']);
    expect(clock.monotonicMs() - beganMs).toBeLessThan(4 * hour);
  },
);
