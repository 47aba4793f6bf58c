import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { carrierNames, carriers, type CarrierName } from '../../../src/carriers/all.ts';
import type { Dialogue } from '../../../src/player/dialogue.ts';
import {
  callbackEnv,
  callbackOf,
  callingBack,
  provenRequest,
  type CallingBack,
} from '../../support/carriers/callbacks.ts';
import { CarrierClient } from '../../support/carriers/carrier-client.ts';
import { usualForm } from '../../support/carriers/carrier-shape.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { provenConfig, provenEnv } from '../../support/carriers/proven-config.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';

/** The whole program, and calls whose streams say nothing of the parties and never say that they are over. */
const config = provenConfig();
const parties = { from: '+15550100123', to: '+15550100200' };
let speech: FakeSpeech;
let app: App;

beforeAll(async () => {
  speech = await FakeSpeech.start();
  app = await startApp({
    env: {
      ...provenEnv(),
      ...callbackEnv,
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_ROLES: 'bridge',
      // Far longer than a test waits: only the carrier's word ends a call whose socket is gone.
      TRUNKLINE_REJOIN_WAIT_MS: '600000',
      TRUNKLINE_FINALS_WAIT_MS: '500',
      TRUNKLINE_CONSENT_WITHDRAW_KEY: '9',
      TRUNKLINE_RECORDING: 'on',
      // On a busy machine the hostile requests take longer than a stream may be quiet.
      TRUNKLINE_CARRIER_IDLE_MS: '3600000',
    },
  });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await speech[Symbol.asyncDispose]();
});

async function tell(carrier: CallingBack, told: Parameters<typeof callbackOf>[2]): Promise<void> {
  const { path, ...request } = callbackOf(carrier, app.url, told);
  expect((await app.get(path, { method: 'POST', ...request })).status).toBe(204);
}

/** A stream with a frame of audio, which names no number. */
async function stream(
  carrier: CarrierName,
  ids = carriers[carrier].player.newIds(),
): Promise<{ callId: string; client: CarrierClient; dialogue: Dialogue }> {
  const { player } = carriers[carrier];
  const { bytesPerMs, ...form } = usualForm(carrier);
  const unsaid = { from: '', to: '', direction: '' as 'inbound' };
  const call = playedCall({ ...ids, ...form, ...unsaid });
  const url = `${app.url.replace('http', 'ws')}/carriers/${carrier}`;
  const client = await CarrierClient.open(
    url,
    player.headers(url, call, carriers[carrier].playerSecrets(config)),
    {
      protocols: [...(player.protocols ?? [])],
    },
  );
  const dialogue = player.newDialogue(call);
  const bytes = Buffer.alloc(player.frameMs * bytesPerMs, 1);
  client.send(
    ...dialogue.opening(),
    ...dialogue.media(
      call.legs.map((leg) => ({ leg, bytes })),
      0,
    ),
  );
  return { callId: call.callId, client, dialogue };
}

type Shown = {
  id: string;
  state: string;
  from: string | null;
  to: string | null;
  direction: string | null;
};

const shown = (callId: string): Promise<Shown> =>
  until(async () => {
    const { items } = (await (await app.get(`/api/calls?carrier_call_id=${callId}`)).json()) as {
      items: Shown[];
    };
    return items[0];
  });

type ShownEvent = { type: string; call: Shown; custom_metadata: object };

async function eventsOf(id: string): Promise<ShownEvent[]> {
  const response = await app.get(`/api/calls/${id}/events?limit=1000`);
  return ((await response.json()) as { items: ShownEvent[] }).items;
}

const ended = (callId: string): Promise<boolean> =>
  until(async () => (await shown(callId)).state === 'ended');

describe.concurrent.each(callingBack)('the callbacks of %s', (carrier) => {
  test('bring the numbers and the direction of a call that goes on, and its end when its socket is gone', async () => {
    const { callId, client } = await stream(carrier);
    expect(await shown(callId)).toMatchObject({ from: null, to: null });
    await tell(carrier, { callId, ...parties });
    await until(async () => (await shown(callId)).from !== null);
    expect(await shown(callId)).toMatchObject({ ...parties, direction: 'inbound', state: 'live' });
    client.socket.terminate();
    await tell(carrier, { callId, ...parties, isOver: true });
    await ended(callId);
    const { id } = await shown(callId);
    const last = (await eventsOf(id)).find(({ type }) => type === 'call.ended');
    expect(last).toMatchObject({ call: parties, custom_metadata: parties });
    const found = await app.get(`/api/calls?number=${encodeURIComponent(parties.from)}&limit=200`);
    expect(await found.text()).toContain(id);
  });

  test('that come before the stream are there when its call begins, and end it when its socket is gone', async () => {
    const ids = carriers[carrier].player.newIds();
    await tell(carrier, { callId: ids.callId, ...parties });
    await tell(carrier, { callId: ids.callId, ...parties, isOver: true });
    const { callId, client } = await stream(carrier, ids);
    const { id } = await shown(callId);
    const [started] = await eventsOf(id);
    expect(started).toMatchObject({
      type: 'call.started',
      call: { ...parties, direction: 'inbound' },
      custom_metadata: parties,
    });
    client.socket.terminate();
    await ended(callId);
  });
});

/** An empty message says of these that no more audio comes; the others say stop, or their callback does. */
const emptyEnds: readonly CarrierName[] = ['vonage', 'jambonz', 'freeswitch'];
/** These have no message for a key press. */
const keyless: readonly CarrierName[] = ['audiohook', 'bandwidth', 'infobip', 'ringcx'];
const withKeys = carrierNames.filter((name) => !keyless.includes(name));

test.concurrent.each(withKeys)(
  'a key press on %s withdraws the consent: the call is paused for good, and its audio goes at its end',
  async (carrier) => {
    const { callId, client, dialogue } = await stream(carrier);
    const { id } = await shown(callId);
    client.send(...(dialogue.dtmf?.('9', 40) ?? []));
    const paused = await until(async () =>
      (await eventsOf(id)).find(({ type }) => type === 'call.paused'),
    );
    expect(paused).toMatchObject({ data: { by: 'consent' } });
    const resumed = await app.get(`/api/calls/${id}/resume`, { method: 'POST' });
    expect(resumed.status).toBe(409);
    // Nothing of Asterisk says that its call is over.
    if (carrier === 'asterisk') return client.socket.terminate();
    const legs = ((await (await app.get(`/api/calls/${id}`)).json()) as { legs: { id: string }[] })
      .legs;
    if (emptyEnds.includes(carrier)) client.send(Buffer.alloc(0));
    else client.send(...dialogue.closing(60));
    if (carrier === 'plivo') {
      client.socket.terminate();
      await tell(carrier, { callId, isOver: true });
    }
    await until(async () => (await eventsOf(id)).at(-1)?.type === 'call.completed');
    expect((await app.get(`/api/calls/${id}/recording`)).status).toBe(404);
    const kept = await readdir(join(app.dataDir, 'journal', 'legs'));
    expect(kept.filter((file) => legs.some((leg) => file.startsWith(leg.id)))).toEqual([]);
    client.socket.terminate();
  },
);

const text = 'x'.repeat(2_000);
const ids = ['', '0', text, '\u0000', '\ud800', '../../etc', '__proto__', 'a\r\nSet-Cookie: x'];
const values: unknown[] = [...ids, 5, true, null, {}, [], ['a'], { a: { b: 'c' } }, 1e308];
const deep = (open: string, close: string, levels: number): string =>
  open.repeat(levels) + close.repeat(levels);

/** Bodies that the carrier itself would have to prove: what a broken or hostile one sends. */
const hostileBodies: string[] = [
  '',
  'null',
  '"text"',
  '{',
  deep('[', ']', 15_000),
  deep('{"a":', '}', 5_000),
  `{"data":${deep('{"payload":', '}', 2_500)}}`,
  JSON.stringify({ data: { event_type: 5, payload: [] } }),
  JSON.stringify({ data: { event_type: 'call.initiated', payload: { call_control_id: {} } } }),
  '{"__proto__":{"call_sid":"a","CallSid":"a"},"constructor":{"prototype":{}}}',
  ...values.map((value) =>
    JSON.stringify({
      callId: value,
      call_sid: value,
      uuid: value,
      CallSid: value,
      from: value,
      to: value,
      direction: value,
      status: value,
      call_status: value,
      eventType: value,
      data: { event_type: 'call.answered', payload: { call_control_id: value, from: value } },
    }),
  ),
  ...ids.map((id) => new URLSearchParams({ CallSid: id, CallUUID: id, From: id }).toString()),
  Array.from({ length: 5_000 }, (_, at) => `f${at}=1`).join('&'),
  'CallSid=a&CallSid=b&CallUUID=a&CallUUID=b&From=%&To=%zz&Direction',
  'a'.repeat(40_000),
];

const types = ['application/json', 'application/x-www-form-urlencoded', 'text/plain', 'x', ''];

test.concurrent.each(callingBack)(
  'whatever %s sends to its addresses is answered, and a call beside it goes on',
  async (carrier) => {
    const { callId, client, dialogue } = await stream(carrier);
    const { id } = await shown(callId);
    const statuses = new Map<number, number>();
    const ask = async (path: string, request: RequestInit): Promise<void> => {
      const response = await app.get(path, request);
      const answer = await response.text();
      expect(answer).not.toMatch(/ at file:|node_modules/);
      // A client that has proven that it knows them may have them back: the stream needs them.
      const hasProof = Object.keys(request.headers ?? {}).some((name) => name !== 'content-type');
      if (!hasProof) expect(answer).not.toMatch(/secret-of-the-tests|-secret"|PSK_/);
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    };
    const which = callingBack.indexOf(carrier);
    for (const action of ['voice', 'status'])
      for (const [at, body] of hostileBodies.entries()) {
        // One half goes to one address and the other to the other, and the other way round at the next carrier.
        if (at % 2 === (which + Number(action === 'status')) % 2) continue;
        const path = `/carriers/${carrier}/${action}`;
        const type = types[at % types.length] ?? '';
        const headers = type === '' ? {} : { 'content-type': type };
        const proven = provenRequest(carrier, app.url, { path, body, headers });
        await ask(path, { method: 'POST', headers: proven.headers, body });
        if (at % 5 > 0) continue;
        await ask(path, { method: 'POST', headers, body });
        await ask(`${path}?${encodeURI(body.slice(0, 2_000))}`, { headers: proven.headers });
      }
    // 404 is a path without this method. 503 is a store that takes its time: no stream can be had then.
    for (const status of statuses.keys())
      expect([200, 204, 400, 401, 403, 404, 413, 415, 431, 503], [...statuses].join(' ')).toContain(
        status,
      );
    expect(await shown(callId)).toMatchObject({ id, from: null, state: 'live' });
    client.send(...dialogue.closing(60));
    client.socket.terminate();
    const errors = app.lines.filter((line) => /"level":"(error|fatal)"/.test(line));
    expect(errors.filter((line) => !line.includes('goes on without its stream'))).toEqual([]);
    expect((await app.get('/health/live')).status).toBe(200);
  },
);
