import type { History, Issued } from './delivery-checker.ts';
import type { Crm } from './crm.ts';
import { secret } from './outbox.ts';
import { runChild, type Child } from '../faults/strace.ts';

export type Node = { dataDir: string; databaseUrl?: string; crm: Crm };

/** Where a node can be killed: around every statement, commit and request of the outbox's work. */
export const killPoints = [
  ...['sequence', 'event', 'lane', 'fan-out', 'commit', 'claim', 'wakes', 'heads', 'send', 'delivered', 'lane-result', 'failure', 'give-back', 'endpoint', 'endpoints', 'claims', 'open'].flatMap(
    (label) => [`before-${label}`, `after-${label}`],
  ),
  'in-commit', 'in-send', 'after-start',
]; // prettier-ignore

/** The lines that the nodes of a run printed, over all their lives. */
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

  /** Notes what an ended node said. */
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

/** One life at each point in turn, killed or failed there once, then one that delivers what is left. */
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
      // On Postgres a killed node's claims last as long as their leases.
      LEASE: '2000',
    });
    await child.ended;
    const crashes = run.crashes;
    run.note(child);
    // A result that could not be written repeats its event, as a crash does.
    if (what === 'FAIL') run.crashes = crashes + 1;
  }
  const last = run.start(node);
  await last.ended;
  run.note(last);
  return run;
}
