import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { SpeechTarget } from './service-api.ts';
import { backOffMs } from './back-off.ts';
import { speechTotals } from './metrics.ts';
import type { GateCause } from './service-gate.ts';

/** One of the processes that form the speech service. */
export type SpeechNode = {
  /** The name of a node of our database, or its address. It is stored with sessions, so it must be found again. */
  name: string;
  target: SpeechTarget;
  /** Nodes of one database answer for each other's sessions. Each address of a list answers only for its own. */
  isOfFleet: boolean;
  /** True for the node in this process. */
  isHere?: boolean;
  /** True if the node keeps its sessions and takes no new ones. */
  isDraining?: boolean;
  /** Channels as last reported. `at` changes with each report. */
  load?: { used: number; capacity: number; at: number };
};

/** At most this many nodes are asked for one session, one after the other. */
export const maxNodesAsked = 4;
/** While other nodes can be asked, each has this long to answer. */
const hurriedMs = 3_000;
/** If a request has waited this long at a node, others are not sent there. */
const slowMs = 1_000;
/** A node that did not answer is checked in the background, so no leg pays for it. */
const probes = { firstMs: 500, maxMs: 10_000 };
/** A node that answered 429 without a time is asked again after this pause. */
const crowdedMs = 5_000;

type Closed = { cause: GateCause; untilMs: number; attempts: number };

type SpeechNodesOptions = {
  /** Read again for every request, because nodes come and go. */
  nodes: () => readonly SpeechNode[];
  /** Resolves to true if the node answers at all. */
  probe: (target: SpeechTarget) => Promise<boolean>;
  clock: Clock;
  log: Logger;
  random?: () => number;
};

/** Chooses which speech node is asked, and in which order. A single node is always asked. */
export class SpeechNodes {
  readonly #options: SpeechNodesOptions;
  readonly #closed = new Map<string, Closed>();
  /** The start times of the requests under way at each node. */
  readonly #asking = new Map<string, number[]>();
  /** The number of sessions begun at a node since it reported its load. */
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

  /** True for a former node that is not listed any more. Its sessions are lost unless it returns. */
  isGone(name: string): boolean {
    return this.named(name) === undefined && this.#known.has(name);
  }

  /** True if an audio stream need not wait for this node, because another would take it. */
  hasOther(name: string | undefined): boolean {
    return this.all().some(
      (node) => node.name !== name && node.isDraining !== true && !this.#isClosed(node),
    );
  }

  /** Nodes that are not asked now: full ones, and those that do not answer. */
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

  /**
   * The nodes to ask for a session, best first. Empty only if there is no node, or if all have told when to come back.
   */
  candidates(): SpeechNode[] {
    const nodes = [...this.all()];
    if (nodes.length <= 1) return nodes;
    const open = nodes.filter((node) => node.isDraining !== true && !this.#isClosed(node));
    if (open.length > 0) return this.#inOrder(open).slice(0, maxNodesAsked);
    const dead = nodes.filter(({ name }) => this.#closed.get(name)?.cause !== 'busy');
    return this.#inOrder(dead).slice(0, maxNodesAsked);
  }

  /** The time until a full node may be asked again. Undefined if none has told a time. */
  busyForMs(): number | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    const waits = this.all().flatMap(({ name }) => {
      const closed = this.#closed.get(name);
      return closed?.cause === 'busy' ? [Math.max(0, closed.untilMs - nowMs)] : [];
    });
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  /** The time that a node may take to answer. Undefined means no special limit. */
  patienceMs(areOthersLeft: boolean): number | undefined {
    return areOthersLeft ? hurriedMs : undefined;
  }

  /** Notes a request to the node. The returned function reports its outcome. */
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

  /** Notes that the node failed. Legs go elsewhere until it reports or shows that it works again. */
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
      'a speech node accepts no sessions; other nodes are asked',
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
    this.#options.log.info({ node: name }, 'a speech node accepts sessions again');
  }

  /** The order of nodes: our own first, then the less loaded of two random ones, then the rest by load. */
  #inOrder(nodes: readonly SpeechNode[]): SpeechNode[] {
    const { random = Math.random } = this.#options;
    const rest = nodes
      .map((node) => ({ node, used: this.#usedOf(node), chance: random() }))
      .sort((a, b) => a.used - b.used || a.chance - b.chance);
    const pick = (): number => Math.min(rest.length - 1, Math.floor(random() * rest.length));
    // Two of three or more are drawn at random. Otherwise all that know the same loads would go to the same node.
    const first = rest.length > 2 ? Math.min(pick(), pick()) : 0;
    const chosen = rest.splice(first, 1);
    const ordered = [...chosen, ...rest].map(({ node }) => node);
    const here = ordered.filter(({ isHere }) => isHere === true);
    return [...here, ...ordered.filter(({ isHere }) => isHere !== true)];
  }

  /**
   * The share of the node's channels in use: its last report and the sessions begun since. Slow nodes count as full.
   */
  #usedOf({ name, load }: SpeechNode): number {
    const nowMs = this.#options.clock.monotonicMs();
    if ((this.#asking.get(name) ?? []).some((sinceMs) => nowMs - sinceMs > slowMs)) return 2;
    const since = this.#since.get(name);
    const begun = since !== undefined && since.at === (load?.at ?? 0) ? since.begun : 0;
    // an address from a list reports no load, so the one with the fewest new sessions is preferred
    if (load === undefined) return begun / 1e6;
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
      // A node that left, or that was closed for another reason meanwhile, is not checked any more.
      if (node === undefined || this.#closed.get(name)?.cause === 'busy') {
        if (node === undefined) this.#closed.delete(name);
        return;
      }
      void probe(node.target)
        .catch((error: unknown) => {
          log.error({ err: error, node: name }, 'a speech node could not be probed');
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
