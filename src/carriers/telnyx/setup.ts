import type { CarrierSetup } from '../carrier.ts';
import { telnyxSettings, type TelnyxConfig } from './settings.ts';

export const telnyxSetup: CarrierSetup<TelnyxConfig> = {
  title: 'Telnyx',
  settings: telnyxSettings,
  proofs: [['telnyxToken']],
  voiceProof: ['telnyxPublicKey'],
  steps: [
    'TeXML: give your number to a TeXML application and enter the voice address as its voice URL, with POST.',
    'Call Control: pass the stream address as stream_url, the text of TRUNKLINE_TELNYX_TOKEN as stream_auth_token, and stream_track both_tracks.',
    'Call the number.',
  ],
};
