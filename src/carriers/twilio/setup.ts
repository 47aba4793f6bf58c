import type { CarrierSetup } from '../carrier.ts';
import { twilioSettings, type TwilioConfig } from './settings.ts';

export const twilioSetup: CarrierSetup<TwilioConfig> = {
  title: 'Twilio',
  settings: twilioSettings,
  proofs: [['twilioAuthToken']],
  steps: [
    'Open the phone number in the console of Twilio.',
    'Under the voice configuration choose Webhook for “A call comes in”, enter the voice address and choose HTTP POST.',
    'Enter the status address under “Call status changes”: then the end of a call is known where its stream is lost.',
    'Save, and call the number.',
  ],
};
