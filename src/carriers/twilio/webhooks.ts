import { signedTwimlWebhooks } from '../signed-twiml.ts';
import type { TwilioConfig } from './settings.ts';

export const twilioWebhooks = signedTwimlWebhooks<TwilioConfig>({
  carrier: 'twilio',
  company: 'Twilio',
  header: 'X-Twilio-Signature',
  setting: 'TRUNKLINE_TWILIO_AUTH_TOKEN',
  secrets: ({ twilioAuthToken }) => twilioAuthToken,
  next: ({ twilioDial: dial, twilioContinueUrl: continueUrl }) => ({ dial, continueUrl }),
});
