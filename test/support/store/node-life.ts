import { freePort } from '../process/free-port.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
  twilioStop,
} from '../carriers/carrier-client.ts';
import { startCrm } from '../crm/crm.ts';
import { startApp, type App } from '../process/app.ts';
import { until } from '../process/until.ts';
import { bucketEnv, bucketMissing, startBucket } from './bucket.ts';

const secret = `whsec_${Buffer.from('a secret of the node that lives').toString('base64')}`;
const json = { 'content-type': 'application/json' };

/** The values to put into the addresses of the node's pages. */
export type NamesOfRows = { callId: string; number: string; eventId: string; jobId: string };

/**
 * Exercises everything that a node asks its database. The node starts, has calls of two legs, reports them to a CRM,
 * answers every list and page, sends again, and sweeps, which happens a minute after its start. `isWhole` waits for
 * that sweep.
 */
export async function liveOn(
  databaseUrl: string,
  known: NamesOfRows,
  isWhole: boolean,
): Promise<{ calls: number; refused: string[] }> {
  await using stack = new AsyncDisposableStack();
  const crm = stack.use(await startCrm([secret]));
  const bucket = bucketMissing === undefined ? stack.use(await startBucket()) : undefined;
  const startedMs = performance.now();
  const app = stack.use(
    await startApp({
      env: {
        TRUNKLINE_INSECURE: '1',
        TRUNKLINE_RECORDING: 'on',
        TRUNKLINE_REJOIN_WAIT_MS: '500',
        TRUNKLINE_QUIET_FILL_MS: '0',
        TRUNKLINE_WEBHOOK_URL: crm.url,
        TRUNKLINE_WEBHOOK_SECRET: secret,
        TRUNKLINE_NODE_URL: `http://127.0.0.1:${await freePort()}`,
        TRUNKLINE_NODE_KEY: 'the-same-key-at-all-nodes',
        TRUNKLINE_RETENTION_DAYS_CALLS: '29.9',
        TRUNKLINE_RETENTION_DAYS_RECORDINGS: '29.8',
        ...(bucket === undefined
          ? {}
          : { ...bucketEnv(bucket.url), TRUNKLINE_OBJECTS_TAIL_S: '1' }),
        DATABASE_URL: databaseUrl,
      },
    }),
  );
  const watching = new AbortController();
  stack.defer(() => {
    watching.abort();
  });
  const feeds = [
    '/api/live',
    `/api/live?last_event_id=${known.eventId}`,
    `/api/calls/${known.callId}/live`,
    '/api/live?events=call.ended',
  ];
  for (const path of feeds)
    void fetch(app.url + path, { signal: watching.signal })
      .then((answer) => answer.body?.pipeTo(new WritableStream()))
      .catch(() => undefined); // it ends with the node
  const calls = 4;
  await Promise.all(Array.from({ length: calls }, (_, at) => playOne(app, `CAnew${at}`)));
  const completed = (): number =>
    crm.requests.filter(({ event }) => event.type === 'call.completed').length;
  await until(() => completed() === calls, 120_000);
  const refused = await askAll(app, known);
  if (isWhole)
    await new Promise((resolve) => setTimeout(resolve, startedMs + 80_000 - performance.now()));
  await app.end('SIGTERM');
  return { calls, refused };
}

async function playOne(app: App, callSid: string): Promise<void> {
  const status = `CallSid=${callSid}&CallStatus=in-progress&From=%2B15550001111&To=%2B442079460018`;
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const tell = () => app.get('/carriers/twilio/status', { method: 'POST', headers: form, body: status }); // prettier-ignore
  await tell();
  const carrier = await CarrierClient.open(`${app.url.replace('http', 'ws')}/carriers/twilio`);
  carrier.send(twilioConnected, twilioStart({ callSid, streamSid: `MZ${callSid}` }));
  for (let chunk = 2; chunk < 102; chunk++)
    for (const track of ['inbound', 'outbound'])
      carrier.send(twilioMedia(chunk, Buffer.alloc(160, 0xff), track));
  await carrier.ping();
  await tell();
  carrier.send(twilioStop);
  await carrier.close(1000);
}

/** Requests every list with every filter, every page of a thing, and every change. Returns the requests that failed. */
async function askAll(app: App, known: NamesOfRows): Promise<string[]> {
  const number = encodeURIComponent(known.number);
  const cursor = known.callId;
  const delivery = `${known.eventId}.webhook`;
  const gets = [
    ...['', 'sort=oldest', 'sort=longest', 'sort=shortest', `cursor=${cursor}`, 'from_date=2026-01-01',
      'to_date=2026-01-01', `number=${number}`, 'number=0018', 'number=%2B442079460018',
      'number=%2B442079460018&sort=longest', 'number=%2B49301234567', 'tag=refund', 'tag=refund&sort=longest', 'tag=no',
      'search=CA7', 'search=refund', 'search=%2B442079460018', `search=${number}`, 'state=ended', 'state=live', 'state=finishing',
      'incomplete=true', 'incomplete=false', 'direction=outbound', 'role=agent', 'role=customer', 'carrier=telnyx',
      'carrier=nobody', 'carrier=nobody&sort=longest', 'carrier_call_id=CA9',
      'carrier=telnyx&direction=outbound&role=agent&incomplete=true',
    ].map((query) => `/api/calls?${query}`),
    ...['thank', '"thank you"&limit=1', 'than*', 'customer:goodbye%20-refund', 'near(thank%20calling,%203)', 'thank&carrier=telnyx',
      'thank&from_date=2026-01-01'].map((query) => `/api/search?q=${query}`),
    ...['', '/transcript', '/events', '/events?limit=1000', '/statuses', '/evidence', '/recording'].map(
      (what) => `/api/calls/${known.callId}${what}`),
    ...['', 'state=delivered', 'state=parked', 'state=pending', 'state=skipped', 'by=call', 'endpoint=webhook',
      'endpoint=other', `call_id=${known.callId}`, 'state=delivered&endpoint=webhook'].map((query) => `/api/deliveries?${query}`),
    `/api/deliveries/${delivery}`, '/api/deliveries/endpoints', '/api/nodes', '/api/carriers', '/metrics', '/health/ready',
    ...['', 'limit=1&offset=2000', 'status=done', 'status=error', 'status=queued', 'custom_metadata=%7B%22n%22%3A1%7D',
      'before_date=2026-01-01', 'after_date=2026-11-01', 'date=2026-11-01'].flatMap((query) =>
      ['live', 'pre-recorded', 'transcription'].map((kind) => `/v2/${kind}?${query}`)),
    `/v2/pre-recorded/${known.jobId}`, '/api/job-callbacks', '/api/job-callbacks?state=parked',
    `/api/job-callbacks?job_id=${known.jobId}`, '/api/usage', '/',
  ]; // prettier-ignore
  const refused: string[] = [];
  const ask = async (path: string, init?: RequestInit): Promise<unknown> => {
    const answer = await app.get(path, init);
    const body = await answer.text();
    if (answer.status >= 500) refused.push(`${answer.status} ${init?.method ?? 'GET'} ${path}`);
    return answer.headers.get('content-type')?.includes('json') === true && answer.ok ? JSON.parse(body) : undefined; // prettier-ignore
  };
  for (const path of gets) {
    const page = (await ask(path)) as { next_cursor?: string | null; next?: string | null } | undefined; // prettier-ignore
    const next = page?.next_cursor;
    if (typeof next === 'string')
      await ask(`${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(next)}`);
  }
  const change = (method: string, path: string, body = '{}') => ask(path, { method, headers: json, body }); // prettier-ignore
  await change('PATCH', `/api/calls/${known.callId}`, '{"notes":"heard","tags":["Refund","New"]}');
  await change('POST', `/api/deliveries/${delivery}/retry`);
  await change('POST', `/api/calls/${known.callId}/deliveries/retry`, '{"from":38}');
  await change('POST', `/api/calls/${known.callId}/deliveries/release`);
  await change('POST', '/api/test-events', '{"type":"call.ended"}');
  await change('DELETE', `/api/calls/${known.callId}`);
  await change('DELETE', `/v2/pre-recorded/${known.jobId}`);
  return refused;
}
