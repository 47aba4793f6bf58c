import { z } from 'zod';
import { EventAgent } from './agents.ts';
import { DateTime, Seconds } from './values.ts';

/** The board: all running calls of all nodes, each with the facts by which a supervisor sees who needs help. */

export const alertLevels = ['info', 'warn', 'urgent'] as const;

const BoardAlerts = z.object({
  count: z.int(),
  level: z.enum(alertLevels).nullable().describe('The worst so far; null where there is none.'),
  title: z.string().nullable().describe('The newest of the worst level.'),
});

const BoardMood = z.object({
  now: z.number().nullable().describe('Of the customer, from -1 to 1; null before it is known.'),
  trend: z.enum(['falling', 'steady', 'rising']).nullable(),
  points: z.array(z.number()).describe('The last judgements: -1, 0 or 1, the oldest first.'),
});

export const BoardCard = z
  .object({
    call_id: z.string(),
    carrier: z.string(),
    direction: z.enum(['inbound', 'outbound']).nullable(),
    from: z.string().nullable(),
    to: z.string().nullable(),
    contact: z.string().nullable().describe('The name of the other party, as the CRM has it.'),
    started_at: DateTime,
    state: z.enum(['live', 'finishing']),
    agent: EventAgent.nullable(),
    teams: z.array(z.string()).describe('Those of the agent.'),
    alerts: BoardAlerts,
    mood: BoardMood,
    talk: z.object({ customer: Seconds, agent: Seconds }).describe('Seconds that each spoke.'),
    spoke_at: DateTime.nullable().describe('When somebody was heard last.'),
    paused_at: DateTime.nullable().describe('Since when nothing is heard or kept.'),
    steps: z.object({
      done: z.int(),
      of: z.int(),
      open: z.array(z.string()).describe('Titles of required steps that are not done.'),
    }),
    said: z
      .object({ role: z.enum(['customer', 'agent', 'mixed']), text: z.string() })
      .nullable()
      .describe('The beginning of the last turn.'),
  })
  .meta({ id: 'BoardCard' });
export type BoardCard = z.infer<typeof BoardCard>;

export const BoardMessage = z
  .object({
    type: z.literal('board'),
    at: DateTime.describe('By the clock of the node: durations and silences count from it.'),
    whole: z.boolean().describe('True where the cards are all there are.'),
    cards: z.array(BoardCard),
    gone: z.array(z.string()).describe('Calls that ended, were erased or went to somebody else.'),
    left_out: z.int().describe('Running calls beyond those that a board shows.'),
  })
  .meta({ id: 'BoardMessage' });
export type BoardMessage = z.infer<typeof BoardMessage>;
