import { z } from 'zod';
import { SharedSecret } from '../../port/secrets.ts';

export const asteriskSettings = {
  asteriskUsername: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_ASTERISK_USERNAME',
    description: 'User name that websocket_client.conf of Asterisk sends (HTTP Basic).',
  }),
  asteriskPassword: SharedSecret.optional().meta({
    env: 'TRUNKLINE_ASTERISK_PASSWORD',
    secret: true,
    shared: true,
    description: 'Password that websocket_client.conf of Asterisk sends (HTTP Basic).',
  }),
  asteriskPings: z.boolean().default(false).meta({
    env: 'TRUNKLINE_ASTERISK_PINGS',
    description:
      'WebSocket pings towards Asterisk; before 20.18, 22.8 and 23.2 a ping hangs up the call.',
  }),
};
export type AsteriskConfig = z.infer<z.ZodObject<typeof asteriskSettings>>;
