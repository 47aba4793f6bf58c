import { z } from 'zod';

export const jambonzSettings = {
  jambonzUsername: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_JAMBONZ_USERNAME',
    description: 'User name in wsAuth of the jambonz verb listen (HTTP Basic).',
  }),
  jambonzPassword: z.string().min(8).optional().meta({
    env: 'TRUNKLINE_JAMBONZ_PASSWORD',
    secret: true,
    description: 'Password in wsAuth of the jambonz verb listen (HTTP Basic).',
  }),
};
export type JambonzConfig = z.infer<z.ZodObject<typeof jambonzSettings>>;
