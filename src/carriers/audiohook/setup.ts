import type { CarrierSetup } from '../carrier.ts';
import { audiohookSettings, type AudiohookConfig } from './settings.ts';

export const audiohookSetup: CarrierSetup<AudiohookConfig> = {
  title: 'Genesys AudioHook',
  settings: audiohookSettings,
  proofs: [['audiohookApiKey', 'audiohookClientSecret']],
  steps: [
    'In Genesys Cloud add the integration AudioHook Monitor.',
    'Enter the stream address as connection URI, and the API key and the client secret under its credentials.',
    'Activate it: the probe that Genesys opens turns the light green.',
    'Switch audio monitoring on where your calls pass (trunk or flow).',
  ],
};
