/** Orders that may wait in one lane, of everybody together. One more is answered at once with an error block. */
export const maxOrdersWaiting = 1_000;

/** Orders of one session or call that may wait in one lane: a burst of finals with their add-ons, and no more. */
export const maxOrdersWaitingPerOwner = 200;

type Owned = { owner: string };

/**
 * Orders that wait for a thread, in fair turns: each owner's orders stay in their order, and after each order it is the
 * next owner's turn. Without turns, a session that gives a hundred orders stands before everybody who gives one.
 */
export class Turns<Order extends Owned> {
  /** In order of turn: whose key stands first is next. */
  readonly #byOwner = new Map<string, Order[]>();
  readonly #limit: number;
  readonly #limitPerOwner: number;
  #size = 0;

  constructor(limit = maxOrdersWaiting, limitPerOwner = maxOrdersWaitingPerOwner) {
    this.#limit = limit;
    this.#limitPerOwner = limitPerOwner;
  }

  get size(): number {
    return this.#size;
  }

  /** Somebody other than this owner waits. */
  hasOthers(owner: string): boolean {
    return this.#byOwner.size > (this.#byOwner.has(owner) ? 1 : 0);
  }

  /** False when there is no room for it. */
  push(order: Order): boolean {
    const own = this.#byOwner.get(order.owner);
    if (this.#size >= this.#limit || (own?.length ?? 0) >= this.#limitPerOwner) return false;
    if (own) own.push(order);
    else this.#byOwner.set(order.owner, [order]);
    this.#size += 1;
    return true;
  }

  shift(): Order | undefined {
    for (const [owner, own] of this.#byOwner) {
      const order = own.shift();
      this.#byOwner.delete(owner);
      if (own.length > 0) this.#byOwner.set(owner, own);
      if (order) this.#size -= 1;
      return order;
    }
    return undefined;
  }

  /** True when it was waiting. */
  remove(order: Order): boolean {
    const own = this.#byOwner.get(order.owner);
    const at = own?.indexOf(order) ?? -1;
    if (own === undefined || at < 0) return false;
    own.splice(at, 1);
    if (own.length === 0) this.#byOwner.delete(order.owner);
    this.#size -= 1;
    return true;
  }

  /** Takes out all of one owner. */
  takeOf(owner: string): Order[] {
    const own = this.#byOwner.get(owner) ?? [];
    this.#byOwner.delete(owner);
    this.#size -= own.length;
    return own;
  }

  /** Takes out all that wait. */
  clear(): Order[] {
    const all = [...this.#byOwner.values()].flat();
    this.#byOwner.clear();
    this.#size = 0;
    return all;
  }

  *[Symbol.iterator](): Iterator<Order> {
    for (const own of this.#byOwner.values()) yield* own;
  }
}
