import { z } from 'zod';
import { ProviderConfig } from './provider-config.ts';

/** Settings of people, and of the record of who did what. */
export const PeopleConfig = z.strictObject({
  auditDays: z.number().int().min(1).max(36_500).default(400).meta({
    env: 'TRUNKLINE_AUDIT_DAYS',
    description: 'Who read, heard, changed and erased what is kept for this many days.',
  }),
  signInHours: z.number().int().min(1).max(720).default(12).meta({
    env: 'TRUNKLINE_SIGN_IN_HOURS',
    description:
      'A sign-in to the page lasts this long. Somebody whom the provider removed stays signed in no longer.',
  }),
  provider: ProviderConfig.prefault({}),
});
export type PeopleConfig = z.infer<typeof PeopleConfig>;
export { providerProblems } from './provider-config.ts';
