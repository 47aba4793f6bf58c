import express, { type Request, type Response, type Router } from 'express';
import helmet from 'helmet';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TrunklineError } from '../lib/errors.ts';
import type { Health } from '../lib/health.ts';
import type { Logger } from '../lib/log.ts';
import { metrics } from '../lib/metrics.ts';
import { isLoopback, ownAddress, proxiesIn, publicUrls } from './addresses.ts';
import type { IsProxy, PublicUrl } from './addresses.ts';
import type { HttpConfig } from './config.ts';
import { AddressShare, connectionRoom, countConnections, handleLimit } from './connections.ts';
import { foreignWords, KeyCheck } from './keys.ts';
import type { Access, Part } from './part.ts';
import { newRequestId, Problem, problemHandler } from './problem.ts';
import { upgradeHandler } from './upgrades.ts';

/** What Node's server is told: a slow or silent peer is gone before it costs much. */
export const httpLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  connectionsCheckingIntervalMs: 1_000,
  keepAliveTimeoutMs: 5_000,
  maxHeaderBytes: 8_192,
  maxHeadersCount: 64,
  maxRequestsPerSocket: 1_000,
  jsonBodyBytes: 1_048_576,
} as const;

export type HttpServer = AsyncDisposable & {
  readonly port: number;
  /** The address by which this process reaches itself. */
  readonly ownUrl: string;
  readonly publicUrl: PublicUrl;
  /** True for an address that speaks for many, as configured. */
  readonly isProxy: IsProxy;
  /** Adds a part's routes, upgrades and health. */
  mount(part: Part): void;
  /** The console's cookie counts as a key for operator routes. */
  acceptSignIns(check: (request: IncomingMessage) => boolean): void;
  /** False when the connections that are left are kept for the calls that go on. */
  hasRoom(): boolean;
  /** Lines for the start of the process. */
  notes(): string[];
  /** Turns readiness off and takes no new connections. What is open goes on. */
  stopAccepting(): void;
};

export type HttpOptions = {
  config: HttpConfig;
  insecure: boolean;
  /** Made at each start: opens the speech interface to the bridge of this process, and nothing else. */
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
  const keyCheck = new KeyCheck(options);
  const parts: Part[] = [];
  const routers = {
    public: express.Router(),
    operator: express.Router(),
    speech: express.Router(),
  };
  const state = { accepting: true };
  server.on('request', createApp({ options, keyCheck, routers, parts, state }));
  server.on('upgrade', upgradeHandler({ parts, keyCheck, log }));
  return {
    port,
    ownUrl,
    publicUrl,
    isProxy,
    mount(part) {
      parts.push(part);
      for (const { access, router } of part.routers ?? []) routers[access].use(router);
    },
    acceptSignIns: (check) => keyCheck.acceptSignIns(check),
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

/** Refuses to listen beyond loopback without a key, unless strangers are welcome. */
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

type AppContext = {
  options: HttpOptions;
  keyCheck: KeyCheck;
  routers: Record<Access, Router>;
  parts: Part[];
  state: { accepting: boolean };
};

function createApp({ options, keyCheck, routers, parts, state }: AppContext): express.Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(helmet(headersFor(options.config)));
  app.use((request, response, next) => {
    const id = newRequestId();
    response.locals['requestId'] = id;
    response.set({ 'x-request-id': id, 'x-aipi-call-id': id, 'cache-control': 'no-store' });
    next(keyCheck.isForeign(request) ? new Problem(403, foreignWords) : undefined);
  });
  app.use(healthRoutes(keyCheck, parts, state));
  app.use(routers.public);
  // The parser comes after the check of the key: a stranger's body is never read.
  const json = express.json({ limit: httpLimits.jsonBodyBytes, inflate: false });
  app.use('/v2', keyCheck.speech, json);
  app.use('/file', keyCheck.speech);
  app.use(routers.speech);
  app.use('/api', keyCheck.operator, json);
  app.use(routers.operator);
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

function healthRoutes(keyCheck: KeyCheck, parts: Part[], state: { accepting: boolean }): Router {
  const router = express.Router();
  router.get('/health/live', (_request, response) => {
    response.json({ status: 'ok' });
  });
  router.get('/health/ready', async (request, response) => {
    const checks = await healthOf(parts);
    const ready = state.accepting && Object.values(checks).every((check) => check.state !== 'down');
    // Without a key a stranger learns whether the process is ready, not which part is unwell.
    response.status(ready ? 200 : 503).json({
      status: ready ? 'ready' : 'not ready',
      ...(keyCheck.hasOperatorKey(request) ? { checks } : {}),
    });
  });
  router.get('/metrics', keyCheck.operator, async (_request, response) => {
    response.set('content-type', metrics.contentType).send(await metrics.metrics());
  });
  return router;
}

export async function healthOf(parts: Part[]): Promise<Record<string, Health>> {
  const answers = await Promise.all(parts.map(async (part) => (await part.health?.()) ?? {}));
  return Object.assign({}, ...answers) as Record<string, Health>;
}
