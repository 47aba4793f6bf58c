import { z } from 'zod';
import type { CallItem } from '../api.ts';
import {
  ApiSavedSearch,
  SavedSearchList,
  SavedSearchOrder,
  SearchBy,
  SearchPage,
  SearchSort,
} from '../search.ts';
import { one, paging } from './operator-route.ts';
import { answer, json, type Parameter, type Route } from './route.ts';

const tag = 'Calls';

const words: Parameter = {
  name: 'q',
  description:
    'Words that were all said in the call, wherever. `"a phrase"`, `begin*`, `-not`, `customer:word`, `agent:"a phrase"`, `(one OR other)` and `near(one other, 6)` narrow it. `tag:`, `mood:`, `entity:`, `disposition:`, `rule:`, `carrier:`, `direction:`, `number:`, `from:` and `to:` are filters, as in `tag:refund`. With `by=meaning` the rest is one sentence, with `customer:` or `agent:` in front of it for what this party said.',
  schema: z.string(),
  example: 'refund -cancelled',
};

const how: readonly Parameter[] = [
  {
    name: 'by',
    description:
      '`meaning` finds what means nearly the same as the sentence in `q`, in whatever words. It needs the model `sentence-encoder-en`; without it the answer is 409 and names the command that installs it.',
    schema: SearchBy.optional(),
  },
  {
    name: 'sort',
    description:
      '`newest` by default. `relevance` ranks the newest 2,000 places of the rarest word. A search by meaning has the nearest first, 200 calls at most.',
    schema: SearchSort.optional(),
  },
];

/** The routes of searches that people keep. */
const savedRoutes: readonly Route[] = [
  {
    ...one('/api/saved-searches', 'List the searches that people saved'),
    answers: { 200: answer('All of them, by name.', SavedSearchList) },
    errors: [],
  },
  {
    method: 'put',
    path: '/api/saved-searches/{name}',
    tag,
    access: 'key',
    summary: 'Save a search under a name',
    description: 'In place of the one that has this name. All who may read calls see it.',
    body: json(SavedSearchOrder, { query: 'q=refund+-cancelled&from_date=2026-11-01' }),
    answers: { 200: answer('Saved.', ApiSavedSearch) },
    errors: [400, 409],
  },
  {
    method: 'delete',
    path: '/api/saved-searches/{name}',
    tag,
    access: 'key',
    summary: 'Remove a saved search',
    answers: { 204: { description: 'Removed. No call is touched.' } },
    errors: [404],
  },
];

/** The routes that find calls by what was said in them. `filters` are those of the list of calls. */
export const searchRoutes = ({
  filters,
  callItem,
}: {
  filters: readonly Parameter[];
  callItem: CallItem;
}): readonly Route[] => [
  {
    method: 'get',
    path: '/api/search',
    tag,
    access: 'key',
    summary: 'Find calls by what was said in them',
    description:
      'Calls whose turns, notes or summary hold the words, those with the newest words first, each with up to three places. A page may hold fewer calls than asked for; it is the last one when `next_cursor` is null.',
    query: [words, ...how, ...filters, ...paging],
    answers: {
      200: answer('A page of calls.', SearchPage, {
        items: [
          {
            call: callItem,
            hits: [
              {
                kind: 'turn',
                role: 'customer',
                start: 12.4,
                end: 14.1,
                utterance_id: 'utt_5b1f0c2d9e8a7f60',
                text: 'I would like a refund.',
                marks: [[15, 21]],
              },
            ],
          },
        ],
        next_cursor: null,
        older_calls_missing: false,
        indexing: null,
      }),
    },
    errors: [400, 409, 503],
  },
  {
    method: 'get',
    path: '/api/search/export',
    tag,
    access: 'key',
    summary: 'The transcripts of the calls that a search finds, as one file',
    description:
      'Streamed, in the order of the search. `jsonl` and `csv` have one line for each turn, with the call and whether the words are in it; `json` has one line for each call.',
    query: [
      words,
      ...how,
      ...filters,
      {
        name: 'format',
        description: 'The kind of file.',
        schema: z.enum(['json', 'jsonl', 'txt', 'vtt', 'srt', 'csv']),
      },
      { name: 'calls', description: 'At most so many calls.', schema: z.int().min(1).max(10_000) },
    ],
    answers: { 200: { description: 'The file.', content: { 'text/plain': z.string() } } },
    errors: [400, 409, 429, 503],
  },
  ...savedRoutes,
];
