import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { SpeechTarget } from './api.ts';
import { backOffMs } from './back-off.ts';
import { speechTotals } from './metrics.ts';
import type { GateCause } from './service-gate.ts';

/** One of the processes that are the speech service together. */
export type SpeechNode = {
  /** The name of a node of our database, else its address: what is stored of it must be found again. */
  name: string;
  target: SpeechTarget;
  /** Nodes of one database answer for one another's sessions; each address of a list answers for its own. */
  isOfFleet: boolean;
  /** In this process. */
  isHere?: boolean;
  /** Keeps what it has and takes nothing new. */
  isDraining?: boolean;
  /** Channels, as it last said; `at` is another number whenever it says them anew. */
  load?: { used: number; capacity: number; at: number };
};

/** At most this many nodes are asked for one session, one after the other. */
export const maxNodesAsked = 4;
/** While another node can be asked, one has this long to answer; then the next one is. */
const hurriedMs = 3_000;
/** A request that has waited so long at a node keeps others from going there. */
const slowMs = 1_000;
/** A node that did not answer is looked at again, in the background: no leg pays for finding out. */
const probes = { firstMs: 500, maxMs: 10_000 };
/** The pause before a node that answered 429 without a time is asked again. */
const crowdedMs = 5_000;

type Closed = { cause: GateCause; untilMs: number; attempts: number };

type SpeechNodesOptions = {
  /** Read again for every request: nodes come and go. */
  nodes: () => readonly SpeechNode[];
  /** Resolves to true when the node answers at all. */
  probe: (target: SpeechTarget) => Promise<boolean>;
  clock: Clock;
  log: Logger;
  random?: () => number;
};

/**
 * Which speech node is asked, and in which order. With a single one there is nothing to choose: then nothing here
 * keeps a leg from it.
 */
export class SpeechNodes {
  readonly #options: SpeechNodesOptions;
  readonly #closed = new Map<string, Closed>();
  /** When the requests that are under way at a node began. */
  readonly #asking = new Map<string, number[]>();
  /** Sessions that were begun at a node after it said its load. */
  readonly #since = new Map<string, { at: number; begun: number }>();
  readonly #known = new Set<string>();
  readonly #stops = new Set<() => void>();
  #isOver = false;

  constructor(options: SpeechNodesOptions) {
    this.#options = options;
  }

  all(): readonly SpeechNode[] {
    const nodes = this.#options.nodes();
    for (const { name } of nodes) this.#known.add(name);
    return nodes;
  }

  named(name: string | undefined): SpeechNode | undefined {
    return name === undefined ? undefined : this.all().find((node) => node.name === name);
  }

  /** A node that was among them and is not any more: its sessions are lost, unless it comes back. */
  isGone(name: string): boolean {
    return this.named(name) === undefined && this.#known.has(name);
  }

  /** True when an audio stream need not wait for this node: another one would take it. */
  hasOther(name: string | undefined): boolean {
    return this.all().some(
      (node) => node.name !== name && node.isDraining !== true && !this.#isClosed(node),
    );
  }

  /** Those that are not asked now: full ones, and those that do not answer. */
  passedOver(): { full: string[]; silent: string[] } {
    const closed = this.all().filter((node) => this.#isClosed(node));
    const isFull = ({ name }: SpeechNode): boolean => this.causeOf(name) === 'busy';
    const namesOf = (nodes: readonly SpeechNode[]): string[] => nodes.map(({ name }) => name);
    return {
      full: namesOf(closed.filter(isFull)),
      silent: namesOf(closed.filter((node) => !isFull(node))),
    };
  }

  causeOf(name: string): GateCause | undefined {
    return this.#closed.get(name)?.cause;
  }

  /** Who is asked for a session, the best first. Never empty where there is a node, unless all said when to come back. */
  candidates(): SpeechNode[] {
    const nodes = [...this.all()];
    if (nodes.length <= 1) return nodes;
    const open = nodes.filter((node) => node.isDraining !== true && !this.#isClosed(node));
    if (open.length > 0) return this.#inOrder(open).slice(0, maxNodesAsked);
    const dead = nodes.filter(({ name }) => this.#closed.get(name)?.cause !== 'busy');
    return this.#inOrder(dead).slice(0, maxNodesAsked);
  }

  /** The time until a node that had no room may be asked again; undefined where none said so. */
  busyForMs(): number | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    const waits = this.all().flatMap(({ name }) => {
      const closed = this.#closed.get(name);
      return closed?.cause === 'busy' ? [Math.max(0, closed.untilMs - nowMs)] : [];
    });
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  /** For how long a node may keep us waiting; undefined for as long as any. */
  patienceMs(areOthersLeft: boolean): number | undefined {
    return areOthersLeft ? hurriedMs : undefined;
  }

  /** A request goes to the node now; what it came to is told by what this answers. */
  asked(node: SpeechNode): (result: 'created' | 'other' | GateCause, waitMs?: number) => void {
    const sinceMs = this.#options.clock.monotonicMs();
    const asking = this.#asking.get(node.name) ?? [];
    asking.push(sinceMs);
    this.#asking.set(node.name, asking);
    return (result, waitMs) => {
      asking.splice(asking.indexOf(sinceMs), 1);
      if (result === 'created') this.#began(node);
      if (result === 'created' || result === 'other') this.#reopened(node);
      else this.failed(node, result, waitMs);
    };
  }

  /** The node did not do what it was asked: legs go elsewhere, until it says or shows that it can again. */
  failed(node: SpeechNode, cause: GateCause, waitMs?: number): void {
    if (this.all().length <= 1) return;
    const { clock, log } = this.#options;
    const before = this.#closed.get(node.name);
    const attempts = before?.cause === cause ? before.attempts + 1 : 0;
    const delayMs =
      cause === 'busy' ? (waitMs ?? crowdedMs) : (waitMs ?? backOffMs(attempts, probes));
    const untilMs = clock.monotonicMs() + delayMs;
    this.#closed.set(node.name, { cause, untilMs, attempts });
    if (before?.cause === cause) return;
    speechTotals.passedOver++;
    log.warn(
      { node: node.name, cause },
      'a speech node takes no session: the others are asked meanwhile',
    );
    if (cause !== 'busy' && before === undefined) this.#probeLater(node.name);
  }

  close(): void {
    this.#isOver = true;
    for (const stop of this.#stops) stop();
  }

  #isClosed({ name }: SpeechNode): boolean {
    const closed = this.#closed.get(name);
    if (closed === undefined) return false;
    if (closed.cause !== 'busy' || closed.untilMs > this.#options.clock.monotonicMs()) return true;
    this.#closed.delete(name);
    return false;
  }

  #began({ name, load }: SpeechNode): void {
    const at = load?.at ?? 0;
    const since = this.#since.get(name);
    if (since?.at === at) since.begun++;
    else this.#since.set(name, { at, begun: 1 });
  }

  #reopened({ name }: SpeechNode): void {
    if (!this.#closed.delete(name)) return;
    this.#options.log.info({ node: name }, 'a speech node takes sessions again');
  }

  /** Our own first, then the freer one of two that chance names, then the rest by how free they are. */
  #inOrder(nodes: readonly SpeechNode[]): SpeechNode[] {
    const { random = Math.random } = this.#options;
    const rest = nodes
      .map((node) => ({ node, used: this.#usedOf(node), chance: random() }))
      .sort((a, b) => a.used - b.used || a.chance - b.chance);
    const pick = (): number => Math.min(rest.length - 1, Math.floor(random() * rest.length));
    // Two of three or more: all who know the same loads would else go to the same node.
    const first = rest.length > 2 ? Math.min(pick(), pick()) : 0;
    const chosen = rest.splice(first, 1);
    const ordered = [...chosen, ...rest].map(({ node }) => node);
    const here = ordered.filter(({ isHere }) => isHere === true);
    return [...here, ...ordered.filter(({ isHere }) => isHere !== true)];
  }

  /** The share of its channels that is in use, by its last word and by what was begun since; slow ones count as full. */
  #usedOf({ name, load }: SpeechNode): number {
    const nowMs = this.#options.clock.monotonicMs();
    if ((this.#asking.get(name) ?? []).some((sinceMs) => nowMs - sinceMs > slowMs)) return 2;
    const since = this.#since.get(name);
    const begun = since !== undefined && since.at === (load?.at ?? 0) ? since.begun : 0;
    if (load === undefined) return begun / 1e6; // an address of a list says no load: the fewest begun
    return load.capacity <= 0 ? 2 : (load.used + begun) / load.capacity;
  }

  #probeLater(name: string): void {
    const closed = this.#closed.get(name);
    if (closed === undefined || this.#isOver) return;
    const { clock, probe, log } = this.#options;
    const delayMs = Math.max(0, closed.untilMs - clock.monotonicMs());
    const stop = clock.after(delayMs, () => {
      this.#stops.delete(stop);
      const node = this.named(name);
      // A node that left and one that was closed for another reason meanwhile are no longer looked at.
      if (node === undefined || this.#closed.get(name)?.cause === 'busy') {
        if (node === undefined) this.#closed.delete(name);
        return;
      }
      void probe(node.target)
        .catch((error: unknown) => {
          log.error({ err: error, node: name }, 'a speech node could not be looked at');
          return false;
        })
        .then((answers) => {
          const current = this.#closed.get(name);
          if (current === undefined) return;
          if (answers) {
            this.#reopened(node);
            return;
          }
          const attempts = current.attempts + 1;
          const untilMs = clock.monotonicMs() + backOffMs(attempts, probes);
          this.#closed.set(name, { ...current, attempts, untilMs });
          this.#probeLater(name);
        });
    });
    this.#stops.add(stop);
  }
}
