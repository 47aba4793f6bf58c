import { z } from 'zod';
import { DateTime } from './values.ts';

/** A field of a wrap-up has at most this many characters; a list at most this many entries. */
const maxCharacters = 1_000;
const maxEntries = 60;

const Words = z.string().trim().min(1).max(maxCharacters);
const Proof = z
  .array(z.string().min(1).max(100))
  .max(20)
  .describe('The `utterance_id`s that prove it; none where a person wrote it.');
const Day = z.iso.date();

const ProvenText = z.strictObject({ text: Words, utterance_ids: Proof });
const CallMoodLabel = z.enum(['positive', 'neutral', 'negative']);

const WrapUpPromise = z.strictObject({
  id: z
    .string()
    .regex(
      /^[a-z0-9_]{1,24}$/,
      'must be the id that the promise came with, or lower case letters, digits and _, at most 24',
    )
    .describe('Stays when the wrap-up is edited: one task for each.'),
  who: z.enum(['agent', 'customer']),
  what: Words.describe('Such as `send the customer a new card`, or a whole sentence.'),
  until: Day.nullable().describe('The last day that was named; null where none was.'),
  utterance_ids: Proof,
});
export type WrapUpPromise = z.infer<typeof WrapUpPromise>;

const WrapUpFact = z.strictObject({
  kind: z.enum(['name', 'number', 'amount', 'date', 'time', 'phone', 'email', 'address']),
  text: Words.describe('As it was said.'),
  value: Words.describe('As in entities: 89.00, 2026-12-04, +12125550147.'),
  currency: z.string().max(10).optional(),
  utterance_ids: Proof,
});

/** The record of a call as a person would keep it. A field that nobody's words prove is empty. */
export const WrapUp = z
  .strictObject({
    reason: ProvenText.nullable().describe('Why there was a call.'),
    done: z.array(ProvenText).max(maxEntries).describe('By the agent, in the call.'),
    outcome: z.strictObject({
      value: z.enum(['resolved', 'open', 'unknown']),
      utterance_ids: Proof,
    }),
    promises: z.array(WrapUpPromise).max(maxEntries),
    facts: z.array(WrapUpFact).max(maxEntries),
    disposition: Words.nullable().describe(
      "Of the installation's list: what a person chose, or what is suggested; null in doubt.",
    ),
    disposition_by: z
      .enum(['person', 'meaning', 'words'])
      .optional()
      .describe('`person`: chosen. `meaning` or `words`: suggested by what was said.'),
    mood: z
      .strictObject({ from: CallMoodLabel, to: CallMoodLabel, utterance_ids: Proof })
      .nullable()
      .describe('Of the customer, at the beginning and at the end.'),
  })
  .meta({ id: 'WrapUp' });
export type WrapUp = z.infer<typeof WrapUp>;

export const wrapUpFields = [
  'reason',
  'done',
  'outcome',
  'promises',
  'facts',
  'disposition',
  'mood',
] as const;
export type WrapUpField = (typeof wrapUpFields)[number];

export const WrapUpEdit = z
  .strictObject({
    field: z.enum(wrapUpFields),
    by: z.string().nullable().describe('Who changed it, as the request says.'),
    at: DateTime,
  })
  .meta({ id: 'WrapUpEdit' });
export type WrapUpEdit = z.infer<typeof WrapUpEdit>;

/** The data of `call.wrapped`, which `GET /api/calls/{id}/wrap-up` answers too. */
export const WrappedData = z.object({
  wrap_up: WrapUp,
  text: z.string().describe('The same in sentences.'),
  revision: z.int().min(0).describe('Rises by one with each call.wrapped; 0 before the first.'),
  edits: z.array(WrapUpEdit).describe('Who changed which field; none where nobody did.'),
});

export const CallWrapUp = WrappedData.extend({
  call_id: z.string(),
  state: z
    .enum(['draft', 'waiting', 'delivered'])
    .describe('draft: the call goes on. waiting: nobody edited it, and it goes out at `due_at`.'),
  due_at: DateTime.nullable(),
  dispositions: z
    .array(z.string())
    .describe('The list that a disposition is chosen from; empty: any words.'),
}).meta({ id: 'CallWrapUp' });
export type CallWrapUp = z.infer<typeof CallWrapUp>;

const { disposition_by: _by, ...editable } = WrapUp.shape;

/** Fields that are not named stay as they are. */
export const WrapUpOrder = z
  .strictObject({
    by: z.string().trim().min(1).max(200).optional().describe('Who edits it: a name or an id.'),
    revision: z
      .int()
      .min(0)
      .optional()
      .describe('The revision that was read: the request is refused where there is a later one.'),
    wrap_up: z
      .strictObject({
        ...editable,
        promises: z.array(WrapUpPromise.partial({ id: true, utterance_ids: true })).max(maxEntries),
        reason: ProvenText.partial({ utterance_ids: true }).nullable(),
        done: z.array(ProvenText.partial({ utterance_ids: true })).max(maxEntries),
        facts: z.array(WrapUpFact.partial({ utterance_ids: true })).max(maxEntries),
        outcome: z.strictObject({
          value: z.enum(['resolved', 'open', 'unknown']),
          utterance_ids: Proof.optional(),
        }),
      })
      .partial(),
  })
  .meta({ id: 'WrapUpOrder' });
export type WrapUpOrder = z.infer<typeof WrapUpOrder>;
