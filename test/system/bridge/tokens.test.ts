import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { testBridge } from '../../support/bridge/test-bridge.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';

const post = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

test('POST /api/streams gives a url and parameters for one stream of one carrier, once', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const answer = await app.get(
    '/api/streams',
    post({ carrier: 'twilio', call_id: 'CA9', metadata: { crmCase: 'C-1' } }),
  );
  expect(answer.status).toBe(201);
  const untyped = await app.get('/api/streams', { method: 'POST', body: '{"carrier":"twilio"}' });
  expect(untyped.status).toBe(400);
  expect(await untyped.text()).toContain('content-type: application/json');
  const { url, parameters, expires_at } = (await answer.json()) as {
    url: string;
    parameters: { token: string };
    expires_at: string;
  };
  expect(url).toBe(`${app.url.replace('http', 'ws')}/carriers/twilio/${parameters.token}`);
  expect(Date.parse(expires_at)).toBeGreaterThan(Date.now());
  const { bridge } = app;
  expect(await bridge.claimToken(parameters.token, 'telnyx')).toEqual({
    outcome: 'refused',
    reason: 'other-carrier',
  });
  expect(await bridge.claimToken(parameters.token, 'twilio', 'CA8')).toEqual({
    outcome: 'refused',
    reason: 'other-call',
  });
  expect(await bridge.claimToken(parameters.token, 'twilio', 'CA9')).toEqual({
    outcome: 'accepted',
    carrierCallId: 'CA9',
    metadata: { crmCase: 'C-1' },
  });
  expect(await bridge.claimToken(parameters.token, 'twilio', 'CA9')).toEqual({
    outcome: 'refused',
    reason: 'used',
  });
  expect(await bridge.claimToken('nobody-minted-this', 'twilio')).toEqual({
    outcome: 'refused',
    reason: 'unknown',
  });
});

test('one of many claims at once wins, and a used token stays used over a restart', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  let token = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url });
    ({ token } = await app.bridge.mintToken({ carrier: 'twilio' }));
    const claims = await Promise.all(
      Array.from({ length: 50 }, () => app.bridge.claimToken(token, 'twilio')),
    );
    expect(claims.filter((claim) => claim.outcome === 'accepted')).toHaveLength(1);
  }
  await using app = await testBridge({ store, speechUrl: speech.url });
  expect(await app.bridge.claimToken(token, 'twilio')).toEqual({
    outcome: 'refused',
    reason: 'used',
  });
});

test('strangers who guess tokens wait for no write and keep none waiting', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { token } = await app.bridge.mintToken({ carrier: 'twilio' });
  const unknown = { outcome: 'refused', reason: 'unknown' };
  // A write that goes on: whatever also has to write waits for it.
  const writing = Promise.withResolvers<undefined>();
  const write = store.transaction(() => writing.promise);
  const guesses = Array.from({ length: 400 }, (_, at) =>
    at % 2 === 0 ? randomBytes(24).toString('base64url') : `guess ${at}`,
  );
  const answers = await Promise.all(guesses.map((guess) => app.bridge.claimToken(guess, 'twilio')));
  expect(answers).toEqual(guesses.map(() => unknown));
  writing.resolve(undefined);
  await write;
  const claims = [...guesses, token, ...guesses].map((one) => app.bridge.claimToken(one, 'twilio'));
  expect((await Promise.all(claims)).filter(({ outcome }) => outcome === 'accepted')).toHaveLength(1); // prettier-ignore
  expect(await claims[guesses.length]).toMatchObject({ outcome: 'accepted' });
});

test('an expired token is refused by that name, and no token is stored as it is', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { tokenLifeMs: 1_000 },
  });
  const { token } = await app.bridge.mintToken({ carrier: 'twilio' });
  const rows = await store.db.selectFrom('stream_tokens').selectAll().execute();
  expect(JSON.stringify(rows)).not.toContain(token);
  await store.db.updateTable('stream_tokens').set({ expires_at: 1 }).execute();
  expect(await app.bridge.claimToken(token, 'twilio')).toEqual({
    outcome: 'refused',
    reason: 'expired',
  });
});

test('a request that names no known carrier, or too much metadata, is refused by name', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  expect((await app.get('/api/streams', post({}))).status).toBe(400);
  expect((await app.get('/api/streams', post({ carrier: 'twilio', token: 'x' }))).status).toBe(400);
  expect((await app.get('/api/streams', post({ carrier: 'pigeon' }))).status).toBe(422);
  expect(
    (await app.get('/api/streams', post({ carrier: 'twilio', metadata: { a: 'x'.repeat(3_000) } })))
      .status,
  ).toBe(422);
});

test('the nonce of a signed request is good once, after a restart too, and again when its time is over', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const until = Date.now() + 3_600_000;
  {
    await using app = await testBridge({ store, speechUrl: speech.url });
    expect(await app.bridge.claimNonce('audiohook', 'n1', until)).toBe(true);
    expect(await app.bridge.claimNonce('audiohook', 'n1', until)).toBe(false);
    expect(await app.bridge.claimNonce('plivo', 'n1', until)).toBe(true);
    expect(await app.bridge.claimNonce('plivo', 'old', Date.now() - 1)).toBe(true);
  }
  await using app = await testBridge({ store, speechUrl: speech.url });
  const claims = [1, 2, 3, 4].map(() => app.bridge.claimNonce('audiohook', 'n2', until));
  expect((await Promise.all(claims)).filter((claimed) => claimed)).toHaveLength(1);
  for (const scheme of ['audiohook', 'plivo'])
    expect(await app.bridge.claimNonce(scheme, 'n1', until)).toBe(false);
  expect(await app.bridge.claimNonce('plivo', 'old', until)).toBe(true);
  // A nonce is no token: nobody gets in with its text.
  expect(await app.bridge.claimToken('nonce audiohook n1', 'audiohook')).toMatchObject({
    outcome: 'refused',
  });
});

test('a token that is made of a request is the same after a restart, and another installation makes another', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const madeOf = 'the signature of a webhook';
  const tokenAt = async (own: typeof store, text = madeOf, carrier = 'telnyx'): Promise<string> => {
    await using app = await testBridge({ store: own, speechUrl: speech.url });
    return (await app.bridge.mintToken({ carrier, madeOf: text })).token;
  };
  const token = await tokenAt(store);
  expect(await tokenAt(store)).toBe(token);
  expect(await tokenAt(store, `${madeOf}!`)).not.toBe(token);
  expect(await tokenAt(store, madeOf, 'twilio')).not.toBe(token);
  await using elsewhere = await temporaryStore();
  expect(await tokenAt(elsewhere)).not.toBe(token);
});
