import { z } from 'zod';
import { SharedSecret } from '../../port/secrets.ts';

export const exotelSettings = {
  exotelUsername: z
    .string()
    .min(1)
    .regex(/^[^:]*$/, 'a user name has no colon')
    .optional()
    .meta({
      env: 'TRUNKLINE_EXOTEL_USERNAME',
      description:
        'User name in the address of the Stream applet of Exotel: `wss://<user name>:<password>@...`.',
    }),
  exotelPassword: SharedSecret.optional().meta({
    env: 'TRUNKLINE_EXOTEL_PASSWORD',
    secret: true,
    shared: true,
    description: 'Password in the address of the Stream applet of Exotel.',
  }),
};
export type ExotelConfig = z.infer<z.ZodObject<typeof exotelSettings>>;
