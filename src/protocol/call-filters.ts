import { z } from 'zod';
import { CallMood } from './api.ts';
import { textLine } from './values.ts';

/** Filters are named in one place: the list, the search, its export and their descriptions are made from it. */
type CallFilter = { description: string; schema: z.ZodType; example?: string };

const seconds = z.coerce.number().min(0).max(1_000_000);

/** Filters by what a call was about, beside those by its parties and times. */
export const contentFilters = {
  mood: {
    description: 'Only ended calls in this mood, as the list shows it.',
    schema: CallMood.optional(),
  },
  entity: {
    description:
      'Only ended calls in which this was named: a type, or a type with a value, as in `call.completed`. Case does not matter.',
    schema: textLine(200).optional(),
    example: 'ORGANIZATION:Acme',
  },
  disposition: {
    description: 'Only calls whose record has this disposition, large or small.',
    schema: textLine(200).optional(),
    example: 'refund granted',
  },
  rule: {
    description:
      'Only calls in which this rule of a playbook fired: `playbook/rule`, or its name alone.',
    schema: textLine(200).optional(),
    example: 'sales/cancel',
  },
  team: {
    description: 'Only calls of the agents in this team.',
    schema: textLine(100).optional(),
  },
  min_duration: {
    description: 'Only calls of this many seconds or more.',
    schema: seconds.optional(),
  },
  max_duration: {
    description: 'Only calls of this many seconds or fewer.',
    schema: seconds.optional(),
  },
  undelivered: {
    description:
      'true: only calls with events that a webhook or CRM did not take; false: only the others.',
    schema: z.enum(['true', 'false']).optional(),
  },
} as const satisfies Record<string, CallFilter>;

export type ContentFilterName = keyof typeof contentFilters;

type Shape = { [Name in ContentFilterName]: (typeof contentFilters)[Name]['schema'] };

export const contentFilterShape = Object.fromEntries(
  Object.entries(contentFilters).map(([name, { schema }]) => [name, schema]),
) as Shape;
