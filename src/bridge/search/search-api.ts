import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Router, type Response } from 'express';
import { z } from 'zod';
import { agentsAllowed, teamAgentsOf } from '../../port/principal.ts';
import { Problem } from '../../port/problem.ts';
import type { SearchPage } from '../../protocol/search.ts';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Meaning } from '../../meaning/meaning.ts';
import type { Store } from '../../store/store.ts';
import { callItems } from '../api/call-json.ts';
import { transcriptFormats, transcriptTypes } from '../api/call-transcript.ts';
import type { Calls } from '../call/calls.ts';
import { utteranceIdOf } from '../records/timeline.ts';
import { askedSearch, readSearch, SearchQuery, type AskedSearch } from './asked-search.ts';
import type { FoundHit } from './find-calls.ts';
import type { LoadedDirections } from './loaded-directions.ts';
import type { SaidDirections } from './said-directions.ts';
import type { IndexingProgress, SearchBacklog } from './search-backlog.ts';
import { exportedSearch } from './search-export.ts';

const PageQuery = SearchQuery.extend({
  limit: z.coerce.number().int().min(1).max(50).default(20),
  cursor: z
    .string()
    .regex(
      /^-?\d{1,15}$/,
      'must be the next_cursor of the page before, asked for with the same words: without it comes the first page',
    )
    .transform(Number)
    .optional(),
});

const ExportQuery = SearchQuery.extend({
  format: z.enum(transcriptFormats).default('txt'),
  calls: z.coerce.number().int().min(1).max(10_000).default(1_000),
});
/** Each reads whole transcripts from the database. */
const maxExportsAtOnce = 4;

type SearchApiOptions = {
  store: Store;
  calls: Calls;
  backlog: Pick<SearchBacklog, 'progress'>;
  directions: Pick<SaidDirections, 'progress'>;
  near: Pick<LoadedDirections, 'nearest' | 'drop'>;
  meaning: Pick<Meaning, 'direction' | 'isThere'>;
  clock: Clock;
  log: Logger;
};

/** Serves `GET /api/search`: finds calls by their words, and returns the places where the words were said. */
export function searchApi(options: SearchApiOptions): Router {
  const { store, calls, backlog, directions, log } = options;
  const router = Router();
  router.get('/api/search', async (request, response) => {
    const { words, q: _q, by, sort, limit, cursor, ...filters } = readSearch(PageQuery, request, names); // prettier-ignore
    const allowed = { ...filters, ...agentsMeant(response) };
    const search = await askedSearch(options, { by, words, sort, filters: allowed });
    const progress =
      (await backlog.progress()) ?? (by === 'meaning' ? await directions.progress() : undefined);
    const found = await search.page(cursor, limit);
    const items = await callItems({
      db: store.db,
      ids: found.callIds,
      live: (id) => calls.get(id),
    });
    const page: SearchPage = {
      items: items.map((call) => ({
        call,
        hits: (found.hits.get(call.id) ?? []).map((hit) => shown(hit, search)),
      })),
      next_cursor: found.next === null ? null : String(found.next),
      older_calls_missing: progress !== undefined || !found.isWhole,
      indexing: progress === undefined ? null : shownProgress(progress),
    };
    response.json(page);
  });

  let exports = 0;
  router.get('/api/search/export', async (request, response) => {
    const { words, q: _q, by, sort, format, calls: most, ...filters } = readSearch(ExportQuery, request, { ...names, limit: 'calls' }); // prettier-ignore
    const allowed = { ...filters, ...agentsMeant(response) };
    const search = await askedSearch(options, { by, words, sort, filters: allowed });
    if (exports >= maxExportsAtOnce)
      throw new Problem(429, 'other searches are being exported: try again soon');
    const text = exportedSearch({ store, calls, search, format, most });
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

const names = { query: 'q', search: 'q', order: 'sort' };

function agentsMeant(response: Response) {
  return { among: agentsAllowed(response), teamAgents: teamAgentsOf(response) };
}

/** The answer has offsets and no markup: the program that shows the text decides how to highlight. */
function shown(
  hit: FoundHit,
  { marksIn }: AskedSearch,
): SearchPage['items'][number]['hits'][number] {
  const { kind, role, start, end, text } = hit;
  return {
    kind,
    role: role === '' ? null : role,
    start: kind === 'turn' ? start : null,
    end: kind === 'turn' ? end : null,
    utterance_id: kind === 'turn' ? utteranceIdOf(hit.legId, hit.sessionId, hit.key) : null,
    text,
    marks: marksIn(text),
    ...(hit.nearness === undefined ? {} : { nearness: Math.round(hit.nearness * 1_000) / 1_000 }),
  };
}

function shownProgress({ from, reached, oldest }: IndexingProgress): SearchPage['indexing'] {
  const iso = (ms: number): string => new Date(ms).toISOString();
  return { from: iso(from), reached: iso(reached), oldest: iso(oldest) };
}
