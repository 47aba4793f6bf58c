import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { startApp } from '../support/process/app.ts';
import { until } from '../support/process/until.ts';

/** One planted text per kind of secret: each is searched for in everything that comes out. */
const planted = {
  apiKey: 'canary-api-key-8213',
  twilio: 'canary-twilio-token-5521',
  telnyx: 'canary-telnyx-token-7742',
  plivo: 'canary-plivo-token-1937',
  audiohookKey: 'canary-audiohook-key-6610',
  asteriskPassword: 'canary-asterisk-pass-4402',
  llm: 'canary-llm-key-9035',
  caller: '+15550177231',
  metadata: 'canary-metadata-2208',
};
const audiohookSecret = Buffer.from('canary-audiohook-secret-3376').toString('base64');
const webhookSecret = `whsec_${Buffer.from('canary-webhook-secret-0000-1177').toString('base64')}`;

async function failingCrm(): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((_request, response) => void response.writeHead(500).end('no'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('planted secrets are in no log line, no metric and no refusal', async () => {
  await using crm = await failingCrm();
  await using app = await startApp({
    env: {
      TRUNKLINE_API_KEYS: planted.apiKey,
      TRUNKLINE_TWILIO_AUTH_TOKEN: planted.twilio,
      TRUNKLINE_TELNYX_TOKEN: planted.telnyx,
      TRUNKLINE_PLIVO_AUTH_TOKEN: planted.plivo,
      TRUNKLINE_AUDIOHOOK_API_KEY: planted.audiohookKey,
      TRUNKLINE_AUDIOHOOK_CLIENT_SECRET: audiohookSecret,
      TRUNKLINE_ASTERISK_USERNAME: 'pbx',
      TRUNKLINE_ASTERISK_PASSWORD: planted.asteriskPassword,
      TRUNKLINE_LLM_URL: 'http://127.0.0.1:9/v1',
      TRUNKLINE_LLM_MODEL: 'a-model',
      TRUNKLINE_LLM_KEY: planted.llm,
      TRUNKLINE_WEBHOOK_URL: crm.url,
      TRUNKLINE_WEBHOOK_SECRET: webhookSecret,
      TRUNKLINE_LOG_LEVEL: 'trace',
    },
  });
  const headers = { 'x-service-key': planted.apiKey, 'content-type': 'application/json' };
  const answers: string[] = [];
  const ask = async (path: string, init: RequestInit = {}): Promise<string> => {
    const text = await (await app.get(path, init)).text();
    answers.push(text);
    return text;
  };

  // A whole call with a planted number and planted metadata, whose webhook keeps failing.
  const minted = JSON.parse(
    await ask('/api/streams', {
      method: 'POST',
      headers,
      body: JSON.stringify({
        carrier: 'twilio',
        call_id: 'CAleaks',
        metadata: { crmCase: planted.metadata },
      }),
    }),
  ) as { url: string; parameters: { token: string } };
  answers.pop(); // the one answer that must hold the token
  const socket = new WebSocket(minted.url);
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  const say = (message: object): void => socket.send(JSON.stringify(message));
  say({ event: 'connected', protocol: 'Call', version: '1.0.0' });
  say({
    event: 'start',
    sequenceNumber: '1',
    streamSid: 'MZleaks',
    start: {
      streamSid: 'MZleaks',
      accountSid: 'ACleaks',
      callSid: 'CAleaks',
      tracks: ['inbound'],
      mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
      customParameters: { from: planted.caller, to: planted.caller },
    },
  });
  for (let at = 1; at <= 20; at++)
    say({
      event: 'media',
      sequenceNumber: String(at + 1),
      streamSid: 'MZleaks',
      media: {
        track: 'inbound',
        chunk: String(at),
        timestamp: String(at * 20),
        payload: Buffer.alloc(160, 0xff).toString('base64'),
      },
    });
  say({
    event: 'stop',
    sequenceNumber: '22',
    streamSid: 'MZleaks',
    stop: { accountSid: 'ACleaks', callSid: 'CAleaks' },
  });
  await until(async () => {
    const { items } = (await (await app.get('/api/calls', { headers })).json()) as {
      items: { state: string }[];
    };
    return items[0]?.state === 'ended';
  });
  socket.close();

  // Every kind of refusal, each with a secret in it somewhere.
  for (const path of ['/api/calls', '/v2/live', '/metrics', '/nowhere'])
    await ask(`${path}?token=${planted.twilio}`, {
      headers: { 'x-service-key': `${planted.apiKey}x` },
    });
  await ask('/v2/live', {
    method: 'POST',
    headers,
    body: `{"custom_metadata": "${planted.metadata}"`,
  });
  await ask('/v2/live', {
    method: 'POST',
    headers,
    body: JSON.stringify({ encoding: planted.metadata }),
  });
  await ask('/api/streams', {
    method: 'POST',
    headers,
    body: JSON.stringify({ carrier: 'none', metadata: planted.metadata }),
  });
  await ask('/carriers/twilio/voice', {
    method: 'POST',
    body: new URLSearchParams({ From: planted.caller, CallSid: 'CA1' }),
  });
  for (const path of [
    '/carriers/twilio',
    '/carriers',
    `/v2/live?token=${minted.parameters.token}`,
  ]) {
    const refused = new WebSocket(app.url.replace('http', 'ws') + path);
    await new Promise((resolve) => refused.addEventListener('close', resolve));
  }
  answers.push(await (await app.get('/metrics', { headers })).text());
  answers.push(await (await app.get('/health/ready', { headers })).text());
  answers.push(await (await app.get('/openapi.json')).text());
  await app.end('SIGTERM');

  const out = [...answers, ...app.lines].join('\n');
  const secrets = [
    ...Object.values(planted),
    audiohookSecret,
    webhookSecret,
    webhookSecret.slice(6),
    minted.parameters.token,
  ];
  expect(secrets.filter((secret) => out.includes(secret))).toEqual([]);
  expect(out).not.toMatch(/[?&]token=(?!\[redacted\])[\w-]{8,}/);
});
