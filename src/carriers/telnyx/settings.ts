import { z } from 'zod';
import { bearerList } from '../credentials.ts';
import { continueSetting, dialSetting } from '../voice-answer.ts';

export const telnyxSettings = {
  telnyxToken: bearerList.meta({
    env: 'TRUNKLINE_TELNYX_TOKEN',
    secret: true,
    shared: true,
    description: 'The text that Telnyx sends as `stream_auth_token` (Authorization: Bearer).',
  }),
  telnyxPublicKey: z
    .base64()
    .refine((key) => Buffer.from(key, 'base64').length === 32, 'an Ed25519 key has 32 bytes')
    .optional()
    .meta({
      env: 'TRUNKLINE_TELNYX_PUBLIC_KEY',
      description: 'Public key (base64) of the Telnyx portal, with which its webhooks are checked.',
    }),
  telnyxDial: dialSetting('TRUNKLINE_TELNYX_DIAL', 'telnyx'),
  telnyxContinueUrl: continueSetting('TRUNKLINE_TELNYX_CONTINUE_URL', 'telnyx', 'TeXML'),
  telnyxApiKey: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_TELNYX_API_KEY',
    secret: true,
    description:
      'API key with which calls of a Call Control application are answered, streamed and transferred.',
  }),
  telnyxApiUrl: z
    .url({ protocol: /^https?$/ })
    .default('https://api.telnyx.com/v2')
    .meta({
      env: 'TRUNKLINE_TELNYX_API_URL',
      description: 'Address of the Call Control API, without a slash at its end.',
    }),
  telnyxByteOrder: z.enum(['big', 'little']).default('big').meta({
    env: 'TRUNKLINE_TELNYX_L16_BYTE_ORDER',
    description: 'Byte order of Telnyx L16 audio; RTP prescribes big.',
  }),
};
export type TelnyxConfig = z.infer<z.ZodObject<typeof telnyxSettings>>;
