/*
 * Computes the needs of a fleet from the cost of one call. Each cost is divided into a fixed cost per call, a cost per
 * second, and a cost per final. Every measurement is a sum of these three, so three loads give them, and a fourth load
 * checks them.
 */

export type CallLoad = { calls: number; callS: number; finals: number };

/** The costs of a load: statements, rows, bytes, milliseconds of processor time. */
export const costs = [
  'statements',
  'transactions',
  'rowsWritten',
  'walBytes',
  'storedBytes',
  'databaseCpuMs',
  'databaseNetworkBytes',
  'nodeCpuMs',
  'carrierNetworkBytes',
  'speechNetworkBytes',
  'crmNetworkBytes',
  'events',
  'diskBytes',
] as const;
export type Cost = (typeof costs)[number];
export type Costs = Record<Cost, number>;

export type CostParts = { perCall: number; perSecond: number; perFinal: number };
export type FleetFigures = {
  parts: Record<Cost, CostParts>;
  /** The cost of one node in a second without a call. */
  idle: Costs;
};

/**
 * Computes the parts of each cost from three loads that differ in length and words: three equations, solved by Cramer's
 * rule.
 */
export function partsOf(measured: readonly [load: CallLoad, cost: number][]): CostParts {
  const rows = measured.map(([{ calls, callS, finals }]) => [calls, calls * callS, finals]);
  const whole = determinant(rows);
  if (measured.length !== 3 || Math.abs(whole) < 1e-9)
    throw new Error('three loads are needed, and none may be made of the others');
  const part = (column: number): number =>
    determinant(
      rows.map((row, at) => row.map((value, index) => (index === column ? (measured[at]?.[1] ?? 0) : value))), // prettier-ignore
    ) / whole;
  return { perCall: part(0), perSecond: part(1), perFinal: part(2) };
}

export const costOf = ({ perCall, perSecond, perFinal }: CostParts, load: CallLoad): number =>
  load.calls * perCall + load.calls * load.callS * perSecond + load.finals * perFinal;

/** Assumptions about how people talk, and about the machines of a node and a database. */
export const assumed = {
  callS: 240,
  finalsPerMinute: 15,
  legs: 2,
  /**
   * The cost of a frame if many legs share a node (`npm run bench -- bridge`, 500 legs). The few legs of a measured
   * load cause more wake-ups per frame.
   */
  frameMicros: 37,
  framesPerS: 50,
  /** The share of a node's one core for calls that is used. The rest is for bursts and a lost node. */
  fillOfNode: 0.5,
  /** The number of legs that one core recognises with our own model (`npm run bench -- recognition`). */
  legsPerRecogniserCore: 10,
  /** The share of a database's cores that may be busy permanently. */
  fillOfDatabase: 0.5,
  /** The cores of one Postgres server, and the nodes that share it. Beyond either limit a second fleet begins. */
  coresOfDatabase: 16,
  nodesOfFleet: 50,
  connectionsPerNode: 10,
  /** Beats per second: at each one a sign of life is written and all nodes are checked. */
  beatsPerSecond: 5 / 7.5,
  hoursPerDay: 10,
  daysOfRows: 90,
  daysOfRecordings: 30,
};

export type Need = {
  calls: number;
  /** The number of fleets. Each has its own database, and every call belongs to one of them. */
  fleets: number;
  callsBegunPerS: number;
  eventsPerS: number;
  nodes: number;
  recogniserCores: number;
  statementsPerS: number;
  transactionsPerS: number;
  rowsWrittenPerS: number;
  walMBPerS: number;
  databaseCores: number;
  connections: number;
  nodeRowsReadPerS: number;
  carrierMbitPerS: number;
  speechMbitPerS: number;
  databaseMbitPerS: number;
  crmMbitPerS: number;
  rowsTB: number;
  recordingsTB: number;
};

/** The needs of this many simultaneous calls, permanently. */
export function needOf(calls: number, { parts, idle }: FleetFigures, given = assumed): Need {
  const begun = calls / given.callS;
  const inOneSecond: CallLoad = { calls: begun, callS: given.callS, finals: (calls * given.finalsPerMinute) / 60 }; // prettier-ignore
  const perS = (cost: Cost): number => costOf(parts[cost], inOneSecond);
  const { perCall, perFinal } = parts.nodeCpuMs;
  const frameMs = (given.legs * given.framesPerS * given.frameMicros) / 1_000;
  const nodeCpuMs = costOf({ perCall, perSecond: frameMs, perFinal }, inOneSecond);
  // One node more, since any of them may be lost.
  const nodes = Math.max(2, Math.ceil(nodeCpuMs / 1_000 / given.fillOfNode) + 1);
  const withIdle = (cost: Cost): number => perS(cost) + nodes * idle[cost];
  const daily = given.hoursPerDay * 3_600;
  const databaseCores = withIdle('databaseCpuMs') / 1_000 / given.fillOfDatabase;
  const fleets = Math.max(
    1,
    Math.ceil(databaseCores / given.coresOfDatabase),
    Math.ceil(nodes / given.nodesOfFleet),
  );
  return {
    calls,
    fleets,
    callsBegunPerS: begun,
    eventsPerS: perS('events'),
    nodes,
    recogniserCores: Math.ceil((calls * given.legs) / given.legsPerRecogniserCore),
    statementsPerS: withIdle('statements'),
    transactionsPerS: withIdle('transactions'),
    rowsWrittenPerS: withIdle('rowsWritten'),
    walMBPerS: withIdle('walBytes') / 1e6,
    databaseCores,
    connections: nodes * given.connectionsPerNode,
    // Every node of a fleet reads the rows of all nodes twice per beat.
    nodeRowsReadPerS: 2 * (nodes / fleets) ** 2 * given.beatsPerSecond,
    carrierMbitPerS: (perS('carrierNetworkBytes') * 8) / 1e6,
    speechMbitPerS: (perS('speechNetworkBytes') * 8) / 1e6,
    databaseMbitPerS: (withIdle('databaseNetworkBytes') * 8) / 1e6,
    crmMbitPerS: (perS('crmNetworkBytes') * 8) / 1e6,
    rowsTB: (perS('storedBytes') * daily * given.daysOfRows) / 1e12,
    recordingsTB: (perS('diskBytes') * daily * given.daysOfRecordings) / 1e12,
  };
}

function determinant(rows: readonly (readonly number[])[]): number {
  const at = (row: number, column: number): number => rows[row]?.[column] ?? 0;
  return [0, 1, 2].reduce((sum, column) => {
    const [next, last] = [(column + 1) % 3, (column + 2) % 3];
    return sum + at(0, column) * (at(1, next) * at(2, last) - at(1, last) * at(2, next));
  }, 0);
}
