import { Router } from 'express';
import { z } from 'zod';
import type { SearchPage } from '../../protocol/api.ts';
import type { Store } from '../../store/store.ts';
import { callItems } from '../api/call-json.ts';
import { CallListQuery, namesOfOthers } from '../api/call-search.ts';
import { invalid, readKnown } from '../api/query.ts';
import type { Calls } from '../call/calls.ts';
import type { SearchBacklog } from './search-backlog.ts';
import { atomsOf, findSaid, type FoundHit } from './find-calls.ts';
import { marksIn, parseQuery, type Atom } from './search-query.ts';

const mostLength = 500;

const SearchQuery = CallListQuery.omit({
  sort: true,
  search: true,
  cursor: true,
  limit: true,
}).extend({
  q: z.string().trim().min(1).max(mostLength),
  limit: z.coerce.number().int().min(1).max(50).default(20),
  cursor: z
    .string()
    .regex(/^-?\d{1,15}$/, 'must be the next_cursor of a page of the same search')
    .transform(Number)
    .optional(),
});

type SearchApiOptions = { store: Store; calls: Calls; backlog: SearchBacklog };

/** Serves `GET /api/search`: finds calls by their words, and returns the places where the words were said. */
export function searchApi({ store, calls, backlog }: SearchApiOptions): Router {
  const router = Router();
  router.get('/api/search', async (request, response) => {
    const { q, limit, cursor, ...filters } = readKnown(SearchQuery, request, {
      ...namesOfOthers,
      query: 'q',
      search: 'q',
    });
    const parsed = parseQuery(q);
    if ('problem' in parsed) throw invalid([`q: ${parsed.problem}`]);
    const { conditions } = parsed;
    const found = await findSaid({ store, conditions, filters, below: cursor, limit });
    const items = await callItems({
      db: store.db,
      ids: found.callIds,
      live: (id) => calls.get(id),
    });
    const atoms = atomsOf(conditions);
    const page: SearchPage = {
      items: items.map((call) => ({
        call,
        hits: (found.hits.get(call.id) ?? []).map((hit) => shown(hit, atoms)),
      })),
      next_cursor: found.next === null ? null : String(found.next),
      older_calls_missing: await backlog.isBehind(),
    };
    response.json(page);
  });
  return router;
}

/** The answer has offsets and no markup: the program that shows the text decides how to highlight. */
function shown(hit: FoundHit, atoms: readonly Atom[]): SearchPage['items'][number]['hits'][number] {
  const { kind, role, start, end, text } = hit;
  return {
    kind,
    role: role === '' ? null : role,
    start: kind === 'turn' ? start : null,
    end: kind === 'turn' ? end : null,
    text,
    marks: marksIn(text, atoms),
  };
}
