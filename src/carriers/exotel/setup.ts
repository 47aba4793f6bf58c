import type { CarrierSetup } from '../carrier.ts';
import { exotelSettings, type ExotelConfig } from './settings.ts';

export const exotelSetup: CarrierSetup<ExotelConfig> = {
  title: 'Exotel',
  settings: exotelSettings,
  proofs: [['exotelUsername', 'exotelPassword']],
  address: (bare) => `${bare.replace('://', '://<user name>:<password>@')}?sample-rate=16000`,
  steps: [
    'Open the flow of your number and put the Stream applet before the one that connects the agent.',
    'Enter the stream address, with your user name and password in it.',
    'Save, and call the number.',
  ],
};
