import type { Request } from 'express';
import { z } from 'zod';
import { within, type Clock } from '../../lib/clock.ts';
import type { SentenceDirection } from '../../meaning/directions.ts';
import { sentenceModelRemedy, type Meaning } from '../../meaning/meaning.ts';
import { Problem } from '../../port/problem.ts';
import { SearchBy, SearchSort } from '../../protocol/search.ts';
import type { Turn } from '../../protocol/events.ts';
import type { Store } from '../../store/store.ts';
import { CallListQuery, namesOfOthers } from '../api/call-search.ts';
import { invalid, readKnown } from '../api/query.ts';
import {
  atomsOf,
  findSaid,
  type FoundHit,
  type FoundPage,
  type SearchFilters,
} from './find-calls.ts';
import { findNear } from './find-near.ts';
import { findRanked } from './find-ranked.ts';
import type { LoadedDirections } from './loaded-directions.ts';
import { splitQuery } from './query-filters.ts';
import { marksIn, parseQuery, type Condition } from './search-query.ts';

const mostLength = 500;
/** The process with the model has to start before the first search. */
const directionMs = 10_000;
/** In a search by meaning a party stands in front of the whole sentence. */
const partyFirst = /^(?:(?<role>customer|agent|mixed):)?(?<text>.*)$/isu;

export const SearchQuery = CallListQuery.omit({
  sort: true,
  search: true,
  cursor: true,
  limit: true,
}).extend({
  q: z.string().trim().min(1).max(mostLength),
  by: SearchBy.default('words'),
  sort: SearchSort.optional(),
});

export type AskedSearch = {
  /** A page of calls. `cursor` is that of the page before. `isWhole`: no words are missing in the memory. */
  page: (cursor: number | undefined, limit: number) => Promise<FoundPage & { isWhole: boolean }>;
  marksIn: (text: string) => [from: number, to: number][];
  /** True if the turn is one for which its call was found. */
  isFound: (turn: Turn, hits: readonly FoundHit[]) => boolean;
};

type SearchMeans = {
  store: Store;
  near: Pick<LoadedDirections, 'nearest' | 'drop'>;
  meaning: Pick<Meaning, 'direction' | 'isThere'>;
  clock: Clock;
};

/** Reads the parameters of a search. Filters in its words count like parameters, and `q` keeps the rest. */
export function readSearch<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  request: Request,
  names: Record<string, string>,
): z.output<z.ZodObject<Shape>> & { words: string } {
  const { q } = request.query;
  const split = splitQuery(typeof q === 'string' ? q.slice(0, mostLength) : '');
  if ('problem' in split) throw invalid([`q: ${split.problem}`]);
  const twice = Object.keys(split.filters).filter((name) => request.query[name] !== undefined);
  if (twice.length > 0) throw invalid([`${twice.join(', ')}: given in q and beside it`]);
  const all = { query: { ...request.query, ...split.filters } } as unknown as Request;
  return { ...readKnown(schema, all, { ...namesOfOthers, ...names }), words: split.q };
}

/** The search that a request asks for. Waits for the meaning of its words, where it is by meaning. */
export async function askedSearch(
  means: SearchMeans,
  { by, words, sort, filters }: { by: SearchBy; words: string; sort?: SearchSort | undefined; filters: SearchFilters }, // prettier-ignore
): Promise<AskedSearch> {
  if (by === 'meaning') {
    if (sort === 'newest') throw invalid(['sort: a search by meaning has the nearest first']);
    return byMeaning(means, words, filters);
  }
  return byWords(means.store, words, sort ?? 'newest', filters);
}

function byWords(
  store: Store,
  words: string,
  sort: SearchSort,
  filters: SearchFilters,
): AskedSearch {
  const conditions = conditionsOf(words);
  const find = sort === 'relevance' ? findRanked : findSaid;
  const atoms = atomsOf(conditions);
  return {
    page: async (below, limit) => ({
      ...(await find({ store, conditions, filters, below, limit })),
      isWhole: true,
    }),
    marksIn: (text) => marksIn(text, atoms),
    isFound: (turn) =>
      conditions.some(
        ({ isNot, role, anyOf }) =>
          !isNot &&
          (role === undefined || role === turn.role) &&
          marksIn(turn.text, anyOf).length > 0,
      ),
  };
}

function conditionsOf(words: string): readonly Condition[] {
  if (words === '')
    throw invalid([
      'q: beside filters there must be a word; the list of calls takes filters alone',
    ]);
  const parsed = parseQuery(words);
  if ('problem' in parsed) throw invalid([`q: ${parsed.problem}`]);
  return parsed.conditions;
}

async function byMeaning(
  { store, near, meaning, clock }: SearchMeans,
  words: string,
  filters: SearchFilters,
): Promise<AskedSearch> {
  const { role, text = '' } = partyFirst.exec(words)?.groups ?? {};
  if (text.trim() === '') throw invalid(['q: a search by meaning needs a sentence']);
  if (!(await meaning.isThere()))
    throw new Problem(409, `the search by meaning needs a model that is not installed: ${sentenceModelRemedy}`); // prettier-ignore
  let direction: SentenceDirection | undefined;
  await within(clock, directionMs, meaning.direction(text).then((one) => (direction = one))); // prettier-ignore
  if (direction === undefined)
    throw new Problem(503, 'the model that knows meanings does not answer: search by words, or try again in a minute'); // prettier-ignore
  const asked = direction;
  return {
    page: async (before = 0, limit) => {
      const found = await findNear({ store, near, direction: asked, role: role?.toLowerCase(), filters, before, limit }); // prettier-ignore
      if (found === undefined) throw new Problem(503, 'too many searches by meaning at once: try again soon'); // prettier-ignore
      return found;
    },
    marksIn: () => [],
    isFound: (turn, hits) =>
      hits.some(({ start, text: said }) => start === turn.start && said === turn.text),
  };
}
