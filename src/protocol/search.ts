import { z } from 'zod';
import { CallItem } from './api.ts';
import { DateTime, textLine } from './values.ts';

export const SearchBy = z.enum(['words', 'meaning']);
export type SearchBy = z.infer<typeof SearchBy>;
export const SearchSort = z.enum(['newest', 'relevance']);
export type SearchSort = z.infer<typeof SearchSort>;

/** A place where the searched words were said or written. */
const SearchHit = z.object({
  kind: z.enum(['turn', 'note', 'summary', 'wrap-up', 'tag', 'parameter']),
  role: z.string().nullable(),
  /** In seconds of the call; null for notes and other text beside it. */
  start: z.number().nullable(),
  end: z.number().nullable(),
  utterance_id: z
    .string()
    .nullable()
    .describe('As in call.transcript, whose words have their own times. Null beside the call.'),
  text: z.string(),
  /** The positions of the words in `text`, as start and end. */
  marks: z.array(z.tuple([z.number().int(), z.number().int()])),
  nearness: z
    .number()
    .optional()
    .describe('In a search by meaning: 1 for the same meaning, about 0 for another one.'),
});

export const SearchPage = z
  .object({
    items: z.array(z.object({ call: CallItem, hits: z.array(SearchHit) })),
    next_cursor: z.string().nullable(),
    older_calls_missing: z
      .boolean()
      .describe(
        'True while older calls are still being put into the search, or into the memory of a search by meaning.',
      ),
    indexing: z
      .object({ from: DateTime, reached: DateTime, oldest: DateTime })
      .nullable()
      .describe(
        'While older calls are put into the search, the newest first: the start of the newest of them, of the one that was reached, and of the oldest.',
      ),
  })
  .meta({ id: 'SearchPage' });
export type SearchPage = z.infer<typeof SearchPage>;

/** The parameters of `GET /api/search` as its address has them, without a cursor. */
export const SavedSearchOrder = z
  .strictObject({
    query: textLine(2_000),
  })
  .meta({ id: 'SavedSearchOrder' });

const ApiSavedSearch = z
  .object({ name: z.string(), query: z.string(), saved_at: DateTime })
  .meta({ id: 'SavedSearch' });
export type SavedSearch = z.infer<typeof ApiSavedSearch>;

export const SavedSearchList = z
  .object({ items: z.array(ApiSavedSearch) })
  .meta({ id: 'SavedSearchList' });
export type SavedSearchList = z.infer<typeof SavedSearchList>;
export { ApiSavedSearch };
