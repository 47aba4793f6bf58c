import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { isBalanced } from '../../../src/bridge/call/call-ending.ts';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { play, type PlayResult } from '../../../src/player/play.ts';
import { twilioSignature } from '../../../src/carriers/twilio/player.ts';
import { startApp, type App } from '../../support/process/app.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioStart,
} from '../../support/carriers/carrier-client.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { until } from '../../support/process/until.ts';

const token = 'twilio-secret-of-the-tests';
const secret = `whsec_${randomBytes(32).toString('base64')}`;
const handles = 256;

function playOne(
  app: App,
  callId: string,
  seconds: number,
  signal: AbortSignal,
): Promise<PlayResult> {
  return play({
    to: `${app.url.replace('http', 'ws')}/carriers/twilio`,
    player: twilioPlayer,
    call: playedCall({
      ...twilioPlayer.newIds(),
      callId,
    }),
    secrets: { authToken: token },
    audio: [{ leg: 'customer', bytes: seededAudio(8_000 * seconds, 7) }],
    speed: 1,
    signal,
  });
}

const openHandles = async (app: App): Promise<number> =>
  (await readdir(`/proc/${app.process.pid}/fd`)).length;

async function callOf(app: App, carrierCallId: string): Promise<AnyJson> {
  const list: AnyJson = await (await app.get(`/api/calls?carrier_call_id=${carrierCallId}`)).json();
  return list.items[0];
}

test('with 256 handles calls come in until there is no room, in words; the running call goes on, its events are delivered, and room comes back', async () => {
  await using speech = await FakeSpeech.start();
  await using crm = await startCrm([secret]);
  await using app = await startApp({
    handles,
    env: {
      TRUNKLINE_ROLES: 'bridge',
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_TWILIO_AUTH_TOKEN: token,
      TRUNKLINE_WEBHOOK_URL: crm.url,
      TRUNKLINE_WEBHOOK_SECRET: secret,
      TRUNKLINE_REJOIN_WAIT_MS: '200',
      TRUNKLINE_QUIET_FILL_MS: '0',
    },
  });
  const hangUp = new AbortController();
  const playing = playOne(app, 'CA-running', 600, hangUp.signal);
  const finals = (): number =>
    crm.requests.filter(({ event }) => event.type === 'call.transcript').length;
  await until(() => finals() > 0);

  // Signed calls with a leg each, until one is refused, and then many more.
  const url = `${app.url.replace('http', 'ws')}/carriers/twilio`;
  const headers = { 'x-twilio-signature': twilioSignature(url, token) };
  const calls: CarrierClient[] = [];
  const refusals: { status: number; body: string }[] = [];
  while (calls.length + refusals.length < 300) {
    const at = calls.length;
    const client = await CarrierClient.connect(url, headers).catch(() => undefined);
    // The refused ones before it were not quite gone: there was no room even for words.
    if (client === undefined) continue;
    if (client instanceof CarrierClient) {
      client.send(twilioConnected, twilioStart({ callSid: `CA${at}`, streamSid: `MZ${at}` }));
      calls.push(client);
    } else refusals.push(client);
  }
  expect(calls.length).toBeGreaterThan(20);
  for (const { status, body } of refusals)
    expect([status, body]).toEqual([503, expect.stringContaining('open files')]);

  // Connections that say nothing, far more than there are handles.
  const silent: Socket[] = [];
  const port = Number(new URL(app.url).port);
  for (let at = 0; at < 1_000; at++)
    silent.push(connect(port, '127.0.0.1').on('error', () => undefined));
  await until(() => silent.filter((socket) => socket.readyState === 'closed').length > 900);
  expect(await openHandles(app)).toBeLessThan(handles - 16);

  // Full as it is: the call goes on, is stored, and the CRM hears of it.
  const before = finals();
  await until(() => finals() >= before + 3);
  expect(calls.every((client) => client.closed === undefined)).toBe(true);

  for (const socket of silent) socket.destroy();
  for (const client of calls) client.socket.terminate();
  const next = await until(async () => {
    const client = await CarrierClient.connect(url, headers).catch(() => undefined);
    return client instanceof CarrierClient && client;
  });
  await next[Symbol.asyncDispose]();
  const told = await (await app.get('/metrics')).text();
  expect(told).toContain(
    `trunkline_carrier_upgrades_total{carrier="twilio",outcome="503"} ${refusals.length}`,
  );
  expect(Number(/^trunkline_connections_dropped_total (\d+)$/m.exec(told)?.[1])).toBeGreaterThan(
    900,
  );

  hangUp.abort();
  await playing;
  const call = await until(async () => {
    const found = await callOf(app, 'CA-running');
    return found?.state === 'ended' && found;
  });
  const [leg] = call.legs;
  expect(isBalanced(leg.ledger)).toBe(true);
  expect(leg.ledger.gaps).toBe(0);
  await until(() => crm.requests.some(({ event }) => event.type === 'call.ended' && event.call.id === call.id)); // prettier-ignore
  expect(app.lines.filter((line) => line.includes('EMFILE'))).toEqual([]);
  expect(app.process.exitCode).toBeNull();
}, 180_000);
