import type { CarrierSetup } from '../carrier.ts';
import { exotelSettings, type ExotelConfig } from './settings.ts';

export const exotelSetup: CarrierSetup<ExotelConfig> = {
  title: 'Exotel',
  settings: exotelSettings,
  proofs: [['exotelUsername', 'exotelPassword']],
  address: (bare) => `${withUser(bare)}?sample-rate=16000`,
  voiceAddress: withUser,
  steps: [
    'Open the flow of your number and put the Stream applet before the one that connects the agent.',
    'Enter the voice address, with your user name and password in it: the applet asks there for the address of each stream. The stream address does without that.',
    'For numbers and the end of calls give the status address, with the same user name and password in it, to a Passthru applet or as StatusCallback.',
    'Save, and call the number.',
  ],
};

function withUser(bare: string): string {
  return bare.replace('://', '://<user name>:<password>@');
}
