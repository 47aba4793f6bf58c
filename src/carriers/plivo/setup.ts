import type { CarrierSetup } from '../carrier.ts';
import { plivoSettings, type PlivoConfig } from './settings.ts';

export const plivoSetup: CarrierSetup<PlivoConfig> = {
  title: 'Plivo',
  settings: plivoSettings,
  proofs: [['plivoAuthToken']],
  steps: [
    'In the console of Plivo create an XML application.',
    'Enter the voice address as its answer URL and the status address as its hangup URL, both with POST, and give it your number.',
    'Call the number.',
  ],
};
