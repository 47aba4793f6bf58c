import type { CarrierSetup } from '../carrier.ts';
import { signalwireSettings, type SignalwireConfig } from './settings.ts';

export const signalwireSetup: CarrierSetup<SignalwireConfig> = {
  title: 'SignalWire',
  settings: signalwireSettings,
  proofs: [['signalwireToken']],
  voiceProof: ['signalwireSigningKey'],
  steps: [
    'Open the phone number in the dashboard and let a cXML webhook handle its calls: enter the voice address, with POST, and the status address as status callback.',
    'In cXML of your own put <Start><Stream> with the stream address, track both_tracks and authBearerToken before the verb that goes on.',
    'Call the number.',
  ],
};
