import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ErrorBody } from '../../../src/protocol/error-body.ts';
import { LiveJobRecord } from '../../../src/protocol/job.ts';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import {
  connect,
  fixtureRecogniser,
  mulawOf,
  startTestService,
  telephony,
  type TestService,
} from '../../support/speech/speech-service.ts';

let recogniser: Recogniser;
let service: TestService;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
  service = await startTestService({ recogniser, keys: ['a-key-of-the-test'] });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await recogniser[Symbol.asyncDispose]();
});

const json = { 'content-type': 'application/json' };
const create = (body: unknown, path = '/v2/live') =>
  service.http(path, { method: 'POST', headers: json, body: JSON.stringify(body) });

async function refusal(response: Response): Promise<ErrorBody> {
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  const body = ErrorBody.parse(await response.json());
  expect(body.statusCode).toBe(response.status);
  expect(response.headers.get('x-aipi-call-id')).toBe(body.request_id);
  return body;
}

/** A finished session with these words. */
async function finished(words = 'hello', body: object = telephony): Promise<string> {
  const { id, url } = await service.post(body);
  const client = await connect(url);
  client.send(mulawOf(words));
  client.stop();
  await client.closed;
  return id;
}

describe('POST /v2/live', () => {
  test('answers 201 with id, time and an absolute address that carries a token of 256 bits', async () => {
    const response = await create(
      { ...telephony, custom_metadata: { call: 1 } },
      '/v2/live?region=eu-west',
    );
    expect(response.status).toBe(201);
    const body = (await response.json()) as { id: string; url: string; created_at: string };
    expect(Object.keys(body).sort()).toEqual(['created_at', 'id', 'url']);
    const url = new URL(body.url);
    expect([url.protocol, url.host, url.pathname]).toEqual([
      'ws:',
      `127.0.0.1:${service.port}`,
      '/v2/live',
    ]);
    expect(Buffer.from(url.searchParams.get('token') ?? '', 'base64url')).toHaveLength(32);
    expect(response.headers.get('x-aipi-call-id')).toMatch(/^G-[0-9a-f]{8}$/);
    const job = await service.job(body.id);
    expect(job).toMatchObject({
      status: 'queued',
      kind: 'live',
      request_id: `G-${body.id.slice(0, 8)}`,
      custom_metadata: { call: 1 },
      result: null,
    });
    expect(LiveJobRecord.parse(job)).toEqual(job);
    expect(job.request_params).toMatchObject({
      endpointing: 0.3, // of a request that asks for none
      model: 'model-1',
      messages_config: { receive_acknowledgments: true, receive_partial_transcripts: false },
    });
  });

  test('the address follows the configured public one', async () => {
    await using other = await startTestService({
      recogniser,
      publicUrl: 'https://stt.example.net/base',
    });
    expect((await other.post()).url).toMatch(/^wss:\/\/stt\.example\.net\/base\/v2\/live\?token=/);
  });

  test('no body is an empty one: every field has its default', async () => {
    const response = await service.http('/v2/live', { method: 'POST' });
    expect(response.status).toBe(201);
  });

  test.each([
    [{ region: 'eu-west' }, 'region must not be present'],
    [{ sample_rate: 8001 }, /^sample_rate must be one of/],
    [{ channels: 9 }, /^channels must be at most 8/],
    [{ language_config: { languages: ['xx'] } }, /^language_config\.languages\.0 must be one of/],
    [
      { realtime_processing: { translation: true, translation_config: { target_languages: [] } } },
      'realtime_processing.translation_config.target_languages must contain at least 1 element',
    ],
    [{ callback: true }, /^callback_config\.url is required/],
    [
      { custom_metadata: { text: 'x'.repeat(2_000) } },
      /^custom_metadata must have at most 2000 characters/,
    ],
    [[], /must be a JSON object/],
  ])('400 for %j, naming the field', async (body, error) => {
    const response = await create(body);
    expect(response.status).toBe(400);
    const { validation_errors: errors = [] } = await refusal(response);
    expect(errors[0]).toMatch(error);
  });

  test('400 for a region that does not exist and for a body that is no JSON', async () => {
    expect((await create({}, '/v2/live?region=moon')).status).toBe(400);
    const broken = await service.http('/v2/live', { method: 'POST', headers: json, body: '{' });
    expect(broken.status).toBe(400);
    await refusal(broken);
  });

  test('422 for what is well-formed and unusable', async () => {
    for (const body of [{ model: 'model-3' }, { encoding: 'wav/ulaw', bit_depth: 16 }]) {
      const response = await create(body);
      expect(response.status).toBe(422);
      expect((await refusal(response)).message).toMatch(/^Invalid parameter/);
    }
  });

  test('422 names the languages that are installed', async () => {
    const response = await create({ ...telephony, language_config: { languages: ['fr'] } });
    expect(response.status).toBe(422);
    expect((await refusal(response)).message).toContain('en');
  });

  test("the vendor's model name is taken and answered as it was sent", async () => {
    const { id } = await service.post({ ...telephony, model: 'solaria-1' });
    expect((await service.job(id)).request_params).toMatchObject({ model: 'solaria-1' });
  });

  test('401 without a key, with either name of the header accepted', async () => {
    const plain = await fetch(`${service.url}/v2/live`, {
      method: 'POST',
      headers: json,
      body: '{}',
    });
    expect(plain.status).toBe(401);
    expect((await refusal(plain)).message).toBe(
      'service key not found: send it in the header x-service-key',
    );
    for (const header of ['x-service-key', 'X-GLADIA-KEY']) {
      const wrong = await fetch(`${service.url}/v2/live`, { headers: { [header]: 'wrong' } });
      expect(wrong.status).toBe(401);
      expect((await refusal(wrong)).message).toBe(
        `the key in ${header.toLowerCase()} is not one of this service`,
      );
    }
    for (const header of ['X-Service-Key', 'X-Gladia-Key'])
      expect(
        (
          await fetch(`${service.url}/v2/live?limit=1`, {
            headers: { [header]: 'a-key-of-the-test' },
          })
        ).status,
      ).toBe(200);
  });

  test('415 for a body of another type', async () => {
    const response = await service.http('/v2/live', {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: '{}',
    });
    expect(response.status).toBe(415);
    await refusal(response);
  });

  test('429 with Retry-After above the limit, and room again after an end', async () => {
    await using small = await startTestService({ recogniser, config: { maximumSessions: 1 } });
    const { id, url } = await small.post();
    const response = await small.http('/v2/live', { method: 'POST', headers: json, body: '{}' });
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('5');
    await refusal(response);
    const client = await connect(url);
    client.stop();
    await client.closed;
    await small.ended(id);
    expect((await small.postWhenFree()).id).toBeTruthy();
  });
});

describe('a job', () => {
  test('is processing from its first audio on and done with the result, every key there', async () => {
    const { id, url } = await service.post();
    const client = await connect(url);
    client.send(mulawOf('hello'));
    await client.until('audio_chunk');
    await client.until('transcript');
    expect((await service.job(id)).status).toBe('processing');
    client.stop();
    await client.closed;
    const job = await service.ended(id);
    expect(LiveJobRecord.parse(job)).toEqual(job);
    expect(
      job.result?.messages.map((text) => (JSON.parse(text) as { type: string }).type),
    ).not.toContain('audio_chunk');
    expect(job.result?.messages).toEqual(
      client.texts.filter((text) => !text.includes('"acknowledged"')),
    );
    expect(job.completed_at).not.toBeNull();
  });

  test('unknown, malformed and deleted ids are 404', async () => {
    for (const id of ['00000000-0000-0000-0000-000000000000', 'nonsense', '..%2f..%2fetc'])
      for (const [method, path] of [
        ['GET', ''],
        ['DELETE', ''],
        ['PATCH', ''],
        ['GET', '/file'],
      ]) {
        const response = await service.http(`/v2/live/${id}${path ?? ''}`, {
          method: method ?? 'GET',
          headers: json,
          ...(method === 'PATCH' ? { body: '{}' } : {}),
        });
        expect(response.status, `${method} ${id}`).toBe(404);
        await refusal(response);
      }
  });

  test('PATCH keeps metadata of after the session: 204, 400, 413', async () => {
    const id = await finished();
    const patch = (body: unknown) =>
      service.http(`/v2/live/${id}`, {
        method: 'PATCH',
        headers: json,
        body: JSON.stringify(body),
      });
    expect((await patch({ post_session_metadata: { rating: 5 } })).status).toBe(204);
    expect((await service.job(id)).post_session_metadata).toEqual({ rating: 5 });
    expect((await patch({ custom_metadata: {} })).status).toBe(400);
    expect((await patch({ post_session_metadata: { text: 'x'.repeat(110_000) } })).status).toBe(
      413,
    );
  });

  test('DELETE is 403 while it runs, then 202 with an empty body, and nothing is left', async () => {
    const { id, url } = await service.post();
    const client = await connect(url);
    client.send(mulawOf('hello'));
    await client.until('transcript');
    expect((await service.http(`/v2/live/${id}`, { method: 'DELETE' })).status).toBe(403);
    client.stop();
    await client.closed;
    await service.ended(id);
    const gone = await service.http(`/v2/live/${id}`, { method: 'DELETE' });
    expect([gone.status, await gone.text()]).toEqual([202, '']);
    expect((await service.http(`/v2/live/${id}`)).status).toBe(404);
    expect((await service.http(`/v2/live/${id}/file`)).status).toBe(404);
    const { readdir } = await import('node:fs/promises');
    expect(
      (await readdir(`${service.store.dataDir}/speech`)).filter((name) => name.startsWith(id)),
    ).toEqual([]);
    expect((await (await connect(url)).closed).code).toBe(4401);
  });
});

describe('GET /v2/live/{id}/file', () => {
  test("is a WAV in the session's own encoding, whole and in ranges", async () => {
    const id = await finished('my card');
    const audio = mulawOf('my card');
    const whole = await service.http(`/v2/live/${id}/file`);
    expect(whole.headers.get('content-type')).toBe('application/octet-stream');
    const file = Buffer.from(await whole.arrayBuffer());
    expect(file.toString('latin1', 0, 4)).toBe('RIFF');
    expect(file.readUInt16LE(20)).toBe(7);
    expect(file.readUInt32LE(24)).toBe(8000);
    expect(file.readUInt32LE(4)).toBe(file.length - 8);
    expect(file.subarray(58).equals(audio)).toBe(true);
    const range = async (value: string) =>
      service.http(`/v2/live/${id}/file`, { headers: { range: value } });
    for (const [value, from, to] of [
      ['bytes=0-9', 0, 10],
      ['bytes=50-99', 50, 100],
      ['bytes=1000-', 1000, file.length],
      ['bytes=-5', file.length - 5, file.length],
      ['bytes=10-999999999', 10, file.length],
    ] as const) {
      const part = await range(value);
      expect(part.status).toBe(206);
      expect(part.headers.get('content-range')).toBe(`bytes ${from}-${to - 1}/${file.length}`);
      expect(Buffer.from(await part.arrayBuffer()).equals(file.subarray(from, to))).toBe(true);
    }
    expect((await range('bytes=99999999-')).status).toBe(416);
    for (const ignored of ['bytes=5-2', 'bytes=-', 'lines=1-2', 'bytes=0-1,5-6'])
      expect((await range(ignored)).status).toBe(200);
  });
});

describe('GET /v2/live', () => {
  test('lists newest first, in pages, with every filter', async () => {
    await using own = await startTestService({ recogniser });
    const ids: string[] = [];
    for (const number of [1, 2, 3, 4, 5])
      ids.push(
        (await own.post({ ...telephony, custom_metadata: { number, deep: { er: 'x' } } })).id,
      );
    type Page = { first: string; current: string; next: string | null; items: LiveJobRecord[] };
    const list = async (query: string) =>
      (await (await own.http(`/v2/live${query}`)).json()) as Page;
    const page = await list('?limit=2&status=queued');
    expect(page.items.map((item) => item.id)).toEqual([ids[4], ids[3]]);
    expect(page.next).toBe(`${own.url}/v2/live?status=queued&offset=2&limit=2`);
    const all: string[] = [];
    for (let next: string | null = page.first; next;) {
      const each = (await (await fetch(next)).json()) as Page;
      all.push(...each.items.map((item) => item.id));
      next = each.next;
    }
    expect(all).toEqual(ids.toReversed());
    const json2 = encodeURIComponent(JSON.stringify({ number: 2, deep: { er: 'x' } }));
    expect((await list(`?custom_metadata=${json2}`)).items.map((item) => item.id)).toEqual([
      ids[1],
    ]);
    expect((await list('?custom_metadata[number]=3')).items.map((item) => item.id)).toEqual([
      ids[2],
    ]);
    const day = new Date().toISOString().slice(0, 10);
    expect((await list(`?date=${day}`)).items).toHaveLength(5);
    expect((await list('?before_date=2020-01-01T00:00:00Z')).items).toEqual([]);
    expect(
      (
        await list(
          `?after_date=2020-01-01T00:00:00Z&before_date=2100-01-01T00:00:00Z&region=eu-west`,
        )
      ).items,
    ).toHaveLength(5);
    expect((await list('?status=done&status=error')).items).toEqual([]);
    expect((await own.http('/v2/live?limit=0')).status).toBe(400);
  });
});

test('an unknown job is unknown by every path, and a body without an address is refused by both', async () => {
  const id = crypto.randomUUID();
  for (const base of ['/v2/pre-recorded', '/v2/transcription'])
    for (const [method, path] of [
      ['GET', `${base}/x`],
      ['GET', `${base}/${id}`],
      ['DELETE', `${base}/${id}`],
      ['PATCH', `${base}/${id}`],
      ['POST', `${base}/${id}/cancel`],
      ['GET', `${base}/${id}/file`],
    ] as const) {
      const response = await service.http(path, { method, headers: json });
      expect(response.status, `${method} ${path}`).toBe(404);
      expect((await refusal(response)).message).toBe('Not found');
    }
  for (const path of ['/v2/pre-recorded', '/v2/transcription']) {
    const response = await service.http(path, { method: 'POST', headers: json, body: '{}' });
    expect(response.status).toBe(400);
  }
});

test.each(['a-key-of-the-test', undefined])(
  'a filter of the list cannot reach what every object inherits (key %s)',
  async (key) => {
    const query = 'custom_metadata={"a":{}}&custom_metadata[a][__proto__][polluted]=1';
    const headers: Record<string, string> = key === undefined ? {} : { 'x-service-key': key };
    const response = await fetch(`${service.url}/v2/live?${query}`, { headers });
    try {
      expect(response.status).toBe(key === undefined ? 401 : 200);
      expect({}).not.toHaveProperty('polluted');
      expect((await service.http('/v2/live?limit=1')).status).toBe(200);
    } finally {
      Reflect.deleteProperty(Object.prototype, 'polluted');
    }
  },
);
