import type { z } from 'zod';
import { signingSecrets } from '../credentials.ts';
import { continueSetting, dialSetting } from '../voice-answer.ts';

export const twilioSettings = {
  twilioAuthToken: signingSecrets.meta({
    env: 'TRUNKLINE_TWILIO_AUTH_TOKEN',
    secret: true,
    description:
      'Twilio auth token that signs its upgrades and webhooks; two, comma-separated, while rotating.',
  }),
  twilioDial: dialSetting('TRUNKLINE_TWILIO_DIAL', 'twilio'),
  twilioContinueUrl: continueSetting('TRUNKLINE_TWILIO_CONTINUE_URL', 'twilio', 'TwiML'),
};
export type TwilioConfig = z.infer<z.ZodObject<typeof twilioSettings>>;
