import { z } from 'zod';

/** The contact of a call's other party, as the CRM has it. */
export const CallContact = z
  .object({
    crm: z.string().describe('The name of the endpoint whose CRM knows the contact.'),
    id: z.string().describe('The id of the contact at the CRM.'),
    name: z.string().nullable(),
    company: z.string().nullable(),
    language: z
      .string()
      .optional()
      .describe('The language of the contact, where the CRM names one: the call is heard in it.'),
    tickets: z
      .array(z.object({ id: z.string(), title: z.string() }))
      .describe('Tickets, cases or deals that are open, at most five.'),
  })
  .meta({ id: 'CallContact' });
export type CallContact = z.infer<typeof CallContact>;

/** The parties of a call whose other side is looked up. */
export type LookedUpCall = {
  id: string;
  direction: 'inbound' | 'outbound' | undefined;
  from: string | undefined;
  to: string | undefined;
  startedAt: number;
};
