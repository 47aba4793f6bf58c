import { systemClock, type Clock } from '../../../src/lib/clock.ts';
import type { z } from 'zod';
import { createLog, type Logger } from '../../../src/lib/log.ts';
import { PeopleConfig } from '../../../src/people/config.ts';
import { People } from '../../../src/people/people-part.ts';
import { HttpConfig } from '../../../src/port/config.ts';
import { listen, type HttpServer } from '../../../src/port/http.ts';
import type { RightsTable } from '../../../src/protocol/rights.ts';
import type { Store } from '../../../src/store/store.ts';
import { temporaryStore } from '../store/store.ts';

type PortOptions = {
  apiKeys?: string[];
  port?: number;
  rights?: RightsTable;
  clock?: Clock;
  /** A store that outlives this port. */
  store?: Store;
  node?: string;
  /** Settings of people. */
  settings?: z.input<typeof PeopleConfig>;
  log?: Logger;
};

export type PortWithPeople = AsyncDisposable & { http: HttpServer; people: People; store: Store };

/** The real port with the real keys, sign-ins and record, on a store of its own unless one is given. */
export async function portWithPeople(options: PortOptions = {}): Promise<PortWithPeople> {
  await using stack = new AsyncDisposableStack();
  const {
    apiKeys = [],
    port = 0,
    rights,
    clock = systemClock,
    node = 'node-of-this-test',
    log = createLog({ level: 'silent' }),
  } = options;
  const store = options.store ?? stack.use(await temporaryStore());
  const people = stack.use(
    await People.open({
      ...{
        config: PeopleConfig.parse(options.settings ?? {}),
        settingKeys: apiKeys,
        store,
        clock,
        log,
        node,
      },
    }),
  );
  const http = stack.use(
    await listen({
      ...{ config: HttpConfig.parse({ port, apiKeys }), insecure: false, log },
      ...{ internalKey: 'internal-key-0000', directory: people.directory },
      ...{ noted: people.noted, failedAt: people.failedAt },
      ...(rights === undefined ? {} : { rights }),
    }),
  );
  http.mount(people.part(http));
  const owned = stack.move();
  return { http, people, store, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Signs in with this key or password, and returns the cookie. */
export async function cookieOf(
  url: string,
  proof: { key: string } | { login: string; password: string },
): Promise<string> {
  const answer = await fetch(`${url}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(proof),
  });
  if (answer.status !== 204) throw new Error(`the sign-in was answered with ${answer.status}`);
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}
