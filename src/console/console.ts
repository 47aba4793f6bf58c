import { Router } from 'express';
import type { IncomingMessage } from 'node:http';
import type { Bridge } from '../bridge/seam.ts';
import { systemClock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Part } from '../port/part.ts';
import type { Store } from '../store/store.ts';
import { installationNow, type InstallationFacts } from './installation.ts';
import { pageFiles } from './page-files.ts';
import { sessionApi } from './session-api.ts';
import { Sessions } from './sessions.ts';
import { TestCalls } from './test-call.ts';

export type ConsoleOptions = {
  bridge: Pick<Bridge, 'mintToken'>;
  store: Store;
  log: Logger;
  http: {
    readonly ownUrl: string;
    readonly publicUrl: () => string;
    acceptSessions(check: (request: IncomingMessage) => boolean): void;
  };
  apiKeys: readonly string[];
  installation: Omit<InstallationFacts, 'publicUrl' | 'startedAtMs'>;
};

/** The live page at `/`, its sign-in, and the button that places a call without a phone. */
export async function startConsole(options: ConsoleOptions): Promise<Part & AsyncDisposable> {
  const { bridge, store, http, apiKeys } = options;
  const log = options.log.child({ part: 'console' });
  const sessions = new Sessions(systemClock);
  http.acceptSessions((request) => sessions.accepts(request));
  const testCalls = new TestCalls({
    bridge,
    store,
    log,
    carriersUrl: () => http.ownUrl.replace(/^http/, 'ws'),
  });
  const startedAtMs = Date.now();
  const facts = { ...options.installation, publicUrl: () => http.publicUrl(), startedAtMs };

  const operator = Router();
  operator.get('/api/installation', async (_request, response) => {
    response.json(await installationNow(facts));
  });
  operator.post('/api/test-call', async (_request, response) => {
    response.status(202).json(await testCalls.place());
  });
  const overTls = http.publicUrl().startsWith('https:');
  const signIn = sessionApi({ apiKeys, sessions, clock: systemClock, overTls });
  return Promise.resolve({
    name: 'console',
    routers: [
      { access: 'public', router: pageFiles() },
      { access: 'public', router: signIn },
      { access: 'operator', router: operator },
    ],
    [Symbol.asyncDispose]: () => testCalls[Symbol.asyncDispose](),
  });
}
