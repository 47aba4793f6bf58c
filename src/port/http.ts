import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import helmet from 'helmet';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, DropArgument } from 'node:net';
import { Counter } from 'prom-client';
import type { Duplex } from 'node:stream';
import type { HttpConfig } from './config.ts';
import { AddressShare } from './address-share.ts';
import { hostOf, isLoopback, ownAddress, proxiesIn, publicUrls } from './addresses.ts';
import type { IsProxy, PublicUrl } from './addresses.ts';
import { ApiKeys } from './api-keys.ts';
import { TrunklineError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { connectionRoom, handleLimit } from './handles.ts';
import { metrics } from '../lib/metrics.ts';
import type { Health } from '../lib/health.ts';
import type { Part, Upgrade } from './part.ts';
import { newRequestId, Problem, problemHandler } from './problem.ts';
import { refuseUpgrade, type RefusalStatus } from './refuse-upgrade.ts';
import { keyHeaders, keyNotFound } from '../protocol/names.ts';

/** Settings to start from: a slow or silent peer is gone before it costs anything (T7, T8, T11). */
export const httpLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  connectionsCheckingIntervalMs: 1_000,
  keepAliveTimeoutMs: 5_000,
  maxHeaderBytes: 8_192,
  maxHeadersCount: 64,
  maxRequestsPerSocket: 1_000,
  jsonBodyBytes: 1_048_576,
  upgradeDecisionMs: 3_000,
  upgradesInProgress: 512,
} as const;

export type HttpServer = AsyncDisposable & {
  readonly port: number;
  /** By which this process reaches itself. */
  readonly ownUrl: string;
  readonly publicUrl: PublicUrl;
  /** An address that speaks for many, as configured. */
  readonly isProxy: IsProxy;
  /** Adds a part's routes, upgrades and health. */
  mount(part: Part): void;
  /** A session cookie of the console counts as a key for operator routes. */
  acceptSessions(check: (request: IncomingMessage) => boolean): void;
  /** False when the connections that are left are wanted for the calls that are in. */
  hasRoom(): boolean;
  /** For the start of the process. */
  notes(): string[];
  /** Readiness off, no new connections; what is open goes on. */
  stopAccepting(): void;
};

export type HttpOptions = {
  config: HttpConfig;
  insecure: boolean;
  /** Made at each start: the bridge reaches our own speech service with it, and nothing else. */
  internalKey: string;
  log: Logger;
};

export async function listen(options: HttpOptions): Promise<HttpServer> {
  const { config, log } = options;
  refuseOpenListener(config, options.insecure);
  const server = createServer({
    headersTimeout: httpLimits.headersTimeoutMs,
    requestTimeout: httpLimits.requestTimeoutMs,
    connectionsCheckingInterval: httpLimits.connectionsCheckingIntervalMs,
    keepAliveTimeout: httpLimits.keepAliveTimeoutMs,
    maxHeaderSize: httpLimits.maxHeaderBytes,
    insecureHTTPParser: false,
  });
  server.maxHeadersCount = httpLimits.maxHeadersCount;
  server.maxRequestsPerSocket = httpLimits.maxRequestsPerSocket;
  const limit = handleLimit();
  const room = connectionRoom(config.maxConnections, limit);
  server.maxConnections = room.connectionsAtMost;
  const isProxy = proxiesIn(config.trustedProxies);
  const share = new AddressShare(room.ofOneAddress, isProxy);
  const open = countConnections(server, share, log);
  const port = await startListening(server, config);
  const ownUrl = ownAddress(config.host, port);
  const publicUrl = publicUrls({
    configured: config.publicUrl,
    isProxy,
    own: () => ownUrl,
  });
  const gate = new Gate(options);
  const parts: Part[] = [];
  const state = { accepting: true };
  server.on('request', createApp({ options, gate, parts, state }));
  server.on('upgrade', upgradeHandler({ parts, gate, log }));
  return {
    port,
    ownUrl,
    publicUrl,
    isProxy,
    mount(part) {
      parts.push(part);
      for (const { access, router } of part.routers ?? []) gate.routerOf(access).use(router);
    },
    acceptSessions: (check) => gate.acceptSessions(check),
    hasRoom: () => open() < room.newCallsBelow,
    notes: () =>
      room.connectionsAtMost < config.maxConnections
        ? [
            `connections: ${room.connectionsAtMost} at once, because the limit of open files is ${limit} (ulimit -n)`,
          ]
        : [],
    stopAccepting() {
      state.accepting = false;
      server.close();
      server.closeIdleConnections();
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await Promise.resolve();
    },
  };
}

const droppedTotal = new Counter({
  name: 'trunkline_connections_dropped_total',
  help: 'Connections closed at once because there was no room for them.',
  registers: [metrics],
});
const droppedLogMs = 10_000;

const upgradesRefusedTotal = new Counter({
  name: 'trunkline_upgrades_refused_total',
  help: 'Upgrades that the port refused itself, by status; `none` were cut off, undecided at the deadline.',
  labelNames: ['status'] as const,
  registers: [metrics],
});

/**
 * How many connections are open; those that were dropped are counted, and a flood of them is a line now and then.
 * Of those that have not become a stream one address has its share.
 */
function countConnections(server: Server, share: AddressShare, log: Logger): () => number {
  let open = 0;
  let dropped = 0;
  let loggedMs = -Infinity;
  const drop = (address: string | undefined, atMost: number): void => {
    droppedTotal.inc();
    dropped++;
    if (performance.now() - loggedMs < droppedLogMs) return;
    loggedMs = performance.now();
    log.warn({ dropped, address, atMost }, 'no room for more connections');
    dropped = 0;
  };
  const shares = new WeakMap<Duplex, () => void>();
  server.on('connection', (socket) => {
    open++;
    const { remoteAddress } = socket;
    const isUsedUp = share.isUsedUp(remoteAddress);
    const giveBack = share.take(remoteAddress);
    shares.set(socket, giveBack);
    socket.once('close', () => {
      open--;
      giveBack();
    });
    if (!isUsedUp) return;
    drop(remoteAddress, share.atMost);
    socket.destroy();
  });
  server.on('upgrade', (_request, socket) => shares.get(socket)?.());
  server.on('drop', (connection?: DropArgument) => {
    drop(connection?.remoteAddress, server.maxConnections);
  });
  return () => open;
}

/** Closed to strangers by default: beyond loopback nothing listens without a key. */
function refuseOpenListener(config: HttpConfig, insecure: boolean): void {
  if (isLoopback(config.host) || config.apiKeys.length > 0 || insecure) return;
  throw new TrunklineError(
    'CONFIG_INVALID',
    `http.host is ${config.host}, which others can reach, and no API key is set: ` +
      'set TRUNKLINE_API_KEYS, or HOST=127.0.0.1, or TRUNKLINE_INSECURE=1 if strangers are welcome',
  );
}

async function startListening(server: Server, config: HttpConfig): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new TrunklineError(
          'CONFIG_INVALID',
          `cannot listen on ${config.host}:${config.port}: ${cause.message}${
            'code' in cause && cause.code === 'EADDRINUSE'
              ? '. Stop what uses it, or set PORT to another'
              : ''
          }`,
          { cause },
        ),
      ),
    );
    server.listen(config.port, config.host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Who may pass: keys when there are keys, else only pages and programs of this machine. */
class Gate {
  readonly #operators: ApiKeys;
  readonly #speech: ApiKeys;
  readonly #checkHost: boolean;
  readonly #publicHost: string | undefined;
  #latestOurs: string | undefined;
  readonly #routers: Record<'public' | 'operator' | 'speech', Router>;
  #sessions: (request: IncomingMessage) => boolean = () => false;

  constructor({ config, insecure, internalKey }: HttpOptions) {
    this.#operators = new ApiKeys(config.apiKeys);
    this.#speech = new ApiKeys(config.apiKeys.length > 0 ? [...config.apiKeys, internalKey] : []);
    this.#checkHost = config.apiKeys.length === 0 && !insecure;
    this.#publicHost = config.publicUrl === undefined ? undefined : hostOf(config.publicUrl);
    this.#routers = {
      public: express.Router(),
      operator: express.Router(),
      speech: express.Router(),
    };
  }

  routerOf(access: 'public' | 'operator' | 'speech'): Router {
    return this.#routers[access];
  }

  acceptSessions(check: (request: IncomingMessage) => boolean): void {
    this.#sessions = check;
  }

  /** Without keys a web page elsewhere must not reach us through the browser on this machine (T39). */
  isForeign(request: IncomingMessage): boolean {
    if (!this.#checkHost) return false;
    const { host, origin } = request.headers;
    return [host, origin].some((header) => header !== undefined && !this.#isOurs(header));
  }

  #isOurs(header: string): boolean {
    // All callers name us alike: what was ours a moment ago need not be taken apart again.
    if (header === this.#latestOurs) return true;
    const host = hostOf(header);
    const isOurs = host !== undefined && (isLoopback(host) || host === this.#publicHost);
    if (isOurs) this.#latestOurs = header;
    return isOurs;
  }

  hasOperatorKey(request: IncomingMessage): boolean {
    return (
      !this.#operators.required ||
      this.#operators.accepts(keyOf(request)) ||
      this.#sessions(request)
    );
  }

  readonly operator: RequestHandler = (request, _response, next) => {
    next(this.hasOperatorKey(request) ? undefined : missingKey(request));
  };

  readonly speech: RequestHandler = (request, _response, next) => {
    const passes = !this.#speech.required || this.#speech.accepts(keyOf(request));
    next(passes ? undefined : missingKey(request));
  };
}

const foreign = 'this address answers only this machine; set TRUNKLINE_API_KEYS to open it';

/** In the words of the header that came; without one, of the header that we document. */
function missingKey(request: IncomingMessage): Problem {
  return new Problem(
    401,
    keyNotFound(keyHeaders.find((name) => request.headers[name] !== undefined)),
  );
}

/** The header under its neutral name or under the one that unmodified clients send. */
function keyOf(request: IncomingMessage): string | undefined {
  const [ours, theirs] = keyHeaders;
  const value = request.headers[ours] ?? request.headers[theirs];
  return Array.isArray(value) ? value[0] : value;
}

type AppContext = {
  options: HttpOptions;
  gate: Gate;
  parts: Part[];
  state: { accepting: boolean };
};

function createApp({ options, gate, parts, state }: AppContext): express.Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(helmet(headersFor(options.config)));
  app.use((request, response, next) => {
    const id = newRequestId();
    response.locals['requestId'] = id;
    response.set({ 'x-request-id': id, 'x-aipi-call-id': id, 'cache-control': 'no-store' });
    next(gate.isForeign(request) ? new Problem(403, foreign) : undefined);
  });
  app.use(healthRoutes(gate, parts, state));
  app.use(gate.routerOf('public'));
  // The parser comes after the key: a stranger's body is never read.
  const json = express.json({ limit: httpLimits.jsonBodyBytes, inflate: false });
  app.use('/v2', gate.speech, json);
  app.use('/file', gate.speech);
  app.use(gate.routerOf('speech'));
  app.use('/api', gate.operator, json);
  app.use(gate.routerOf('operator'));
  app.use((_request: Request, _response: Response, next: (error: unknown) => void) => {
    next(new Problem(404, 'Not found'));
  });
  app.use(problemHandler((error) => options.log.error({ err: error }, 'request failed')));
  return app;
}

function headersFor(config: HttpConfig): Parameters<typeof helmet>[0] {
  const overTls = config.publicUrl?.startsWith('https:') ?? false;
  return {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
        mediaSrc: ["'self'", 'blob:'],
        connectSrc: ["'self'"],
        baseUri: ["'none'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
      },
    },
    strictTransportSecurity: overTls ? { maxAge: 15_552_000 } : false,
    referrerPolicy: { policy: 'no-referrer' },
  };
}

function healthRoutes(gate: Gate, parts: Part[], state: { accepting: boolean }): Router {
  const router = express.Router();
  router.get('/health/live', (_request, response) => {
    response.json({ status: 'ok' });
  });
  router.get('/health/ready', async (request, response) => {
    const checks = await healthOf(parts);
    const ready = state.accepting && Object.values(checks).every((check) => check.state !== 'down');
    // Without a key a stranger learns whether, not what.
    response.status(ready ? 200 : 503).json({
      status: ready ? 'ready' : 'not ready',
      ...(gate.hasOperatorKey(request) ? { checks } : {}),
    });
  });
  router.get('/metrics', gate.operator, async (_request, response) => {
    response.set('content-type', metrics.contentType).send(await metrics.metrics());
  });
  return router;
}

export async function healthOf(parts: Part[]): Promise<Record<string, Health>> {
  const answers = await Promise.all(parts.map(async (part) => (await part.health?.()) ?? {}));
  return Object.assign({}, ...answers) as Record<string, Health>;
}

/** Routes an upgrade to the part that owns its path; whoever has not answered in time is cut off. */
function upgradeHandler({ parts, gate, log }: { parts: Part[]; gate: Gate; log: Logger }) {
  let inProgress = 0;
  const refuse = (socket: Duplex, status: RefusalStatus, words?: string): void => {
    upgradesRefusedTotal.inc({ status });
    refuseUpgrade(socket, status, words);
  };
  return (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => socket.destroy());
    if (gate.isForeign(request)) return refuse(socket, 403, foreign);
    const pathname = URL.parse(request.url ?? '', 'http://local')?.pathname ?? '';
    const owner = ownerOf(parts, pathname);
    if (!owner) return refuse(socket, 404);
    if (inProgress >= httpLimits.upgradesInProgress)
      return refuse(socket, 503, 'too many upgrades at once');
    // A place is held until the upgrade is decided, at most until the deadline: who is let in does not keep it.
    inProgress++;
    const written = bytesWritten(socket);
    let held = true;
    const release = (): void => {
      if (held) inProgress--;
      held = false;
    };
    const deadline = setTimeout(() => {
      release();
      if (bytesWritten(socket) !== written) return;
      upgradesRefusedTotal.inc({ status: 'none' });
      socket.destroy();
    }, httpLimits.upgradeDecisionMs);
    socket.once('close', () => {
      release();
      clearTimeout(deadline);
    });
    owner
      .handle(request, socket, head)
      .catch((error: unknown) => {
        log.error({ err: error }, 'upgrade failed');
        refuse(socket, 500);
      })
      .finally(release);
  };
}

function ownerOf(parts: readonly Part[], pathname: string): Upgrade | undefined {
  for (const { upgrades = [] } of parts)
    for (const upgrade of upgrades) if (upgrade.owns(pathname)) return upgrade;
  return undefined;
}

function bytesWritten(socket: Duplex): number {
  return 'bytesWritten' in socket && typeof socket.bytesWritten === 'number'
    ? socket.bytesWritten
    : 0;
}
