import { z } from 'zod';
import { SharedSecret } from '../../port/secrets.ts';
import { continueSetting, dialSetting } from '../voice-answer.ts';

export const jambonzSettings = {
  jambonzUsername: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_JAMBONZ_USERNAME',
    description:
      'User name that jambonz sends with its webhooks and in wsAuth of the verb listen (HTTP Basic).',
  }),
  jambonzPassword: SharedSecret.optional().meta({
    env: 'TRUNKLINE_JAMBONZ_PASSWORD',
    secret: true,
    shared: true,
    description:
      'Password that jambonz sends with its webhooks and in wsAuth of the verb listen (HTTP Basic).',
  }),
  jambonzDial: dialSetting('TRUNKLINE_JAMBONZ_DIAL', 'jambonz'),
  jambonzContinueUrl: continueSetting('TRUNKLINE_JAMBONZ_CONTINUE_URL', 'jambonz', 'Application'),
};
export type JambonzConfig = z.infer<z.ZodObject<typeof jambonzSettings>>;
