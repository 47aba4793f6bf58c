import { z } from 'zod';
import { signingSecrets } from '../credentials.ts';
import { continueSetting, dialSetting } from '../voice-answer.ts';

export const plivoSettings = {
  plivoAuthToken: signingSecrets.meta({
    env: 'TRUNKLINE_PLIVO_AUTH_TOKEN',
    secret: true,
    description: 'Plivo auth token that signs its upgrades and callbacks (V3).',
  }),
  plivoDial: dialSetting('TRUNKLINE_PLIVO_DIAL', 'plivo'),
  plivoContinueUrl: continueSetting('TRUNKLINE_PLIVO_CONTINUE_URL', 'plivo', 'Plivo XML'),
  plivoByteOrder: z.enum(['big', 'little']).default('little').meta({
    env: 'TRUNKLINE_PLIVO_L16_BYTE_ORDER',
    description: 'Byte order of Plivo L16 audio.',
  }),
};
export type PlivoConfig = z.infer<z.ZodObject<typeof plivoSettings>>;
