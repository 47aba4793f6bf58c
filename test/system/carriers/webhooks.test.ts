import twilioPackage from 'twilio';
import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  CarrierClient,
  twilioConnected,
  twilioStart,
  twilioStop,
} from '../../support/carrier-client.ts';
import { carrierServer, type CarrierServer } from '../../support/carrier-server.ts';

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
  test('F90 answers TwiML that forks both tracks and then goes on; its token opens this call once', async () => {
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
    [{}, '<Pause length="14400"/>'],
    [
      { twilioContinueUrl: 'https://crm.example/next?a=1&b=2' },
      '<Redirect method="POST">https://crm.example/next?a=1&amp;b=2</Redirect>',
    ],
    [{ twilioDial: 'sip:queue@pbx.example' }, '<Dial><Sip>sip:queue@pbx.example</Sip></Dial>'],
  ])('what follows comes from the configuration: %j', async (config, verb) => {
    await using server = await carrierServer({ config: { twilioAuthToken: [token], ...config } });
    const { text } = await post(server, '/carriers/twilio/voice', call);
    expect(text).toContain(`</Start>${verb}</Response>`);
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

  test('T2 T3 unsigned, wrongly signed and changed requests are refused, and no token is minted', async () => {
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
  test('F15 Twilio: kept with the call, as often as they come', async () => {
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

  test('T3 Plivo: signed with a nonce that is good once', async () => {
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
});
