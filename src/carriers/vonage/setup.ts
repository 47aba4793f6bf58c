import type { CarrierSetup } from '../carrier.ts';
import { vonageSettings, type VonageConfig } from './settings.ts';

export const vonageSetup: CarrierSetup<VonageConfig> = {
  title: 'Vonage',
  settings: vonageSettings,
  proofs: [['vonageSignatureSecret', 'vonageApiKey']],
  steps: [
    'Copy the signature secret and the API key from the API settings of the dashboard.',
    'Let the answer of your application (NCCO) bring a websocket endpoint with the stream address and "authorization":{"type":"vonage"} into the call.',
    'Call the number.',
  ],
};
