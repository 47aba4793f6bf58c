import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { telnyxPlayer } from '../../../src/carriers/telnyx/player.ts';
import { CarrierClient } from '../../support/carriers/carrier-client.ts';
import { carrierServer, type CarrierServer } from '../../support/carriers/carrier-server.ts';
import { playedCall } from '../../support/carriers/played-call.ts';

const keys = generateKeyPairSync('ed25519');
const publicKey = keys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
const callId = 'v3:7b1c-call-control-id';
const ours = Buffer.from('trunkline').toString('base64');
const dial = '+15550100200';

type ToldCommand = {
  path: string;
  authorization: string | undefined;
  body: Record<string, string>;
};

/** Telnyx' own side of the API: keeps what it is told, and refuses what the test says. */
async function callControlApi(statusOf: (command: string) => number = () => 200) {
  const told: ToldCommand[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const path = request.url ?? '';
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, string>;
      told.push({ path, authorization: request.headers.authorization, body });
      response.writeHead(statusOf(path.split('/').at(-1) ?? ''), {
        'content-type': 'application/json',
      });
      response.end('{"data":{"result":"ok"}}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2`,
    told,
    commands: () => told.map(({ path }) => path.split('/').at(-1)),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const config = (telnyxApiUrl: string) => ({
  telnyxPublicKey: publicKey.toString('base64'),
  telnyxApiKey: 'KEY-of-the-tests',
  telnyxApiUrl,
  telnyxDial: dial,
});

async function tell(
  server: CarrierServer,
  type: string,
  payload: object = {},
  how: { id?: string; unsigned?: boolean } = {},
): Promise<{ status: number; text: string }> {
  const about = { call_control_id: callId, from: '+15550100123', to: dial, ...payload };
  const data = { id: how.id ?? `event of ${type}`, event_type: type, payload: about };
  const body = JSON.stringify({ data });
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = sign(null, Buffer.from(`${timestamp}|${body}`), keys.privateKey);
  const response = await fetch(`http://127.0.0.1:${server.port}/carriers/telnyx/voice`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'telnyx-timestamp': timestamp,
      ...(how.unsigned ? {} : { 'telnyx-signature-ed25519': signature.toString('base64') }),
    },
    body,
  });
  return { status: response.status, text: await response.text() };
}

const incoming = { direction: 'incoming', state: 'parked' };

test('a call of a Call Control application is answered, streamed by a token of its own, and transferred', async () => {
  await using api = await callControlApi();
  await using server = await carrierServer({ config: config(api.url) });
  expect((await tell(server, 'call.initiated', incoming)).status).toBe(204);
  expect(api.commands()).toEqual(['answer']);
  expect((await tell(server, 'call.answered', { client_state: ours })).status).toBe(204);
  expect(api.commands().toSorted()).toEqual(['answer', 'streaming_start', 'transfer']);
  for (const { path, authorization, body } of api.told) {
    expect(path).toContain(`/v2/calls/${encodeURIComponent(callId)}/actions/`);
    expect(authorization).toBe('Bearer KEY-of-the-tests');
    expect(body['client_state']).toBe(ours);
  }
  expect(api.told.find(({ path }) => path.endsWith('transfer'))?.body['to']).toBe(dial);
  const stream = api.told.find(({ path }) => path.endsWith('streaming_start'))?.body;
  expect(stream?.['stream_track']).toBe('both_tracks');
  await using client = await CarrierClient.open(
    server.url + new URL(stream?.['stream_url'] ?? '').pathname,
  );
  const { streamId } = telnyxPlayer.newIds();
  const dialogue = telnyxPlayer.newDialogue(playedCall({ callId, streamId }));
  client.send(...dialogue.opening(), ...dialogue.closing(0));
  expect((await server.bridge.ended()).start).toMatchObject({ carrierCallId: callId });
  // The events are kept with the call, whatever came of them.
  expect(server.bridge.statuses.length).toBe(2);
});

test('an event that is sent again brings the same commands, which Telnyx carries out once', async () => {
  await using api = await callControlApi();
  await using server = await carrierServer({ config: config(api.url) });
  for (let time = 0; time < 2; time++) await tell(server, 'call.answered', { client_state: ours });
  const ids = (name: string) =>
    api.told.filter(({ path }) => path.endsWith(name)).map(({ body }) => body['command_id']);
  for (const name of ['streaming_start', 'transfer']) {
    const [first, second] = ids(name);
    expect(first).toMatch(/^[0-9a-f]{36}$/);
    expect(second).toBe(first);
  }
  expect(ids('transfer')[0]).not.toBe(ids('streaming_start')[0]);
  expect(server.bridge.tokens.size).toBe(1);
});

test('calls that another program leads, that ring out or that hung up are told nothing', async () => {
  await using api = await callControlApi();
  await using server = await carrierServer({ config: config(api.url) });
  await tell(server, 'call.initiated', { direction: 'outgoing', state: 'bridging' });
  await tell(server, 'call.answered', {});
  await tell(server, 'call.answered', { client_state: 'c29tZWJvZHkgZWxzZQ==' });
  await tell(server, 'call.speak.ended', { client_state: ours, status: 'call_hangup' });
  await tell(server, 'call.hangup', { client_state: ours });
  expect(api.told).toEqual([]);
});

test('the announcement is spoken first, and the call says that it was', async () => {
  await using api = await callControlApi();
  const announced = { ...config(api.url), consentAnnouncement: 'This call is transcribed.' };
  await using server = await carrierServer({ config: announced });
  await tell(server, 'call.answered', { client_state: ours });
  expect(api.told.map(({ body }) => body['payload'])).toEqual(['This call is transcribed.']);
  await tell(server, 'call.speak.ended', { client_state: ours, status: 'completed' });
  expect(api.commands().toSorted()).toEqual(['speak', 'streaming_start', 'transfer']);
  expect([...server.bridge.tokens.values()]).toMatchObject([
    { metadata: { consent: 'announced' } },
  ]);
});

test('a stream that Telnyx refuses leaves the call as it is; a transfer that it refuses is asked for again', async () => {
  await using refusing = await callControlApi((name) => (name === 'streaming_start' ? 500 : 200));
  await using server = await carrierServer({ config: config(refusing.url) });
  const answered = { client_state: ours };
  expect((await tell(server, 'call.answered', answered)).status).toBe(204);
  expect(refusing.commands()).toContain('transfer');
  expect(server.log.join('')).toContain('a call goes on without its stream');
  expect(server.log.join('')).not.toContain('KEY-of-the-tests');
  await using failing = await callControlApi((name) => (name === 'transfer' ? 500 : 200));
  await using other = await carrierServer({ config: config(failing.url) });
  const { status, text } = await tell(other, 'call.answered', answered);
  expect([status, text]).toEqual([502, expect.stringContaining('transfer')]);
  await using locked = await callControlApi(() => 401);
  await using wrong = await carrierServer({ config: config(locked.url) });
  const refused = await tell(wrong, 'call.initiated', incoming);
  expect(refused.text).toContain('check TRUNKLINE_TELNYX_API_KEY');
  await using gone = await carrierServer({ config: config('http://127.0.0.1:1/v2') });
  expect((await tell(gone, 'call.initiated', incoming)).status).toBe(502);
});

test('without a signature or without an API key nothing is told to anybody', async () => {
  await using api = await callControlApi();
  await using server = await carrierServer({ config: config(api.url) });
  expect((await tell(server, 'call.initiated', incoming, { unsigned: true })).status).toBe(401);
  const { telnyxApiKey: _, ...keyless } = config(api.url);
  await using closed = await carrierServer({ config: keyless });
  const { status, text } = await tell(closed, 'call.initiated', incoming);
  expect([status, text]).toEqual([403, expect.stringContaining('TRUNKLINE_TELNYX_API_KEY')]);
  expect(api.told).toEqual([]);
});
