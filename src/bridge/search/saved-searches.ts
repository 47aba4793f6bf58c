import { Router } from 'express';
import type { Clock } from '../../lib/clock.ts';
import { Problem } from '../../port/problem.ts';
import { SavedSearchOrder, type SavedSearch, type SavedSearchList } from '../../protocol/search.ts';
import { check } from '../../protocol/validation.ts';
import { textLine } from '../../protocol/values.ts';
import type { Store } from '../../store/store.ts';
import { invalid } from '../api/query.ts';
import { splitQuery } from './query-filters.ts';
import { parseQuery } from './search-query.ts';

/** A list that a person reads has no use for more. */
const maxSaved = 200;
const Name = textLine(80);

/** Routes of searches that people keep under a name. All who may read calls see them. */
export function savedSearches({ store, clock }: { store: Store; clock: Clock }): Router {
  const router = Router();

  router.get('/api/saved-searches', async (_request, response) => {
    const rows = await store.db.selectFrom('saved_searches').selectAll().orderBy('name').execute();
    response.json({ items: rows.map(savedOf) } satisfies SavedSearchList);
  });

  router.put('/api/saved-searches/:name', async (request, response) => {
    const name = nameOf(request.params.name);
    const order = check(SavedSearchOrder, request.body);
    if (!order.ok) throw invalid(order.validationErrors);
    const { query } = order.value;
    const asked = new URLSearchParams(query);
    const problem = problemOf(asked.get('q') ?? '', asked.get('by') === 'meaning');
    if (problem !== undefined) throw invalid([`query: ${problem}`]);
    const saved_at = clock.now();
    await store.transaction(async (tx) => {
      const { saved } = await tx
        .selectFrom('saved_searches')
        .select((eb) => eb.fn.countAll<number | string>().as('saved'))
        .where('name', '<>', name)
        .executeTakeFirstOrThrow();
      if (Number(saved) >= maxSaved)
        throw new Problem(409, `${maxSaved} searches are saved: remove one first`);
      await tx
        .insertInto('saved_searches')
        .values({ name, query, saved_at })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ query, saved_at }))
        .execute();
    });
    response.json(savedOf({ name, query, saved_at }));
  });

  router.delete('/api/saved-searches/:name', async (request, response) => {
    const { numDeletedRows } = await store.db
      .deleteFrom('saved_searches')
      .where('name', '=', nameOf(request.params.name))
      .executeTakeFirstOrThrow();
    if (numDeletedRows === 0n) throw new Problem(404, 'no search is saved under this name');
    response.status(204).end();
  });

  return router;
}

function nameOf(given: string): string {
  const parsed = check(Name, given);
  if (!parsed.ok) throw invalid(parsed.validationErrors.map((error) => `name ${error}`));
  return parsed.value;
}

function savedOf(row: { name: string; query: string; saved_at: number }): SavedSearch {
  return { name: row.name, query: row.query, saved_at: new Date(row.saved_at).toISOString() };
}

function problemOf(q: string, isByMeaning: boolean): string | undefined {
  const split = splitQuery(q);
  if ('problem' in split) return split.problem;
  if (isByMeaning) return split.q === '' ? 'a search by meaning needs a sentence' : undefined;
  const parsed = parseQuery(split.q);
  return 'problem' in parsed ? parsed.problem : undefined;
}
