import { z } from 'zod';
import { sharedSecrets } from '../credentials.ts';

export const ringcxSettings = {
  ringcxSecret: sharedSecrets.meta({
    env: 'TRUNKLINE_RINGCX_SECRET',
    secret: true,
    shared: true,
    description:
      'Secret behind the streaming address of RingCX (`?secret=...`); two, comma-separated, while rotating.',
  }),
  ringcxAgentPerspective: z.enum(['Participant', 'Conference']).default('Participant').meta({
    env: 'TRUNKLINE_RINGCX_AGENT_PERSPECTIVE',
    description: 'The perspective of a RingCX stream that is the agent; the other is the customer.',
  }),
};
export type RingcxConfig = z.infer<z.ZodObject<typeof ringcxSettings>>;
