import { createHash } from 'node:crypto';
import type { AuditTable } from '../store/schema.ts';

export type UnchainedLine = Omit<AuditTable, 'hash'>;

/** The place in the chain after which a line follows. */
export type ChainLink = { seq: number; hash: string };

/** The hash of a line: over every field of the line, and the hash of the line before. */
export function hashAfter(before: string, line: UnchainedLine): string {
  const { seq, at, actor_kind, actor_id, actor, action, call_id, detail, address, node } = line;
  const fields = [seq, at, actor_kind, actor_id, actor, action, call_id, detail, address, node];
  return createHash('sha256')
    .update(`${before}\n${JSON.stringify(fields)}`)
    .digest('hex');
}

/** Says why this line does not follow there. Undefined if it does. */
export function whyBroken(before: ChainLink, line: AuditTable): string | undefined {
  if (line.seq !== before.seq + 1) return `line ${before.seq + 1} is missing`;
  if (line.hash !== hashAfter(before.hash, line)) return `line ${line.seq} or its hash was changed`;
  return undefined;
}
