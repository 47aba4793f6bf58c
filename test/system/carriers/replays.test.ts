import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { carrierNames, carriers, type CarrierName } from '../../../src/carriers/all.ts';
import { CarriersConfig } from '../../../src/carriers/config.ts';
import { CarrierClient } from '../../support/carriers/carrier-client.ts';
import { carrierServer, type CarrierServer } from '../../support/carriers/carrier-server.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { provenConfig } from '../../support/carriers/proven-config.ts';

/** The table of security.md, by carrier: the promise to users. */
const promised = new Map(
  [...readFileSync(new URL('../../../config/docs/security.md', import.meta.url), 'utf8').matchAll(/^ *\| `(\w+)` \| [^|]+ \| (opens [a-z ]+) \|$/gm)]
    .map(([, carrier = '', words = '']) => [carrier, words]),
); // prettier-ignore

function serverOf(name: CarrierName, require: string[] = []): Promise<CarrierServer> {
  const config: CarriersConfig = { ...provenConfig(), [`${name}Require`]: require };
  return carrierServer({ config: CarriersConfig.parse(config) });
}

/** An upgrade as the carrier sends it, with its own proof: once recorded, the same bytes can be sent again. */
function captured(server: CarrierServer, name: CarrierName) {
  const carrier = carriers[name];
  const { player } = carrier;
  const call = playedCall({ ...player.newIds(), encoding: player.encodings[0] ?? 'mulaw' });
  const url = `${server.url}/carriers/${name}`;
  return { url, call, headers: player.headers(url, call, carrier.playerSecrets(provenConfig())) };
}

async function statusOf(url: string, headers: Record<string, string> = {}): Promise<number> {
  const client = await CarrierClient.connect(url, headers);
  if (!(client instanceof CarrierClient)) return client.status;
  await client[Symbol.asyncDispose]();
  return 101;
}

test('security.md says of every carrier what a captured upgrade does', () => {
  expect([...promised.keys()].toSorted()).toEqual(carrierNames.toSorted());
});

test.each(carrierNames)('a captured upgrade of %s does what security.md says', async (name) => {
  await using server = await serverOf(name);
  const { url, headers } = captured(server, name);
  expect(await statusOf(url, headers)).toBe(101);
  const again = (await statusOf(url, headers)) === 101 ? 'opens another stream' : 'opens nothing';
  expect(again).toBe(promised.get(name));
});

test.each(carrierNames)(
  'where %s must bring a token, its own proof opens no call, and each token one',
  async (name) => {
    await using server = await serverOf(name, ['token']);
    const { url, headers, call } = captured(server, name);
    await using client = await CarrierClient.open(url, headers);
    client.send(...carriers[name].player.newDialogue(call).opening());
    // Bare audio may begin a stream, too.
    client.send(Buffer.alloc(320));
    await Promise.race([client.untilClosed(), client.ping().catch(() => undefined)]);
    expect(server.bridge.streams).toEqual([]);
    const { token } = await server.bridge.mintToken({ carrier: name });
    expect(await statusOf(`${url}/${token}`)).toBe(101);
    expect(await statusOf(`${url}/${token}`)).toBe(403);
  },
);

test.each(carrierNames)('%s can be bound to addresses, its webhooks too', async (name) => {
  await using inside = await serverOf(name, ['192.0.2.1', '127.0.0.0/8']);
  const first = captured(inside, name);
  expect(await statusOf(first.url, first.headers)).toBe(101);
  await using outside = await serverOf(name, ['192.0.2.0/24']);
  const { url, headers } = captured(outside, name);
  expect(await statusOf(url, headers)).toBe(403);
  const { token } = await outside.bridge.mintToken({ carrier: name });
  expect(await statusOf(`${url}/${token}`)).toBe(403);
  for (const { method = 'post', action } of carriers[name].webhooks) {
    const answer = await fetch(`${url.replace('ws', 'http')}/${action}`, { method });
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringMatching(/_REQUIRE/)]);
  }
  // A test call of ours comes from this machine.
  const metadata = { test_call: 'built-in conversation' };
  const own = await outside.bridge.mintToken({ carrier: name, metadata });
  expect(await statusOf(`${url}/${own.token}`)).toBe(101);
});

test('a requirement that is neither a token nor a range stops the start', () => {
  for (const text of ['tokens', '300.1.2.3', '10.0.0.0/64', ''])
    expect(CarriersConfig.safeParse({ exotelRequire: [text] }).success, text).toBe(false);
});
