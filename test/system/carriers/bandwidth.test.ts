import { Bxml } from 'bandwidth-sdk';
import { describe, expect, test } from 'vitest';
import { bandwidthPlayer } from '../../../src/carriers/bandwidth/player.ts';
import { CarrierClient } from '../../support/carriers/carrier-client.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { carrierServer, type CarrierServer } from '../../support/carriers/carrier-server.ts';

const secrets = { bandwidthUsername: 'bandwidth', bandwidthPassword: 'bandwidth-secret' };
const publicUrl = 'https://bridge.example.net';
const incoming = {
  eventType: 'initiate',
  eventTime: '2026-03-04T10:13:12.000Z',
  accountId: '9900001',
  applicationId: '04e88489-df02-4e34-a0ee-27a91849555f',
  callId: 'c-15ac29a2-0c0ffee0-1111-4222-8333-444455556666',
  from: '+15550100123',
  to: '+15550100200',
  direction: 'inbound',
};
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
const right = basic('bandwidth:bandwidth-secret');

async function post(
  server: CarrierServer,
  action: string,
  event: unknown,
  authorization = right,
): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${server.port}/carriers/bandwidth/${action}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(authorization === '' ? {} : { authorization }),
    },
    body: typeof event === 'string' ? event : JSON.stringify(event),
  });
  return { status: response.status, text: await response.text() };
}

const paramsOf = (xml: string): Record<string, string> =>
  Object.fromEntries(
    [...xml.matchAll(/<StreamParam name="([^"]*)" value="([^"]*)"\/>/g)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  );

describe('the voice answer of Bandwidth', () => {
  test.each([
    [
      { bandwidthDial: '+15550100300' },
      new Bxml.Transfer({}, [new Bxml.PhoneNumber('+15550100300')]),
    ],
    [
      { bandwidthDial: 'sip:queue@pbx.example' },
      new Bxml.Transfer({}, [new Bxml.SipUri('sip:queue@pbx.example')]),
    ],
    [
      { bandwidthContinueUrl: 'https://crm.example/next?a=1&b=2' },
      new Bxml.Redirect({
        redirectUrl: 'https://crm.example/next?a=1&b=2',
        redirectMethod: 'POST',
      }),
    ],
    [{}, new Bxml.Pause({ duration: 14_400 })],
  ])('is the BXML that the vendor’s library writes: %j', async (config, verb) => {
    await using server = await carrierServer({ config: { ...secrets, ...config }, publicUrl });
    const { status, text } = await post(server, 'voice', incoming);
    expect(status).toBe(200);
    const stream = new Bxml.StartStream(
      {
        name: 'trunkline',
        mode: 'unidirectional',
        tracks: 'both',
        destination: 'wss://bridge.example.net/carriers/bandwidth',
        destinationUsername: 'bandwidth',
        destinationPassword: 'bandwidth-secret',
        streamEventUrl: 'https://bridge.example.net/carriers/bandwidth/status',
        streamEventMethod: 'POST',
        username: 'bandwidth',
        password: 'bandwidth-secret',
      },
      Object.entries({
        from: '+15550100123',
        to: '+15550100200',
        direction: 'inbound',
        token: paramsOf(text)['token'] ?? '',
      }).map(([name, value]) => new Bxml.StreamParam({ name, value })),
    );
    const head = /^<\?xml[^>]*\?>\s*/;
    expect(text.trim().replace(head, '')).toBe(
      new Bxml.Response([stream, verb]).toBxml().trim().replace(head, ''),
    );
  });

  test('its token opens the stream of this call once, and the same event brings the same answer', async () => {
    await using server = await carrierServer({ config: secrets });
    const { text } = await post(server, 'voice', incoming);
    expect(await post(server, 'voice', incoming)).toEqual({ status: 200, text });
    expect(server.bridge.tokens.size).toBe(1);
    const parameters = paramsOf(text);
    const open = async (callId: string, streamId: string): Promise<CarrierClient> => {
      const client = await CarrierClient.open(`${server.url}/carriers/bandwidth`);
      const dialogue = bandwidthPlayer.newDialogue(playedCall({ callId, streamId, parameters }));
      client.send(...dialogue.opening(), ...dialogue.closing(0));
      return client;
    };
    await using other = await open('c-another', 's-1');
    expect(await other.untilClosed()).toEqual({ code: 1008, reason: 'stream token other-call' });
    await using _ours = await open(incoming.callId, 's-2');
    expect((await server.bridge.ended()).start).toMatchObject({
      carrier: 'bandwidth',
      carrierCallId: incoming.callId,
      from: '+15550100123',
      to: '+15550100200',
      direction: 'inbound',
      parameters: {},
    });
    await using again = await open(incoming.callId, 's-3');
    expect(await again.untilClosed()).toEqual({ code: 1008, reason: 'stream token used' });
    expect((await post(server, 'voice', { ...incoming, callId: 'c-2' })).text).not.toBe(text);
  });

  test('the announcement is said before the stream, and the call says how the consent was had', async () => {
    await using server = await carrierServer({
      config: { ...secrets, consentAnnouncement: 'This call is transcribed.' },
    });
    const { text } = await post(server, 'voice', incoming);
    const said = new Bxml.SpeakSentence('This call is transcribed.').toBxml();
    expect(text).toContain(`<Response>${said.replace(/^<\?xml[^>]*\?>\s*/, '')}<StartStream`);
    expect([...server.bridge.tokens.values()]).toMatchObject([
      { metadata: { consent: 'announced' } },
    ]);
  });

  test('if the store gives no token the call goes on as it would without us', async () => {
    const config = {
      ...secrets,
      bandwidthDial: '+15550100300',
      consentAnnouncement: 'Transcribed.',
    };
    await using server = await carrierServer({ config });
    server.bridge.mintToken = () => Promise.reject(new Error('the disk is full'));
    const { status, text } = await post(server, 'voice', incoming);
    const alone = new Bxml.Response([
      new Bxml.Transfer({}, [new Bxml.PhoneNumber('+15550100300')]),
    ]);
    const head = /^<\?xml[^>]*\?>\s*/;
    expect([status, text.trim().replace(head, '')]).toEqual([
      200,
      alone.toBxml().trim().replace(head, ''),
    ]);
  });

  test('a number that is markup stays text', async () => {
    await using server = await carrierServer({ config: secrets });
    const { text } = await post(server, 'voice', { ...incoming, from: '"/><Hangup/>&\'<' });
    expect(text).not.toContain('<Hangup');
    expect(text).toContain('value="&quot;/&gt;&lt;Hangup/&gt;&amp;&apos;&lt;"');
  });

  test.each([
    ['no credentials', incoming, '', 401],
    ['a wrong password', incoming, basic('bandwidth:not-the-secret'), 403],
    ['a wrong user', incoming, basic('somebody:bandwidth-secret'), 403],
    ['the password and more', incoming, basic('bandwidth:bandwidth-secret2'), 403],
    ['a bearer token', incoming, 'Bearer bandwidth-secret', 403],
    ['no JSON', '{"callId":', right, 400],
    ['a list', [incoming], right, 400],
    ['no call id', { ...incoming, callId: undefined }, right, 400],
    ['a call id that is no text', { ...incoming, callId: { $ne: 1 } }, right, 400],
    ['a body of 40,000 bytes', { ...incoming, tag: 'x'.repeat(40_000) }, right, 413],
  ])('%s is refused, and no token is minted', async (_what, event, authorization, status) => {
    await using server = await carrierServer({ config: secrets });
    for (const action of ['voice', 'status']) {
      const answer = await post(server, action, event, authorization);
      expect(answer.status, action).toBe(status);
      expect(answer.text).not.toContain('bandwidth-secret');
    }
    expect(server.bridge.tokens.size).toBe(0);
    expect(server.bridge.statuses).toEqual([]);
  });

  test('a request without credentials is told none, in the insecure mode either', async () => {
    await using server = await carrierServer({ config: secrets, insecure: true });
    const { status, text } = await post(server, 'voice', incoming, '');
    expect(status).toBe(200);
    expect(text).toContain('<StartStream');
    expect(text).not.toContain('bandwidth-secret');
  });
});

test('status callbacks of calls and of streams are kept with their call', async () => {
  await using server = await carrierServer({ config: secrets });
  const stopped = {
    ...incoming,
    eventType: 'mediaStreamStopped',
    mediaStream: { id: 's-1', name: 'trunkline', constructor: 'x' },
    cause: 'connection-error',
    errorMessage: 'the socket broke',
    tracks: [{ name: 'inbound' }],
  };
  expect((await post(server, 'status', stopped)).status).toBe(204);
  expect((await post(server, 'status', { ...incoming, eventType: 'disconnect' })).status).toBe(204);
  expect(server.bridge.statuses).toMatchObject([
    {
      carrier: 'bandwidth',
      callId: incoming.callId,
      status: {
        eventType: 'mediaStreamStopped',
        'mediaStream.id': 's-1',
        cause: 'connection-error',
        from: '+15550100123',
      },
    },
    { carrier: 'bandwidth', callId: incoming.callId, status: { eventType: 'disconnect' } },
  ]);
});
