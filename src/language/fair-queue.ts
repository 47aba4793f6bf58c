/** At most this many orders of all owners may wait in one lane. Further ones get an error block at once. */
export const maxOrdersWaiting = 1_000;

/** At most this many orders of one session or call may wait in one lane: a burst of finals with their add-ons. */
export const maxOrdersWaitingPerOwner = 200;

type Owned = { owner: string };

/**
 * Orders that wait for a thread, served fairly. The orders of each owner keep their order, and after each order the
 * next owner is served. Otherwise a session with a hundred orders would delay a session with one.
 */
export class FairQueue<Order extends Owned> {
  /** Owners in the order of service. The first key is served next. */
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

  /** True if an owner other than this one waits. */
  hasOthers(owner: string): boolean {
    return this.#byOwner.size > (this.#byOwner.has(owner) ? 1 : 0);
  }

  /** Returns false if there is no room. */
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

  /** Returns true if the order was waiting. */
  remove(order: Order): boolean {
    const own = this.#byOwner.get(order.owner);
    const at = own?.indexOf(order) ?? -1;
    if (own === undefined || at < 0) return false;
    own.splice(at, 1);
    if (own.length === 0) this.#byOwner.delete(order.owner);
    this.#size -= 1;
    return true;
  }

  /** Removes and returns all orders of one owner. */
  takeOf(owner: string): Order[] {
    const own = this.#byOwner.get(owner) ?? [];
    this.#byOwner.delete(owner);
    this.#size -= own.length;
    return own;
  }

  /** Removes and returns all waiting orders. */
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
