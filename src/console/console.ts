import { Router, type Request, type Response } from 'express';
import { readdirSync, readFileSync } from 'node:fs';
import type { Bridge } from '../bridge/streams.ts';
import { systemClock } from '../lib/clock.ts';
import type { Health } from '../lib/health.ts';
import type { Logger } from '../lib/log.ts';
import { version } from '../lib/version.ts';
import type { PublicUrl } from '../port/addresses.ts';
import type { Part } from '../port/part.ts';
import type { CarrierPlayer } from '../player/dialogue.ts';
import { Problem } from '../port/problem.ts';
import { sendStatic, staticFile, type StaticFile } from '../port/static-file.ts';
import type { Installation } from '../protocol/api.ts';
import type { LanguageModelTrial } from '../protocol/model-reports.ts';
import type { Store } from '../store/store.ts';
import { TestCallRequest } from '../protocol/api.ts';
import { check } from '../protocol/validation.ts';
import { TestCalls } from './test-call.ts';

type ConsoleOptions = {
  bridge: Pick<Bridge, 'mintToken'>;
  /** The carriers that can place a test call, played by this process. */
  players: readonly [CarrierPlayer, ...CarrierPlayer[]];
  store: Store;
  log: Logger;
  http: {
    readonly ownUrl: string;
    readonly publicUrl: PublicUrl;
  };
  /** The origins of pages that may show the panel in a frame. */
  panelOrigins: readonly string[];
  installation: Omit<InstallationFacts, 'publicUrl' | 'startedAtMs'>;
};

/** Serves the live page at `/`, and the button that places a call without a phone. */
export async function startConsole(options: ConsoleOptions): Promise<Part & AsyncDisposable> {
  const { bridge, store, http } = options;
  const log = options.log.child({ part: 'console' });
  const testCalls = new TestCalls({
    bridge,
    players: options.players,
    store,
    log,
    clock: systemClock,
    carriersUrl: () => http.ownUrl.replace(/^http/, 'ws'),
  });
  const startedAtMs = systemClock.now();
  const facts = { ...options.installation, publicUrl: () => http.publicUrl(), startedAtMs };

  const operator = Router();
  operator.get('/api/installation', async (_request, response) => {
    response.json(await installationNow(facts));
  });
  operator.post('/api/language-model/trial', async (_request, response) => {
    const tried = (await facts.tryLanguageModel()) ?? null;
    response.json({ tried } satisfies LanguageModelTrial);
  });
  operator.post('/api/test-call', async (request, response) => {
    const parsed = check(TestCallRequest, request.body ?? {});
    if (!parsed.ok)
      throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
    response.status(202).json(await testCalls.place(parsed.value.carrier));
  });
  return Promise.resolve({
    name: 'console',
    routers: [
      { access: 'public', router: pageFiles() },
      { access: 'public', router: panelPages(options.panelOrigins) },
      { access: 'operator', router: operator },
    ],
    [Symbol.asyncDispose]: () => testCalls[Symbol.asyncDispose](),
  });
}

type InstallationFacts = {
  publicUrl: () => string;
  roles: readonly string[];
  insecure: boolean;
  startedAtMs: number;
  health: () => Promise<Record<string, Health>>;
  /** Asks the configured language model once; undefined where none is configured. */
  tryLanguageModel: () => Promise<LanguageModelTrial['tried'] | undefined>;
  recogniser: (() => NonNullable<Installation['recogniser']>) | undefined;
  features: Installation['features'];
  settings: Installation['settings'];
};

/** Collects the facts of the page's installation view. They never contain a key, a token or an address with one. */
async function installationNow(facts: InstallationFacts): Promise<Installation> {
  return {
    version,
    node: process.version,
    started_at: new Date(facts.startedAtMs).toISOString(),
    public_url: facts.publicUrl(),
    roles: [...facts.roles],
    insecure: facts.insecure,
    health: await facts.health(),
    recogniser: facts.recogniser?.() ?? null,
    memory_bytes: process.memoryUsage.rss(),
    features: facts.features,
    settings: facts.settings,
  };
}

const pageFolder = new URL('./page/', import.meta.url);
const types: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

/** Serves the page's files, which are read from the disk once. The page has no build step. */
export function pageFiles(): Router {
  const files = readFiles();
  const router = Router();
  const send = (name: string, request: Request, response: Response): void => {
    const file = files.get(name);
    if (!file) throw new Problem(404, 'Not found');
    sendStatic(file, request, response);
  };
  router.get('/', (request, response) => send('index.html', request, response));
  router.get('/page/:file', (request, response) => send(request.params.file, request, response));
  return router;
}

/**
 * Serves the panel, which pages of the listed origins and our own demo may show in a frame, and that demo. All other
 * pages of this process can be in no frame.
 */
export function panelPages(origins: readonly string[]): Router {
  const read = (name: string): string => readFileSync(new URL(name, pageFolder), 'utf8');
  const html = types['html'] ?? '';
  const meta = '<meta name="trunkline-origins" content="';
  const panel = staticFile(read('panel.html').replace(meta, meta + origins.join(' ')), html);
  const demo = staticFile(read('panel-demo.html'), html);
  const router = Router();
  router.get('/panel', (request, response) => {
    const ancestors = ["'self'", ...origins].join(' ');
    setPolicy(response, "frame-ancestors 'none'", `frame-ancestors ${ancestors}`);
    // The older header knows no list, and would refuse every page that is not ours.
    response.removeHeader('x-frame-options');
    sendStatic(panel, request, response);
  });
  router.get('/panel/demo', (request, response) => {
    setPolicy(response, "base-uri 'none'", "base-uri 'none';frame-src 'self'");
    sendStatic(demo, request, response);
  });
  return router;
}

function setPolicy(response: Response, part: string, instead: string): void {
  const policy = String(response.getHeader('content-security-policy'));
  response.setHeader('content-security-policy', policy.replace(part, instead));
}

/** Reads the files into a map by name. A request can only reach a file in this map. */
function readFiles(): Map<string, StaticFile> {
  const files = new Map<string, StaticFile>();
  for (const name of readdirSync(pageFolder)) {
    const type = types[name.split('.').at(-1) ?? ''];
    if (type === undefined) continue;
    files.set(name, staticFile(readFileSync(new URL(name, pageFolder)), type));
  }
  return files;
}
