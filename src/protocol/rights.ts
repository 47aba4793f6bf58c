/*
 * The one table of rights: which key and which role may do what. The port asks it before every route, the page asks it
 * what to show, and a test asks each route with each role. A route without a row is answered to nobody.
 */

/** Scopes that a key may be made with. */
export const keyScopes = ['read', 'operate', 'speech', 'ingest', 'assist', 'admin'] as const;
export type KeyScope = (typeof keyScopes)[number];

/** Roles that a person may have. */
export const personRoles = ['agent', 'supervisor', 'quality', 'operator', 'admin'] as const;
export type PersonRole = (typeof personRoles)[number];

/** The calls that a person may touch: their own, those of their teams, or all. */
export type Reach = 'own' | 'team' | 'all';

type ActionRights = {
  what: string;
  keys: readonly KeyScope[];
  people: Partial<Record<PersonRole, Reach>>;
};

const everybody = { agent: 'own', supervisor: 'team', quality: 'all', operator: 'all', admin: 'all' } as const; // prettier-ignore
const runners = { operator: 'all', admin: 'all' } as const;
const admins = { admin: 'all' } as const;

export const actions = {
  'calls.read': {
    what: 'read calls and their words',
    keys: ['read', 'operate', 'assist', 'admin'],
    people: everybody,
  },
  'calls.hear': {
    what: 'hear recordings',
    keys: ['read', 'operate', 'admin'],
    people: everybody,
  },
  'board.watch': {
    what: 'watch the board of running calls',
    keys: ['read', 'operate', 'admin'],
    people: { supervisor: 'team', quality: 'all', operator: 'all', admin: 'all' },
  },
  'calls.export': {
    what: 'take many calls away as a file',
    keys: ['read', 'operate', 'admin'],
    people: { supervisor: 'team', quality: 'all', operator: 'all', admin: 'all' },
  },
  'searches.read': {
    what: 'see searches that were saved',
    keys: ['read', 'operate', 'admin'],
    people: { supervisor: 'all', quality: 'all', operator: 'all', admin: 'all' },
  },
  'searches.change': {
    what: 'save searches for everybody',
    keys: ['operate', 'admin'],
    people: { supervisor: 'all', quality: 'all', operator: 'all', admin: 'all' },
  },
  'calls.note': {
    what: 'write notes, tags and the record of a call',
    keys: ['operate', 'assist', 'admin'],
    people: everybody,
  },
  'calls.control': {
    what: 'pause and resume a call, and say what it expects',
    keys: ['operate', 'assist', 'admin'],
    people: { agent: 'own', supervisor: 'team', operator: 'all', admin: 'all' },
  },
  'calls.bind': {
    what: 'say which agent has a call',
    keys: ['operate', 'assist', 'admin'],
    people: { supervisor: 'team', operator: 'all', admin: 'all' },
  },
  'calls.inspect': {
    what: 'see how a call came in, and what the carrier said of it',
    keys: ['read', 'operate', 'admin'],
    people: { supervisor: 'team', quality: 'all', operator: 'all', admin: 'all' },
  },
  'calls.erase': {
    what: 'erase calls and close their links',
    keys: ['operate', 'admin'],
    people: runners,
  },
  'calls.again': {
    what: 'have recordings read again',
    keys: ['operate', 'admin'],
    people: runners,
  },
  'calls.ingest': {
    what: 'open streams for calls',
    keys: ['ingest', 'admin'],
    people: admins,
  },
  'calls.test': {
    what: 'place test calls',
    keys: ['operate', 'admin'],
    people: runners,
  },
  'deliveries.read': {
    what: 'read events on their way to the CRM',
    keys: ['read', 'operate', 'admin'],
    people: runners,
  },
  'deliveries.replay': {
    what: 'replay events to the CRM',
    keys: ['operate', 'admin'],
    people: runners,
  },
  'scores.read': {
    what: 'read the scores of calls',
    keys: ['read', 'operate', 'admin'],
    people: everybody,
  },
  'scores.review': {
    what: 'judge calls by scorecards',
    keys: ['operate', 'admin'],
    people: { supervisor: 'team', quality: 'all', admin: 'all' },
  },
  'scores.dispute': {
    what: 'dispute the score of a call',
    keys: ['operate', 'admin'],
    people: { agent: 'own', supervisor: 'team', admin: 'all' },
  },
  'assist.read': {
    what: 'read playbooks',
    keys: ['read', 'operate', 'assist', 'admin'],
    people: { supervisor: 'all', quality: 'all', operator: 'all', admin: 'all' },
  },
  'assist.try': {
    what: 'try playbooks on past calls',
    keys: ['operate', 'admin'],
    people: { quality: 'all', operator: 'all', admin: 'all' },
  },
  'assist.change': {
    what: 'change playbooks',
    keys: ['admin'],
    people: runners,
  },
  'knowledge.ask': {
    what: 'find and read articles',
    keys: ['read', 'operate', 'assist', 'admin'],
    people: { agent: 'all', supervisor: 'all', quality: 'all', operator: 'all', admin: 'all' },
  },
  'installation.read': {
    what: 'see how the installation is set up and how it does',
    keys: ['read', 'operate', 'admin'],
    people: runners,
  },
  'installation.change': {
    what: 'install models and connect CRMs',
    keys: ['admin'],
    people: runners,
  },
  'panel.use': {
    what: 'use the panel with a token of its own',
    keys: ['read', 'operate', 'assist', 'admin'],
    people: admins,
  },
  'panel.tokens': {
    what: 'make and revoke tokens of panels',
    keys: ['operate', 'admin'],
    people: runners,
  },
  people: {
    what: 'make keys, add people and end sign-ins',
    keys: ['admin'],
    people: admins,
  },
  audit: {
    what: 'read who did what',
    keys: ['admin'],
    people: admins,
  },
  jobs: {
    what: 'transcribe recordings',
    keys: ['speech', 'admin'],
    people: runners,
  },
  speech: {
    what: 'use the speech interface',
    keys: ['speech', 'admin'],
    people: {},
  },
} as const satisfies Record<string, ActionRights>;
export type Right = keyof typeof actions;

/** Routes that ask for no key: they are open, or judge a proof of their own (a link's signature, a carrier's secret). */
type OpenRight = 'open' | 'own proof';

type RouteRight = { method: string; path: string; action: Right | OpenRight };

const routesOf: Record<Right | OpenRight, readonly string[]> = {
  open: [
    'GET /',
    'GET /page/{file}',
    'GET /panel',
    'GET /panel/demo',
    'GET /docs',
    'GET /docs/{file}',
    'GET /openapi.json',
    'GET /health/live',
    'GET /health/ready',
    'GET /api/session',
    'POST /api/session',
    'DELETE /api/session',
    'GET /api/session/provider',
    'GET /api/session/provider/back',
  ],
  'own proof': [
    'GET /shared/calls/{id}',
    'GET /shared/calls/{id}/transcript',
    'GET /shared/calls/{id}/recording',
    '* /carriers/{rest*}',
  ],
  'calls.read': [
    'GET /api/calls',
    'GET /api/search',
    'GET /api/live',
    'GET /api/calls/{id}',
    'GET /api/calls/{id}/transcript',
    'GET /api/calls/{id}/events',
    'GET /api/calls/{id}/live',
    'GET /api/calls/{id}/wrap-up',
    'GET /api/calls/{id}/assist',
    'GET /api/calls/{id}/knowledge',
  ],
  'calls.hear': ['GET /api/calls/{id}/recording'],
  'board.watch': ['GET /api/board/live'],
  'calls.export': ['GET /api/search/export'],
  'searches.read': ['GET /api/saved-searches'],
  'searches.change': ['PUT /api/saved-searches/{name}', 'DELETE /api/saved-searches/{name}'],
  'calls.note': [
    'PATCH /api/calls/{id}',
    'PUT /api/calls/{id}/wrap-up',
    'POST /api/calls/{id}/assist/feedback',
  ],
  'calls.control': [
    'POST /api/calls/{id}/pause',
    'POST /api/calls/{id}/resume',
    'POST /api/calls/{id}/expect',
  ],
  'calls.bind': ['PUT /api/calls/{id}/agent', 'DELETE /api/calls/{id}/agent'],
  'calls.inspect': ['GET /api/calls/{id}/statuses', 'GET /api/calls/{id}/evidence'],
  'calls.erase': ['DELETE /api/calls/{id}', 'DELETE /api/calls/{id}/links'],
  'calls.again': ['POST /api/calls/transcribe', 'POST /api/calls/{id}/transcribe'],
  'calls.ingest': ['POST /api/streams'],
  'calls.test': ['POST /api/test-call', 'POST /api/test-events'],
  'deliveries.read': [
    'GET /api/deliveries',
    'GET /api/deliveries/calls',
    'GET /api/deliveries/endpoints',
    'GET /api/deliveries/{id}',
    'GET /api/job-callbacks',
  ],
  'deliveries.replay': [
    'POST /api/deliveries/endpoints/{name}/enable',
    'POST /api/deliveries/{id}/retry',
    'POST /api/calls/{id}/deliveries/retry',
    'POST /api/calls/{id}/deliveries/release',
    'POST /api/job-callbacks/{id}/retry',
  ],
  'scores.read': ['GET /api/scores', 'GET /api/calls/{id}/scores'],
  'scores.review': ['POST /api/calls/{id}/scores', 'PUT /api/calls/{id}/scores/{scorecard}'],
  'scores.dispute': ['POST /api/calls/{id}/scores/{scorecard}/dispute'],
  'assist.read': [
    'GET /api/assist/playbooks',
    'GET /api/assist/report',
    'GET /api/scorecards',
    'GET /api/knowledge/questions',
  ],
  'knowledge.ask': [
    'GET /api/knowledge',
    'GET /api/knowledge/articles',
    'GET /api/knowledge/articles/{article}',
  ],
  'assist.try': ['POST /api/assist/try', 'POST /api/assist/preview', 'GET /api/assist/schema'],
  'assist.change': [
    'POST /api/assist/reload',
    'GET /api/assist/files',
    'GET /api/assist/files/{name}',
    'PUT /api/assist/files/{name}',
    'DELETE /api/assist/files/{name}',
  ],
  'installation.read': [
    'GET /api/installation',
    'GET /api/nodes',
    'GET /api/carriers',
    'GET /api/models',
    'GET /api/crm-presets',
    'GET /api/connections',
    'GET /metrics',
  ],
  'installation.change': [
    'POST /api/connections/trial',
    'POST /api/connections/{name}/trial',
    'PUT /api/connections/{name}',
    'DELETE /api/connections/{name}',
    'POST /api/models/{name}/install',
    'POST /api/language-model/trial',
    'POST /api/provider/trial',
  ],
  'panel.use': ['GET /api/panel/me', 'GET /api/panel/live'],
  'panel.tokens': [
    'POST /api/panel/tokens',
    'GET /api/panel/tokens',
    'DELETE /api/panel/tokens/{id}',
  ],
  people: [
    'GET /api/keys',
    'POST /api/keys',
    'DELETE /api/keys/{id}',
    'GET /api/people',
    'POST /api/people',
    'PATCH /api/people/{id}',
    'DELETE /api/people/{id}',
    'GET /api/sign-ins',
    'DELETE /api/sign-ins/{id}',
  ],
  audit: ['GET /api/audit', 'GET /api/audit/export', 'GET /api/audit/check'],
  jobs: [
    'POST /v2/upload',
    'POST /v2/pre-recorded',
    'GET /v2/pre-recorded',
    'GET /v2/pre-recorded/{id}',
    'PATCH /v2/pre-recorded/{id}',
    'DELETE /v2/pre-recorded/{id}',
    'POST /v2/pre-recorded/{id}/cancel',
    'GET /v2/pre-recorded/{id}/file',
  ],
  speech: [
    'POST /v2/live',
    'GET /v2/live',
    'GET /v2/live/{id}',
    'PATCH /v2/live/{id}',
    'DELETE /v2/live/{id}',
    'GET /v2/live/{id}/file',
    'GET /file/{id}',
    'DELETE /file/{id}',
    'POST /v2/transcription',
    'GET /v2/transcription',
    'GET /v2/transcription/{id}',
    'PATCH /v2/transcription/{id}',
    'DELETE /v2/transcription/{id}',
    'POST /v2/transcription/{id}/cancel',
    'GET /v2/transcription/{id}/file',
  ],
};

export const routeRights: readonly RouteRight[] = Object.entries(routesOf).flatMap(
  ([action, routes]) =>
    routes.map((route) => {
      const [method = '', path = ''] = route.split(' ');
      return { method, path, action: action as Right | OpenRight };
    }),
);

/** Routes that give a list of many calls. Their handlers leave out the calls that the person may not touch. */
export const listsOfCalls: ReadonlySet<string> = new Set([
  'GET /api/calls',
  'GET /api/search',
  'GET /api/search/export',
  'GET /api/live',
  'GET /api/board/live',
  'GET /api/scores',
]);

/**
 * The deed that each route is, for the record of who did what. `told` means that the handler keeps the line itself,
 * because it knows more. Routes that are not here only look at lists and settings.
 */
export const deeds: Readonly<Record<string, string>> = {
  'GET /api/calls/{id}': 'read',
  'GET /api/calls/{id}/events': 'read',
  'GET /api/calls/{id}/live': 'read',
  'GET /api/calls/{id}/wrap-up': 'read',
  'GET /api/calls/{id}/assist': 'read',
  'GET /api/calls/{id}/knowledge': 'looked up articles',
  'GET /api/calls/{id}/scores': 'read the scores',
  'GET /api/scores': 'read the scores',
  'POST /api/calls/{id}/scores': 'scored',
  'PUT /api/calls/{id}/scores/{scorecard}': 'reviewed a score',
  'POST /api/calls/{id}/scores/{scorecard}/dispute': 'disputed a score',
  'GET /api/calls/{id}/statuses': 'read',
  'GET /api/calls/{id}/evidence': 'read',
  'GET /api/calls/{id}/transcript': 'exported',
  'GET /api/calls/{id}/recording': 'heard',
  'GET /shared/calls/{id}': 'opened a link',
  'GET /shared/calls/{id}/transcript': 'opened a link to the words',
  'GET /shared/calls/{id}/recording': 'opened a link to the recording',
  'GET /api/search': 'searched',
  'GET /api/search/export': 'exported',
  'GET /api/live': 'watched',
  'GET /api/board/live': 'watched the board',
  'PUT /api/saved-searches/{name}': 'saved a search',
  'DELETE /api/saved-searches/{name}': 'removed a search',
  'GET /api/deliveries/{id}': 'read an event',
  'PATCH /api/calls/{id}': 'noted',
  'PUT /api/calls/{id}/wrap-up': 'edited the record',
  'POST /api/calls/{id}/assist/feedback': 'judged a hint',
  'POST /api/calls/{id}/pause': 'paused',
  'POST /api/calls/{id}/resume': 'resumed',
  'POST /api/calls/{id}/expect': 'told what to expect',
  'PUT /api/calls/{id}/agent': 'changed the agent',
  'DELETE /api/calls/{id}/agent': 'changed the agent',
  'DELETE /api/calls/{id}': 'erased',
  'DELETE /api/calls/{id}/links': 'closed links',
  'POST /api/calls/transcribe': 'ordered to read all again',
  'POST /api/calls/{id}/transcribe': 'ordered to read again',
  'POST /api/streams': 'opened a stream',
  'POST /api/test-call': 'placed a test call',
  'POST /api/test-events': 'sent a test event',
  'POST /api/deliveries/endpoints/{name}/enable': 'replayed',
  'POST /api/deliveries/{id}/retry': 'replayed',
  'POST /api/calls/{id}/deliveries/retry': 'replayed',
  'POST /api/calls/{id}/deliveries/release': 'replayed',
  'POST /api/job-callbacks/{id}/retry': 'replayed',
  'POST /api/assist/try': 'tried rules',
  'POST /api/assist/preview': 'tried rules',
  'POST /api/assist/reload': 'changed rules',
  'PUT /api/assist/files/{name}': 'changed rules',
  'DELETE /api/assist/files/{name}': 'deleted rules',
  'POST /api/connections/trial': 'tried a connection',
  'POST /api/connections/{name}/trial': 'tried a connection',
  'PUT /api/connections/{name}': 'changed settings',
  'DELETE /api/connections/{name}': 'changed settings',
  'POST /api/models/{name}/install': 'changed settings',
  'POST /api/language-model/trial': 'tried the language model',
  'POST /api/provider/trial': 'tried the provider',
  'POST /api/panel/tokens': 'made a panel token',
  'DELETE /api/panel/tokens/{id}': 'revoked a panel token',
  'POST /api/keys': 'told',
  'DELETE /api/keys/{id}': 'told',
  'POST /api/people': 'told',
  'PATCH /api/people/{id}': 'told',
  'DELETE /api/people/{id}': 'told',
  'DELETE /api/sign-ins/{id}': 'told',
  'POST /api/session': 'told',
  'DELETE /api/session': 'told',
  'GET /api/audit': 'read the audit',
  'GET /api/audit/export': 'exported the audit',
  'POST /v2/upload': 'ordered a transcription',
  'POST /v2/pre-recorded': 'ordered a transcription',
  'PATCH /v2/pre-recorded/{id}': 'edited a transcription',
  'DELETE /v2/pre-recorded/{id}': 'erased a transcription',
  'POST /v2/pre-recorded/{id}/cancel': 'cancelled a transcription',
  'POST /v2/live': 'opened a live session',
  'PATCH /v2/live/{id}': 'edited a live session',
  'DELETE /v2/live/{id}': 'erased a live session',
  'DELETE /file/{id}': 'erased a file',
  'POST /v2/transcription': 'ordered a transcription',
  'PATCH /v2/transcription/{id}': 'edited a transcription',
  'DELETE /v2/transcription/{id}': 'erased a transcription',
  'POST /v2/transcription/{id}/cancel': 'cancelled a transcription',
};

/** Deeds that come again with every letter that somebody types. Like reads they are told once in some minutes. */
export const repeatedDeeds: ReadonlySet<string> = new Set(['POST /api/assist/preview']);

/** The keys and roles of somebody who asks. */
export type Holder = { scopes: readonly KeyScope[]; roles: readonly PersonRole[] };

const widest: readonly Reach[] = ['own', 'team', 'all'];

/** The calls on which this holder may do this, or undefined if the holder may not do it at all. */
export function reachOf({ scopes, roles }: Holder, action: Right): Reach | undefined {
  const { keys, people }: ActionRights = actions[action];
  if (scopes.some((scope) => keys.includes(scope))) return 'all';
  const reaches = roles.flatMap((role) => people[role] ?? []);
  return widest.findLast((reach) => reaches.includes(reach));
}

/** Everything that this holder may do, for the page. */
export function actionsOf(holder: Holder): Partial<Record<Right, Reach>> {
  return Object.fromEntries(
    (Object.keys(actions) as Right[]).flatMap((action) => {
      const reach = reachOf(holder, action);
      return reach === undefined ? [] : [[action, reach]];
    }),
  );
}

/** Names who may do this, for the answer to somebody who may not. */
export function mayDo(action: Right): string {
  const { keys, people }: ActionRights = actions[action];
  const roles = Object.keys(people);
  return [
    ...(keys.length === 0 ? [] : [`a key with the scope ${keys.join(' or ')}`]),
    ...(roles.length === 0 ? [] : [`the role ${roles.join(' or ')}`]),
  ].join(', or ');
}

type CompiledRow = RouteRight & { pattern: RegExp };

/** Finds the row of a request. Literal paths are tried before those with variable parts, as the routers do. */
export class RightsTable {
  readonly #rows: readonly CompiledRow[];

  constructor(rows: readonly RouteRight[] = routeRights) {
    this.#rows = rows
      .map((row) => ({ ...row, pattern: patternOf(row.path) }))
      .toSorted((one, other) => variablesIn(one.path) - variablesIn(other.path));
  }

  find(method: string, path: string): RouteRight | undefined {
    const asked = method === 'HEAD' ? 'GET' : method;
    return this.#rows.find(
      (row) => (row.method === asked || row.method === '*') && row.pattern.test(path),
    );
  }

  /** The methods that have a row at this path. */
  methodsAt(path: string): string[] {
    return this.#rows.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  }
}

function variablesIn(path: string): number {
  return path.split('{').length;
}

/** Express compares without regard to case and takes a slash at the end, so the table does the same. */
function patternOf(path: string): RegExp {
  const text = path
    .split(/(\{\w+\*?\})/)
    .map((part) =>
      part.startsWith('{')
        ? part.endsWith('*}')
          ? '.+'
          : '[^/]+'
        : part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`),
    )
    .join('');
  return new RegExp(`^${path === '/' ? '/' : `${text}/?`}$`, 'i');
}
