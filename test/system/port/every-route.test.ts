import { describe, expect, test } from 'vitest';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
} from '../../support/carriers/carrier-client.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';

type JsonSchema = {
  $ref?: string;
  properties?: Record<string, JsonSchema>;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
};
type DescribedRoute = {
  parameters?: { in: string; name: string }[];
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
};
type Description = {
  paths: Record<string, Record<string, DescribedRoute>>;
  components?: { schemas?: Record<string, JsonSchema> };
};
type HostileCase = { method: string; target: string; body?: string; what: string };

const key = 'key-of-the-operator-in-the-test';

/** Texts that one of our parsers, or one of both databases, has no place for. */
const hostileTexts: Record<string, string> = {
  'a nul': '%00',
  'a nul inside': 'a%00b',
  'half a pair': '%ED%A0%80',
  'no text at all': '%FF',
  'a way up': '..%2F..%2Fetc%2Fpasswd',
  'a quote': "'%20or%20''%3D'",
  'a number beyond the last': '99999999999999999999',
  'no number': '1e999',
  'a minus': '-1',
  'an object': '%5B%5D%7B%7D',
  'four thousand letters': 'x'.repeat(4_000),
};

/** Values of a body, as JSON. */
const hostileValues: Record<string, string> = {
  'a nul': '"a\\u0000b"',
  'half a pair': '"\\ud800"',
  'a way up': '"../../etc/passwd"',
  'the greatest number': '1e308',
  'a number beyond it': '1e999',
  'less than nothing': '-1',
  nothing: 'null',
  'an empty list': '[]',
  'a list of lists': `${'['.repeat(2_000)}${']'.repeat(2_000)}`,
  'a thousand nuls': `[${Array(1_000).fill('"\\u0000"').join(',')}]`,
  'a name of every object': '{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}}}',
  'a nul as a name': '{"\\u0000":"\\u0000"}',
  'a hundred thousand letters': `"${'x'.repeat(100_000)}"`,
};

/** The names of a body's properties, those of all its forms together. */
function propertiesOf(schema: JsonSchema, { components }: Description, depth = 0): string[] {
  if (depth > 6) return [];
  const named = /^#\/components\/schemas\/(.+)$/.exec(schema.$ref ?? '')?.[1];
  const referred = named === undefined ? undefined : components?.schemas?.[named];
  const forms = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  if (referred) forms.push(referred);
  return [
    ...Object.keys(schema.properties ?? {}),
    ...forms.flatMap((form) => propertiesOf(form, { components } as Description, depth + 1)),
  ];
}

/** `id` stands in the path where the body or the query is hostile. */
function casesOf(all: Description, id: string, path: string, method: string): HostileCase[] {
  const route = all.paths[path]?.[method] ?? {};
  const cases: HostileCase[] = [];
  const plain = path.replaceAll(/\{\w+\}/g, id);
  if (path.includes('{'))
    for (const [what, text] of Object.entries(hostileTexts))
      cases.push({ method, target: path.replaceAll(/\{\w+\}/g, text), what: `path: ${what}` });
  for (const { in: place, name } of route.parameters ?? [])
    if (place === 'query')
      for (const [what, text] of Object.entries(hostileTexts))
        cases.push({ method, target: `${plain}?${name}=${text}`, what: `${name}: ${what}` });
  const schema = route.requestBody?.content['application/json']?.schema;
  if (schema === undefined) return cases;
  const names = new Set(propertiesOf(schema, all));
  for (const [what, value] of Object.entries(hostileValues)) {
    cases.push({ method, target: plain, body: value, what: `body: ${what}` });
    for (const name of names)
      cases.push({ method, target: plain, body: `{"${name}":${value}}`, what: `body ${name}: ${what}` }); // prettier-ignore
    const whole = [...names].map((name) => `"${name}":${value}`).join(',');
    cases.push({ method, target: plain, body: `{${whole}}`, what: `whole body: ${what}` });
  }
  return cases;
}

/** The first line of a wrong answer. Undefined for an answer of a client's fault, or of success. */
async function faultOf(
  url: string,
  { method, target, body, what }: HostileCase,
): Promise<string | undefined> {
  const name = `${method} ${target.slice(0, 80)} (${what})`;
  const cancel = new AbortController();
  try {
    const answer = await fetch(url + target, {
      method: method.toUpperCase(),
      headers: { 'x-service-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }, // prettier-ignore
      ...(body === undefined ? {} : { body }),
      redirect: 'manual',
      signal: AbortSignal.any([cancel.signal, AbortSignal.timeout(20_000)]),
    });
    // A stream of events never ends by itself.
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    const text = isStream ? '' : await answer.text();
    if (/\bat .*\.(?:ts|js):\d+/.test(text)) return `${name}: a stack`;
    return answer.status >= 500 && answer.status !== 503 ? `${name}: ${answer.status} ${text.slice(0, 200)}` : undefined; // prettier-ignore
  } catch (error) {
    return `${name}: ${String(error)}`;
  } finally {
    cancel.abort();
  }
}

async function streamUrlOf(app: App): Promise<string> {
  const headers = { 'content-type': 'application/json', 'x-service-key': key };
  const answer = await app.get('/api/streams', { method: 'POST', headers, body: '{"carrier":"twilio"}' }); // prettier-ignore
  const { url } = (await answer.json()) as { url: string };
  return url.replace(/^wss?:\/\/[^/]+/, app.url.replace('http', 'ws'));
}

async function runningCall(app: App): Promise<string | undefined> {
  const answer = await app.get('/api/calls', { headers: { 'x-service-key': key } });
  const { items } = (await answer.json()) as { items: { id: string; state: string }[] };
  return items.find(({ state }) => state === 'live')?.id;
}

const databases = [
  { name: 'SQLite', missing: undefined },
  { name: 'Postgres', missing: postgresMissing },
];

describe.each(databases)('with the right key and on $name', ({ name, missing }) => {
  test.skipIf(missing !== undefined)(
    'no text of a client is a fault of ours: every route refuses it, or knows nothing of that name',
    { timeout: 300_000 },
    async () => {
      await using server = name === 'Postgres' ? await startPostgres() : undefined;
      await using app = await startApp({
        env: {
          TRUNKLINE_API_KEYS: key,
          ...(server ? { DATABASE_URL: await server.newDatabase() } : {}),
        },
      });
      const all = (await (await app.get('/openapi.json')).json()) as Description;
      await using carrier = await CarrierClient.open(await streamUrlOf(app));
      carrier.send(twilioConnected, twilioStart({ tracks: ['inbound'] }));
      for (let at = 0; at < 50; at++) carrier.send(twilioMedia(2 + at, Buffer.alloc(160, 0xff)));
      const callId = await until(() => runningCall(app));
      const cases = Object.entries(all.paths)
        .filter(([path]) => !path.startsWith('/carriers/'))
        .flatMap(([path, methods]) =>
          Object.keys(methods).flatMap((method) => [
            ...casesOf(all, 'some-id', path, method),
            // The call of this test must be there until the last request.
            ...(path.startsWith('/api/calls/{id}') && method !== 'delete'
              ? casesOf(all, callId, path, method)
              : []),
          ]),
        );
      const faults: string[] = [];
      const lanes = Array.from({ length: 8 }, async (_, lane) => {
        for (let at = lane; at < cases.length; at += 8) {
          const fault = await faultOf(app.url, cases[at]!);
          if (fault !== undefined) faults.push(fault);
        }
      });
      await Promise.all(lanes);
      console.log(`${cases.length} requests on ${name}`);
      expect(faults).toEqual([]);
      expect(cases.length).toBeGreaterThan(3_000);
      expect(await runningCall(app)).toBe(callId);
      expect(app.process.exitCode).toBeNull();
      const told = app.lines.filter((line) => /"level":"(?:error|fatal)"/.test(line));
      expect(told).toEqual([]);
    },
  );
});
