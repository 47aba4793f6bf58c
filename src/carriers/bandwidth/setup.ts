import type { CarrierSetup } from '../carrier.ts';
import { bandwidthSettings, type BandwidthConfig } from './settings.ts';

export const bandwidthSetup: CarrierSetup<BandwidthConfig> = {
  title: 'Bandwidth',
  settings: bandwidthSettings,
  proofs: [['bandwidthUsername', 'bandwidthPassword']],
  steps: [
    'Open the voice application of your number in the dashboard.',
    'Enter the voice address as call-initiated callback and the status address as call-status callback, both with POST, and the user name and password as callback credentials.',
    'Save, and call the number.',
  ],
};
