import { setImmediate } from 'node:timers/promises';
import { playbookFrom, type LoadedPlaybook, type RuleSet } from '../../../src/assist/rule-set.ts';
import { CallEvents } from '../../../src/bridge/events/call-events.ts';
import type { CallRecord } from '../../../src/bridge/records/call-record.ts';
import type { Result } from '../../../src/bridge/records/timeline.ts';
import { newId } from '../../../src/lib/ids.ts';
import { insertCall } from '../../../src/bridge/events/call-rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { silentLog } from '../recognition/recogniser.ts';
import { randomOf } from '../faults/live-faults.ts';

/* Calls in a time of their own: what a call brings to its rules, in the order and with the delays of real ones. */

type Drawn = () => number;
type SimulatedMoment = { at: number; order: number; act: (call: SimulatedCall) => void };

/** Rules with every kind of trigger. */
export const everyTrigger: LoadedPlaybook = playbookFrom(`
id: all
status: live
checklists: [{ id: begin, title: Opening, steps: [{ id: greet, title: Greet }, { id: recorded, title: Recorded }] }]
rules:
  - { id: greet, title: Greet, when: { phrase: { role: agent, any: ['good (morning|afternoon)'] } }, then: [{ step: begin.greet }] }
  - { id: told, title: Told, when: { phrase: { role: agent, any: [call is recorded] } }, then: [{ step: begin.recorded }, { tag: told }] }
  - { id: untold, title: Untold, when: { missing: { step: begin.recorded, at: 25 } }, then: [{ hint: { title: Tell, priority: 95 } }], once: true }
  - { id: quiet, title: Quiet, when: { silence: { longer_than: 8 } }, then: [{ hint: { title: Speak } }, { alert: { level: info } }], cooldown: 10 }
  - { id: long-quiet, title: Long, when: { silence: { longer_than: 14 } }, then: [{ hint: { title: Speak up } }], cooldown: 0 }
  - { id: much, title: Much, when: { talk: { role: agent, share_above: 0.6, over: 40 } }, then: [{ hint: { title: Ask } }], cooldown: 30 }
  - { id: over, title: Over, when: { overlap: { by: agent, times: 2, over: 60 } }, then: [{ hint: { title: Wait } }], cooldown: 20 }
  - { id: upset, title: Upset, when: { sentiment: { role: customer, is: negative, times: 2 } }, then: [{ hint: { title: Slow down, priority: 70 } }], cooldown: 20 }
  - { id: falls, title: Falls, when: { sentiment: { role: customer, course: falling, by: 0.5, over: 60, min_utterances: 3 } }, then: [{ alert: { level: warn } }, { hint: { title: Name it } }], cooldown: 30 }
  - { id: keys, title: Keys, when: { dtmf: { presses: 3, over: 10 } }, then: [{ hint: { title: Keys } }, { tag: keys }], cooldown: 5 }
  - { id: money, title: Money, when: { then: { first: { phrase: { role: customer, any: [cancel my contract] } }, next: { entity: { type: MONEY } }, within: 60 } }, then: [{ signal: { name: churn } }, { hint: { title: Offer } }], cooldown: 0 }
  - { id: often, title: Often, when: { count: { of: { phrase: { any: [one moment] } }, times: 2, over: 60 } }, then: [{ hint: { title: Moments } }], cooldown: 0 }
  - { id: minute, title: Minute, when: { elapsed: { at: 60 } }, then: [{ hint: { title: A minute } }] }
  - { id: tagged, title: Tagged, when: { all: [{ tag: keys }, { not: { phrase: { any: [thank you so much] } } }] }, then: [{ hint: { title: Tagged } }] }
  - { id: leaves, title: Leaves, when: { means: [i want to cancel my contract, please cancel the subscription now, can you terminate this plan, let us quit the account today, i wish to end our contract] }, then: [{ hint: { title: Ask why } }, { tag: leaves }], cooldown: 15 }
  - { id: refund, title: Refund, when: { phrase: { role: customer, any: [my money back] } }, then: [{ hint: { title: Refund } }, { alert: { level: info } }], cooldown: 5 }
  - { id: boss, title: Boss, when: { phrase: { role: customer, any: [speak to your manager] } }, then: [{ hint: { title: Boss, priority: 80 } }], cooldown: 5 }
`);

/** Rules of calls in one language, which turns out during the call. */
export const inEnglish: LoadedPlaybook = playbookFrom(`
id: english
status: live
scope: { language: [en] }
rules:
  - { id: moment, title: SimulatedMoment, when: { phrase: { any: [one moment] } }, then: [{ hint: { title: One moment } }], cooldown: 5 }
`);

const lines = [
  'good morning you are through to the shop', 'this call is recorded for training', 'one moment please',
  'I would like to speak to your manager', 'I want my money back', 'I want to cancel my contract today',
  'please terminate our subscription', 'thank you so much', 'that is two hundred pounds', 'yes that is fine',
  'could you tell me the postcode', 'it stopped working on Monday and nobody has called me', 'no', 'hello',
  'let us quit the plan', 'can I take a payment', 'I am really unhappy with this', 'is there anything else',
]; // prettier-ignore

const feed = { publish: () => undefined, isWatched: false } as never;
const language = { run: () => Promise.resolve({ results: null }) } as never;

/** One call: its plan is made of a seed, and so are its delays, repetitions and deaths. */
class SimulatedCall {
  readonly id = newId('call');
  readonly #store: Store;
  readonly #set: RuleSet;
  readonly #random: Drawn;
  readonly #record: CallRecord;
  #nowS = 0;
  #events: CallEvents;
  readonly #brought: { at: number; act: (call: SimulatedCall) => void }[] = [];
  #isTicking = true;

  constructor(store: Store, set: RuleSet, random: Drawn) {
    this.#store = store;
    this.#set = set;
    this.#random = random;
    this.#record = { id: this.id, carrier: 'simulated', carrierCallId: this.id, direction: 'inbound', startedAt: Date.now(), metadata: {}, overrides: {}, continues: null } as never; // prettier-ignore
    this.#events = this.#newEvents();
  }

  #newEvents(): CallEvents {
    const random = this.#random;
    return new CallEvents({
      ...{ config: { neutralSentiment: false, agentSentiment: true }, record: this.#record },
      ...{ store: this.#store, feed, log: silentLog, redactor: undefined, language },
      clock: { now: () => Date.now(), monotonicMs: () => this.#nowS * 1_000 } as never,
      nowS: () => Math.round(this.#nowS * 1_000) / 1_000,
      playbooks: { current: this.#set },
      knowledge: {
        isEmpty: false,
        ask: async () => {
          await Promise.resolve();
          if (random() < 0.5) return [];
          const name = `article-${Math.floor(random() * 20)}`;
          return [{ name, title: name, url: null, heading: '', text: 'It is so.', say: null, score: 0.9, article: name, isSure: true } as never]; // prettier-ignore
        },
      },
      ...{ pause: () => undefined, speakIn: () => undefined, lease: { node: 'one', fence: 0 } },
      ...{ wakeOutbox: () => undefined, onLeaseLost: () => undefined },
    });
  }

  async run(
    moments: readonly SimulatedMoment[],
    deaths: readonly number[],
    endS: number,
  ): Promise<void> {
    await this.#store.transaction((tx) => insertCall(tx, this.#record, 'one'));
    const random = this.#random;
    const dies = [...deaths];
    let tickS = random();
    for (const { at, act } of [...moments].toSorted((a, b) => a.at - b.at || a.order - b.order)) {
      for (; tickS < Math.min(at, endS); tickS += random() < 0.02 ? 2.5 : 1) this.#tick(tickS);
      if ((dies[0] ?? Infinity) < at) {
        dies.shift();
        tickS = await this.#die(at);
      }
      this.#nowS = Math.max(this.#nowS, at);
      this.#brought.push({ at: this.#nowS, act });
      act(this);
      // Now and then the model and the store have time, at other times they are behind.
      if (random() < 0.3) await setImmediate();
    }
    await this.#events.settled();
  }

  #tick(atS: number): void {
    this.#nowS = Math.max(this.#nowS, atS);
    if (this.#isTicking) this.#events.assistance.tick(this.#nowS);
  }

  /** The process is killed. The next one hears what is stored, and some of it comes a second time. */
  async #die(at: number): Promise<number> {
    for (let turns = Math.floor(this.#random() * 4); turns > 0; turns--) await setImmediate();
    this.#events.leave();
    await this.#events.settled();
    this.#nowS = Math.max(this.#nowS, at) + this.#random() * 12;
    this.#events = this.#newEvents();
    await this.#events.assistance.restore(this.#store.db);
    for (const { at: broughtAt, act } of [...this.#brought]) if (broughtAt > at - 15) act(this);
    return this.#nowS + this.#random();
  }

  say(channel: number, key: string, text: string, start: number, end: number): void {
    const data = { utterance_id: key, start, end, text, language: 'en', confidence: 0.9, channel, words: [] }; // prettier-ignore
    this.#result({ type: 'call.transcript', text, data }, channel, key, start, end);
  }

  feel(channel: number, key: string, sentiment: string, start: number, end: number): void {
    const results = [{ start, end, sentiment, emotion: 'neutral' }];
    const data = { utterance_id: key, utterance: { text: '', words: [] }, results };
    this.#result({ type: 'call.sentiment', text: JSON.stringify(results), data }, channel, key, start, end); // prettier-ignore
  }

  name(channel: number, key: string, start: number, end: number): void {
    const results = [{ entity_type: 'MONEY', text: '200', start, end }];
    const data = { utterance_id: key, utterance: { text: '', words: [] }, results };
    this.#result({ type: 'call.entities', text: '', data }, channel, key, start, end);
  }

  #result(draft: object, channel: number, key: string, start: number, end: number): void {
    const role = channel === 0 ? 'customer' : 'agent';
    const leg = { record: { id: `${this.id}-${channel}`, role, track: role }, roleOf: () => role, language: { of: () => 'en', now: 'en' }, audio: { sessionId: () => 's', keepState: () => undefined, stateChanged: () => undefined } }; // prettier-ignore
    this.#events.result(leg as never, { ...draft, key, sessionId: 's', channel, start, end } as Result); // prettier-ignore
  }

  speak(until: number): void {
    this.#events.assistance.speaking(until);
  }

  press(at: number): void {
    this.#events.keyPressed(undefined, at);
  }

  speaksEnglish(): void {
    this.#record.language = 'en';
  }

  pause(isPaused: boolean): void {
    this.#isTicking = !isPaused;
  }

  hangUp(): void {
    this.#isTicking = false;
    this.#events.hungUp(Date.now(), 'stop');
  }

  get record(): CallRecord {
    return this.#record;
  }
}

/** Plays a call that is made of this seed, and returns it once everything of it is stored. */
export async function simulatedCall(store: Store, set: RuleSet, seed: number): Promise<CallRecord> {
  const random = randomOf(seed);
  const among = <One>(all: readonly One[]): One => all[Math.floor(random() * all.length)] as One;
  const moments: SimulatedMoment[] = [];
  let order = 0;
  const plan = (at: number, act: (call: SimulatedCall) => void): void => {
    moments.push({ at, order: order++, act });
  };
  const round = (value: number): number => Math.round(value * 1_000) / 1_000;
  let clockS = 0.5;
  const utterances = 8 + Math.floor(random() * 25);
  for (let turn = 0; turn < utterances; turn++) {
    const channel = random() < 0.5 ? 0 : 1;
    const lengthS = random() < 0.1 ? 8 + random() * 20 : 0.5 + random() * 5;
    const [start, end] = [round(clockS), round(clockS + lengthS)];
    const key = `u${turn}`;
    const text = random() < 0.2 ? `${among(lines)}. ${among(lines)}` : among(lines);
    for (let at = start + 0.4; at < end; at += 0.3 + random() * 0.8) {
      const until = round(at);
      plan(at + 0.3 + random() * 0.6, (call) => call.speak(until));
    }
    const lateS = random() < 0.05 ? 4 + random() * 5 : 0.2 + random() * 1.5;
    plan(end + lateS, (call) => call.say(channel, key, text, start, end));
    if (random() < 0.05) plan(end + lateS + 1, (call) => call.say(channel, key, text, start, end));
    const sentiment = among(['negative', 'negative', 'neutral', 'positive']);
    plan(end + lateS + random() * 0.2, (call) => call.feel(channel, key, sentiment, start, end));
    if (random() < 0.3) plan(end + lateS + random() * 0.1, (call) => call.name(channel, key, start, end)); // prettier-ignore
    if (random() < 0.08)
      for (let press = 0; press < 4; press++) {
        const at = round(clockS + press * 0.7);
        plan(at + 0.1 + random() * 0.2, (call) => call.press(at));
      }
    if (random() < 0.05) {
      plan(clockS, (call) => call.pause(true));
      plan(end + 10, (call) => call.pause(false));
    }
    const isOver = random() < 0.2;
    const restS = random() < 0.12 ? 8 + random() * 30 : random() < 0.004 ? 700 : random() * 2;
    clockS = isOver ? Math.max(0.5, end - random() * 2) : end + restS;
  }
  if (random() < 0.6) plan(random() * 40, (call) => call.speaksEnglish());
  const endS = clockS + random() * 20;
  plan(endS, (call) => call.hangUp());
  const deaths = Array.from({ length: random() < 0.25 ? 1 + Math.floor(random() * 2) : 0 }, () => random() * endS); // prettier-ignore
  const call = new SimulatedCall(store, set, random);
  await call.run(
    moments,
    deaths.toSorted((a, b) => a - b),
    endS,
  );
  return call.record;
}
