import { z } from 'zod';
import { Role } from '../protocol/events.ts';
import type { Direction } from './streams.ts';

export const roleRuleSchema = z.strictObject({
  carrier: z.string().optional(),
  direction: z.enum(['inbound', 'outbound']).optional(),
  track: z.string(),
  role: Role,
});
type RoleRule = z.output<typeof roleRuleSchema>;

/** A carrier's `inbound` track is the remote party, whichever side dialled. */
export const defaultRoleRules: RoleRule[] = [
  { track: 'inbound', role: 'customer' },
  { track: 'external', role: 'customer' },
  { track: 'mixed', role: 'mixed' },
  { track: 'outbound', role: 'agent' },
  { track: 'internal', role: 'agent' },
];

type Track = { carrier: string; direction?: Direction | undefined; track: string };

/**
 * The role of a track. The configuration decides, and never the order in which tracks arrive. The rule with the most
 * conditions wins; the built-in rules come after the configured ones, and an unknown track is the customer's.
 */
export function roleOf(rules: readonly RoleRule[], of: Track): Role {
  let best: RoleRule | undefined;
  let bestWeight = -1;
  for (const rule of [...rules, ...defaultRoleRules]) {
    if (rule.track !== of.track) continue;
    if (rule.carrier !== undefined && rule.carrier !== of.carrier) continue;
    if (rule.direction !== undefined && rule.direction !== of.direction) continue;
    const weight = (rule.carrier === undefined ? 0 : 2) + (rule.direction === undefined ? 0 : 1);
    if (weight > bestWeight) [best, bestWeight] = [rule, weight];
  }
  return best?.role ?? 'customer';
}

/**
 * The roles of the left and the right channel of a recording. If the call has only mixed legs, they are on both sides,
 * so that both ears hear the same.
 */
export function recordingRoles(roles: readonly Role[]): readonly [Role, Role] {
  if (roles.length > 0 && roles.every((role) => role === 'mixed')) return ['mixed', 'mixed'];
  const left = roles.includes('mixed') && !roles.includes('customer') ? 'mixed' : 'customer';
  return [left, 'agent'];
}
