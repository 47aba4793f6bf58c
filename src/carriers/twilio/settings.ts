import { z } from 'zod';
import { secretList } from '../credentials.ts';

export const twilioSettings = {
  twilioAuthToken: secretList.meta({
    env: 'TRUNKLINE_TWILIO_AUTH_TOKEN',
    secret: true,
    description:
      'Twilio auth token that signs its upgrades and webhooks; two, comma-separated, while rotating.',
  }),
  twilioDial: z.string().min(3).max(255).optional().meta({
    env: 'TRUNKLINE_TWILIO_DIAL',
    description:
      'What POST /carriers/twilio/voice dials after starting the stream: a number or a sip: address.',
  }),
  twilioContinueUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      env: 'TRUNKLINE_TWILIO_CONTINUE_URL',
      description:
        'TwiML address where the call goes on after starting the stream, instead of dialling.',
    }),
};
export type TwilioConfig = z.infer<z.ZodObject<typeof twilioSettings>>;
