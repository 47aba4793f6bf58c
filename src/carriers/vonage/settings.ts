import { z } from 'zod';
import { signingSecrets } from '../credentials.ts';
import { continueSetting, dialSetting } from '../voice-answer.ts';

export const vonageSettings = {
  vonageSignatureSecret: signingSecrets.meta({
    env: 'TRUNKLINE_VONAGE_SIGNATURE_SECRET',
    secret: true,
    description:
      'Signature secret of the Vonage account, which signs its upgrades (not the API secret).',
  }),
  vonageApiKey: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_VONAGE_API_KEY',
    description: 'API key of the Vonage account, which its signed upgrades must name.',
  }),
  vonageApplicationId: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_VONAGE_APPLICATION_ID',
    description: 'Vonage application that its signed upgrades must name; any, when it is not set.',
  }),
  vonageDial: dialSetting('TRUNKLINE_VONAGE_DIAL', 'vonage'),
  vonageContinueUrl: continueSetting('TRUNKLINE_VONAGE_CONTINUE_URL', 'vonage', 'NCCO'),
};
export type VonageConfig = z.infer<z.ZodObject<typeof vonageSettings>>;
