import type { CarrierSetup } from '../carrier.ts';
import { vonageSettings, type VonageConfig } from './settings.ts';

export const vonageSetup: CarrierSetup<VonageConfig> = {
  title: 'Vonage',
  settings: vonageSettings,
  proofs: [['vonageSignatureSecret', 'vonageApiKey']],
  steps: [
    'Copy the signature secret and the API key from the API settings of the dashboard.',
    'Application: enter the voice address as its answer URL with POST, the status address as its event URL, switch signed webhooks on, and give it your number.',
    'With an NCCO of your own instead: bring a websocket endpoint with the stream address and "authorization":{"type":"vonage"} into the call.',
    'Call the number.',
  ],
};
