import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { carrierNames, carriers } from '../../../src/carriers/all.ts';
import { audiohookSignature } from '../../../src/carriers/audiohook/player.ts';
import { clockSkewSeconds, upgradesTotal } from '../../../src/carriers/metrics.ts';
import { plivoSignature } from '../../../src/carriers/plivo/player.ts';
import { twilioSignature } from '../../../src/carriers/twilio/player.ts';
import { vonageJwt } from '../../../src/carriers/vonage/player.ts';
import { metrics } from '../../../src/lib/metrics.ts';
import { newNonce } from '../../../src/player/dialogue.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
  twilioStop,
} from '../../support/carriers/carrier-client.ts';
import { carrierServer, type CarrierServer } from '../../support/carriers/carrier-server.ts';
import { provenSecrets } from '../../support/carriers/proven-config.ts';
import { until } from '../../support/process/until.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

const clientSecret = provenSecrets.audiohookClientSecret;
const config = {
  ...provenSecrets,
  telnyxToken: ['telnyx-secret-of-the-tests', 'telnyx-secret-before'],
  signalwireToken: ['signalwire-secret-of-the-tests'],
};

async function statusOf(
  url: string,
  headers: Record<string, string> = {},
): Promise<number | 'open'> {
  const client = await CarrierClient.connect(url, headers);
  if (!(client instanceof CarrierClient)) return client.status;
  await client[Symbol.asyncDispose]();
  return 'open';
}

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

function audiohookHeaders(
  server: CarrierServer,
  { createdS, secret = clientSecret }: { createdS: number; secret?: string },
): Record<string, string> {
  const ids = {
    'audiohook-organization-id': 'o',
    'audiohook-session-id': 's',
    'audiohook-correlation-id': 'c',
    'x-api-key': config.audiohookApiKey,
  };
  return {
    ...ids,
    ...audiohookSignature({
      target: '/carriers/audiohook',
      authority: `127.0.0.1:${server.port}`,
      headers: ids,
      apiKey: config.audiohookApiKey,
      clientSecret: secret,
      nonce: newNonce(),
      createdS,
    }),
  };
}

/** The lines of `GET /metrics` about each carrier. */
async function skews(): Promise<Record<string, number>> {
  const text = await metrics.getSingleMetricAsString('trunkline_carrier_clock_skew_seconds');
  const rows = text.matchAll(/^\w+\{carrier="(\w+)"\} (\S+)$/gm);
  return Object.fromEntries([...rows].map(([, carrier, value]) => [carrier, Number(value)]));
}

const wrongCredentials: [string, string, Record<string, string>, number][] = [
  ['twilio', 'a wrong signature', { 'x-twilio-signature': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' }, 403],
  ['twilio', 'an empty signature', { 'x-twilio-signature': '' }, 403],
  ['telnyx', 'a wrong bearer token', { authorization: 'Bearer not-the-secret' }, 403],
  ['telnyx', 'an empty bearer token', { authorization: 'Bearer ' }, 403],
  [
    'telnyx',
    'the secret of another carrier',
    { authorization: 'Bearer signalwire-secret-of-the-tests' },
    403,
  ],
  ['telnyx', 'the secret in part', { authorization: 'Bearer telnyx-secret-of-the-test' }, 403],
  ['telnyx', 'the secret and more', { authorization: 'Bearer telnyx-secret-of-the-testss' }, 403],
  ['telnyx', 'the secret as Basic', { authorization: basic('telnyx-secret-of-the-tests:') }, 403],
  ['signalwire', 'a wrong bearer token', { authorization: 'Bearer not-the-secret' }, 403],
  [
    'signalwire',
    'the secret without its scheme',
    { authorization: 'signalwire-secret-of-the-tests' },
    403,
  ],
  ['jambonz', 'a wrong password', { authorization: basic('jambonz:wrong') }, 403],
  [
    'jambonz',
    'the secret of another',
    { authorization: basic('infobip:infobip-secret-of-the-tests') },
    403,
  ],
  ['infobip', 'a wrong password', { authorization: basic('infobip:wrong') }, 403],
  ['infobip', 'a bearer token', { authorization: 'Bearer infobip-secret-of-the-tests' }, 403],
  ['freeswitch', 'nothing', {}, 401],
  ['freeswitch', 'another text', { authorization: 'Bearer something-else' }, 403],
  ['freeswitch', 'basic, which is not set', { authorization: basic('freeswitch:x') }, 403],
  ['vonage', 'a shared secret', { authorization: 'Bearer vonage-secret-of-the-tests' }, 403],
  ['vonage', 'basic', { authorization: basic('vonage:vonage-secret-of-the-tests') }, 403],
  [
    'vonage',
    'another secret',
    { authorization: `Bearer ${vonageJwt({ secret: 'another-secret', apiKey: 'vonage-key' })}` },
    403,
  ],
  ['asterisk', 'nothing', {}, 401],
  ['asterisk', 'a wrong password', { authorization: basic('asterisk:wrong') }, 403],
  [
    'asterisk',
    'a wrong user',
    { authorization: basic('someone:asterisk-secret-of-the-tests') },
    403,
  ],
  ['asterisk', 'a user without password', { authorization: basic('asterisk') }, 403],
  ['asterisk', 'no base64', { authorization: 'Basic %%%' }, 403],
  [
    'asterisk',
    'cut base64',
    { authorization: basic('asterisk:asterisk-secret-of-the-tests').slice(0, -1) },
    403,
  ],
  [
    'asterisk',
    'a password with a colon more',
    { authorization: basic('asterisk:asterisk-secret-of-the-tests:') },
    403,
  ],
  ['asterisk', 'a digest', { authorization: 'Digest username="asterisk"' }, 403],
  ['audiohook', 'nothing', {}, 401],
  ['audiohook', 'the key without a signature', { 'x-api-key': 'audiohook-key-of-the-tests' }, 403],
  ['audiohook', 'a wrong key', { 'x-api-key': 'not-the-key-of-ours' }, 403],
  ['bandwidth', 'a wrong password', { authorization: basic('bandwidth:wrong') }, 403],
  [
    'bandwidth',
    'a wrong user',
    { authorization: basic('asterisk:bandwidth-secret-of-the-tests') },
    403,
  ],
  [
    'bandwidth',
    'the secret of another',
    { authorization: basic('asterisk:asterisk-secret-of-the-tests') },
    403,
  ],
  ['bandwidth', 'a bearer token', { authorization: 'Bearer bandwidth-secret-of-the-tests' }, 403],
  ['bandwidth', 'an empty header', { authorization: '' }, 403],
  ['bandwidth', 'no base64', { authorization: 'Basic %%%' }, 403],
  ['exotel', 'a wrong password', { authorization: basic('exotel:wrong') }, 403],
  ['exotel', 'a wrong user', { authorization: basic('bandwidth:exotel-secret-of-the-tests') }, 403],
  ['exotel', 'a user without password', { authorization: basic('exotel:') }, 403],
  [
    'exotel',
    'the password and more',
    { authorization: basic('exotel:exotel-secret-of-the-tests ') },
    403,
  ],
  ['exotel', 'a bearer token', { authorization: 'Bearer exotel-secret-of-the-tests' }, 403],
  ['ringcx', 'nothing', {}, 401],
  ['ringcx', 'a wrong secret', { authorization: 'Bearer not-the-secret' }, 403],
  ['ringcx', 'the secret in part', { authorization: 'Bearer ringcx-secret-of-the-test' }, 403],
  ['ringcx', 'the secret as Basic', { authorization: basic('ringcx-secret-of-the-tests:') }, 403],
  ['ringcx?secret=', 'an empty secret in the address', {}, 403],
  ['ringcx?secret=ringcx-secret', 'a secret in the address that is cut', {}, 403],
  ['plivo', 'a signature without nonce', { 'x-plivo-signature-v3': 'A'.repeat(43) + '=' }, 403],
  [
    'plivo',
    'a wrong signature',
    { 'x-plivo-signature-v3': 'A'.repeat(43) + '=', 'x-plivo-signature-v3-nonce': '1' },
    403,
  ],
  [
    'plivo',
    'an endless nonce',
    { 'x-plivo-signature-v3': 'A'.repeat(43) + '=', 'x-plivo-signature-v3-nonce': '1'.repeat(300) },
    403,
  ],
];

describe('who may stream', () => {
  test.each(wrongCredentials)(
    '%s with %s is refused before the upgrade',
    async (carrier, _what, headers, status) => {
      await using server = await carrierServer({ config });
      expect(await statusOf(`${server.url}/carriers/${carrier}`, headers)).toBe(status);
      expect(server.bridge.streams).toEqual([]);
    },
  );

  test('right credentials are accepted, the old ones of a rotation too', async () => {
    await using server = await carrierServer({ config });
    const at = (carrier: string): string => `${server.url}/carriers/${carrier}`;
    expect(
      await statusOf(at('twilio'), {
        'x-twilio-signature': twilioSignature(at('twilio'), 'twilio-secret-of-the-tests'),
      }),
    ).toBe('open');
    expect(
      await statusOf(at('telnyx'), { authorization: 'Bearer telnyx-secret-of-the-tests' }),
    ).toBe('open');
    expect(await statusOf(at('telnyx'), { authorization: 'bearer telnyx-secret-before' })).toBe(
      'open',
    );
    expect(
      await statusOf(at('signalwire'), { authorization: 'Bearer signalwire-secret-of-the-tests' }),
    ).toBe('open');
    expect(
      await statusOf(at('asterisk'), {
        authorization: basic('asterisk:asterisk-secret-of-the-tests'),
      }),
    ).toBe('open');
    expect(
      await statusOf(at('jambonz'), {
        authorization: basic('jambonz:jambonz-secret-of-the-tests'),
      }),
    ).toBe('open');
    expect(
      await statusOf(at('infobip'), {
        authorization: basic('infobip:infobip-secret-of-the-tests'),
      }),
    ).toBe('open');
    expect(
      await statusOf(at('freeswitch'), { authorization: 'Bearer freeswitch-secret-of-the-tests' }),
    ).toBe('open');
  });

  test('a Vonage upgrade is good once, on its own path and on the detecting one', async () => {
    await using server = await carrierServer({ config });
    const headers = () => ({
      authorization: `Bearer ${vonageJwt({ secret: 'vonage-secret-of-the-tests', apiKey: 'vonage-key' })}`,
    });
    const once = headers();
    expect(await statusOf(`${server.url}/carriers/vonage`, once)).toBe('open');
    expect(await statusOf(`${server.url}/carriers/vonage`, once)).toBe(403);
    expect(await statusOf(`${server.url}/carriers/vonage`, headers())).toBe('open');
    await using again = await CarrierClient.open(`${server.url}/carriers`, once);
    again.send('{"event":"websocket:connected","content-type":"audio/l16;rate=8000"}');
    expect(await again.untilClosed()).toEqual({
      code: 1008,
      reason: 'the jti of the JWT was used before',
    });
    expect(server.bridge.streams.length).toBe(0);
  });

  test('a Plivo and an AudioHook upgrade are good once each', async () => {
    await using server = await carrierServer({ config });
    const url = `${server.url}/carriers/plivo`;
    const nonce = newNonce();
    const headers = {
      'x-plivo-signature-v3': plivoSignature(url, nonce, 'plivo-secret-of-the-tests'),
      'x-plivo-signature-v3-nonce': nonce,
    };
    expect(await statusOf(url, headers)).toBe('open');
    expect(await statusOf(url, headers)).toBe(403);
    const signed = audiohookHeaders(server, { createdS: Math.floor(Date.now() / 1000) });
    expect(await statusOf(`${server.url}/carriers/audiohook`, signed)).toBe('open');
    expect(await statusOf(`${server.url}/carriers/audiohook`, signed)).toBe(403);
  });

  test.each([-600, -1, 1, 600])(
    'our clock %i s off: refused by the name of the clock where it matters, and the skew is a metric',
    async (offS) => {
      const clock = new TestClock(1);
      clock.setWallAhead(offS * 1_000);
      const telnyx = generateKeyPairSync('ed25519');
      const telnyxPublicKey = telnyx.publicKey
        .export({ format: 'der', type: 'spki' })
        .subarray(-32)
        .toString('base64');
      await using server = await carrierServer({ clock, config: { ...config, telnyxPublicKey } });
      const upgrade = (createdS: number, secret: string) =>
        CarrierClient.connect(
          `${server.url}/carriers/audiohook`,
          audiohookHeaders(server, { createdS, secret }),
        );
      const webhook = (timestamp: number, key: KeyObject) =>
        fetch(`http://127.0.0.1:${server.port}/carriers/telnyx/status`, {
          method: 'POST',
          headers: {
            'content-type': 'application/x-www-form-urlencoded',
            'telnyx-timestamp': String(timestamp),
            'telnyx-signature-ed25519': sign(
              null,
              Buffer.from(`${timestamp}|CallSid=c`),
              key,
            ).toString('base64'),
          },
          body: 'CallSid=c',
        });
      clockSkewSeconds.reset();
      const createdS = Math.floor(Date.now() / 1_000);
      const told = await upgrade(createdS, clientSecret);
      const answered = await webhook(createdS, telnyx.privateKey);
      const seen = await skews();
      // Seconds are cut off by the carrier, and the machine may take its time.
      for (const carrier of ['audiohook', 'telnyx'])
        expect(Math.abs((seen[carrier] ?? NaN) + offS)).toBeLessThan(30);

      // A writer who does not know the secret is refused for that, and moves nothing.
      const stranger = generateKeyPairSync('ed25519');
      for (const atS of [createdS, createdS + 86_400]) {
        expect(await upgrade(atS, Buffer.from('guess').toString('base64'))).toMatchObject({
          status: 403,
          body: expect.stringContaining('does not match'),
        });
        const refused = await webhook(atS, stranger.privateKey);
        expect([refused.status, await refused.text()]).toEqual([
          403,
          expect.stringContaining('does not match'),
        ]);
      }
      expect(await skews()).toEqual(seen);

      if (Math.abs(offS) < 60) {
        expect([told instanceof CarrierClient, answered.status]).toEqual([true, 204]);
        if (told instanceof CarrierClient) await told[Symbol.asyncDispose]();
        return;
      }
      expect(told).toMatchObject({
        status: 403,
        body: expect.stringMatching(/^clock: signed \d+ s/),
      });
      expect(server.log.join('')).toMatch(
        /carrier upgrade refused.*clock: signed|clock: signed.*carrier upgrade refused/,
      );
      expect([answered.status, await answered.text()]).toEqual([
        403,
        expect.stringContaining('clock: signed'),
      ]);
    },
  );

  test('without any secret every carrier is closed, and a signature does not open it', async () => {
    await using server = await carrierServer();
    for (const carrier of ['asterisk', 'audiohook'])
      expect(await statusOf(`${server.url}/carriers/${carrier}`)).toBe(401);
    expect(
      await statusOf(`${server.url}/carriers/twilio`, {
        'x-twilio-signature': twilioSignature(`${server.url}/carriers/twilio`, ''),
      }),
    ).toBe(403);
    expect(
      await statusOf(`${server.url}/carriers/asterisk`, {
        authorization: basic('undefined:undefined'),
      }),
    ).toBe(403);
    expect(
      await statusOf(`${server.url}/carriers/telnyx`, { authorization: 'Bearer undefined' }),
    ).toBe(403);
    // These may bring a token in their first message; one that brings none goes no further.
    {
      await using client = await CarrierClient.open(`${server.url}/carriers/twilio`);
      client.send(twilioConnected, twilioStart(), twilioMedia(2, Buffer.alloc(160)));
      expect(await client.untilClosed()).toEqual({ code: 1008, reason: 'no stream token' });
    }
    expect(server.bridge.streams).toEqual([]);
  });

  test('told to be insecure, everyone may stream', async () => {
    await using server = await carrierServer({ insecure: true });
    await using client = await CarrierClient.open(`${server.url}/carriers/twilio`);
    client.send(twilioConnected, twilioStart(), twilioStop);
    expect((await server.bridge.ended()).start.carrier).toBe('twilio');
  });

  test('an address with a slash at its end is the same address, and not a token', async () => {
    await using server = await carrierServer({ config });
    for (const path of ['/carriers/twilio/', '/carriers/']) {
      const url = `${server.url}${path}`;
      const signature = twilioSignature(url, 'twilio-secret-of-the-tests');
      expect(await statusOf(url, { 'x-twilio-signature': signature }), path).toBe('open');
    }
    expect(server.bridge.claims).toBe(0);
  });

  test('paths that are no carrier are not found', async () => {
    await using server = await carrierServer({ insecure: true });
    for (const path of [
      '/carriers/nobody',
      '/carriers/__proto__',
      '/carriers/twilio/a/b',
      '/carriers/TWILIO',
      '/carriers/twilio%2f',
    ])
      expect(await statusOf(`${server.url}${path}`), path).toBe(404);
  });

  test('the refusal names what to check and no secret, and so does the log', async () => {
    await using server = await carrierServer({ config });
    const refused = await CarrierClient.connect(
      `${server.url}/carriers/twilio/a-secret-token-in-the-path`,
      { 'x-twilio-signature': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' },
    );
    const wrong = await CarrierClient.connect(`${server.url}/carriers/twilio`, {
      'x-twilio-signature': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=',
    });
    expect(refused).toMatchObject({ status: 403, body: 'stream token unknown\n' });
    expect(wrong).toMatchObject({
      status: 403,
      body: expect.stringContaining('TRUNKLINE_PUBLIC_URL'),
    });
    const log = server.log.join('');
    expect(log).toContain('carrier upgrade refused');
    for (const secret of [
      'a-secret-token-in-the-path',
      'twilio-secret-of-the-tests',
      'AAAAAAAAAAA',
    ])
      expect(log).not.toContain(secret);
  });
});

describe('stream tokens', () => {
  const call = 'CA77d0c1b2a3f44e5d8c9b0a1f2e3d4c5b';

  async function outcome(
    server: CarrierServer,
    path: string,
    customParameters: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ): Promise<string> {
    const client = await CarrierClient.connect(`${server.url}${path}`, headers);
    if (!(client instanceof CarrierClient)) return `${client.status} ${client.body.trim()}`;
    await using open = client;
    const before = server.bridge.streams.length;
    open.send(twilioConnected, twilioStart({ customParameters }), twilioStop);
    await Promise.race([
      open.untilClosed(),
      server.bridge.until(() => server.bridge.streams.length > before),
    ]);
    return open.closed ? `${open.closed.code} ${open.closed.reason}` : 'streamed';
  }

  test.each([
    ['in the path', (token: string) => [`/carriers/twilio/${token}`, {}]],
    ['in the query', (token: string) => [`/carriers/twilio?token=${token}`, {}]],
    ['as a parameter', (token: string) => ['/carriers/twilio', { token }]],
    [
      'in the path of the detecting address, as its query',
      (token: string) => [`/carriers?token=${token}`, {}],
    ],
    ['as a parameter on the detecting path', (token: string) => ['/carriers', { token }]],
  ] satisfies [string, (token: string) => [string, Record<string, string>]][])(
    '%s: good once, then used; expired, foreign and unknown ones are refused',
    async (_where, place) => {
      await using server = await carrierServer();
      const attempt = (token: string): Promise<string> => {
        const [path, parameters] = place(token);
        return outcome(server, path, parameters);
      };
      const { token } = await server.bridge.mintToken({
        carrier: 'twilio',
        carrierCallId: call,
        metadata: { crmCase: 'C-1' },
      });
      expect(await attempt(token)).toBe('streamed');
      const stream = await server.bridge.stream();
      expect(stream.start.parameters).toEqual({ crmCase: 'C-1' });
      expect(JSON.stringify(stream.start)).not.toContain(token);
      expect(await attempt(token)).toMatch(/stream token used$/);
      expect(await attempt('no-token-of-ours')).toMatch(/stream token unknown$/);
      const foreign = await server.bridge.mintToken({ carrier: 'telnyx' });
      expect(await attempt(foreign.token)).toMatch(/stream token other-carrier$/);
      const late = await server.bridge.mintToken({ carrier: 'twilio' });
      server.bridge.tokens.get(late.token)!.expired = true;
      expect(await attempt(late.token)).toMatch(/stream token expired$/);
      const other = await server.bridge.mintToken({
        carrier: 'twilio',
        carrierCallId: 'CA-another-call',
      });
      expect(await attempt(other.token)).toMatch(/stream token other-call$/);
      expect(server.bridge.streams.length).toBe(1);
    },
  );

  test('a token of one call does not open another, signature or not', async () => {
    await using server = await carrierServer({ config });
    const headers = {
      'x-twilio-signature': twilioSignature(
        `${server.url}/carriers/twilio`,
        'twilio-secret-of-the-tests',
      ),
    };
    const other = await server.bridge.mintToken({
      carrier: 'twilio',
      carrierCallId: 'CA-another-call',
    });
    expect(await outcome(server, '/carriers/twilio', { token: other.token }, headers)).toBe(
      '1008 stream token other-call',
    );
    expect(server.bridge.streams).toEqual([]);
    // A signed stream may have a parameter of that name with a meaning of its own.
    expect(await outcome(server, '/carriers/twilio', { token: 'meant-for-the-crm' }, headers)).toBe(
      'streamed',
    );
  });

  test('a token also counts as the bearer token of a carrier that sends one', async () => {
    await using server = await carrierServer({ config });
    const { token } = await server.bridge.mintToken({ carrier: 'telnyx' });
    expect(
      await statusOf(`${server.url}/carriers/telnyx`, { authorization: `Bearer ${token}` }),
    ).toBe('open');
    expect(
      await statusOf(`${server.url}/carriers/telnyx`, { authorization: `Bearer ${token}` }),
    ).toBe(403);
  });

  test.each(carrierNames)('an address with a token is enough for %s', async (carrier) => {
    await using server = await carrierServer();
    const { token } = await server.bridge.mintToken({ carrier });
    expect(await statusOf(`${server.url}/carriers/${carrier}/${token}`)).toBe('open');
    expect(await statusOf(`${server.url}/carriers/${carrier}/${token}`)).toBe(403);
  });
});

test('a dialect of Twilio streams by a token on its path, whatever its ids; the detecting path names the path to use', async () => {
  await using server = await carrierServer({ config });
  const start = {
    ...twilioStart({ callSid: 'call-7', streamSid: 'stream.7', encoding: 'audio/x-l16' }),
    streamSid: 'stream.7',
  };
  await using lost = await CarrierClient.open(`${server.url}/carriers`);
  lost.send(twilioConnected, start);
  expect(await lost.untilClosed()).toEqual({
    code: 1008,
    reason: 'not recognised: use the path of the carrier',
  });
  const { token } = await server.bridge.mintToken({ carrier: 'twilio', carrierCallId: 'call-7' });
  await using client = await CarrierClient.open(`${server.url}/carriers/twilio/${token}`);
  client.send(twilioConnected, start, twilioMedia(2, Buffer.alloc(320, 7)), twilioStop);
  const stream = await server.bridge.ended();
  expect(stream.start).toMatchObject({ carrierCallId: 'call-7', encoding: 'pcm16' });
  expect(stream.bytes('inbound')).toEqual(Buffer.alloc(320, 7));
});

test('2,000 unauthenticated upgrades reach nothing, and a call that goes on meanwhile keeps every byte', async () => {
  await using server = await carrierServer({ config });
  const headers = {
    'x-twilio-signature': twilioSignature(
      `${server.url}/carriers/twilio`,
      'twilio-secret-of-the-tests',
    ),
  };
  await using call = await CarrierClient.open(`${server.url}/carriers/twilio`, headers);
  call.send(twilioConnected, twilioStart());
  const statuses: Record<string, number> = {};
  const knock = async (at: number): Promise<void> => {
    const carrier = carrierNames[at % carrierNames.length] ?? 'twilio';
    const status = await statusOf(`${server.url}/carriers/${carrier}`, {
      'x-twilio-signature': 'wrong',
      'x-plivo-signature-v3': 'wrong',
      authorization: 'Bearer wrong',
      'x-api-key': 'wrong',
    });
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  for (let batch = 0; batch < 20; batch++) {
    await Promise.all(Array.from({ length: 100 }, (_, at) => knock(batch * 100 + at)));
    call.send(twilioMedia(batch + 2, Buffer.alloc(160, batch)));
  }
  call.send(twilioStop);
  const stream = await server.bridge.ended();
  // One address guesses: after ten wrong secrets of a carrier its next ones are not looked at.
  const { 403: refused = 0, 429: waiting = 0, ...others } = statuses;
  expect([refused + waiting, others]).toEqual([2_000, {}]);
  expect(server.bridge.streams.length).toBe(1);
  // Only a bearer token can be a stream token, and only the store knows that it is none.
  const bearing = carrierNames.filter((carrier) => carriers[carrier].sendsBearer).length;
  expect(server.bridge.claims).toBeLessThanOrEqual(
    Math.ceil(2_000 / carrierNames.length) * bearing,
  );
  expect(
    stream
      .bytes('inbound')
      .equals(Buffer.concat(Array.from({ length: 20 }, (_, at) => Buffer.alloc(160, at)))),
  ).toBe(true);
  // A flood is a handful of lines, not 2,000.
  expect(server.log.filter((line) => line.includes('refused')).length).toBeLessThan(40);
});

async function upgradeCounts(carrier: string): Promise<Record<string, number>> {
  const { values } = await upgradesTotal.get();
  const ours = values.filter(({ labels }) => labels.carrier === carrier);
  return Object.fromEntries(ours.map(({ labels, value }) => [String(labels.outcome), value]));
}

test('an upgrade that was proven too late, or whose caller has left, is counted for what it came to', async () => {
  const clock = new TestClock(0);
  await using server = await carrierServer({ clock });
  const before = await upgradeCounts('twilio');
  const claim = server.bridge.claimToken.bind(server.bridge);
  const held: (() => void)[] = [];
  let proven = 0;
  // A store that takes its time.
  server.bridge.claimToken = async (...asked) => {
    await new Promise<void>((resolve) => held.push(resolve));
    const claimed = await claim(...asked);
    proven++;
    return claimed;
  };
  const url = async (): Promise<string> =>
    `${server.url}/carriers/twilio/${(await server.bridge.mintToken({ carrier: 'twilio' })).token}`;

  const late = statusOf(await url());
  await until(() => held.length === 1);
  await clock.pass(2_500);
  expect(await late).toBe(503);

  const left = connect(server.port, '127.0.0.1');
  left.on('error', () => undefined);
  left.write(
    `GET ${new URL(await url()).pathname} HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\n` +
      'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  await until(() => held.length === 2);
  const connections = (): Promise<number> =>
    new Promise((resolve) => server.http.getConnections((_, count) => resolve(count)));
  left.resetAndDestroy();
  await until(async () => (await connections()) === 0);

  for (const go of held) go();
  await until(() => proven === 2);
  server.bridge.claimToken = claim;
  expect(await statusOf(await url())).toBe('open');
  const counts = await upgradeCounts('twilio');
  expect((counts['503'] ?? 0) - (before['503'] ?? 0)).toBe(1);
  expect((counts['proven'] ?? 0) - (before['proven'] ?? 0)).toBe(1);
  expect((counts['left'] ?? 0) - (before['left'] ?? 0)).toBe(1);
});

test('strangers who go on to their first messages are each counted, and are a line now and then', async () => {
  const clock = new TestClock(1);
  await using server = await carrierServer({ config, clock });
  const countsOf = async (): Promise<(number | undefined)[]> => [
    (await upgradeCounts('twilio'))['at-start'],
    (await upgradeCounts('unknown'))['unrecognised'],
  ];
  const before = await countsOf();
  const goOn = async (path: string, ...messages: object[]): Promise<string> => {
    await using client = await CarrierClient.open(`${server.url}${path}`);
    if (messages.length === 0) await client.close();
    else client.send(...messages);
    return (await client.untilClosed()).reason;
  };
  const each = 40;
  const many = (...of: Parameters<typeof goOn>): Promise<string>[] =>
    Array.from({ length: each }, () => goOn(...of));
  const start = twilioStart();
  const reasons = await Promise.all([
    ...many('/carriers/twilio', twilioConnected, start),
    ...many('/carriers', twilioConnected, start),
    ...many('/carriers', { event: 'nothing we know' }),
    ...many('/carriers'),
  ]);
  expect(new Set(reasons)).toEqual(
    new Set(['no stream token', 'not recognised: use the path of the carrier', '']),
  );
  await until(async () =>
    (await countsOf()).every((count = 0, at) => count - (before[at] ?? 0) === 2 * each),
  );
  const refusals = (): Record<string, unknown>[] =>
    server.log
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => String(msg).includes('refused'));
  expect(refusals().map(({ carrier, reason }) => [carrier, reason])).toEqual(
    expect.arrayContaining([
      ['twilio', 'no stream token'],
      ['unknown', 'not recognised: use the path of the carrier'],
    ]),
  );
  expect(refusals()).toHaveLength(2);
  // Ten seconds later the log tells their number.
  await clock.pass(10_000);
  await until(() => refusals().length === 4);
  expect(refusals().slice(2).map(({ count }) => count)).toEqual([2 * each - 1, each - 1]); // prettier-ignore
});

test('strangers who say nothing share a bounded room, one address has half of it; a signed stream still gets in', async () => {
  // Time stands still, so that none of them is shown out meanwhile.
  const clock = new TestClock(0);
  await using server = await carrierServer({ config, clock });
  const inside: CarrierClient[] = [];
  const come = async (localAddress: string, count: number): Promise<(string | undefined)[]> => {
    const strangers = await Promise.all(
      Array.from(
        { length: count },
        (_, at) =>
        // By the path of a carrier and by the one that detects it.
        CarrierClient.connect(`${server.url}/carriers${at % 2 ? '' : '/twilio'}`, {}, { localAddress }), // prettier-ignore
      ),
    );
    inside.push(...strangers.filter((one) => one instanceof CarrierClient));
    return strangers.map((one) => (one instanceof CarrierClient ? undefined : one.body.trim()));
  };
  const refusals = new Set((await come('127.0.0.2', 600)).filter((one) => one !== undefined));
  expect([...refusals]).toEqual(['too many unproven streams of one address']);
  expect(inside.length).toBe(512);
  expect(await come('127.0.0.3', 400)).toEqual(Array.from({ length: 400 }));
  expect(await come('127.0.0.4', 200)).toContain('too many unproven streams');
  expect(inside.length).toBe(1_024);
  const headers = {
    'x-twilio-signature': twilioSignature(
      `${server.url}/carriers/twilio`,
      'twilio-secret-of-the-tests',
    ),
  };
  expect(await statusOf(`${server.url}/carriers/twilio`, headers)).toBe('open');
  for (const one of inside) await one[Symbol.asyncDispose]();
  // A client that left has given its place back.
  await until(async () => (await come('127.0.0.2', 1))[0] === undefined);
  await inside.at(-1)?.[Symbol.asyncDispose]();
});

test('a proxy that is configured speaks for many: it is not held to the share of one address', async () => {
  const clock = new TestClock(0);
  await using server = await carrierServer({ config, clock, proxies: ['127.0.0.0/8'] });
  const strangers = await Promise.all(
    Array.from({ length: 600 }, () => CarrierClient.connect(`${server.url}/carriers/twilio`)),
  );
  expect(strangers.every((one) => one instanceof CarrierClient)).toBe(true);
  for (const one of strangers) if (one instanceof CarrierClient) one.socket.terminate();
});

test.each(['twilio', 'plivo'] as const)(
  '%s: a codec that cannot be taken keeps no stranger in the room, and hangs up on no call that has its token',
  async (carrier) => {
    await using server = await carrierServer({ config });
    const opening = (token: string): object[] =>
      carrier === 'twilio'
        ? [
            twilioConnected,
            twilioStart({ tracks: ['inbound'], encoding: 'OPUS', customParameters: { token } }),
          ]
        : [
            {
              event: 'start',
              sequenceNumber: 1,
              start: { callId: 'p', streamId: 's', mediaFormat: { encoding: 'audio/opus' } },
              extra_headers: `token=${token}`,
            },
          ];
    await using stranger = await CarrierClient.open(`${server.url}/carriers/${carrier}`);
    stranger.send(...opening('no-token-of-ours'));
    expect(await stranger.untilClosed()).toEqual({ code: 1008, reason: 'stream token unknown' });
    await using call = await CarrierClient.open(`${server.url}/carriers/${carrier}`);
    const { token } = await server.bridge.mintToken({ carrier });
    call.send(...opening(token));
    // The first answer to a ping comes before the token was looked up, the second after it.
    for (let turn = 0; turn < 3; turn++) await call.ping();
    expect(call.closed).toBeUndefined();
    expect(server.bridge.tokens.get(token)?.used).toBe(true);
    expect(server.bridge.streams).toEqual([]);
  },
);

test('half a secret refuses to start', async () => {
  await expect(
    carrierServer({ config: { audiohookApiKey: 'only-the-api-key' } }),
  ).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await expect(carrierServer({ config: { asteriskUsername: 'asterisk' } })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  });
  await expect(
    carrierServer({ config: { bandwidthPassword: 'bandwidth-secret-of-the-tests' } }),
  ).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await expect(carrierServer({ config: { exotelUsername: 'exotel' } })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  });
});
