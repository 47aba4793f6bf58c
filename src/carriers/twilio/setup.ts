import type { CarrierSetup } from '../carrier.ts';
import { twilioSettings, type TwilioConfig } from './settings.ts';

export const twilioSetup: CarrierSetup<TwilioConfig> = {
  title: 'Twilio',
  settings: twilioSettings,
  proofs: [['twilioAuthToken']],
  steps: [
    'Open the phone number in the console of Twilio.',
    'Under the voice configuration choose Webhook for “A call comes in”, enter the voice address and choose HTTP POST.',
    'Save, and call the number.',
  ],
};
