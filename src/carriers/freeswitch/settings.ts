import { z } from 'zod';
import { bearerList } from '../credentials.ts';

export const freeswitchSettings = {
  freeswitchToken: bearerList.meta({
    env: 'TRUNKLINE_FREESWITCH_TOKEN',
    secret: true,
    description:
      'Text that STREAM_EXTRA_HEADERS of mod_audio_stream sends as Authorization: Bearer.',
  }),
  freeswitchUsername: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_FREESWITCH_USERNAME',
    description: 'MOD_AUDIO_BASIC_AUTH_USERNAME of mod_audio_fork (HTTP Basic).',
  }),
  freeswitchPassword: z.string().min(8).optional().meta({
    env: 'TRUNKLINE_FREESWITCH_PASSWORD',
    secret: true,
    description: 'MOD_AUDIO_BASIC_AUTH_PASSWORD of mod_audio_fork (HTTP Basic).',
  }),
};
export type FreeswitchConfig = z.infer<z.ZodObject<typeof freeswitchSettings>>;
