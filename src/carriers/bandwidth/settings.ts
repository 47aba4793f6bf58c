import { z } from 'zod';
import { SharedSecret } from '../../port/secrets.ts';
import { continueSetting, dialSetting } from '../voice-answer.ts';

export const bandwidthSettings = {
  bandwidthUsername: z
    .string()
    .min(1)
    .regex(/^[^:]*$/, 'a user name has no colon')
    .optional()
    .meta({
      env: 'TRUNKLINE_BANDWIDTH_USERNAME',
      description:
        'User name that Bandwidth sends with its webhooks and streams (HTTP Basic): the callback user name of the application, and `destinationUsername`.',
    }),
  bandwidthPassword: SharedSecret.optional().meta({
    env: 'TRUNKLINE_BANDWIDTH_PASSWORD',
    secret: true,
    shared: true,
    description:
      'Password that Bandwidth sends with its webhooks and streams (HTTP Basic): the callback password of the application, and `destinationPassword`.',
  }),
  bandwidthDial: dialSetting('TRUNKLINE_BANDWIDTH_DIAL', 'bandwidth'),
  bandwidthContinueUrl: continueSetting('TRUNKLINE_BANDWIDTH_CONTINUE_URL', 'bandwidth', 'BXML'),
};
export type BandwidthConfig = z.infer<z.ZodObject<typeof bandwidthSettings>>;
