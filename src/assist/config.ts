import { z } from 'zod';

/** Playbooks: what Trunkline listens for in calls, and what agents are shown then. */
export const AssistConfig = z.strictObject({
  folder: z.string().min(1).max(1_000).optional().meta({
    env: 'TRUNKLINE_ASSIST',
    description:
      'A folder of playbooks (YAML), or one file; by default `assist` in the data folder. It is read again when it changes.',
  }),
  starter: z.enum(['on', 'off']).default('on').meta({
    env: 'TRUNKLINE_ASSIST_STARTER',
    description:
      'The playbook that comes with Trunkline: twenty situations that every call centre knows.',
  }),
});
export type AssistConfig = z.infer<typeof AssistConfig>;
