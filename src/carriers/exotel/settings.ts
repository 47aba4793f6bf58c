import { z } from 'zod';

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
  exotelPassword: z.string().min(8).optional().meta({
    env: 'TRUNKLINE_EXOTEL_PASSWORD',
    secret: true,
    description: 'Password in the address of the Stream applet of Exotel.',
  }),
};
export type ExotelConfig = z.infer<z.ZodObject<typeof exotelSettings>>;
