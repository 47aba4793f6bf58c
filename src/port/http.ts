import express, { type Request, type Response, type Router } from 'express';
import helmet from 'helmet';
import { createServer, STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { systemClock } from '../lib/clock.ts';
import { TrunklineError } from '../lib/errors.ts';
import type { Health } from '../lib/health.ts';
import type { Logger } from '../lib/log.ts';
import { metrics } from '../lib/metrics.ts';
import { isLoopback, isOverTls, ownAddress, proxiesIn, publicUrls } from './addresses.ts';
import type { IsProxy, PublicUrl } from './addresses.ts';
import type { HttpConfig } from './config.ts';
import { connectionRoom, Connections, handleLimit, leastConnections } from './connections.ts';
import { Guard } from './guard.ts';
import { KeyCheck, type TokenDoor } from './keys.ts';
import type { Access, Part } from './part.ts';
import { askForBody } from './body.ts';
import { emptyDirectory, type Deed, type Directory } from './principal.ts';
import { RightsTable } from '../protocol/rights.ts';
import { SecretJudge, shortSecretNote } from './secrets.ts';
import { newRequestId, pathOf, Problem, problemBody, problemHandler } from './problem.ts';
import { retryAfterS, upgradeHandler } from './upgrades.ts';

/** Limits of Node's server. They end a slow or silent peer before it costs much. */
export const httpLimits = {
  headersTimeoutMs: 10_000,
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
  /** True for the address of a proxy that the settings list. */
  readonly isProxy: IsProxy;
  /** Adds a part's routes, upgrades and health. */
  mount(part: Part): void;
  /** Finds out who asks, and judges keys that were not shown in a header. */
  readonly door: Door;
  /** Sets the door of tokens that open a few routes in place of a key. */
  acceptTokens(door: TokenDoor): void;
  /** Judges shared secrets, for parts whose clients show other secrets than keys. */
  readonly secrets: SecretJudge;
  /** Called once every part is mounted. The process is ready from then on. */
  started(): void;
  /** False if the remaining connections are reserved for calls in progress. */
  hasRoom(): boolean;
  /** Counts the connections at another port of this process too, because they use the same file handles. */
  reckon(connections: () => number): void;
  /** Returns the lines that the port adds to the messages at the start of the process. */
  notes(): string[];
  /**
   * Reports the process as not ready, so that load balancers send requests elsewhere. The parts still answer every
   * request that comes.
   */
  stopAccepting(): void;
};

/** Wrong keys that a person types count together with those in headers. */
export type Door = Pick<KeyCheck, 'required' | 'identify' | 'judgeSignIn' | 'clientOf'>;

type HttpOptions = {
  config: HttpConfig;
  /** The named keys and the people of this installation. */
  directory?: Directory;
  /** Keeps what is done, before it is done. */
  noted?: (deed: Deed) => Promise<((status: number) => void) | undefined>;
  /** Called for each wrong key that was looked at. */
  failedAt?: (address: string) => void;
  /** The table of rights, if it is not that of our own routes. */
  rights?: RightsTable;
  insecure: boolean;
  /** The key of the bridge of this process, made at each start. It opens only the speech interface. */
  internalKey: string;
  log: Logger;
  /**
   * If true, parts that are not mounted yet are answered with 503 until `started` is called. If absent, the server is
   * ready at once.
   */
  isStarting?: boolean;
};

/** Opens the port. Creates its parts in the order in which they need one another. */
export async function listen(options: HttpOptions): Promise<HttpServer> {
  const { config, insecure, internalKey, log } = options;
  if (!insecure) refuseOpenListener(config);
  const server = newServer();
  const limit = handleLimit();
  const room = connectionRoom(config.maxConnections, limit);
  const isProxy = proxiesIn(config.trustedProxies);
  let elsewhere = (): number => 0;
  let endRevoked = (): void => undefined;
  const secrets = new SecretJudge({ clock: systemClock, log: log.child({ part: 'port' }) });
  const connections = new Connections({
    server,
    room,
    isProxy,
    log,
    clock: systemClock,
    eachLook: () => {
      secrets.tick();
      endRevoked();
      server.maxConnections = Math.max(leastConnections, room.connectionsAtMost - elsewhere());
    },
  });
  const port = await startListening(server, config);
  const ownUrl = ownAddress(config.host, port);
  const publicUrl = publicUrls({ ...{ configured: config.publicUrl, isProxy }, own: () => ownUrl });
  const keyCheck = new KeyCheck({
    config,
    insecure,
    internalKey,
    publicUrl,
    isProxy,
    secrets,
    directory: options.directory,
    onWrong: options.failedAt,
    onKnown: (request) => connections.know(request),
  });
  const guard = guardOf(options, keyCheck);
  endRevoked = () => guard.look();
  const parts: Part[] = [];
  const state: ServerState = { isStarting: options.isStarting ?? false, isAccepting: true };
  const routers = answer(server, {
    options,
    publicUrl,
    keyCheck,
    guard,
    connections,
    parts,
    state,
  });
  return {
    port,
    ownUrl,
    publicUrl,
    isProxy,
    mount(part) {
      parts.push(part);
      for (const { access, router } of part.routers ?? []) routers[access].use(router);
    },
    door: keyCheck,
    acceptTokens: (door) => keyCheck.acceptTokens(door),
    secrets,
    started: () => {
      state.isStarting = false;
    },
    hasRoom: () => connections.count + elsewhere() < room.newCallsBelow,
    reckon(others) {
      elsewhere = others;
    },
    notes: () => notesOf(config, room.connectionsAtMost, limit),
    stopAccepting() {
      state.isAccepting = false;
    },
    [Symbol.asyncDispose]: async () => {
      connections[Symbol.dispose]();
      server.close();
      server.closeAllConnections();
      await Promise.resolve();
    },
  };
}

function guardOf(options: HttpOptions, keyCheck: KeyCheck): Guard {
  return new Guard({
    keyCheck,
    table: options.rights ?? new RightsTable(),
    directory: options.directory ?? emptyDirectory,
    noted: options.noted ?? (() => Promise.resolve(undefined)),
  });
}

function newServer(): Server {
  const server = createServer({
    headersTimeout: httpLimits.headersTimeoutMs,
    // `Connections` limits the time of each body, because uploads need more and Node has only one limit for all.
    requestTimeout: 0,
    connectionsCheckingInterval: httpLimits.connectionsCheckingIntervalMs,
    keepAliveTimeout: httpLimits.keepAliveTimeoutMs,
    maxHeaderSize: httpLimits.maxHeaderBytes,
    insecureHTTPParser: false,
    // A client may offer another protocol (h2c), and a server may ignore such an offer.
    shouldUpgradeCallback: (request) => /^websocket$/i.test(request.headers.upgrade ?? ''),
  });
  server.maxHeadersCount = httpLimits.maxHeadersCount;
  server.maxRequestsPerSocket = httpLimits.maxRequestsPerSocket;
  return server;
}

/** Answers requests and upgrades from now on. Parts are mounted at the returned routers. */
function answer(server: Server, context: AnswerContext): Record<Access, Router> {
  const { options, keyCheck, connections, parts, state } = context;
  const routers = {
    public: express.Router(),
    operator: express.Router(),
    speech: express.Router(),
  };
  const app = createApp({ ...context, routers });
  answerRequests(server, (request, response) => {
    if (connections.admit(request, response, () => keyCheck.hasKey(request)))
      app(request, response);
  });
  server.on(
    'upgrade',
    upgradeHandler({
      parts,
      keyCheck,
      state,
      admitted: (socket) => connections.admitted(socket),
      log: options.log,
    }),
  );
  refuseUnreadable(server, connections);
  return routers;
}

/** Passes every request to `answer`, including those that wait for permission to send their body. */
function answerRequests(
  server: Server,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  server.on('request', answer);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // Routes that need a key ask for the body after the check of the key, so that a stranger need not send it at all.
    if (!/^\/(?:v2|api)(?:\/|$)/.test(pathOf(request.url ?? ''))) response.writeContinue();
    answer(request, response);
  });
  // An unknown expectation is ignored, as RFC 9110 allows; Node would answer it without a body.
  server.on('checkExpectation', answer);
}

/** Fewer connections than this are told at the start. More are enough for hundreds of calls. */
const fewConnections = 2_000;

function notesOf(config: HttpConfig, atMost: number, limit: number | undefined): string[] {
  const short = shortSecretNote('TRUNKLINE_API_KEYS', config.apiKeys);
  const few = `connections: ${atMost} at once, because the limit of open files is ${limit} (ulimit -n)`;
  return [
    ...(atMost < Math.min(config.maxConnections, fewConnections) ? [few] : []),
    ...(short === undefined ? [] : [short]),
  ];
}

/**
 * Refuses to start without keys if others could reach this process. They can if it listens beyond loopback or stands
 * behind a proxy. A public address or listed proxies show that there is one. All requests of a proxy seem to come from
 * this machine.
 */
function refuseOpenListener({ host, publicUrl, trustedProxies, apiKeys }: HttpConfig): void {
  if (apiKeys.length > 0) return;
  const open = !isLoopback(host)
    ? `http.host is ${host}, which others can reach`
    : publicUrl !== undefined
      ? 'http.publicUrl is set, so others reach this process through a proxy'
      : trustedProxies.length > 0
        ? 'http.trustedProxies is set, so others reach this process through a proxy'
        : undefined;
  if (open === undefined) return;
  throw new TrunklineError(
    'CONFIG_INVALID',
    `${open}, and no API key is set: set TRUNKLINE_API_KEYS (16 characters at least, 24 are better), ` +
      `${isLoopback(host) ? '' : 'or HOST=127.0.0.1, '}or TRUNKLINE_INSECURE=1 if strangers are welcome`,
  );
}

/**
 * Answers requests that Node's parser refuses, and methods that apply to no resource, with the same error body as other
 * errors.
 */
function refuseUnreadable(server: Server, connections: Connections): void {
  const refuse = (socket: Duplex, status: number, message: string): void => {
    // If another answer has begun, our error text would be read as a part of it.
    if (!socket.writable || connections.unansweredOf(socket) > 0) {
      socket.destroy();
      return;
    }
    const requestId = newRequestId();
    const body = JSON.stringify(problemBody(new Problem(status, message), '/', requestId));
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nConnection: close\r\n` +
        `Content-Type: application/json; charset=utf-8\r\nX-Request-Id: ${requestId}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      () => socket.destroy(),
    );
  };
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const [status, message] = unreadable[error.code ?? ''] ?? [400, 'this is not HTTP'];
    refuse(socket, status, message);
  });
  server.on('connect', (_request, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    refuse(socket, 405, 'CONNECT is not answered here');
  });
}

const unreadable: Partial<Record<string, [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'the headers are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'the chunk extensions are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not come in time'],
};

async function startListening(server: Server, config: HttpConfig): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new TrunklineError(
          'CONFIG_INVALID',
          `cannot listen on ${config.host}:${config.port}: ${cause.message}${
            'code' in cause ? (remedies[String(cause.code)] ?? '') : ''
          }`,
          { cause },
        ),
      ),
    );
    server.listen(config.port, config.host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

const remedies: Record<string, string> = {
  EADDRINUSE: '. Stop what uses it, or set PORT to another',
  EADDRNOTAVAIL: '. Set HOST to an address of this machine, or to 0.0.0.0 for all of them',
  ENOTFOUND: '. Set HOST to an address of this machine, or to 0.0.0.0 for all of them',
  EACCES: '. Ports below 1024 need a right of their own: set PORT to a higher one',
};

type AnswerContext = {
  options: HttpOptions;
  publicUrl: PublicUrl;
  keyCheck: KeyCheck;
  guard: Guard;
  connections: Connections;
  parts: Part[];
  state: ServerState;
};

type AppContext = Omit<AnswerContext, 'connections'> & { routers: Record<Access, Router> };

type ServerState = { isStarting: boolean; isAccepting: boolean };

function createApp({
  options,
  publicUrl,
  keyCheck,
  guard,
  routers,
  parts,
  state,
}: AppContext): express.Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(helmet(headers));
  app.use((request, response, next) => {
    const id = newRequestId();
    response.locals['requestId'] = id;
    // The state is noted now. Express may run other work between two handlers, and a part could be mounted in the
    // meantime.
    response.locals['isStarting'] = state.isStarting;
    // The browser remembers to use TLS for half a year.
    if (isOverTls(request, publicUrl))
      response.set('strict-transport-security', 'max-age=15552000; includeSubDomains');
    response.set({ 'x-request-id': id, 'x-aipi-call-id': id, 'cache-control': 'no-store' });
    const foreign = keyCheck.whyForeign(request);
    next(foreign === undefined ? undefined : new Problem(403, foreign));
  });
  app.use(healthRoutes({ keyCheck, guard, parts, state }));
  app.use(guard.openOnly(routers.public));
  // The parser runs after the check of the key, so that a stranger's body is never read.
  const parse = express.json({ limit: httpLimits.jsonBodyBytes, inflate: false });
  const json = [askForJson, parse];
  app.use('/v2', guard.speech, json);
  app.use('/file', guard.speech);
  app.use(guard.guarded(routers.speech));
  app.use('/api', guard.operator, json);
  app.use(guard.guarded(routers.operator));
  app.use((_request: Request, response: Response, next: (error: unknown) => void) => {
    next(response.locals['isStarting'] === true ? starting() : new Problem(404, 'Not found'));
  });
  app.use(problemHandler((error) => options.log.error({ err: error }, 'request failed')));
  return app;
}

/** Asks for a JSON body. The routes that read other bodies ask for those themselves. */
function askForJson(request: Request, response: Response, next: () => void): void {
  if (request.is('json') !== false) askForBody(request, response);
  next();
}

const headers: Parameters<typeof helmet>[0] = {
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
  // This header depends on the request and is set below.
  strictTransportSecurity: false,
  referrerPolicy: { policy: 'no-referrer' },
};

function starting(): Problem {
  const headers = { 'retry-after': String(retryAfterS) };
  return new Problem(503, 'starting, try again in a moment', { headers });
}

function healthRoutes({
  keyCheck,
  guard,
  parts,
  state,
}: Pick<AppContext, 'keyCheck' | 'guard' | 'parts' | 'state'>): Router {
  const router = express.Router();
  router.get('/health/live', (_request, response) => {
    response.json({ status: 'ok' });
  });
  router.get('/health/ready', async (request, response) => {
    const checks = await healthOf(parts);
    const ready =
      state.isAccepting &&
      !state.isStarting &&
      Object.values(checks).every((check) => check.state !== 'down');
    // Without a key, a client learns whether the process is ready but not which part is in trouble.
    if (!ready) response.set('retry-after', String(retryAfterS));
    response.status(ready ? 200 : 503).json({
      status: ready ? 'ready' : 'not ready',
      ...(keyCheck.maySee(request) ? { checks } : {}),
    });
  });
  router.get('/metrics', guard.operator, async (_request, response) => {
    response.set('content-type', metrics.contentType).send(await metrics.metrics());
  });
  return router;
}

export async function healthOf(parts: Part[]): Promise<Record<string, Health>> {
  const answers = await Promise.all(parts.map(async (part) => (await part.health?.()) ?? {}));
  return Object.assign({}, ...answers) as Record<string, Health>;
}
