import { z } from 'zod';
import { SharedSecret } from '../../port/secrets.ts';
import { bearerList } from '../credentials.ts';

export const freeswitchSettings = {
  freeswitchToken: bearerList.meta({
    env: 'TRUNKLINE_FREESWITCH_TOKEN',
    secret: true,
    shared: true,
    description:
      'Text that STREAM_EXTRA_HEADERS of mod_audio_stream sends as Authorization: Bearer.',
  }),
  freeswitchUsername: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_FREESWITCH_USERNAME',
    description: 'MOD_AUDIO_BASIC_AUTH_USERNAME of mod_audio_fork (HTTP Basic).',
  }),
  freeswitchPassword: SharedSecret.optional().meta({
    env: 'TRUNKLINE_FREESWITCH_PASSWORD',
    secret: true,
    shared: true,
    description: 'MOD_AUDIO_BASIC_AUTH_PASSWORD of mod_audio_fork (HTTP Basic).',
  }),
};
export type FreeswitchConfig = z.infer<z.ZodObject<typeof freeswitchSettings>>;
