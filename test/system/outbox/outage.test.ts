import { expect, test } from 'vitest';
import type { Clock } from '../../../src/lib/clock.ts';
import type { GuardedAnswer, GuardedRequest } from '../../../src/lib/guarded-fetch.ts';
import type { WebhookClient } from '../../../src/outbox/sender.ts';
import { violations, type Arrival, type Issued } from '../../support/crm/delivery-checker.ts';
import { digestOf } from '../../support/crm/crm.ts';
import { enqueue, outboxOn } from '../../support/crm/outbox.ts';
import { temporaryStore } from '../../support/store/store.ts';

/** Time that stands still until it is moved, and then runs every timer that it passes. */
class MovedClock implements Clock {
  #nowMs = Date.parse('2026-02-03T09:00:00Z');
  #jumpMs = 0;
  readonly #timers = new Set<{ atMs: number; run: () => void }>();

  now(): number {
    return this.#nowMs + this.#jumpMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Somebody sets the wall clock; what never jumps goes on. */
  jump(byMs: number): void {
    this.#jumpMs += byMs;
  }

  moveTo(untilMs: number): void {
    for (;;) {
      const next = [...this.#timers]
        .filter((timer) => timer.atMs <= untilMs)
        .sort((a, b) => a.atMs - b.atMs)[0];
      if (!next) break;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      this.#timers.delete(next);
      next.run();
    }
    this.#nowMs = untilMs;
  }
}

/** A CRM without a network: it is there or it is not. */
class SimulatedCrm implements WebhookClient {
  isUp = false;
  readonly attemptsMs: number[] = [];
  readonly arrivals: Arrival[] = [];
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
    const clock = new MovedClock();
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
        clock.moveTo(Math.min(endMs, clock.monotonicMs() + stepMs));
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
    const clock = new MovedClock();
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
    /** Where the wall clock is put next; -1 s and +1 s are leap seconds as clocks take them. */
    const places = [
      (nowMs: number) => nowMs - hour,
      (nowMs: number) => nowMs + hour,
      (nowMs: number) => nowMs + 10 * year,
      () => second2038 - 1,
      () => second2038 + day,
      (nowMs: number) => nowMs - 1_000,
      (nowMs: number) => nowMs + 1_000,
      (nowMs: number) => nowMs - 10 * year,
      () => clock.monotonicMs() - 10 * year,
      () => clock.monotonicMs(),
    ];
    const rounds = 20;
    const arrived = () => new Set(crm.arrivals.map(({ id }) => id));
    let jumps = 0;
    for (let round = 0; round < rounds; round++) {
      const before = crm.attemptsMs.length;
      crm.isUp = false;
      await enqueue(store, `call_${round}`, 'call.transcript', clock.now());
      outbox.wake();
      await expect.poll(() => crm.attemptsMs.length, { timeout: 20_000 }).toBe(before + 1);
      crm.isUp = true;
      // Twice the schedule's five seconds, while the wall clock is put elsewhere nearly every second.
      for (let second = 0; second < 12; second++) {
        const place = places[(second + round) % places.length]!;
        if (second < places.length && ++jumps) clock.jump(place(clock.now()) - clock.now());
        clock.moveTo(clock.monotonicMs() + 1_000);
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
