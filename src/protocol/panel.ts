import { z } from 'zod';
import { EventAgent } from './agents.ts';
import type { CallItem } from './api.ts';
import { DateTime, textLine } from './values.ts';

/** Tokens that open the panel in somebody's desktop, without a key. */

export const PanelScope = z.enum(['agent', 'call', 'supervisor', 'qa']);
export type PanelScope = z.infer<typeof PanelScope>;

/** The longest life of a token: a working day. */
export const longestPanelLifeS = 12 * 3_600;

const Name = textLine(100);
/** Teams as the people of the installation have them. */
export const PanelTeams = z.array(Name).min(1).max(20);

export const PanelTokenRequest = z
  .strictObject({
    scope: PanelScope,
    agent: Name.optional().describe('The id of the agent; for the scope `agent`.'),
    call_id: z.string().min(1).max(60).optional().describe('The call; for the scope `call`.'),
    teams: PanelTeams.optional().describe('For the scopes `supervisor` and `qa`: only calls of the agents in these teams.'), // prettier-ignore
    label: Name.optional().describe('A name by which people find the token in the list.'),
    life_s: z.int().min(60).max(longestPanelLifeS).default(longestPanelLifeS),
  })
  .superRefine(({ scope, agent, call_id: callId, teams }, context) => {
    if (teams !== undefined && scope !== 'supervisor' && scope !== 'qa')
      context.addIssue({
        code: 'custom',
        path: ['teams'],
        message: `has no meaning for the scope ${scope}: leave it out`,
      });
    const wanted = { agent: scope === 'agent', call_id: scope === 'call' };
    const given = { agent: agent !== undefined, call_id: callId !== undefined };
    for (const name of ['agent', 'call_id'] as const)
      if (wanted[name] !== given[name])
        context.addIssue({
          code: 'custom',
          path: [name],
          message: wanted[name]
            ? `must say whose token it is, for the scope ${scope}`
            : `has no meaning for the scope ${scope}: leave it out`,
        });
  })
  .meta({ id: 'PanelTokenRequest' });

export const MintedPanelToken = z
  .object({
    id: z.string(),
    token: z.string().describe('Told this once: only a digest of it is kept.'),
    url: z.string().describe('The panel with the token behind the #, which is in no log.'),
    expires_at: DateTime,
  })
  .meta({ id: 'MintedPanelToken' });
export type MintedPanelToken = z.infer<typeof MintedPanelToken>;

const PanelToken = z.object({
  id: z.string(),
  scope: PanelScope,
  agent: z.string().nullable(),
  call_id: z.string().nullable(),
  teams: z.array(z.string()).nullable().describe('Null: of all teams.'),
  label: z.string().nullable(),
  created_at: DateTime,
  expires_at: DateTime,
  revoked_at: DateTime.nullable(),
});

export const PanelTokenList = z
  .object({ items: z.array(PanelToken).describe('The newest, 1,000 at most.') })
  .meta({ id: 'PanelTokenList' });
export type PanelTokenList = z.infer<typeof PanelTokenList>;

/** The holder of a token, as the panel learns it. */
export const PanelHolder = z
  .object({
    scope: PanelScope,
    agent: EventAgent.nullable(),
    call_id: z.string().nullable(),
    teams: z.array(z.string()).nullable(),
    expires_at: DateTime,
  })
  .meta({ id: 'PanelHolder' });
export type PanelHolder = z.infer<typeof PanelHolder>;

/** A message of `/api/panel/live`. */
export type PanelMessage =
  | { type: 'calls'; call_ids: readonly string[] }
  | { type: 'call'; call: CallItem }
  /** The call was erased, or is another agent's now. */
  | { type: 'gone'; call_id: string };
