import { z } from 'zod';

export const audiohookSettings = {
  audiohookApiKey: z.string().min(8).optional().meta({
    env: 'TRUNKLINE_AUDIOHOOK_API_KEY',
    secret: true,
    description: 'API key of the Genesys AudioHook integration (X-API-KEY).',
  }),
  audiohookClientSecret: z.base64().min(8).optional().meta({
    env: 'TRUNKLINE_AUDIOHOOK_CLIENT_SECRET',
    secret: true,
    description: 'Client secret (base64) with which AudioHook signs its upgrade.',
  }),
  audiohookAuthority: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_AUDIOHOOK_AUTHORITY',
    description: 'The @authority that AudioHook signs, when a proxy rewrites Host.',
  }),
  audiohookResults: z.boolean().default(false).meta({
    env: 'TRUNKLINE_AUDIOHOOK_RESULTS',
    description: 'Send final transcripts back to Genesys as AudioHook events.',
  }),
};
export type AudiohookConfig = z.infer<z.ZodObject<typeof audiohookSettings>>;
