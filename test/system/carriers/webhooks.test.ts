import { verifySignature } from '@vonage/jwt';
import twilioPackage from 'twilio';
import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  CarrierClient,
  twilioConnected,
  twilioStart,
  twilioStop,
} from '../../support/carriers/carrier-client.ts';
import { webhooksTotal } from '../../../src/carriers/metrics.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { until } from '../../support/process/until.ts';
import { carrierServer, type CarrierServer } from '../../support/carriers/carrier-server.ts';

type TwilioXml = InstanceType<typeof twilioPackage.twiml.VoiceResponse>;

const token = 'twilio-secret-of-the-tests';
const call = {
  CallSid: 'CA77d0c1b2a3f44e5d8c9b0a1f2e3d4c5b',
  From: '+15550100123',
  To: '+15550100200',
  Direction: 'inbound',
};

async function post(
  server: CarrierServer,
  path: string,
  fields: Record<string, string>,
  options: { signature?: string; publicUrl?: string } = {},
): Promise<{ status: number; text: string }> {
  const url = `http://127.0.0.1:${server.port}${path}`;
  const signature =
    options.signature ??
    twilioPackage.getExpectedTwilioSignature(
      token,
      `${options.publicUrl ?? `http://127.0.0.1:${server.port}`}${path}`,
      fields,
    );
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(signature === '' ? {} : { 'x-twilio-signature': signature }),
    },
    body: new URLSearchParams(fields).toString(),
  });
  return { status: response.status, text: await response.text() };
}

describe('the voice webhook of Twilio', () => {
  test('answers TwiML that forks both tracks and then goes on; its token opens this call once', async () => {
    const publicUrl = 'https://bridge.example.net';
    await using server = await carrierServer({
      config: { twilioAuthToken: [token], twilioDial: '+15550100200' },
      publicUrl,
    });
    const { status, text } = await post(server, '/carriers/twilio/voice', call, { publicUrl });
    expect(status).toBe(200);
    expect(text).toContain(
      '<Start><Stream url="wss://bridge.example.net/carriers/twilio" track="both_tracks"',
    );
    expect(text).toContain('statusCallback="https://bridge.example.net/carriers/twilio/status"');
    expect(text).toMatch(/<\/Start><Dial>\+15550100200<\/Dial><\/Response>/);
    const parameters = Object.fromEntries(
      [...text.matchAll(/<Parameter name="([^"]*)" value="([^"]*)"\/>/g)].map(([, name, value]) => [
        name,
        value,
      ]),
    );
    expect(parameters).toMatchObject({
      from: '+15550100123',
      to: '+15550100200',
      direction: 'inbound',
    });
    const open = async (callSid: string): Promise<CarrierClient> => {
      const client = await CarrierClient.open(`${server.url}/carriers/twilio`);
      client.send(
        twilioConnected,
        twilioStart({ callSid, customParameters: parameters }),
        twilioStop,
      );
      return client;
    };
    await using other = await open('CA-another-call');
    expect(await other.untilClosed()).toEqual({ code: 1008, reason: 'stream token other-call' });
    await using _ours = await open(call.CallSid);
    expect((await server.bridge.ended()).start).toMatchObject({
      carrierCallId: call.CallSid,
      from: '+15550100123',
      direction: 'inbound',
      parameters: {},
    });
    await using again = await open(call.CallSid);
    expect(await again.untilClosed()).toEqual({ code: 1008, reason: 'stream token used' });
  });

  test.each([
    [{}, (xml: TwilioXml): void => void xml.pause({ length: 14_400 })],
    [{ twilioDial: '+15550100200' }, (xml: TwilioXml): void => void xml.dial('+15550100200')],
    [{ twilioDial: 'sip:queue@pbx.example' }, (xml: TwilioXml): void => void xml.dial().sip('sip:queue@pbx.example')],
    [
      { twilioContinueUrl: 'https://crm.example/next?a=1&b=2' },
      (xml: TwilioXml): void => void xml.redirect({ method: 'POST' }, 'https://crm.example/next?a=1&b=2'),
    ],
    [
      { twilioDial: '+15550100200', consentAnnouncement: 'This call is <transcribed> & analysed.' },
      (xml: TwilioXml): void => void xml.dial('+15550100200'),
    ],
  ])('is the TwiML that the vendor’s library writes, and what follows is configured: %j', async (config, add) => {
    const publicUrl = 'https://bridge.example.net';
    await using server = await carrierServer({ config: { twilioAuthToken: [token], ...config }, publicUrl });
    const { text } = await post(server, '/carriers/twilio/voice', call, { publicUrl });
    const xml = new twilioPackage.twiml.VoiceResponse();
    if ('consentAnnouncement' in config) xml.say(config.consentAnnouncement);
    const stream = xml.start().stream({
      url: 'wss://bridge.example.net/carriers/twilio',
      track: 'both_tracks',
      statusCallback: 'https://bridge.example.net/carriers/twilio/status',
      statusCallbackMethod: 'POST',
    });
    const minted = [...server.bridge.tokens.keys()][0] ?? '';
    const { From: from, To: to, Direction: direction } = call;
    for (const [name, value] of Object.entries({ from, to, direction, token: minted }))
      stream.parameter({ name, value });
    add(xml);
    const head = /^<\?xml[^>]*\?>\s*/;
    expect(text.trim().replace(head, '')).toBe(xml.toString().replace(head, ''));
  }); // prettier-ignore

  test('if the store gives no token the call goes on as it would without us', async () => {
    const config = { twilioAuthToken: [token], twilioDial: '+15550100200' };
    await using server = await carrierServer({
      config: { ...config, consentAnnouncement: 'This call is transcribed.' },
    });
    server.bridge.mintToken = () => Promise.reject(new Error('the disk is full'));
    const { status, text } = await post(server, '/carriers/twilio/voice', call);
    const alone = new twilioPackage.twiml.VoiceResponse();
    alone.dial('+15550100200');
    const head = /^<\?xml[^>]*\?>\s*/;
    expect([status, text.trim().replace(head, '')]).toEqual([
      200,
      alone.toString().replace(head, ''),
    ]);
    expect(server.log.join('')).toContain('a call goes on without its stream');
  });

  test('a number that is markup stays text', async () => {
    await using server = await carrierServer({ config: { twilioAuthToken: [token] } });
    const { text } = await post(server, '/carriers/twilio/voice', {
      ...call,
      From: '"/><Dial>+1900</Dial>&\'<',
    });
    expect(text).not.toContain('<Dial>');
    expect(text).toContain('value="&quot;/&gt;&lt;Dial&gt;+1900&lt;/Dial&gt;&amp;&apos;&lt;"');
  });

  test('the same signed request gets the same answer however it is spelt, and another request another', async () => {
    await using server = await carrierServer({ config: { twilioAuthToken: [token, 'the-next'] } });
    const ask = { ...call, CallStatus: 'ringing' };
    const first = await post(server, '/carriers/twilio/voice', ask);
    expect(first.status).toBe(200);
    expect(await post(server, '/carriers/twilio/voice', ask)).toEqual(first);
    const reordered = Object.fromEntries(Object.entries(ask).reverse());
    expect(await post(server, '/carriers/twilio/voice', reordered)).toEqual(first);
    const url = `http://127.0.0.1:${server.port}/carriers/twilio/voice`;
    const signature = twilioPackage.getExpectedTwilioSignature(token, url, ask);
    // Other base64 of the same bytes.
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
    const last = letters.indexOf(signature.at(-2)!);
    const respelt = `${signature.slice(0, -2)}${letters[last ^ 1]!}=`;
    expect(await post(server, '/carriers/twilio/voice', ask, { signature: respelt })).toEqual(
      first,
    );
    // Names and values are signed without a border between them.
    const { CallSid, CallStatus, ...rest } = ask;
    const shifted = { ...rest, CallSid: `${CallSid}CallStatus${CallStatus}` };
    await post(server, '/carriers/twilio/voice', shifted, { signature });
    expect(server.bridge.tokens.size).toBe(1);
    const later = await post(server, '/carriers/twilio/voice', { ...ask, CallStatus: 'busy' });
    expect(later.status).toBe(200);
    expect(later.text).not.toBe(first.text);
    expect(server.bridge.tokens.size).toBe(2);
  });

  test('unsigned, wrongly signed and changed requests are refused, and no token is minted', async () => {
    await using server = await carrierServer({ config: { twilioAuthToken: [token] } });
    expect((await post(server, '/carriers/twilio/voice', call, { signature: '' })).status).toBe(
      401,
    );
    expect(
      (
        await post(server, '/carriers/twilio/voice', call, {
          signature: 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=',
        })
      ).status,
    ).toBe(403);
    const signature = twilioPackage.getExpectedTwilioSignature(
      token,
      `http://127.0.0.1:${server.port}/carriers/twilio/voice`,
      call,
    );
    expect(
      (
        await post(
          server,
          '/carriers/twilio/voice',
          { ...call, CallSid: 'CA-another-call' },
          { signature },
        )
      ).status,
    ).toBe(403);
    expect((await post(server, '/carriers/twilio/status', call, { signature })).status).toBe(403);
    await using closed = await carrierServer();
    expect((await post(closed, '/carriers/twilio/voice', call)).status).toBe(403);
    expect(server.bridge.tokens.size + closed.bridge.tokens.size).toBe(0);
  });

  test('a refusal is logged, once for each reason, and counted', async () => {
    const clock = new TestClock(1);
    await using server = await carrierServer({ config: { twilioAuthToken: [token] }, clock });
    const counted = async (webhook: string, outcome: string): Promise<number> =>
      (await webhooksTotal.get()).values.find(
        ({ labels }) =>
          labels.carrier === 'twilio' && labels.webhook === webhook && labels.outcome === outcome,
      )?.value ?? 0;
    const wrong = { signature: 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' };
    const before = await Promise.all([
      counted('voice', '403'),
      counted('status', '403'),
      counted('voice', '401'),
      counted('voice', 'answered'),
    ]);
    const secretQuery = '/carriers/twilio/voice?key=a-secret-of-the-address';
    for (let time = 0; time < 50; time++) await post(server, secretQuery, call, wrong);
    await post(server, '/carriers/twilio/status', call, wrong);
    await post(server, '/carriers/twilio/voice', call, { signature: '' });
    await post(server, '/carriers/twilio/voice', call);
    const lines = (): Record<string, unknown>[] =>
      server.log
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ msg }) => String(msg).startsWith('carrier webhook refused'));
    const mismatch =
      'X-Twilio-Signature does not match: check TRUNKLINE_TWILIO_AUTH_TOKEN and TRUNKLINE_PUBLIC_URL';
    const msg = 'carrier webhook refused';
    const of = { carrier: 'twilio', webhook: 'voice' };
    expect(lines()).toMatchObject([
      { msg, ...of, status: 403, reason: mismatch },
      { msg, ...of, webhook: 'status', status: 403, reason: mismatch },
      { msg, ...of, status: 401, reason: 'X-Twilio-Signature is missing' },
    ]);
    expect(
      await Promise.all([
        counted('voice', '403'),
        counted('status', '403'),
        counted('voice', '401'),
        counted('voice', 'answered'),
      ]),
    ).toEqual([50, 1, 1, 1].map((more, at) => (before[at] ?? 0) + more));
    await clock.pass(11_000);
    await until(() => lines().length === 4);
    expect(lines()[3]).toMatchObject({ msg: `${msg}, again`, ...of, reason: mismatch, count: 49 });
    const log = server.log.join('');
    for (const secret of [token, 'a-secret-of-the-address', call.From, call.CallSid, 'AAAAAAAA'])
      expect(log).not.toContain(secret);
  });

  test('a request without a call, and a body that is no form, are named', async () => {
    await using server = await carrierServer({ config: { twilioAuthToken: [token] } });
    expect((await post(server, '/carriers/twilio/voice', { From: '+15550100123' })).status).toBe(
      400,
    );
    const json = await fetch(`http://127.0.0.1:${server.port}/carriers/twilio/voice`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-twilio-signature': 'x' },
      body: '{}',
    });
    expect(json.status).toBe(415);
    const huge = await fetch(`http://127.0.0.1:${server.port}/carriers/twilio/voice`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `a=${'x'.repeat(100_000)}`,
    });
    expect(huge.status).toBe(413);
  });
});

describe('status callbacks', () => {
  test('Twilio: kept with the call, as often as they come', async () => {
    await using server = await carrierServer({ config: { twilioAuthToken: [token] } });
    const status = {
      AccountSid: 'AC1',
      CallSid: call.CallSid,
      StreamSid: 'MZ1',
      StreamEvent: 'stream-error',
      StreamError: 'lost',
      Timestamp: '2026-03-04T10:11:12Z',
    };
    for (let time = 0; time < 2; time++)
      expect((await post(server, '/carriers/twilio/status', status)).status).toBe(204);
    expect(server.bridge.statuses).toEqual([
      { carrier: 'twilio', callId: call.CallSid, status },
      { carrier: 'twilio', callId: call.CallSid, status },
    ]);
  });

  test('Plivo: signed with a nonce that is good once', async () => {
    await using server = await carrierServer({
      config: { plivoAuthToken: ['plivo-secret-of-the-tests'] },
    });
    const fields = { CallUUID: '2f6c1d70', StreamID: 'c3d2e1f0', Event: 'stopped' };
    const url = `http://127.0.0.1:${server.port}/carriers/plivo/status`;
    const sorted = Object.entries(fields)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => name + value)
      .join('');
    const signature = createHmac('sha256', 'plivo-secret-of-the-tests')
      .update(`${url}?${sorted}.nonce-1`)
      .digest('base64');
    const send = (): Promise<Response> =>
      fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'x-plivo-signature-v3': signature,
          'x-plivo-signature-v3-nonce': 'nonce-1',
        },
        body: new URLSearchParams(fields).toString(),
      });
    expect((await send()).status).toBe(204);
    expect((await send()).status).toBe(403);
    expect(server.bridge.statuses).toEqual([
      { carrier: 'plivo', callId: '2f6c1d70', status: fields },
    ]);
  });

  test('SignalWire: Twilio’s scheme under its own name and key', async () => {
    const key = 'PSK_signalwire_of_the_tests';
    await using server = await carrierServer({ config: { signalwireSigningKey: [key] } });
    const fields = {
      CallSid: '6d5c4b3a-2918',
      StreamSid: '3a0e7c52',
      StreamEvent: 'stream-stopped',
    };
    const url = `http://127.0.0.1:${server.port}/carriers/signalwire/status`;
    const send = async (header: string, signature: string): Promise<number> => {
      const body = new URLSearchParams(fields).toString();
      const type = { 'content-type': 'application/x-www-form-urlencoded' };
      const answer = await fetch(url, {
        method: 'POST',
        headers: { ...type, [header]: signature },
        body,
      });
      return answer.status;
    };
    const signature = twilioPackage.getExpectedTwilioSignature(key, url, fields);
    expect(await send('x-signalwire-signature', signature)).toBe(204);
    expect(await send('x-twilio-signature', signature)).toBe(401);
    const other = twilioPackage.getExpectedTwilioSignature('another-key', url, fields);
    expect(await send('x-signalwire-signature', other)).toBe(403);
    expect(server.bridge.statuses).toEqual([
      { carrier: 'signalwire', callId: '6d5c4b3a-2918', status: fields },
    ]);
  });

  test('Vonage: a JWT whose payload_hash is that of the body, good once', async () => {
    const secret = 'vonage-secret-of-the-tests';
    const config = { vonageSignatureSecret: [secret], vonageApiKey: 'abcd1234' };
    await using server = await carrierServer({ config });
    const url = `http://127.0.0.1:${server.port}/carriers/vonage/status`;
    const event = {
      uuid: '63f61863-4a51-4f6b-86e1-46edebcf9356',
      status: 'completed',
      direction: 'inbound',
      from: '15550100123',
      to: '15550100999',
      duration: '61',
      detail: { constructor: 'x' },
    };
    const body = JSON.stringify(event);
    const part = (value: object): string =>
      Buffer.from(JSON.stringify(value)).toString('base64url');
    const jwt = (jti: string, own: object = {}, key = secret): string => {
      const claims = {
        iss: 'Vonage',
        iat: Math.floor(Date.now() / 1_000),
        jti,
        api_key: 'abcd1234',
        payload_hash: createHash('sha256').update(body).digest('hex'),
        ...own,
      };
      const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
      return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
    };
    const send = async (token: string, sent = body): Promise<number> => {
      const headers = {
        'content-type': 'application/json',
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      };
      return (await fetch(url, { method: 'POST', headers, body: sent })).status;
    };
    const token = jwt('1');
    // The vendor's own library takes what we take.
    expect(verifySignature(token, secret)).toBe(true);
    expect(await send(token)).toBe(204);
    expect(await send(token)).toBe(403);
    expect(await send('')).toBe(401);
    expect(await send(jwt('2', {}, 'another-secret-of-theirs'))).toBe(403);
    expect(await send(jwt('3'), `${body} `)).toBe(403);
    expect(await send(jwt('4', { payload_hash: undefined }))).toBe(403);
    expect(await send(jwt('5', { payload_hash: ['x'] }))).toBe(403);
    expect(await send(jwt('6', { iat: 1 }))).toBe(403);
    expect(await send('no-jwt')).toBe(403);
    const { detail: _nested, ...flat } = event;
    expect(server.bridge.statuses).toEqual([
      { carrier: 'vonage', callId: event.uuid, status: flat },
    ]);
    await using closed = await carrierServer();
    const there = `http://127.0.0.1:${closed.port}/carriers/vonage/status`;
    const headers = { authorization: `Bearer ${jwt('7')}` };
    expect((await fetch(there, { method: 'POST', headers, body })).status).toBe(403);
  });

  test('Telnyx: signed with Ed25519 over the bytes as they came, JSON and TeXML forms alike', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
    await using server = await carrierServer({
      config: { telnyxPublicKey: raw.toString('base64') },
    });
    const url = `http://127.0.0.1:${server.port}/carriers/telnyx/status`;
    const send = async (
      body: string,
      more: { type?: string; atMs?: number; signed?: string; headers?: object } = {},
    ): Promise<number> => {
      const timestamp = String(Math.floor((more.atMs ?? Date.now()) / 1_000));
      const message = Buffer.from(`${timestamp}|${more.signed ?? body}`);
      const answer = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': more.type ?? 'application/json',
          'telnyx-timestamp': timestamp,
          'telnyx-signature-ed25519': sign(null, message, privateKey).toString('base64'),
          ...more.headers,
        },
        body,
      });
      return answer.status;
    };
    const payload = { call_control_id: 'v3:Qm9n', stream_id: '5f0c2b1e', failure: null };
    const event = JSON.stringify({
      data: { event_type: 'streaming.stopped', occurred_at: '2026-03-04T10:11:12Z', payload },
    });
    expect(await send(event)).toBe(204);
    const form = 'CallSid=v3%3AQm9n&StreamEvent=stream-stopped';
    expect(await send(form, { type: 'application/x-www-form-urlencoded' })).toBe(204);
    expect(server.bridge.statuses).toEqual([
      {
        carrier: 'telnyx',
        callId: 'v3:Qm9n',
        status: {
          call_control_id: 'v3:Qm9n',
          stream_id: '5f0c2b1e',
          event_type: 'streaming.stopped',
          occurred_at: '2026-03-04T10:11:12Z',
        },
      },
      {
        carrier: 'telnyx',
        callId: 'v3:Qm9n',
        status: { CallSid: 'v3:Qm9n', StreamEvent: 'stream-stopped' },
      },
    ]);
    expect(await send(event, { signed: `${event} ` })).toBe(403);
    for (const signature of ['', 'x', 'A'.repeat(88), `${'A'.repeat(86)}==`])
      expect(await send(event, { headers: { 'telnyx-signature-ed25519': signature } })).toBe(403);
    expect(await send('{"data":1}')).toBe(400);
    expect((await fetch(url, { method: 'POST', body: event })).status).toBe(401);
    await using closed = await carrierServer();
    const there = `http://127.0.0.1:${closed.port}/carriers/telnyx/status`;
    const headers = { 'telnyx-signature-ed25519': 'x', 'telnyx-timestamp': '1' };
    expect((await fetch(there, { method: 'POST', headers, body: event })).status).toBe(403);
    expect(server.bridge.statuses).toHaveLength(2);
  });
});
