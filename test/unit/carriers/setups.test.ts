import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { carrierNames, carriers } from '../../../src/carriers/all.ts';
import { CarriersConfig } from '../../../src/carriers/config.ts';
import { carrierSetups } from '../../../src/carriers/setups.ts';
import { configFields } from '../../../src/config.ts';

const publicUrl = 'https://calls.example.com';
const secret = 'a-secret-of-the-tests';
const setupsWith = (set: Record<string, unknown>) =>
  carrierSetups({ config: { ...CarriersConfig.parse({}), ...set }, publicUrl });
const keyOf = new Map(configFields.map(({ env, path }) => [env, path.at(-1) ?? '']));

test.each(carrierNames)('%s: what is said to be missing, once set, makes it ready', (name) => {
  const bare = setupsWith({}).find((one) => one.name === name);
  if (!bare) throw new Error('not listed');
  expect(bare).toMatchObject({
    state: 'missing',
    set: [],
    last_stream_at: null,
    last_refused: null,
  });
  expect(bare.missing.length).toBeGreaterThan(0);
  const keys = [...bare.missing, ...(bare.voice?.missing ?? [])]
    .flatMap((text) => text.split(' or ').slice(0, 1))
    .map((env) => keyOf.get(env));
  expect(keys).not.toContain(undefined);
  // Lists of secrets are lists, all others texts: neither is looked into here.
  const lists: Record<string, unknown> = CarriersConfig.parse({});
  const set = Object.fromEntries(
    keys.map((key = '') => [key, Array.isArray(lists[key]) ? [secret] : secret]),
  );
  const all = setupsWith(set);
  const ready = all.find((one) => one.name === name);
  expect(ready).toMatchObject({ state: 'ready', missing: [] });
  expect(ready?.voice?.missing ?? []).toEqual([]);
  expect(ready?.set).toHaveLength(new Set(keys).size);
  expect(JSON.stringify(all)).not.toContain(secret);
  // A setting of one carrier is not taken for one of another.
  expect(all.filter((one) => one.state === 'ready')).toHaveLength(1);
});

test.each(carrierNames)('%s: the settings of its voice answer alone make it ready', (name) => {
  const { setup, webhooks } = carriers[name];
  if (!webhooks.some(({ action }) => action === 'voice')) return;
  const lists: Record<string, unknown> = CarriersConfig.parse({});
  const proof = setup.voiceProof ?? setup.proofs[0] ?? [];
  const set = proof.map((key) => [key, Array.isArray(lists[key]) ? [secret] : secret]);
  const one = setupsWith(Object.fromEntries(set)).find((item) => item.name === name);
  expect(one).toMatchObject({ state: 'ready', missing: [] });
});

test.each(carrierNames)(
  '%s: its addresses are below the public one, its steps can be read',
  (name) => {
    const one = setupsWith({}).find((item) => item.name === name);
    const plain = one?.address.replace(/\/\/<.*>@/, '//');
    expect(plain?.startsWith(`wss://calls.example.com/carriers/${name}`)).toBe(true);
    const hasVoice = carriers[name].webhooks.some(({ action }) => action === 'voice');
    const voice = one?.voice?.address.replace(/\/\/<.*>@/, '//');
    expect(voice).toBe(hasVoice ? `${publicUrl}/carriers/${name}/voice` : undefined);
    const hasStatus = carriers[name].webhooks.some(({ action }) => action === 'status');
    expect(one?.status_address).toBe(hasStatus ? `${publicUrl}/carriers/${name}/status` : null);
    expect(one?.steps.length).toBeGreaterThan(1);
    for (const step of one?.steps ?? []) expect(step).toMatch(/^[A-Z].*\.$/);
    // A step speaks of an address exactly where there is one.
    expect(one?.steps.join(' ').includes('voice address')).toBe(hasVoice);
    expect(one?.steps.join(' ').includes('status address')).toBe(hasStatus);
  },
);

test.each(carrierNames)('%s: its page alone names the settings and the call to try', (name) => {
  const file = new URL(`../../../config/docs/carriers/${name}.md`, import.meta.url);
  const connect = readFileSync(file, 'utf8');
  expect(connect).toContain(`npx trunkline call --carrier ${name}`);
  const one = setupsWith({}).find((item) => item.name === name);
  const wanted = [...(one?.missing ?? []), ...(one?.voice?.missing ?? [])];
  for (const setting of wanted.flatMap((text) => text.split(' or ')))
    expect(connect).toContain(setting);
});
