import { z } from 'zod';

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
  bandwidthPassword: z.string().min(8).optional().meta({
    env: 'TRUNKLINE_BANDWIDTH_PASSWORD',
    secret: true,
    description:
      'Password that Bandwidth sends with its webhooks and streams (HTTP Basic): the callback password of the application, and `destinationPassword`.',
  }),
  bandwidthDial: z.string().min(3).max(255).optional().meta({
    env: 'TRUNKLINE_BANDWIDTH_DIAL',
    description:
      'Whom POST /carriers/bandwidth/voice transfers the call to after starting the stream: a number or a sip: address.',
  }),
  bandwidthContinueUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      env: 'TRUNKLINE_BANDWIDTH_CONTINUE_URL',
      description:
        'BXML address where the call goes on after starting the stream, instead of a transfer.',
    }),
};
export type BandwidthConfig = z.infer<z.ZodObject<typeof bandwidthSettings>>;
