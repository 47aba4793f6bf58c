import type { CarrierSetup } from '../carrier.ts';
import { telnyxSettings, type TelnyxConfig } from './settings.ts';

export const telnyxSetup: CarrierSetup<TelnyxConfig> = {
  title: 'Telnyx',
  settings: telnyxSettings,
  proofs: [['telnyxToken']],
  voiceProof: ['telnyxPublicKey'],
  steps: [
    'TeXML: give your number to a TeXML application and enter the voice address as its voice URL and the status address as status callback, both with POST.',
    'Call Control, led by Trunkline: set TRUNKLINE_TELNYX_API_KEY and enter the voice address as the webhook URL of the application.',
    'Call Control, led by your own program: pass the stream address as stream_url, the text of TRUNKLINE_TELNYX_TOKEN as stream_auth_token, and stream_track both_tracks.',
    'Call the number.',
  ],
};
