import { z } from 'zod';

/** Settings of people, and of the record of who did what. */
export const PeopleConfig = z.strictObject({
  auditDays: z.number().int().min(1).max(36_500).default(400).meta({
    env: 'TRUNKLINE_AUDIT_DAYS',
    description: 'Who read, heard, changed and erased what is kept for this many days.',
  }),
});
export type PeopleConfig = z.infer<typeof PeopleConfig>;
