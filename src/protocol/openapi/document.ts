import { jobsPaths, keyHeaders } from '../names.ts';
import { Components, type JsonObject } from './components.ts';
import { assistRoutes } from './assist-routes.ts';
import { knowledgeRoutes } from './knowledge-routes.ts';
import { panelRoutes } from './panel-routes.ts';
import { operatorRoutes } from './operator-routes.ts';
import { peopleRoutes } from './people-routes.ts';
import { processRoutes } from './process-routes.ts';
import {
  errorAnswer,
  type RouteAnswer,
  type RouteBody,
  type Parameter,
  type Route,
} from './route.ts';
import { scoreRoutes } from './score-routes.ts';
import { speechRoutes } from './speech-routes.ts';
import { socketSchemas, webhooks, type Webhook } from './webhook-descriptions.ts';

/** All routes in the order of the document. The caller passes the carriers' own routes. */
export function allRoutes(carrierRoutes: readonly Route[]): readonly Route[] {
  return [
    ...speechRoutes,
    ...operatorRoutes,
    ...assistRoutes,
    ...knowledgeRoutes,
    ...scoreRoutes,
    ...panelRoutes,
    ...peopleRoutes,
    ...carrierRoutes,
    ...processRoutes,
  ];
}

const tags = {
  'Live transcription':
    'A session is created by HTTP, then fed over a WebSocket. The address in the answer carries the session’s own ' +
    'token, so the key stays behind. Send audio as binary frames, or as `audio_chunk` messages; end with ' +
    '`stop_recording` and read on until close code 1000. Schemas: ClientMessage and ServerMessage.',
  'Pre-recorded transcription':
    'A job is created from an address or an uploaded file, then read by id.',
  Calls: 'What the bridge carries: live, finishing and ended calls, newest first.',
  Connections: 'Endpoints that are connected while the process runs: a CRM or a webhook.',
  Deliveries:
    'Events on their way to the CRM: pending, parked, delivered. And callbacks of jobs that have not arrived.',
  Assist: 'Playbooks: what to listen for in calls, and what they did in each.',
  People: 'Keys, people, sign-ins, and who did what. For admins alone, but for the sign-in itself.',
  Knowledge: 'Articles for agents: found by a question, read, and what nobody could answer.',
  Scores: 'Scorecards, and the scores of calls.',
  Panel: 'Tokens that open the panel in an agent’s desktop, and what it asks.',
  Console: 'What the page uses beside the above.',
  Carriers: 'What carriers call over HTTP. Media comes by WebSocket to /carriers/{carrier}.',
  Process: 'Health, metrics and this document.',
};

/** OpenAPI 3.1 of the whole process, made from the schemas that the routes themselves use. */
export function openApiDocument(options: {
  version: string;
  carrierRoutes: readonly Route[];
  serverUrl?: string;
}): JsonObject {
  const components = new Components();
  const paths: Record<string, JsonObject> = {};
  for (const route of allRoutes(options.carrierRoutes)) {
    const path = (paths[route.path] ??= {});
    path[route.method] = operation(route, components);
  }
  const hooks = Object.fromEntries(
    webhooks.map((webhook) => [webhook.name, { post: hookOperation(webhook, components) }]),
  );
  for (const schema of socketSchemas) components.reference(schema, 'output');
  return {
    openapi: '3.1.1',
    info: {
      title: 'Trunkline',
      version: options.version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description:
        'Carrier media streams in, live transcripts out, nothing lost in silence. Every failure answers with ErrorBody. ' +
        'Before any route, what is no readable request is refused with 400, 408, 413 or 431, and CONNECT with 405. ' +
        'Routes of a part that does not run in this process (TRUNKLINE_ROLES) answer 404.',
    },
    ...(options.serverUrl === undefined ? {} : { servers: [{ url: options.serverUrl }] }),
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: hooks,
    components: {
      schemas: components.schemas(),
      securitySchemes: {
        key: {
          type: 'apiKey',
          in: 'header',
          name: keyHeaders[0],
          description: `A named key, or one of TRUNKLINE_API_KEYS. Clients that send \`${keyHeaders[1]}\` are understood too. Without any key or person, requests from this machine need none.`,
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'trunkline_session',
          description: 'Set by POST /api/session; for the console’s own page alone.',
        },
      },
    },
  };
}

function operation(route: Route, components: Components): JsonObject {
  const answers = Object.entries(route.answers).map(([status, answer]) => [
    status,
    answerObject(answer, components),
  ]);
  const failures = failuresOf(route).map((status) => [
    String(status),
    answerObject(errorAnswer(status), components),
  ]);
  const parameters = [
    ...pathParameters(route.path),
    ...(route.query ?? []).map((parameter) => parameterObject(parameter, 'query', components)),
    ...(route.headers ?? []).map((parameter) => parameterObject(parameter, 'header', components)),
  ];
  return {
    operationId: operationId(route),
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    ...(route.deprecated ? { deprecated: true } : {}),
    security: securityOf(route),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? { requestBody: { required: true, ...bodyObject(route.body, 'input', components) } }
      : {}),
    // A route's own answer for a status, such as "not ready", replaces the error body of the same status.
    responses: Object.fromEntries([...failures, ...answers]) as JsonObject,
  };
}

/** Routes of the port itself. The other routes are mounted one by one during the start. */
const mountedAtOnce = /^\/(?:health|metrics)/;

/** Under these paths the port parses any JSON body, even of a request that needs none. */
const readsJson = /^\/(?:v2|api)\//;

/** The statuses that the port itself may answer on every route, to a foreign page or during the start. */
function failuresOf({ method, path, access, errors = [] }: Route): number[] {
  const takesJson =
    readsJson.test(path) && (access === 'key' || !['get', 'delete'].includes(method));
  return [
    ...errors,
    ...[403, 500],
    ...(mountedAtOnce.test(path) ? [] : [503]),
    ...(access === 'key' ? [401, 429] : []),
    ...(takesJson ? [400, 413, 415] : []),
    // For an id that is not percent-encoded UTF-8.
    ...(path.includes('{') ? [400] : []),
  ];
}

function securityOf(route: Route): JsonObject[] {
  if (route.access !== 'key') return [];
  const isOfPage = route.path.startsWith('/api') || jobsPaths.test(route.path);
  return isOfPage ? [{ key: [] }, { session: [] }] : [{ key: [] }];
}

function operationId(route: Route): string {
  return wordsOf(`${route.method} ${route.path}`);
}

/** One identifier from all words: `get /v2/live/{id}` becomes `getV2LiveId`. */
function wordsOf(text: string): string {
  const [first = '', ...others] = text.split(/[ /{}._-]+/).filter(Boolean);
  return first + others.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

function pathParameters(path: string): JsonObject[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function parameterObject(
  { name, description, schema, example }: Parameter,
  place: 'query' | 'header',
  components: Components,
): JsonObject {
  return {
    name,
    in: place,
    description,
    schema: components.reference(schema, 'input'),
    example,
  };
}

function bodyObject(
  body: Partial<RouteBody>,
  io: 'input' | 'output',
  components: Components,
): JsonObject {
  const content = Object.entries(body.content ?? {}).map(([type, schema]) => {
    const example = body.examples?.[type] ?? body.example;
    return [
      type,
      {
        schema: schema === 'binary' ? {} : components.reference(schema, io),
        example,
      },
    ];
  });
  return {
    description: body.description,
    ...(content.length > 0 ? { content: Object.fromEntries(content) as JsonObject } : {}),
  };
}

function answerObject(answer: RouteAnswer, components: Components): JsonObject {
  const headers = Object.entries(answer.headers ?? {}).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ]);
  return {
    ...bodyObject(answer, 'output', components),
    description: answer.description,
    ...(headers.length > 0 ? { headers: Object.fromEntries(headers) as JsonObject } : {}),
  };
}

function hookOperation(webhook: Webhook, components: Components): JsonObject {
  const headers = Object.entries(webhook.headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string' },
  }));
  return {
    operationId: wordsOf(`send ${webhook.name}`),
    tags: [webhook.tag],
    summary: webhook.summary,
    // No key of ours is sent. A receiver recognises us by the signature, if there is one.
    security: [],
    ...(headers.length > 0 ? { parameters: headers } : {}),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: components.reference(webhook.schema, 'output'),
          example: webhook.example,
        },
      },
    },
    responses: { '2XX': { description: 'Taken; anything else is tried again.' } },
  };
}
