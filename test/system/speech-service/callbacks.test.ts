import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newWebhookSecret, verifyWebhook } from '../../../src/lib/webhook-signature.ts';
import { LiveCallback, LiveWebhook } from '../../../src/protocol/callbacks.ts';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import {
  connect,
  fixtureRecogniser,
  mulawOf,
  startTestService,
  telephony,
  type TestService,
} from '../../support/speech/speech-service.ts';
import { until } from '../../support/process/until.ts';
import { bytesOf, filesBelow } from '../../support/process/files-below.ts';

let recogniser: Recogniser;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
});
afterAll(async () => {
  await recogniser[Symbol.asyncDispose]();
});

type Received = { path: string; headers: IncomingHttpHeaders; body: string };

async function receiver(answer: (count: number) => number = () => 200) {
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      });
      response.statusCode = answer(received.length);
      response.end('ok');
      for (const look of [...waiting]) look();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    until: (fits: (received: Received[]) => boolean) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (!fits(received)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function talk(service: TestService, body: object): Promise<{ id: string; texts: string[] }> {
  const { id, url } = await service.post({ ...telephony, ...body });
  const client = await connect(url);
  client.send(mulawOf('my card'));
  client.stop();
  await client.closed;
  return { id, texts: client.texts };
}

const ended = (event: string) => (received: Received[]) =>
  received.some(({ body }) => body.includes(`"${event}"`));

test('a session calls back what its own flags ask for, in order, signed, the payload as on the socket', async () => {
  await using endpoint = await receiver();
  const secret = newWebhookSecret();
  await using service = await startTestService({
    recogniser,
    config: { callbackSecret: secret, callbackHosts: ['127.0.0.1'] },
  });
  const { id, texts } = await talk(service, {
    callback: true,
    callback_config: {
      url: `${endpoint.url}/hook`,
      receive_acknowledgments: true,
      receive_post_processing_events: false,
    },
  });
  await endpoint.until(ended('live.end_session'));
  const bodies = endpoint.received.map(({ body }) => LiveCallback.parse(JSON.parse(body)));
  const events = bodies
    .map((body) => body.event)
    .filter((event, index, all) => event !== all[index - 1]);
  expect(events[0]).toBe('live.start_session');
  expect(events[1]).toBe('live.start_recording');
  expect(events.at(-1)).toBe('live.end_session');
  expect(events).toContain('live.audio_chunk');
  expect(events).toContain('live.stop_recording');
  expect(events).not.toContain('live.post_final_transcript');
  expect(events).not.toContain('live.speech_start');
  for (const { body, headers, path } of endpoint.received) {
    expect(path).toBe('/hook');
    expect(verifyWebhook([secret], headers, Buffer.from(body))).toEqual({ ok: true });
    expect(body).toContain(`"id":"${id}"`);
    expect(body).not.toContain('token');
  }
  const final = endpoint.received.find(({ body }) => body.includes('"live.transcript"'));
  const onSocket = texts.find((text) => text.includes('"type":"transcript"')) ?? 'none';
  expect(final?.body.endsWith(`"payload":${onSocket}}`)).toBe(true);
});

test('account webhooks hear of four events, with the id only', async () => {
  await using endpoint = await receiver();
  const secret = newWebhookSecret();
  await using service = await startTestService({
    recogniser,
    config: { webhooks: [{ url: endpoint.url, secret }] },
  });
  const { id } = await talk(service, {});
  await endpoint.until(ended('live.end_session'));
  expect(endpoint.received.map(({ body }) => LiveWebhook.parse(JSON.parse(body)))).toEqual(
    ['live.start_session', 'live.start_recording', 'live.end_recording', 'live.end_session'].map(
      (event) => ({ event, payload: { id } }),
    ),
  );
  for (const { body, headers } of endpoint.received)
    expect(verifyWebhook([secret], headers, Buffer.from(body))).toEqual({ ok: true });
});

test('a callback address that is never called is refused at the POST, and nothing is created', async () => {
  await using endpoint = await receiver();
  await using service = await startTestService({ recogniser });
  const asked = service.post({
    ...telephony,
    callback: true,
    callback_config: { url: endpoint.url },
  });
  await expect(asked).rejects.toThrow(
    /422.*is never called from here: loopback address \(.*TRUNKLINE_SPEECH_CALLBACK_HOSTS\)/,
  );
  expect(((await (await service.http('/v2/live')).json()) as { items: [] }).items).toEqual([]);
});

test('a callback to a name that leads to a private address is not sent, and the session does not care', async () => {
  await using endpoint = await receiver();
  await using service = await startTestService({ recogniser });
  const url = endpoint.url.replace('127.0.0.1', 'localhost');
  const { id } = await talk(service, { callback: true, callback_config: { url } });
  expect((await service.ended(id)).status).toBe('done');
  expect(endpoint.received).toEqual([]);
});

test('a receiver that is slow or fails holds up neither audio nor end', async () => {
  await using endpoint = await receiver(() => 500);
  await using service = await startTestService({
    recogniser,
    config: { callbackHosts: ['127.0.0.1'] },
  });
  const { id } = await talk(service, { callback: true, callback_config: { url: endpoint.url } });
  expect((await service.ended(id)).status).toBe('done');
  await endpoint.until((received) => received.length > 0);
  expect(endpoint.received.map(({ body }) => (JSON.parse(body) as LiveCallback).event)).toEqual([
    'live.start_session',
  ]);
});

test('callbacks that a restart interrupted are delivered by the next process, none twice, none missing', async () => {
  let failing = true;
  await using endpoint = await receiver((count) => (failing && count > 1 ? 503 : 200));
  const config = { callbackHosts: ['127.0.0.1'] };
  await using first = await startTestService({ recogniser, config });
  const { id } = await talk(first, { callback: true, callback_config: { url: endpoint.url } });
  await first.ended(id);
  await endpoint.until((received) => received.length >= 2);
  await first.service[Symbol.asyncDispose]();
  failing = false;
  const before = endpoint.received.length;
  await using second = await startTestService({ recogniser, config, store: first.store });
  await endpoint.until(ended('live.end_session'));
  const events = endpoint.received
    .slice(before)
    .map(({ body }) => (JSON.parse(body) as LiveCallback).event);
  expect(events).toEqual([
    'live.start_recording',
    'live.transcript',
    'live.end_recording',
    'live.post_transcript',
    'live.post_final_transcript',
    'live.end_session',
  ]);
  expect((await second.job(id)).status).toBe('done');
});

test('account webhooks that a restart interrupted go on where they were, each by itself', async () => {
  let failing = true;
  await using down = await receiver((count) => (failing && count > 1 ? 503 : 200));
  await using up = await receiver();
  const webhooks = [{ url: down.url }, { url: up.url }];
  await using first = await startTestService({ recogniser, config: { webhooks } });
  const { id } = await talk(first, {});
  await first.ended(id);
  await up.until(ended('live.end_session'));
  await down.until((received) => received.length >= 2);
  const running = await first.post();
  await up.until((received) => received.some(({ body }) => body.includes(running.id)));
  await first.service[Symbol.asyncDispose]();
  failing = false;
  const before = down.received.length;
  // The order of the settings is not what tells one webhook from the other.
  await using second = await startTestService({
    recogniser,
    config: { webhooks: webhooks.toReversed() },
    store: first.store,
  });
  // One whose answer the restart cut off may come twice.
  const events = (received: Received[], of: string): string[] => [
    ...new Set(
      received
        .map(({ body }) => JSON.parse(body) as LiveWebhook)
        .filter(({ payload }) => payload.id === of)
        .map(({ event }) => event),
    ),
  ];
  const rest = ['live.start_recording', 'live.end_recording', 'live.end_session'];
  await down.until((received) => events(received.slice(before), id).length >= rest.length);
  expect(events(down.received.slice(before), id)).toEqual(rest);
  expect(events(up.received, id)).toEqual(['live.start_session', ...rest]);
  // And one that was open hears its end, too.
  const client = await connect(running.url.replace(String(first.port), String(second.port)));
  client.send(mulawOf('hello'));
  client.stop();
  await client.closed;
  await up.until((received) => events(received, running.id).length >= 4);
  expect(events(up.received, running.id)).toEqual(['live.start_session', ...rest]);
  await second.ended(running.id);
});

test('zero data retention: the callback has the words, then no row, no file, no byte of them is left', async () => {
  await using endpoint = await receiver();
  await using service = await startTestService({
    recogniser,
    config: { zeroRetention: true, callbackHosts: ['127.0.0.1'] },
  });
  const { id, url } = await service.post({
    ...telephony,
    callback: true,
    callback_config: { url: endpoint.url },
    custom_metadata: { canary: 'zdr-canary-91' },
  });
  const client = await connect(url);
  const audio = mulawOf('goodbye');
  client.send(audio.subarray(0, 4000));
  await client.until('audio_chunk', (ack) => ack.data?.byte_range[1] === 4000);
  client.socket.terminate();
  // Resuming works from memory.
  const again = await connect(url);
  again.send(audio.subarray(4000));
  again.stop();
  expect((await again.closed).code).toBe(1000);
  expect(again.finals()).toBe(' goodbye');
  expect((await service.http(`/v2/live/${id}`)).status).toBe(404);
  expect((await service.http(`/v2/live/${id}/file`)).status).toBe(404);
  await endpoint.until(ended('live.end_session'));
  expect(endpoint.received.some(({ body }) => body.includes('goodbye'))).toBe(true);
  const rows = () => service.store.db.selectFrom('speech_jobs').select('id').execute();
  await until(async () => (await rows()).length === 0);
  for (const path of await filesBelow(service.store.dataDir)) {
    const content = await bytesOf(path);
    expect(content.includes('goodbye') || content.includes('zdr-canary-91'), path).toBe(false);
  }
});
