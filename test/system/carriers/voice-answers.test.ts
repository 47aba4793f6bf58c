import { validateApp } from '@jambonz/schema';
import { Connect, Notify } from '@vonage/voice';
import { Response as PlivoResponse } from 'plivo';
import { createHash, createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import twilioPackage from 'twilio';
import { describe, expect, test } from 'vitest';
import type { PlayedCall } from '../../../src/player/dialogue.ts';
import { carrierNamed } from '../../../src/carriers/all.ts';
import { CarrierClient } from '../../support/carriers/carrier-client.ts';
import { eventSignature } from '../../../src/carriers/vonage/voice.ts';
import { carrierServer, type CarrierServer } from '../../support/carriers/carrier-server.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

// Bandwidth's answer has a test of its own, Twilio's stands in `webhooks.test.ts`.

const publicUrl = 'https://bridge.example.net';
const from = '+15550100123';
const to = '+15550100200';
const keys: { publicKey: KeyObject; privateKey: KeyObject } = generateKeyPairSync('ed25519');
const rawKey = keys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
const right = basic('trunkline:a-secret-of-the-tests');

type Asked = {
  method?: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: string;
};

type Company = {
  carrier: string;
  config: Record<string, unknown>;
  /** A request as the company makes it, about this call. */
  ask: (callId: string, own?: { from?: string; as?: 'wrong' | 'nobody' }) => Asked;
  /** The field that names the call. A request without it is refused. */
  without: () => Asked;
  /** The stream token, and where the stream is opened. */
  streamOf: (text: string) => { address: string; parameters: Record<string, string> };
  rateHz?: number;
  encoding?: PlayedCall['encoding'];
};

const form = (fields: Record<string, string>): string => new URLSearchParams(fields).toString();
const formType = { 'content-type': 'application/x-www-form-urlencoded' };
const jsonType = { 'content-type': 'application/json' };
const unescaped = (text: string): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

const signalwireKey = 'PSK_signalwire_of_the_tests';
const signalwire: Company = {
  carrier: 'signalwire',
  config: { signalwireSigningKey: ['PSK_the_next_one', signalwireKey], signalwireDial: to },
  ask(CallSid, { from: From = from, as } = {}) {
    const path = '/carriers/signalwire/voice';
    const fields: Record<string, string> = { CallSid, From, To: to, Direction: 'inbound' };
    if (CallSid === '') delete fields['CallSid'];
    const signature = twilioPackage.getExpectedTwilioSignature(
      as === 'wrong' ? 'another-key' : signalwireKey,
      publicUrl + path,
      fields,
    );
    return {
      path,
      headers: { ...formType, ...(as === 'nobody' ? {} : { 'x-signalwire-signature': signature }) },
      body: form(fields),
    };
  },
  without: () => signalwire.ask(''),
  streamOf(text) {
    const parameters = Object.fromEntries(
      [...text.matchAll(/<Parameter name="([^"]*)" value="([^"]*)"\/>/g)].map(
        ([, name = '', value = '']) => [name, unescaped(value)],
      ),
    );
    return { address: /url="([^"]*)"/.exec(text)?.[1] ?? '', parameters };
  },
};

const telnyx: Company = {
  carrier: 'telnyx',
  config: { telnyxPublicKey: rawKey.toString('base64'), telnyxDial: to },
  ask(CallSid, { from: From = from, as } = {}) {
    const fields: Record<string, string> = { CallSid, From, To: to, Direction: 'inbound' };
    if (CallSid === '') delete fields['CallSid'];
    const body = form(fields);
    const timestamp = String(Math.floor(Date.now() / 100_000) * 100);
    const signature = sign(
      null,
      Buffer.from(`${timestamp}|${body}${as === 'wrong' ? ' ' : ''}`),
      keys.privateKey,
    ).toString('base64');
    return {
      path: '/carriers/telnyx/voice',
      headers: {
        ...formType,
        'telnyx-timestamp': timestamp,
        ...(as === 'nobody' ? {} : { 'telnyx-signature-ed25519': signature }),
      },
      body,
    };
  },
  without: () => telnyx.ask(''),
  streamOf: (text) => ({ address: /url="([^"]*)"/.exec(text)?.[1] ?? '', parameters: {} }),
};

const plivo: Company = {
  carrier: 'plivo',
  config: { plivoAuthToken: ['the-next-auth-token', 'plivo-secret-of-the-tests'], plivoDial: to },
  ask(CallUUID, { from: From = from, as } = {}) {
    const path = '/carriers/plivo/voice';
    const fields: Record<string, string> = { CallUUID, From, To: to, Direction: 'inbound' };
    if (CallUUID === '') delete fields['CallUUID'];
    const nonce = createHash('sha256').update(JSON.stringify(fields)).digest('hex').slice(0, 20);
    const sorted = Object.keys(fields)
      .sort()
      .map((name) => name + (fields[name] ?? ''))
      .join('');
    const authToken = as === 'wrong' ? 'another-auth-token' : 'plivo-secret-of-the-tests';
    const signature = createHmac('sha256', authToken)
      .update(`${publicUrl}${path}?${sorted}.${nonce}`)
      .digest('base64');
    return {
      path,
      headers: {
        ...formType,
        'x-plivo-signature-v3-nonce': nonce,
        ...(as === 'nobody' ? {} : { 'x-plivo-signature-v3': signature }),
      },
      body: form(fields),
    };
  },
  without: () => plivo.ask(''),
  streamOf: (text) => ({ address: />(wss:[^<]*)<\/Stream>/.exec(text)?.[1] ?? '', parameters: {} }),
};

const jambonz: Company = {
  carrier: 'jambonz',
  config: {
    jambonzUsername: 'trunkline',
    jambonzPassword: 'a-secret-of-the-tests',
    jambonzDial: to,
  },
  ask(call_sid, { from: caller = from, as } = {}) {
    const about = { call_sid, direction: 'inbound', from: caller, to, sip_status: 100 };
    return {
      path: '/carriers/jambonz/voice',
      headers: { ...jsonType, ...proof(as) },
      body: JSON.stringify(call_sid === '' ? { ...about, call_sid: undefined } : about),
    };
  },
  without: () => jambonz.ask(''),
  streamOf(text) {
    const [{ listen }] = JSON.parse(text) as [
      { listen: { url: string; metadata: Record<string, string> } },
    ];
    return { address: listen.url, parameters: listen.metadata };
  },
  rateHz: 16_000,
  encoding: 'slin',
};

const exotel: Company = {
  carrier: 'exotel',
  config: { exotelUsername: 'trunkline', exotelPassword: 'a-secret-of-the-tests' },
  ask(CallSid, { from: CallFrom = from, as } = {}) {
    const asked = { ...(CallSid === '' ? {} : { CallSid }), CallFrom, CallTo: to };
    return {
      method: 'GET',
      path: `/carriers/exotel/voice?${form({ ...asked, Direction: 'incoming' })}`,
      headers: proof(as),
    };
  },
  without: () => exotel.ask(''),
  streamOf: (text) => ({ address: (JSON.parse(text) as { url: string }).url, parameters: {} }),
  rateHz: 16_000,
  encoding: 'slin',
};

const vonageSecret = 'vonage-secret-of-the-tests';

/** The proof that Vonage sends with a webhook: equal for equal bodies, as when it sends one again. */
function vonageProof(body: string, secret: string): string {
  const claims = {
    iss: 'Vonage',
    api_key: 'vonage-key',
    iat: Math.floor(Date.now() / 100_000) * 100,
    jti: createHash('md5').update(body).digest('hex'),
    payload_hash: createHash('sha256').update(body).digest('hex'),
  };
  const [head, payload] = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = createHmac('sha256', secret).update(`${head}.${payload}`).digest('base64url');
  return `Bearer ${head}.${payload}.${signature}`;
}

const vonage: Company = {
  carrier: 'vonage',
  config: {
    vonageSignatureSecret: [vonageSecret],
    vonageApiKey: 'vonage-key',
    vonageDial: to,
  },
  ask(uuid, { from: caller = from, as } = {}) {
    const about = { from: caller, to, uuid, conversation_uuid: 'CON-1' };
    const body = JSON.stringify(uuid === '' ? { ...about, uuid: undefined } : about);
    const authorization = vonageProof(body, as === 'wrong' ? 'another-secret' : vonageSecret);
    return {
      path: '/carriers/vonage/voice',
      headers: { ...jsonType, ...(as === 'nobody' ? {} : { authorization }) },
      body,
    };
  },
  without: () => vonage.ask(''),
  streamOf(text) {
    const actions = JSON.parse(text) as { endpoint?: VonageSocket[] }[];
    const socket = actions.flatMap(({ endpoint = [] }) => endpoint)[0]!;
    // The player names its own call.
    const { callUuid: _, ...parameters } = socket.headers;
    return { address: socket.uri, parameters };
  },
  rateHz: 16_000,
  encoding: 'slin',
};

type VonageSocket = { uri: string; headers: Record<string, string> };

function proof(as: 'wrong' | 'nobody' | undefined): Record<string, string> {
  if (as === 'nobody') return {};
  return { authorization: as === 'wrong' ? basic('trunkline:another-secret') : right };
}

const companies = [signalwire, telnyx, plivo, jambonz, exotel, vonage];
const callId = '6d5c4b3a-2918-4f7e-a6d5-c4b3a2918f7e';

async function asked(
  server: CarrierServer,
  { method = 'POST', path, headers, body }: Asked,
): Promise<{ status: number; type: string; text: string }> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    text: await response.text(),
  };
}

/** The stream that the answer starts, as the company would open it, and at once its end. */
async function streamed(
  server: CarrierServer,
  { carrier, streamOf, rateHz = 8_000, encoding = 'mulaw' }: Company,
  answer: string,
  about = callId,
): Promise<CarrierClient> {
  const { address, parameters } = streamOf(answer);
  const { protocol, pathname, search } = new URL(address);
  expect(protocol).toBe('wss:');
  const { player } = carrierNamed(carrier)!;
  const { streamId } = player.newIds();
  const client = await CarrierClient.open(server.url + pathname + search);
  const dialogue = player.newDialogue(
    playedCall({ callId: about, streamId, encoding, rateHz, parameters }),
  );
  client.send(...dialogue.opening(), ...dialogue.closing(0));
  return client;
}

/** The place where a second stream by the token of an answer is refused: the upgrade, or its first message. */
async function reopened(server: CarrierServer, company: Company, answer: string): Promise<string> {
  try {
    await using client = await streamed(server, company, answer);
    return (await client.untilClosed()).reason;
  } catch (error) {
    return String(error);
  }
}

describe.each(companies)('the voice answer of $carrier', (company) => {
  const { carrier, config, ask } = company;

  test('its token opens the stream of this call once, and the same request brings the same answer', async () => {
    await using server = await carrierServer({ config, publicUrl });
    const answer = await asked(server, ask(callId));
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('wss://bridge.example.net/carriers/');
    expect(await asked(server, ask(callId))).toEqual(answer);
    expect(server.bridge.tokens.size).toBe(1);
    const another = await asked(server, ask('another-call'));
    await using other = await streamed(server, company, another.text, 'a-third-call');
    expect(await other.untilClosed()).toEqual({ code: 1008, reason: 'stream token other-call' });
    await using ours = await streamed(server, company, answer.text);
    await ours.ping();
    await ours.close();
    expect((await server.bridge.ended()).start).toMatchObject({
      carrier,
      carrierCallId: callId,
      from,
      to,
      direction: 'inbound',
    });
    expect(JSON.stringify((await server.bridge.ended()).start)).not.toContain(
      [...server.bridge.tokens.keys()][0],
    );
    expect(await reopened(server, company, answer.text)).toContain('stream token used');
    expect(server.bridge.streams).toHaveLength(1);
  });

  test('no proof, a wrong one, no call and no secret set are refused, and no token is minted', async () => {
    await using server = await carrierServer({ config, publicUrl });
    expect((await asked(server, ask(callId, { as: 'nobody' }))).status).toBe(401);
    const wrong = await asked(server, ask(callId, { as: 'wrong' }));
    expect(wrong.status).toBe(403);
    expect((await asked(server, company.without())).status).toBe(400);
    await using closed = await carrierServer({ publicUrl });
    expect((await asked(closed, ask(callId))).status).toBe(403);
    expect(server.bridge.tokens.size + closed.bridge.tokens.size).toBe(0);
  });

  test('a changed request is refused, however large it is', async () => {
    await using server = await carrierServer({ config, publicUrl });
    const { body, headers, path, method } = ask(callId);
    const statuses = [];
    for (const more of ['&From=%2B1900', `&a=${'x'.repeat(40_000)}`, '\u0000'])
      statuses.push(
        (
          await asked(
            server,
            body === undefined
              ? { method: method ?? 'GET', path: `${path}&CallSid=other`, headers: proof('wrong') }
              : { path, headers, body: body + more },
          )
        ).status,
      );
    for (const status of statuses) expect([400, 403, 413]).toContain(status);
    expect(server.bridge.tokens.size).toBe(0);
  });

  test.each(['fails', 'hangs'])(
    'where the store %s the call goes on as it would without us',
    async (how) => {
      const clock = new TestClock(how === 'hangs' ? 60 : 1);
      await using server = await carrierServer({ config, publicUrl, clock });
      server.bridge.mintToken = () =>
        how === 'fails'
          ? Promise.reject(new Error('the disk is full'))
          : new Promise(() => undefined);
      const { status, text } = await asked(server, ask(callId));
      expect(server.log.join('')).toContain('a call goes on without its stream');
      expect(text).not.toContain('wss:');
      // Its applet asks for nothing but the address of a stream.
      if (carrier === 'exotel') return expect(status).toBe(503);
      expect(status).toBe(200);
      expect(text).toContain(to.slice(1));
      if (carrier === 'jambonz')
        expect(validateApp(JSON.parse(text) as unknown)).toMatchObject({ valid: true });
    },
  );

  test('a number that is markup stays text', async () => {
    await using server = await carrierServer({ config, publicUrl });
    const answer = await asked(server, ask(callId, { from: '"/><Hangup/>;token=x&\'<' }));
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain('<Hangup');
    const { address, parameters } = company.streamOf(answer.text);
    expect(address).not.toContain('Hangup');
    expect(parameters['token'] ?? '').not.toBe('x');
    if (carrier === 'plivo') expect(answer.text).not.toContain('token=x');
  });

  test('a request without proof in the insecure mode gets a token of nobody else', async () => {
    await using server = await carrierServer({ config, publicUrl, insecure: true });
    const first = await asked(server, ask(callId, { as: 'nobody' }));
    expect(first.status).toBe(200);
    expect(first.text).not.toContain('a-secret-of-the-tests');
    expect((await asked(server, ask(callId, { as: 'nobody' }))).text).not.toBe(first.text);
  });
});

describe('what follows the stream comes from the configuration', () => {
  const sip = 'sip:queue@pbx.example';
  const there = 'https://crm.example/next?a=1&b=2';

  test.each([
    ['signalwire', {}, '<Pause length="14400"/>'],
    ['signalwire', { signalwireDial: sip }, `<Dial><Sip>${sip}</Sip></Dial>`],
    ['signalwire', { signalwireContinueUrl: there }, `<Redirect method="POST">${there.replace('&', '&amp;')}</Redirect>`],
    ['telnyx', {}, '<Pause length="14400"/>'],
    ['telnyx', { telnyxDial: to }, `<Dial>${to}</Dial>`],
    ['telnyx', { telnyxContinueUrl: there }, `<Redirect method="POST">${there.replace('&', '&amp;')}</Redirect>`],
  ])('%s: %j', async (name, next, verb) => {
    const company = companies.find(({ carrier }) => carrier === name)!;
    const { signalwireDial: _one, telnyxDial: _other, ...secrets } = company.config;
    await using server = await carrierServer({ config: { ...secrets, ...next }, publicUrl });
    const { text, type } = await asked(server, company.ask(callId));
    expect(type).toContain('text/xml');
    expect(text).toContain(`</Start>${verb}</Response>`);
    // cXML and TeXML are dialects of TwiML: what its library writes of the stream is what they are answered.
    const xml = new twilioPackage.twiml.VoiceResponse();
    const { address } = company.streamOf(text);
    const statusCallback = `${publicUrl}/carriers/${name}/status`;
    const options = { url: address, track: 'both_tracks', statusCallback } as const;
    xml.start().stream({ ...options, statusCallbackMethod: 'POST' });
    const head = /<Stream [^>]*?(?=\/?>)/;
    expect(head.exec(text)?.[0]).toBe(head.exec(xml.toString())?.[0]);
    expect(text).toContain('track="both_tracks"');
    expect(text).toContain(`statusCallback="${publicUrl}/carriers/${name}/status"`);
  }); // prettier-ignore

  test.each([
    [{ plivoDial: to }, (xml: PlivoXml) => xml.addDial().addNumber(to)],
    [{ plivoDial: sip }, (xml: PlivoXml) => xml.addDial().addUser(sip)],
    [{ plivoContinueUrl: there }, (xml: PlivoXml) => xml.addRedirect(there, { method: 'POST' })],
    [{}, (xml: PlivoXml) => xml.addWait({ length: 14_400 })],
  ])('plivo: %j is the XML that the vendor’s library writes', async (next, add) => {
    const { plivoDial: _dial, ...secrets } = plivo.config;
    await using server = await carrierServer({ config: { ...secrets, ...next }, publicUrl });
    const { text } = await asked(server, plivo.ask(callId));
    const xml = PlivoResponse() as unknown as PlivoXml;
    xml.addStream(plivo.streamOf(text).address, {
      bidirectional: false,
      audioTrack: 'both',
      keepCallAlive: false,
      contentType: 'audio/x-mulaw;rate=8000',
      streamTimeout: 86_400,
      statusCallbackUrl: `${publicUrl}/carriers/plivo/status`,
      statusCallbackMethod: 'POST',
      extraHeaders: `from=${from};to=${to};direction=inbound`,
    });
    add(xml);
    expect(text.trim().replace(/^<\?xml[^>]*\?>\s*/, '')).toBe(xml.toXML());
  });

  test.each([
    [{}, { verb: 'pause', length: 14_400 }],
    [{ jambonzDial: to }, { verb: 'dial', target: [{ type: 'phone', number: to }] }],
    [{ jambonzDial: sip }, { verb: 'dial', target: [{ type: 'sip', sipUri: sip }] }],
    [{ jambonzContinueUrl: there }, { verb: 'redirect', actionHook: there }],
  ])('jambonz: %j is an application that its own schema takes', async (next, verb) => {
    const { jambonzDial: _dial, ...secrets } = jambonz.config;
    await using server = await carrierServer({ config: { ...secrets, ...next }, publicUrl });
    const { text, type } = await asked(server, jambonz.ask(callId));
    expect(type).toContain('application/json');
    const application = JSON.parse(text) as unknown[];
    expect(application[1]).toEqual(verb);
    expect(validateApp(application)).toMatchObject({ valid: true });
    expect(text).not.toContain('a-secret-of-the-tests');
  });

  test.each([
    [{}, []],
    [{ vonageDial: to }, [new Connect({ type: 'phone', number: to.slice(1) })]],
    [{ vonageDial: sip }, [new Connect({ type: 'sip', uri: sip })]],
    [{ vonageContinueUrl: there }, [new Notify({}, there, 'POST')]],
  ])('vonage: %j is the NCCO that the vendor’s library writes', async (next, then) => {
    const { vonageDial: _dial, ...secrets } = vonage.config;
    await using server = await carrierServer({ config: { ...secrets, ...next }, publicUrl });
    const { text } = await asked(server, vonage.ask(callId));
    const { address } = vonage.streamOf(text);
    const socket = new Connect({
      type: 'websocket',
      uri: address,
      contentType: 'audio/l16;rate=16000',
      headers: { callUuid: callId, from, to, direction: 'inbound' },
    });
    // The library spells the one field that Vonage's documentation spells with a hyphen.
    const written = JSON.parse(
      JSON.stringify([socket, ...then].map((action) => action.serializeToNCCO())).replace(
        'contentType',
        'content-type',
      ),
    ) as { action: string }[];
    const signature = eventSignature(vonageSecret, callId);
    const events = {
      eventUrl: [`${publicUrl}/carriers/vonage/status?call=${callId}&signature=${signature}`],
    };
    expect(JSON.parse(text)).toEqual(
      written.map((action) => (action.action === 'connect' ? { ...events, ...action } : action)),
    );
  });

  test.each([
    [{ signalwireDial: to, signalwireContinueUrl: there }, 'TRUNKLINE_SIGNALWIRE_DIAL'],
    [{ vonageDial: to, vonageContinueUrl: there }, 'TRUNKLINE_VONAGE_DIAL'],
    [{ telnyxDial: to, telnyxContinueUrl: there }, 'TRUNKLINE_TELNYX_DIAL'],
    [{ plivoDial: to, plivoContinueUrl: there }, 'TRUNKLINE_PLIVO_DIAL'],
    [{ jambonzDial: to, jambonzContinueUrl: there }, 'TRUNKLINE_JAMBONZ_DIAL'],
  ])('%j: both at once end the start', async (config, named) => {
    await expect(carrierServer({ config })).rejects.toThrow(named);
  });
});

describe('the announcement', () => {
  const announcement = 'This call is <transcribed> & analysed.';
  const escaped = 'This call is &lt;transcribed&gt; &amp; analysed.';

  test.each([
    ['signalwire', `<Response><Say>${escaped}</Say><Start>`],
    ['telnyx', `<Response><Say>${escaped}</Say><Start>`],
    ['plivo', `<Response><Speak>${escaped}</Speak><Stream `],
    ['jambonz', `[{"verb":"say","text":${JSON.stringify(announcement)}},{"verb":"config"`],
    ['vonage', `[{"action":"talk","text":${JSON.stringify(announcement)}},{"action":"connect"`],
  ])(
    '%s: it is said before the stream, and the call says how the consent was had',
    async (name, begin) => {
      const company = companies.find(({ carrier }) => carrier === name)!;
      await using server = await carrierServer({
        config: { ...company.config, consentAnnouncement: announcement },
        publicUrl,
      });
      const { text } = await asked(server, company.ask(callId));
      expect(text).toContain(begin);
      expect([...server.bridge.tokens.values()]).toMatchObject([
        { metadata: { consent: 'announced' } },
      ]);
      if (name === 'jambonz')
        expect(validateApp(JSON.parse(text) as unknown)).toMatchObject({ valid: true });
    },
  );

  test('exotel says nothing of ours, and claims no consent', async () => {
    await using server = await carrierServer({
      config: { ...exotel.config, consentAnnouncement: announcement },
      publicUrl,
    });
    expect((await asked(server, exotel.ask(callId))).status).toBe(200);
    expect([...server.bridge.tokens.values()][0]?.metadata).not.toHaveProperty('consent');
  });
});

type PlivoXml = {
  addStream(url: string, attributes: object): void;
  addDial(): { addNumber(number: string): void; addUser(uri: string): void };
  addRedirect(url: string, attributes: object): void;
  addWait(attributes: object): void;
  toXML(): string;
};

test('jambonz: call statuses are kept with their call', async () => {
  await using server = await carrierServer({ config: jambonz.config, publicUrl });
  const status = { call_sid: callId, call_status: 'completed', from, to, direction: 'inbound' };
  const send = (headers: Record<string, string>): Promise<{ status: number }> =>
    asked(server, {
      path: '/carriers/jambonz/status',
      headers: { ...jsonType, ...headers },
      body: JSON.stringify({ ...status, duration: 61 }),
    });
  expect((await send({})).status).toBe(401);
  expect((await send({ authorization: basic('trunkline:x') })).status).toBe(403);
  expect((await send({ authorization: right })).status).toBe(204);
  expect(server.bridge.statuses).toMatchObject([{ carrier: 'jambonz', callId, status }]);
});
