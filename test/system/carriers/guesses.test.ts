import { expect, test } from 'vitest';
import { carriers, type CarrierName } from '../../../src/carriers/all.ts';
import type { CarriersConfig } from '../../../src/carriers/config.ts';
import { metrics } from '../../../src/lib/metrics.ts';
import { CarrierClient } from '../../support/carriers/carrier-client.ts';
import { carrierServer } from '../../support/carriers/carrier-server.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

const basic = (password: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`somebody:${password}`).toString('base64')}`,
});
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

const user = (name: string, secret: string) => ({
  [`${name}Username`]: 'somebody',
  [`${name}Password`]: secret,
});

/** Every carrier whose door opens to a secret that is sent as it is. */
const sharing: [CarrierName, typeof basic, (secret: string) => Partial<CarriersConfig>][] = [
  ['exotel', basic, (secret) => user('exotel', secret)],
  ['jambonz', basic, (secret) => user('jambonz', secret)],
  ['bandwidth', basic, (secret) => user('bandwidth', secret)],
  ['infobip', basic, (secret) => user('infobip', secret)],
  ['asterisk', basic, (secret) => user('asterisk', secret)],
  ['freeswitch', basic, (secret) => user('freeswitch', secret)],
  ['freeswitch', bearer, (secret) => ({ freeswitchToken: [secret] })],
  ['telnyx', bearer, (secret) => ({ telnyxToken: [secret] })],
  ['signalwire', bearer, (secret) => ({ signalwireToken: [secret] })],
  ['ringcx', bearer, (secret) => ({ ringcxSecret: [secret] })],
];

const short = 'sixteen-letters.';
const long = 'twenty-four-letters-long';

test.each(sharing)(
  'after ten wrong secrets a guesser of %s waits, and a secret of 24 characters never does',
  async (carrier, header, settings) => {
    for (const secret of [short, long]) {
      await using server = await carrierServer({
        config: settings(secret),
        clock: new TestClock(0),
      });
      const statusOf = async (shown: string): Promise<number | 'open'> => {
        const url = `${server.url}/carriers/${carrier}`;
        const client = await CarrierClient.connect(url, header(shown));
        if (!(client instanceof CarrierClient)) return client.status;
        await client[Symbol.asyncDispose]();
        return 'open';
      };
      const answers: (number | 'open')[] = [];
      for (let guess = 0; guess < 40; guess++)
        answers.push(await statusOf(`a-wrong-secret-${guess}`));
      expect(answers).toEqual([...Array(10).fill(403), ...Array(30).fill(429)]);
      expect(await statusOf(secret)).toBe(secret === long ? 'open' : 429);
    }
  },
);

const callingBack = sharing.filter(([carrier, header]) => header === basic && carriers[carrier].webhooks.length > 0); // prettier-ignore

test.each(callingBack)(
  'webhooks of %s count to the same wait as its streams, and the refusal says for how long',
  async (carrier, header, settings) => {
    await using server = await carrierServer({ config: settings(short), clock: new TestClock(0) });
    const url = `http://127.0.0.1:${server.port}/carriers/${carrier}/status`;
    const post = (secret: string): Promise<Response> =>
      fetch(url, { method: 'POST', headers: { ...header(secret), 'content-type': 'application/json' }, body: '{}' }); // prettier-ignore
    for (let guess = 0; guess < 10; guess++)
      expect((await post('another-secret')).status).toBe(403);
    const answer = await post(short);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1']);
    const client = await CarrierClient.connect(`${server.url}/carriers/${carrier}`, header(short));
    expect(client).toMatchObject({ status: 429 });
    const text = await metrics.getSingleMetricAsString('trunkline_secret_checks_total');
    expect(text).toMatch(new RegExp(`door="${carrier}",outcome="wait"} [1-9]`));
  },
);

test('a secret that is sent as it is has 16 characters at least', async () => {
  for (const [, , settings] of sharing) {
    await expect(carrierServer({ config: settings('fifteen-letters') })).rejects.toThrow(
      /under 16/,
    );
    await using _server = await carrierServer({ config: settings(short) });
  }
});

test('a stream token that comes in the place of the secret is no wrong guess', async () => {
  const config = { telnyxToken: [short] };
  await using server = await carrierServer({ config, clock: new TestClock(0) });
  const url = `${server.url}/carriers/telnyx`;
  for (let stream = 0; stream < 12; stream++) {
    const { token } = await server.bridge.mintToken({ carrier: 'telnyx' });
    await using _opened = await CarrierClient.open(url, bearer(token));
  }
  await using _opened = await CarrierClient.open(url, bearer(short));
});
