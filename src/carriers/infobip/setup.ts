import type { CarrierSetup } from '../carrier.ts';
import { infobipSettings, type InfobipConfig } from './settings.ts';

export const infobipSetup: CarrierSetup<InfobipConfig> = {
  title: 'Infobip',
  settings: infobipSettings,
  proofs: [['infobipUsername', 'infobipPassword']],
  steps: [
    'Create a media-stream configuration with the stream address, the user name and password (Basic) and a sample rate of 16000.',
    'Start it for a call by the Calls API (start-media-stream), with from and to among its custom data.',
  ],
};
