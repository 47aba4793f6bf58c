import { z } from 'zod';
import { bearerList, signingSecrets } from '../credentials.ts';
import { continueSetting, dialSetting } from '../voice-answer.ts';

export const signalwireSettings = {
  signalwireToken: bearerList.meta({
    env: 'TRUNKLINE_SIGNALWIRE_TOKEN',
    secret: true,
    shared: true,
    description: 'The `authBearerToken` of SignalWire streams.',
  }),
  signalwireSigningKey: signingSecrets.meta({
    env: 'TRUNKLINE_SIGNALWIRE_SIGNING_KEY',
    secret: true,
    description: 'Signing key of the SignalWire project, with which its webhooks are checked.',
  }),
  signalwireDial: dialSetting('TRUNKLINE_SIGNALWIRE_DIAL', 'signalwire'),
  signalwireContinueUrl: continueSetting('TRUNKLINE_SIGNALWIRE_CONTINUE_URL', 'signalwire', 'cXML'),
  signalwireByteOrder: z.enum(['big', 'little']).default('little').meta({
    env: 'TRUNKLINE_SIGNALWIRE_L16_BYTE_ORDER',
    description: 'Byte order of SignalWire L16 audio.',
  }),
};
export type SignalwireConfig = z.infer<z.ZodObject<typeof signalwireSettings>>;
