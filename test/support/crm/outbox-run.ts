import type { History, Issued } from './delivery-checker.ts';
import type { Crm } from './crm.ts';
import { secret } from './outbox.ts';
import { runChild, type Child } from '../faults/strace.ts';

export type Node = { dataDir: string; databaseUrl?: string; crm: Crm };

/** The points at which a node can be killed: around every statement, commit and request of the outbox. */
export const killPoints = [
  ...['sequence', 'event', 'lane', 'fan-out', 'commit', 'claim', 'wakes', 'heads', 'send', 'delivered', 'lane-result', 'failure', 'give-back', 'endpoint', 'endpoints', 'claims', 'open'].flatMap(
    (label) => [`before-${label}`, `after-${label}`],
  ),
  'in-commit', 'in-send', 'after-start',
]; // prettier-ignore

/** The lines printed by the nodes of a run over all their restarts. */
export class OutboxRun {
  readonly issued: Issued[] = [];
  readonly acknowledged = new Set<string>();
  crashes = 0;

  start(node: Node, settings: Record<string, string> = {}, straceArgs?: readonly string[]): Child {
    return runChild('crm/outbox-node-child.ts', [], straceArgs, {
      DATA: node.dataDir,
      DATABASE_URL: node.databaseUrl ?? '',
      CRM: node.crm.url,
      SECRET: secret,
      ...settings,
    });
  }

  /** Records the output of an ended node. */
  note(child: Child): void {
    for (const line of child.lines) {
      const [word, id = '', callId = '', sequence = '', digest = ''] = line.split(' ');
      if (word === 'issued') this.issued.push({ id, callId, sequence: Number(sequence), digest });
      if (word === 'ack') this.acknowledged.add(id);
    }
    if (!child.lines.includes('drained')) this.crashes++;
  }

  history(crm: Crm): History {
    return {
      issued: this.issued,
      acknowledged: this.acknowledged,
      arrivals: crm.arrivals,
      crashes: this.crashes,
    };
  }
}

/** Runs one node for each point and kills it, or lets it fail, there once. A last node delivers the rest. */
export async function killAtPoints(
  node: Node,
  points: readonly string[],
  random: () => number,
  what: 'KILL' | 'FAIL' = 'KILL',
): Promise<OutboxRun> {
  const run = new OutboxRun();
  for (const point of points) {
    const rare = /open|start|endpoint|claims/.test(point);
    const child = run.start(node, {
      [what]: `${point}:${rare ? 1 : 1 + Math.floor(random() * 4)}`,
      CALLS: '3',
      EVENTS: '4',
      // On Postgres the claims of a killed node last as long as their leases.
      LEASE: '2000',
    });
    await child.ended;
    const crashes = run.crashes;
    run.note(child);
    // If a result could not be stored, its event is repeated, as after a crash.
    if (what === 'FAIL') run.crashes = crashes + 1;
  }
  const last = run.start(node);
  await last.ended;
  run.note(last);
  return run;
}
