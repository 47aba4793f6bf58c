import { Router, type Request, type Response } from 'express';
import { CarriersConfig } from '../../../src/carriers/config.ts';
import { carrierSetups } from '../../../src/carriers/setups.ts';
import { pageFiles } from '../../../src/console/console.ts';
import { Problem } from '../../../src/port/problem.ts';
import type {
  ApiCall,
  ApiJobCallback,
  Installation,
  LiveFeedMessage,
  NodeList,
} from '../../../src/protocol/api.ts';
import type {
  ApiCallDelivery,
  ApiDelivery,
  ApiEndpoint,
} from '../../../src/protocol/delivery-reports.ts';
import type { ApiConnection, CrmPresetList } from '../../../src/protocol/connection-reports.ts';
import type { SavedSearch, SearchPage } from '../../../src/protocol/search.ts';
import type { CallScore, ScoreReport } from '../../../src/protocol/call-scores.ts';
import type { BoardCard, BoardMessage } from '../../../src/protocol/board-messages.ts';
import type { ApiModel, LanguageModelTrial } from '../../../src/protocol/model-reports.ts';
import type { CallAssistance } from '../../../src/protocol/assist-events.ts';
import type { CallEvent } from '../../../src/protocol/events.ts';
import type { CallWrapUp } from '../../../src/protocol/wrap-up.ts';
import { recordedAssist } from './recorded-assist.ts';
import { portWithPeople } from '../people/people.ts';
import { callId } from './recorded-call.ts';
import { jobIdOf, recordedJob, type RecordedJob } from './recorded-jobs.ts';

/** The operator API's answers for the page. A test may change them while it runs. */
export type Recorded = {
  calls: ApiCall[];
  events: Record<string, CallEvent[]>;
  deliveries: ApiDelivery[];
  installation: Installation;
  jobs?: RecordedJob[];
  /** Job callbacks that did not arrive. */
  callbacks?: ApiJobCallback[];
  /** The endpoints; one that refused a call unless said. */
  endpoints?: ApiEndpoint[];
  /** The endpoints that were connected while the process ran. */
  connections?: ApiConnection[];
  /** The deeds of playbooks in every call; a hint and a checklist unless said. */
  assist?: CallAssistance;
  /** The answer of the language model; as needed unless said. */
  tried?: LanguageModelTrial['tried'];
  /** The models for recordings; all of them are installed unless said. */
  models?: ApiModel[];
  /** The record of every call. */
  wrapUp?: CallWrapUp;
  /** Searches that were saved. */
  saved?: SavedSearch[];
  /** The progress of indexing older calls; all of them are indexed unless said. */
  indexing?: SearchPage['indexing'];
  /** The scores of every call, and over time. */
  scores?: CallScore[];
  scoreReport?: ScoreReport;
  /** The running calls of the board. */
  board?: BoardCard[];
  /** Called for each request that changes data, and for each search. */
  onPost?: (path: string, body: unknown) => unknown;
};

export type RecordedApi = AsyncDisposable & {
  readonly url: string;
  /** Sends a message to every open page. */
  tell(message: LiveFeedMessage): void;
  /** Tells every open board of changed cards and of calls that are gone. */
  tellBoard(cards: readonly BoardCard[], gone?: readonly string[]): void;
  /** Closes every event stream, like a restart. */
  cut(): void;
  /** The Last-Event-ID of each opened stream, '' for none. */
  readonly resumedFrom: string[];
};

/** Serves the real page with the real server and sign-in, but with recorded answers. */
export async function startRecordedApi(
  recorded: Recorded,
  options: { apiKeys?: string[]; port?: number } = {},
): Promise<RecordedApi> {
  const port = await portWithPeople(options);
  const { http } = port;
  const streams = new Set<Response>();
  const resumedFrom: string[] = [];
  const operator = recordedRoutes(recorded);
  operator.get('/api/live', (request, response) => {
    const asked = request.headers['last-event-id'] ?? request.query['last_event_id'];
    const lastId = typeof asked === 'string' ? asked : '';
    resumedFrom.push(lastId);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write('retry: 100\n\n');
    for (const event of missed(recorded, lastId)) response.write(text(event));
    for (const call of recorded.calls.filter(({ state }) => state !== 'ended'))
      response.write(text({ type: 'call', call }));
    streams.add(response);
    response.on('close', () => streams.delete(response));
  });
  const boards = new Set<Response>();
  operator.get('/api/board/live', (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write('retry: 100\n\n');
    response.write(boardText(recorded.board ?? [], [], true));
    boards.add(response);
    response.on('close', () => boards.delete(response));
  });
  http.mount({
    name: 'recorded',
    routers: [
      { access: 'public', router: pageFiles() },
      { access: 'speech', router: recordedJobRoutes(recorded) },
      { access: 'operator', router: operator },
    ],
  });
  return {
    url: http.ownUrl,
    resumedFrom,
    tell(message) {
      for (const stream of streams) stream.write(text(message));
    },
    tellBoard(cards, gone = []) {
      for (const stream of boards) stream.write(boardText(cards, gone, false));
    },
    cut() {
      for (const stream of streams) stream.destroy();
    },
    [Symbol.asyncDispose]: () => port[Symbol.asyncDispose](),
  };
}

function boardText(cards: readonly BoardCard[], gone: readonly string[], whole: boolean): string {
  const at = new Date().toISOString();
  const message: BoardMessage = { type: 'board', at, whole, cards: [...cards], gone: [...gone], left_out: 0 }; // prettier-ignore
  return `event: board\ndata: ${JSON.stringify(message)}\n\n`;
}

function recordedRoutes(recorded: Recorded): Router {
  const router = Router();
  const page = (items: unknown[]) => ({ items, next_cursor: null });
  router.get(
    '/api/installation',
    (_request, response) => void response.json(recorded.installation),
  );
  router.get('/api/models', (_request, response) => {
    response.json({ items: recorded.models ?? [] });
  });
  router.get('/api/crm-presets', (_request, response) => {
    response.json(recordedPresets);
  });
  router.get('/api/connections', (_request, response) => {
    response.json({ items: recorded.connections ?? [] });
  });
  router.post('/api/connections/trial', (request, response) => {
    recorded.onPost?.(request.url, request.body);
    const { token } = request.body as { token?: string };
    const line = token === 'wrong' ? { ok: false, text: 'contacts: the CRM answers 401' } : { ok: true, text: 'contacts' }; // prettier-ignore
    response.json({ ok: line.ok, lines: [line] });
  });
  router.put('/api/connections/:name', (request, response) => {
    recorded.onPost?.(request.path, request.body);
    const { preset = null } = request.body as { preset?: string };
    const connection = {
      name: request.params.name,
      preset,
      host: 'crm.example.net',
      changed_at: new Date().toISOString(),
      state: 'connected' as const,
      detail: null,
    };
    (recorded.connections ??= []).push(connection);
    response.json(
      preset === null ? { ...connection, secret: 'whsec_of-the-page-test' } : connection,
    );
  });
  router.delete('/api/connections/:name', (request, response) => {
    recorded.onPost?.(request.path, undefined);
    recorded.connections = (recorded.connections ?? []).filter(
      ({ name }) => name !== request.params.name,
    );
    response.status(204).end();
  });
  router.post('/api/language-model/trial', (_request, response) => {
    response.json({ tried: recorded.tried ?? { model: 'some-model', ms: 412 } });
  });
  router.get('/api/nodes', (_request, response) => {
    response.json(recordedNodes);
  });
  router.get('/api/carriers', (_request, response) => {
    const config = CarriersConfig.parse({ twilioAuthToken: ['a-secret-of-the-tests'] });
    response.json({ items: carrierSetups({ config, publicUrl: 'https://calls.example.com' }) });
  });
  router.get('/api/search', (request, response) => {
    const { q, cursor } = request.query;
    if (typeof q !== 'string' || q.includes('"') !== /".*"/.test(q)) throw new Problem(400, 'Validation failed', { validationErrors: ['q: a quotation mark is not closed'] }); // prettier-ignore
    recorded.onPost?.('/api/search', { ...request.query });
    const all = searched(recorded, q);
    const from = typeof cursor === 'string' ? Number(cursor) : 0;
    const to = from + Number(request.query['limit']);
    response.json({
      items: all.slice(from, to),
      next_cursor: to < all.length ? String(to) : null,
      older_calls_missing: recorded.indexing !== undefined,
      indexing: recorded.indexing ?? null,
    } satisfies SearchPage);
  });
  router.get('/api/saved-searches', (_request, response) => {
    response.json({ items: recorded.saved ?? [] });
  });
  router.put('/api/saved-searches/:name', (request, response) => {
    const { query } = request.body as { query: string };
    const saved = { name: request.params.name, query, saved_at: new Date().toISOString() };
    (recorded.saved ??= []).push(saved);
    response.json(saved);
  });
  router.delete('/api/saved-searches/:name', (request, response) => {
    recorded.saved = (recorded.saved ?? []).filter(({ name }) => name !== request.params.name);
    response.status(204).end();
  });
  router.get('/api/calls', (request, response) => {
    const { state, cursor, incomplete, limit = '50' } = request.query;
    const all = recorded.calls
      .filter((call) => incomplete === undefined || call.incomplete != null)
      .filter((call) => state === undefined || call.state === state)
      .toSorted((a, b) => (a.id < b.id ? 1 : -1));
    const from = typeof cursor === 'string' ? Number(cursor) : 0;
    const to = from + Number(limit);
    response.json({ items: all.slice(from, to), next_cursor: to < all.length ? String(to) : null });
  });
  router.get('/api/calls/:id', (request, response) => {
    response.json(callOf(recorded, request.params.id));
  });
  router.get('/api/calls/:id/wrap-up', (_request, response) => {
    response.json(recorded.wrapUp);
  });
  router.put('/api/calls/:id/wrap-up', (request, response) => {
    response.json(recorded.onPost?.(request.path, request.body));
  });
  router.get('/api/calls/:id/scores', (_request, response) => {
    response.json({ items: recorded.scores ?? [] });
  });
  router.put('/api/calls/:id/scores/:scorecard', (request, response) => {
    recorded.onPost?.(request.path, request.body);
    response.json(recorded.scores?.[0]);
  });
  router.post('/api/calls/:id/scores/:scorecard/dispute', (request, response) => {
    recorded.onPost?.(request.path, request.body);
    response.json(recorded.scores?.[0]);
  });
  router.get('/api/scores', (_request, response) => {
    response.json(recorded.scoreReport);
  });
  router.get('/api/calls/:id/assist', (request, response) => {
    callOf(recorded, request.params.id);
    response.json(recorded.assist ?? recordedAssist);
  });
  router.get('/api/calls/:id/transcript', (request, response) => {
    const { transcript } = callOf(recorded, request.params.id);
    const lines = transcript.map(({ role, text }) => `${role}: ${text}\n`).join('');
    const { format } = request.query;
    response.type('text/plain').send(`${typeof format === 'string' ? format : ''}\n${lines}`);
  });
  router.patch('/api/calls/:id', (request, response) => {
    recorded.onPost?.(request.path, request.body);
    response.json(Object.assign(callOf(recorded, request.params.id), request.body));
  });
  router.delete('/api/calls/:id/links', (request, response) => {
    callOf(recorded, request.params.id);
    recorded.onPost?.(request.path, undefined);
    response.status(204).end();
  });
  router.delete('/api/calls/:id', (request, response) => {
    const call = callOf(recorded, request.params.id);
    recorded.onPost?.(request.path, undefined);
    recorded.calls.splice(recorded.calls.indexOf(call), 1);
    response.status(204).end();
  });
  router.get('/api/calls/:id/events', (request, response) => {
    response.json(page(recorded.events[request.params.id] ?? []));
  });
  router.get('/api/calls/:id/recording', (request, response) => {
    callOf(recorded, request.params.id);
    sendWav(request, response);
  });
  router.get('/api/deliveries', (request, response) => {
    const { state, call_id: call, by } = request.query;
    const items = recorded.deliveries.filter(
      (one) => (!state || one.state === state) && (!call || one.call_id === call),
    );
    const head = items.find((one) => one.state === 'parked' || one.state === 'pending');
    response.json(page(by === 'call' ? (head ? [head] : []) : items));
  });
  router.get('/api/deliveries/calls', (request, response) => {
    const { state, endpoint, type } = request.query;
    const items = callDeliveriesOf(recorded).filter(
      (one) =>
        (!state || one.state === state) &&
        (!endpoint || one.endpoint === endpoint) &&
        (!type || recorded.deliveries.some((event) => event.type === type)),
    );
    response.json(page(items));
  });
  router.get('/api/deliveries/endpoints', (_request, response) => {
    response.json(page(recorded.endpoints ?? [recordedEndpoint]));
  });
  router.get('/api/deliveries/:id', (request, response) => {
    const found = recorded.deliveries.find(({ id }) => id === request.params.id);
    if (!found) throw new Problem(404, 'no such delivery');
    const at = found.last_attempt_at;
    const history = at === null ? [] : [{ at, ms: 12, status: found.status, error: null }];
    const answer = found.answer ?? '';
    const exchanges = [
      {
        request: {
          method: 'POST',
          url: 'https://crm.example.net/hook',
          headers: { 'content-type': 'application/json', 'webhook-signature': '********' },
          body: JSON.stringify({ id: found.event_id, type: found.type }),
        },
        response: {
          status: found.status ?? 200,
          headers: { 'content-type': 'application/json' },
          body: answer,
        },
      },
    ];
    response.json({ ...found, history, exchanges });
  });
  router.get('/api/job-callbacks', (request, response) => {
    const { state, job_id: job } = request.query;
    const items = (recorded.callbacks ?? []).filter(
      (one) => (!state || one.state === state) && (!job || one.job_id === job),
    );
    response.json(page(items));
  });
  router.post('/{*path}', (request, response) => {
    response.status(202).json(recorded.onPost?.(request.path, request.body) ?? { changed: 1 });
  });
  return router;
}

function sendWav(request: Request, response: Response): void {
  const wav = stereoWav(60);
  const [, from, to] = /^bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '') ?? [];
  response.type('audio/wav').set('accept-ranges', 'bytes');
  const part = wav.subarray(Number(from ?? 0), to ? Number(to) + 1 : undefined);
  const last = Number(from ?? 0) + part.length - 1;
  if (from !== undefined)
    response.status(206).set('content-range', `bytes ${from}-${last}/${wav.length}`);
  response.end(part);
}

/** The job routes that the Jobs view uses. `onPost` hears of each change first and may refuse it. */
function recordedJobRoutes(recorded: Recorded): Router {
  const router = Router();
  const jobs = () => (recorded.jobs ??= []);
  const jobOf = (id: string): RecordedJob => {
    const job = jobs().find((one) => one.id === id);
    if (!job) throw new Problem(404, 'Not found');
    return job;
  };
  router.get('/v2/pre-recorded', (request, response) => {
    const { status, after_date: after, before_date: before, limit = '20' } = request.query;
    const found = jobs()
      .filter((job) => typeof status !== 'string' || status.split(',').includes(job.status))
      .filter((job) => typeof after !== 'string' || job.created_at > after)
      .filter((job) => typeof before !== 'string' || job.created_at < before)
      .toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1));
    const next = found.length > Number(limit) ? `http://127.0.0.1${request.path}?offset=1` : null;
    response.json({ first: '', current: '', next, items: found.slice(0, Number(limit)) });
  });
  router.get('/v2/pre-recorded/:id', (request, response) => {
    response.json(jobOf(request.params.id));
  });
  router.get('/v2/pre-recorded/:id/file', (request, response) => {
    jobOf(request.params.id);
    sendWav(request, response);
  });
  router.post('/v2/upload', async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const form = Buffer.concat(parts).toString('latin1');
    const filename = /filename="([^"]*)"/.exec(form)?.[1] ?? '';
    recorded.onPost?.(request.path, filename);
    response.json({ audio_url: `http://127.0.0.1/file/${encodeURIComponent(filename)}` });
  });
  router.post('/v2/pre-recorded', (request, response) => {
    const body = request.body as { audio_url: string };
    recorded.onPost?.(request.path, body);
    const id = jobIdOf(1_000 + jobs().length);
    const filename = decodeURIComponent(body.audio_url.split('/').at(-1) ?? '');
    const file = { id, filename, source: null, audio_duration: null, number_of_channels: null };
    const waits = { status: 'queued' as const, completed_at: null, result: null };
    jobs().push(recordedJob({ id, ...waits, file, created_at: new Date().toISOString() }));
    response.status(201).json({ id, result_url: `http://127.0.0.1/v2/transcription/${id}` });
  });
  router.post('/v2/pre-recorded/:id/cancel', (request, response) => {
    const job = jobOf(request.params.id);
    recorded.onPost?.(request.path, undefined);
    Object.assign(job, {
      status: 'error',
      error_code: 499,
      error_message: 'cancelled by a request',
    });
    response.status(202).end();
  });
  router.delete('/v2/pre-recorded/:id', (request, response) => {
    const job = jobOf(request.params.id);
    recorded.onPost?.(request.path, undefined);
    jobs().splice(jobs().indexOf(job), 1);
    response.status(202).end();
  });
  return router;
}

/** A CRM with a token, and one that wants another proof. */
const recordedPresets: CrmPresetList = {
  items: [
    {
      name: 'zendesk',
      title: 'Zendesk',
      needs: ['Admin Center, Apps and integrations, Zendesk API: a token'],
      needs_token: true,
      needs_url: false,
      has_setup: true,
      options: [
        {
          name: 'subdomain',
          description: 'The part before .zendesk.com.',
          required: true,
          default: null,
          values: null,
        },
        {
          name: 'several',
          description: 'Which of several contacts with one number.',
          required: false,
          default: 'newest',
          values: ['newest', 'none'],
        },
      ],
    },
    {
      name: 'dynamics',
      title: 'Dynamics 365',
      needs: ['Entra: an app registration with a secret'],
      needs_token: false,
      needs_url: true,
      has_setup: false,
      options: [],
    },
  ],
};

/** An endpoint that takes its events, and refused one call. */
export const recordedEndpoint: ApiEndpoint = {
  name: 'crm',
  disabled_at: null,
  reason: null,
  host: 'crm.example.net',
  preset: 'hubspot',
  connected: false,
  last_success_at: '2026-02-03T09:15:10.000Z',
  last_failure: {
    at: '2026-02-03T09:15:00.000Z',
    status: 422,
    reason: 'the endpoint answers 422',
    call_id: callId,
  },
  waiting_calls: 0,
  parked_calls: 1,
};

function callDeliveriesOf({ deliveries, calls }: Recorded): ApiCallDelivery[] {
  return [...Map.groupBy(deliveries, (one) => `${one.call_id}.${one.endpoint}`).values()].flatMap(
    (events) => {
      const [first] = events;
      if (first === undefined) return [];
      const count = (state: string) => events.filter((one) => one.state === state).length;
      const counts = {
        delivered: count('delivered'),
        pending: count('pending'),
        parked: count('parked'),
        skipped: count('skipped'),
      };
      const head = events.find(({ state }) => state === 'parked' || state === 'pending');
      const call = calls.find(({ id }) => id === first.call_id);
      return [
        {
          call_id: first.call_id,
          endpoint: first.endpoint,
          state: counts.parked > 0 ? 'parked' : counts.pending > 0 ? 'pending' : 'delivered',
          from: call?.from ?? null,
          to: call?.to ?? null,
          started_at: call?.started_at ?? null,
          test: false,
          counts,
          head: head ?? null,
          last_attempt_at: head?.last_attempt_at ?? null,
          delivered_at: first.delivered_at,
        },
      ];
    },
  );
}

function callOf(recorded: Recorded, id: string): ApiCall {
  const call = recorded.calls.find((one) => one.id === id);
  if (!call) throw new Problem(404, 'call not found');
  return call;
}

/** The calls whose words have the first plain word of the query. */
function searched({ calls, events }: Recorded, q: string): SearchPage['items'] {
  const word = /[a-z]+/i.exec(q)?.[0].toLowerCase() ?? '';
  return calls.flatMap(({ transcript, judged_turns: _, ...call }) => {
    const told = (events[call.id] ?? []).filter((event) => event.type === 'call.transcript');
    const hits = transcript.flatMap(({ role, start, end, text }) => {
      const at = text.toLowerCase().indexOf(word);
      const event = told.find(({ data }) => data.text === text);
      const utterance_id = event?.data.utterance_id ?? null;
      const marks: [number, number][] = [[at, at + word.length]];
      return at < 0 ? [] : [{ kind: 'turn' as const, role, start, end, utterance_id, text, marks }];
    });
    return hits.length === 0 ? [] : [{ call: { ...call, last_turn: null }, hits }];
  });
}

function missed(recorded: Recorded, lastId: string): CallEvent[] {
  if (lastId === '') return [];
  return Object.values(recorded.events)
    .flat()
    .filter((event) => event.id > lastId)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function text(message: LiveFeedMessage): string {
  const id = 'id' in message ? `id: ${message.id}\n` : '';
  return `${id}event: ${message.type}\ndata: ${JSON.stringify(message)}\n\n`;
}

/** A stereo WAV in which the channels alternate every three seconds, as two people do. */
function stereoWav(seconds: number, rateHz = 8_000): Buffer {
  const frames = seconds * rateHz;
  const file = Buffer.alloc(44 + frames * 4);
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(file.length - 8, 4);
  file.write('WAVEfmt ', 8, 'latin1');
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(2, 22);
  file.writeUInt32LE(rateHz, 24);
  file.writeUInt32LE(rateHz * 4, 28);
  file.writeUInt16LE(4, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(frames * 4, 40);
  for (let frame = 0; frame < frames; frame++) {
    const second = frame / rateHz;
    const side = Math.floor(second / 3) % 2;
    const swell = Math.abs(Math.sin(second * 5)) * Math.abs(Math.sin(second * 1.3));
    const sample = Math.round(Math.sin(second * 2 * Math.PI * 220) * swell * 16_000);
    file.writeInt16LE(sample, 44 + frame * 4 + side * 2);
  }
  return file;
}

/** Two nodes, of which one is lost. */
const recordedNodes: NodeList = {
  items: (['here', 'lost'] as const).map((state) => ({
    id: `${state}-7d2c-4f43-9c11-2b7f3f1f5a10`,
    self: state === 'here',
    state,
    roles: ['bridge', 'console'],
    version: '0.1.0',
    address: 'http://10.0.0.11:9090',
    legs: state === 'here' ? 12 : 0,
    capacity: 2_000,
    speech: null,
    started_at: '2026-02-03T09:00:00.000Z',
    seen_at: '2026-02-03T09:15:00.000Z',
    silent_seconds: state === 'here' ? 0.4 : 42,
    clock_ahead_seconds: 0,
  })),
};
