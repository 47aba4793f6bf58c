/**
 * Checks the promises that must hold in every run, whatever faults it had. Its inputs are observations from outside:
 * the acknowledgements of the store (recorded outside the process), what the receiver got, what the store says about
 * the rest, and the audio ledgers. It accepts no excuse.
 */
export type Issued = { callId: string; sequence: number; id: string; digest?: string };

export type ReceivedEvent = {
  callId: string;
  sequence: number;
  id: string;
  /** The hash of the received bytes. */
  digest: string;
  /** The time by the receiver's clock. */
  atMs: number;
};

export type AudioLedger = {
  leg: string;
  received: number;
  acknowledged: number;
  gaps: number;
  paused: number;
};

export type History = {
  /** Every event that the producer tried to store, acknowledged or not. */
  issued: readonly Issued[];
  /** The ids of acknowledged commits. */
  acknowledged: ReadonlySet<string>;
  arrivals: readonly ReceivedEvent[];
  /** Ids that the store shows as parked, or that were erased. */
  parked?: ReadonlySet<string>;
  erased?: ReadonlySet<string>;
  ledgers?: readonly AudioLedger[];
  /** The number of times a process was killed, or paused beyond its lease. Each may repeat one event of a call. */
  crashes?: number;
  /** Arrivals after this time are late. */
  deadlineMs?: number;
};

export type Findings = {
  /** Acknowledged events that never arrived and are neither parked nor erased. */
  lost: string[];
  /** Events that arrived without being issued. */
  invented: string[];
  /** First arrivals of a call whose sequence does not rise. */
  order: string[];
  /** Ids with different bytes, or with other bytes than were issued. */
  altered: string[];
  /** Pairs of ids with the same call and sequence. */
  doubled: string[];
  /** Audio that no ledger entry explains. */
  gaps: string[];
  late: string[];
  /** Later arrivals of an id that had arrived already. They are allowed and counted. */
  repeated: number;
  worstRepeats: number;
  /** Events that arrived although no acknowledgement was seen. */
  recovered: number;
};

export function check(history: History): Findings {
  const issued = new Map(history.issued.map((event) => [event.id, event]));
  const first = firstArrivals(history.arrivals);
  const parked = history.parked ?? new Set();
  const erased = history.erased ?? new Set();
  return {
    lost: [...history.acknowledged].filter(
      (id) => !first.has(id) && !parked.has(id) && !erased.has(id),
    ),
    invented: [...first.keys()].filter((id) => !issued.has(id)),
    order: outOfOrder(history.arrivals),
    altered: alteredIds(history.arrivals, issued),
    doubled: doubledSequences(history.arrivals),
    gaps: (history.ledgers ?? [])
      .filter((ledger) => ledger.received !== ledger.acknowledged + ledger.gaps + ledger.paused)
      .map((ledger) => ledger.leg),
    late: [...first.values()]
      .filter((arrival) => history.deadlineMs !== undefined && arrival.atMs > history.deadlineMs)
      .map((arrival) => arrival.id),
    ...repeats(history.arrivals),
    recovered: [...first.keys()].filter((id) => issued.has(id) && !history.acknowledged.has(id))
      .length,
  };
}

/** The findings that no run may have. Empty if all promises hold. */
export function violations(history: History): string[] {
  const found = check(history);
  const problems = (
    ['lost', 'invented', 'order', 'altered', 'doubled', 'gaps', 'late'] as const
  ).flatMap((kind) =>
    found[kind].length > 0
      ? [`${kind}: ${found[kind].slice(0, 3).join(', ')} (${found[kind].length})`]
      : [],
  );
  // Normally nothing is repeated. Each crash may repeat the event of each call that was being delivered.
  if (history.crashes !== undefined && found.worstRepeats > history.crashes)
    problems.push(
      `repeated: ${found.worstRepeats} times in one call with ${history.crashes} crashes`,
    );
  return problems;
}

function firstArrivals(arrivals: readonly ReceivedEvent[]): Map<string, ReceivedEvent> {
  const first = new Map<string, ReceivedEvent>();
  for (const arrival of arrivals) if (!first.has(arrival.id)) first.set(arrival.id, arrival);
  return first;
}

function outOfOrder(arrivals: readonly ReceivedEvent[]): string[] {
  const seen = new Set<string>();
  const highest = new Map<string, number>();
  const wrong: string[] = [];
  for (const { id, callId, sequence } of arrivals) {
    if (seen.has(id)) continue; // a repetition may come late, since receivers ignore ids that they know
    seen.add(id);
    if (sequence <= (highest.get(callId) ?? 0)) wrong.push(id);
    else highest.set(callId, sequence);
  }
  return wrong;
}

function alteredIds(
  arrivals: readonly ReceivedEvent[],
  issued: ReadonlyMap<string, Issued>,
): string[] {
  const digests = new Map<string, string>();
  const altered = new Set<string>();
  for (const { id, digest, callId, sequence } of arrivals) {
    const known = issued.get(id);
    const expected = digests.get(id) ?? known?.digest ?? digest;
    if (expected !== digest) altered.add(id);
    if (known && (known.callId !== callId || known.sequence !== sequence)) altered.add(id);
    digests.set(id, expected);
  }
  return [...altered];
}

function doubledSequences(arrivals: readonly ReceivedEvent[]): string[] {
  const owner = new Map<string, string>();
  const doubled = new Set<string>();
  for (const { id, callId, sequence } of arrivals) {
    const place = `${callId} ${sequence}`;
    const other = owner.get(place);
    if (other !== undefined && other !== id) doubled.add(id);
    else owner.set(place, id);
  }
  return [...doubled];
}

function repeats(arrivals: readonly ReceivedEvent[]): { repeated: number; worstRepeats: number } {
  const seen = new Set<string>();
  const perCall = new Map<string, number>();
  let repeated = 0;
  for (const { id, callId } of arrivals) {
    if (!seen.has(id)) {
      seen.add(id);
      continue;
    }
    repeated++;
    perCall.set(callId, (perCall.get(callId) ?? 0) + 1);
  }
  return { repeated, worstRepeats: Math.max(0, ...perCall.values()) };
}
