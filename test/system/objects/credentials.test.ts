import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { CredentialSource } from '../../../src/objects/bucket-credentials.ts';
import {
  bucketConfig,
  bucketMissing,
  objectsOn,
  oddStore,
  startBucket,
  type TestBucket,
} from '../../support/store/bucket.ts';
import { temporaryFolder, temporaryStore } from '../../support/store/store.ts';

let bucket: TestBucket | undefined;
beforeAll(async () => {
  if (bucketMissing === undefined) bucket = await startBucket();
});
afterAll(() => bucket?.[Symbol.asyncDispose]());

/** An address that gives keys, as those of container platforms do. */
async function keyAddress() {
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers.authorization);
    response.writeHead(address.status).end(address.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/credentials`,
    asked,
    status: 200,
    body: '',
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return address;
}

const answer = (key: string, endsAt?: number, more: object = {}): string =>
  JSON.stringify({
    AccessKeyId: key,
    SecretAccessKey: `secret of ${key}`,
    ...(endsAt === undefined ? {} : { Expiration: new Date(endsAt).toISOString() }),
    ...more,
  });

test('keys that an address gives are renewed before they end, and used on while no new ones come', async () => {
  await using folder = await temporaryFolder();
  await using address = await keyAddress();
  const credentialsTokenFile = join(folder.path, 'token');
  await writeFile(credentialsTokenFile, 'first token\n');
  let now = 1_800_000_000_000;
  const { accessKey: _, secretKey: __, ...config } = bucketConfig('http://127.0.0.1:9');
  await using source = new CredentialSource(
    { ...config, credentialsUrl: address.url, credentialsTokenFile },
    { ...systemClock, now: () => now },
  );
  const endsAt = now + 3_600_000;
  address.body = answer('one', endsAt, { Token: 'session' });
  const some = await Promise.all([source.now(), source.now(), source.now()]);
  for (const one of some)
    expect(one).toEqual({ accessKeyId: 'one', secretAccessKey: 'secret of one', sessionToken: 'session' }); // prettier-ignore
  expect(address.asked).toEqual(['first token']);
  await writeFile(credentialsTokenFile, 'second token\n');
  now = endsAt - 240_000;
  address.status = 500;
  expect((await source.now()).accessKeyId).toBe('one');
  expect((await source.now()).accessKeyId).toBe('one');
  // Not asked for each request.
  expect(address.asked).toEqual(['first token', 'second token']);
  now = endsAt + 1;
  await expect(source.now()).rejects.toThrow('the answer is 500');
  for (const body of ['', '[]', '{"AccessKeyId":7}', answer('', endsAt)]) {
    Object.assign(address, { status: 200, body });
    await expect(source.now()).rejects.toThrow('holds none');
  }
  address.body = answer('two', now + 3_600_000);
  expect(await source.now()).toEqual({ accessKeyId: 'two', secretAccessKey: 'secret of two' });
});

test.skipIf(bucketMissing !== undefined)(
  'a bucket is reached with keys that an address gives, and stays on the list of troubles while it gives none',
  async () => {
    if (bucket === undefined) return;
    await using store = await temporaryStore();
    await using address = await keyAddress();
    const { accessKey, secretKey, ...config } = bucketConfig(bucket.url);
    address.status = 403;
    await using objects = objectsOn(bucket.url, store, { config: { ...config, credentialsUrl: address.url } }); // prettier-ignore
    const put = () => objects.put('tails/leg_1/0-4', Buffer.from('word'), () => Promise.resolve(true)); // prettier-ignore
    await expect(put()).rejects.toThrow('the keys could not be fetched: the answer is 403');
    expect(objects.health()['objects']?.state).toBe('degraded');
    address.status = 200;
    address.body = JSON.stringify({ AccessKeyId: accessKey, SecretAccessKey: secretKey });
    expect(await put()).toBe(true);
    expect((await objects.below('tails/')).map(({ key }) => key)).toEqual(['tails/leg_1/0-4']);
    await expect.poll(() => bucket?.keys()).toContain('tails/leg_1/0-4');
  },
);

test.skipIf(bucketMissing !== undefined)(
  'the token of temporary keys goes with each request, and is signed',
  async () => {
    if (bucket === undefined) return;
    await using front = await oddStore(bucket);
    await using store = await temporaryStore();
    const seen: Record<string, string | string[] | undefined>[] = [];
    front.odd = ({ headers }, response) => {
      seen.push(headers);
      response.writeHead(200).end();
      return true;
    };
    const config = { ...bucketConfig(front.url), sessionToken: 'token-of-the-session' };
    await using objects = objectsOn(front.url, store, { config });
    await objects.put('tails/leg_1/0-4', Buffer.from('word'), () => Promise.resolve(true));
    const request = seen.find((headers) => headers['content-length'] === '4');
    expect(request?.['x-amz-security-token']).toBe('token-of-the-session');
    expect(request?.['authorization']).toContain('x-amz-security-token');
  },
);
