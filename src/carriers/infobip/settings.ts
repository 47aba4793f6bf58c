import { z } from 'zod';
import { SharedSecret } from '../../port/secrets.ts';

export const infobipSettings = {
  infobipUsername: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_INFOBIP_USERNAME',
    description: 'User name in the media-stream configuration of Infobip (HTTP Basic).',
  }),
  infobipPassword: SharedSecret.optional().meta({
    env: 'TRUNKLINE_INFOBIP_PASSWORD',
    secret: true,
    shared: true,
    description: 'Password in the media-stream configuration of Infobip (HTTP Basic).',
  }),
};
export type InfobipConfig = z.infer<z.ZodObject<typeof infobipSettings>>;
