import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Router } from 'express';
import { z } from 'zod';
import { agentsAllowed, teamAgentsOf } from '../../port/principal.ts';
import { Problem } from '../../port/problem.ts';
import type { SearchPage } from '../../protocol/search.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Store } from '../../store/store.ts';
import { callItems } from '../api/call-json.ts';
import { CallListQuery, namesOfOthers } from '../api/call-search.ts';
import { transcriptFormats, transcriptTypes } from '../api/call-transcript.ts';
import { invalid, readKnown } from '../api/query.ts';
import type { Calls } from '../call/calls.ts';
import { utteranceIdOf } from '../records/timeline.ts';
import type { IndexingProgress, SearchBacklog } from './search-backlog.ts';
import { exportedSearch } from './search-export.ts';
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

const ExportQuery = SearchQuery.omit({ cursor: true, limit: true }).extend({
  format: z.enum(transcriptFormats).default('txt'),
  calls: z.coerce.number().int().min(1).max(10_000).default(1_000),
});
/** Each reads whole transcripts from the database. */
const maxExportsAtOnce = 4;

type SearchApiOptions = {
  store: Store;
  calls: Calls;
  backlog: Pick<SearchBacklog, 'progress'>;
  log: Logger;
};

/** Serves `GET /api/search`: finds calls by their words, and returns the places where the words were said. */
export function searchApi({ store, calls, backlog, log }: SearchApiOptions): Router {
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
    const progress = await backlog.progress();
    const found = await findSaid({
      ...{ store, conditions, below: cursor, limit },
      filters: { ...filters, among: agentsAllowed(response), teamAgents: teamAgentsOf(response) },
    });
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
      older_calls_missing: progress !== undefined,
      indexing: progress === undefined ? null : shownProgress(progress),
    };
    response.json(page);
  });

  let exports = 0;
  router.get('/api/search/export', async (request, response) => {
    const {
      q,
      format,
      calls: most,
      ...filters
    } = readKnown(ExportQuery, request, {
      ...namesOfOthers,
      query: 'q',
      search: 'q',
      limit: 'calls',
    });
    const parsed = parseQuery(q);
    if ('problem' in parsed) throw invalid([`q: ${parsed.problem}`]);
    if (exports >= maxExportsAtOnce)
      throw new Problem(429, 'other searches are being exported: try again soon');
    const { conditions } = parsed;
    const among = agentsAllowed(response);
    const allowed = { ...filters, among, teamAgents: teamAgentsOf(response) };
    const text = exportedSearch({ store, calls, conditions, filters: allowed, format, most });
    exports += 1;
    try {
      response.setHeader('content-disposition', `attachment; filename="search.${format}"`);
      response.setHeader('content-type', format === 'json' ? transcriptTypes.jsonl : transcriptTypes[format]); // prettier-ignore
      await pipeline(Readable.from(text, { objectMode: true, highWaterMark: 1 }), response);
    } catch (error) {
      // The reader left, or the answer had begun: it is cut, so that nobody takes it for whole.
      if (!response.headersSent) throw error;
      log.warn({ reason: reasonOf(error) }, 'an export of a search was cut');
    } finally {
      exports -= 1;
    }
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
    utterance_id: kind === 'turn' ? utteranceIdOf(hit.legId, hit.sessionId, hit.key) : null,
    text,
    marks: marksIn(text, atoms),
  };
}

function shownProgress({ from, reached, oldest }: IndexingProgress): SearchPage['indexing'] {
  const iso = (ms: number): string => new Date(ms).toISOString();
  return { from: iso(from), reached: iso(reached), oldest: iso(oldest) };
}
