import type { Done, Hit } from './hits.ts';

/** An agent gets at most one new hint in this many seconds. Who gets more reads none. */
const betweenHintsS = 8;
/** A hint that had to wait longer than this is no longer about what is being said. */
const waitsS = 10;
/** A hint of this priority never waits. */
const urgentPriority = 90;
/** At most this many hints wait. The one with the lowest priority goes first. */
const maxHintsWaiting = 5;

type WaitingHint = { hit: Hit; hint: Done & { kind: 'hint' }; until: number };

/** Keeps hints apart in time. Everything else that a rule does is never held back. */
export class HintGate {
  #lastS = -betweenHintsS;
  #waiting: WaitingHint[] = [];

  pass(hit: Hit, nowS: number): Hit[] {
    const hint = hit.did.find((done) => done.kind === 'hint');
    if (hint === undefined || hit.isShadow) return [hit];
    if (hint.priority >= urgentPriority || nowS - this.#lastS >= betweenHintsS) {
      this.#lastS = nowS;
      return [hit];
    }
    this.#waiting.push({ hit, hint, until: nowS + waitsS });
    if (this.#waiting.length > maxHintsWaiting)
      this.#waiting = this.#waiting.toSorted(byPriority).slice(0, maxHintsWaiting);
    const others = hit.did.filter((done) => done !== hint);
    return others.length === 0 ? [] : [{ ...hit, key: `${hit.key}/more`, did: others }];
  }

  /** The hint whose turn it is, if any. */
  release(nowS: number): Hit[] {
    this.#waiting = this.#waiting.filter(({ until }) => until >= nowS);
    if (nowS - this.#lastS < betweenHintsS) return [];
    const next = this.#waiting.toSorted(byPriority)[0];
    if (next === undefined) return [];
    this.#waiting = this.#waiting.filter((one) => one !== next);
    this.#lastS = nowS;
    return [{ ...next.hit, at: nowS, did: [next.hint] }];
  }
}

function byPriority(one: WaitingHint, other: WaitingHint): number {
  return other.hint.priority - one.hint.priority || one.until - other.until;
}
