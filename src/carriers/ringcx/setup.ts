import type { CarrierSetup } from '../carrier.ts';
import { ringcxSettings, type RingcxConfig } from './settings.ts';

export const ringcxSetup: CarrierSetup<RingcxConfig> = {
  title: 'RingCentral RingCX',
  settings: ringcxSettings,
  proofs: [['ringcxSecret']],
  address: (bare) => `${bare}?secret=<TRUNKLINE_RINGCX_SECRET>`,
  steps: [
    'Create a streaming profile for the queue or campaign with the API of RingCX.',
    'Enter the stream address as its streamingUrl, with the secret in it.',
    'Call the queue and let an agent answer.',
  ],
};
