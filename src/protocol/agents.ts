import { z } from 'zod';
import { DateTime, Seconds, textLine } from './values.ts';

/** A short text that a person or a CRM knows an agent by. */
const Short = textLine(100);

/** The agent who has a call, as events name them. */
export const EventAgent = z
  .object({
    id: z
      .string()
      .describe('As the installation names agents: in `agents`, or as the CTI sent it.'),
    name: z.string().optional(),
    extension: z.string().optional(),
  })
  .meta({ id: 'EventAgent' });
export type EventAgent = z.infer<typeof EventAgent>;

/** The reason why a call has its agent. */
const BoundBy = z.enum(['metadata', 'number', 'api']);
export type BoundBy = z.infer<typeof BoundBy>;

export const ApiAgent = EventAgent.extend({
  by: BoundBy.describe(
    '`metadata`: a parameter of the call named the agent; `number`: the number of the call is theirs; `api`: a program said so.',
  ),
  since: DateTime,
}).meta({ id: 'CallAgent' });
export type ApiAgent = z.infer<typeof ApiAgent>;

export const AgentChangeData = z.object({
  agent: EventAgent.nullable().describe('Null where the call has no agent any more.'),
  previous: EventAgent.nullable(),
  by: BoundBy,
  at: Seconds.describe('Seconds of the call.'),
});

export const BindAgent = z
  .strictObject({ id: Short, name: Short.optional(), extension: Short.optional() })
  .meta({ id: 'BindAgent' });
export type BindAgent = z.infer<typeof BindAgent>;

/** One agent of the settings. */
export const AgentSetting = z.strictObject({
  id: Short,
  name: Short.optional(),
  extension: Short.optional(),
  numbers: z
    .array(Short)
    .max(50)
    .default([])
    .describe('Numbers on which this agent alone is called, or from which the agent calls.'),
});
export type AgentSetting = z.output<typeof AgentSetting>;
