import { z } from 'zod';

export const infobipSettings = {
  infobipUsername: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_INFOBIP_USERNAME',
    description: 'User name in the media-stream configuration of Infobip (HTTP Basic).',
  }),
  infobipPassword: z.string().min(8).optional().meta({
    env: 'TRUNKLINE_INFOBIP_PASSWORD',
    secret: true,
    description: 'Password in the media-stream configuration of Infobip (HTTP Basic).',
  }),
};
export type InfobipConfig = z.infer<z.ZodObject<typeof infobipSettings>>;
