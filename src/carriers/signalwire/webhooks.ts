import { signedTwimlWebhooks } from '../signed-twiml.ts';
import type { SignalwireConfig } from './settings.ts';

export const signalwireWebhooks = signedTwimlWebhooks<SignalwireConfig>({
  carrier: 'signalwire',
  company: 'SignalWire',
  header: 'X-SignalWire-Signature',
  setting: 'TRUNKLINE_SIGNALWIRE_SIGNING_KEY',
  secrets: ({ signalwireSigningKey }) => signalwireSigningKey,
  next: ({ signalwireDial: dial, signalwireContinueUrl: continueUrl }) => ({ dial, continueUrl }),
});
