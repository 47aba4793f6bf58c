import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findCall, getCall } from '../../../src/player/api-client.ts';
import { carrierNames, carriers, type CarrierName } from '../../../src/carriers/all.ts';
import type { Encoding, PlayerSecrets } from '../../../src/player/dialogue.ts';
import type { LegSamples } from '../../../src/player/leg-samples.ts';
import { playCall, type CallPlan } from '../../../src/player/play-call.ts';
import type { ApiCall } from '../../../src/protocol/api.ts';
import { provenConfig, provenEnv } from '../../support/carriers/proven-config.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { tones } from '../../support/recognition/fixture-model.ts';
import { until } from '../../support/process/until.ts';

/** The whole program with a model that knows tones, and every carrier's protocol at its socket. */
const config = provenConfig();
const secretsOf = (carrier: CarrierName): PlayerSecrets => carriers[carrier].playerSecrets(config);
let app: App;

beforeAll(async () => {
  app = await startApp({
    env: { ...provenEnv(), TRUNKLINE_REJOIN_WAIT_MS: '500' },
  });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

const legs: LegSamples[] = [
  { leg: 'customer', samples: tones('my card is lost', { tailS: 2.5 }), rateHz: 8000 },
  { leg: 'agent', samples: tones('hello please', { leadS: 2.5 }), rateHz: 8000 },
];

async function ended(carrierCallId: string): Promise<ApiCall> {
  const api = { url: app.url };
  return until(async () => {
    const found = await findCall(api, carrierCallId);
    return found?.state === 'ended' && getCall(api, found.id);
  }, 45_000);
}

async function place(carrier: CarrierName, more: Partial<CallPlan> = {}): Promise<ApiCall> {
  let callId = '';
  const results = await playCall({
    player: carriers[carrier].player,
    to: app.url,
    legs,
    speed: 1,
    onStarted: (ids) => (callId = ids.callId),
    ...more,
  });
  expect(results.map(({ outcome, detail }) => `${outcome} ${detail}`.trim())).toEqual(
    results.map(() => 'played'),
  );
  return ended(callId);
}

function expectWhole(call: ApiCall): void {
  const said = (role: string): string =>
    call.transcript
      .filter((turn) => turn.role === role)
      .map(({ text }) => text)
      .join(' ')
      .toLowerCase();
  const isMixed = call.legs.some(({ track }) => track === 'mixed');
  expect(said(isMixed ? 'mixed' : 'customer')).toContain('my card is lost');
  expect(said(isMixed ? 'mixed' : 'agent')).toContain('hello please');
  expect(call.legs.length).toBe(isMixed ? 1 : 2);
  for (const { ledger, role } of call.legs) {
    expect(ledger.received, role).toBeGreaterThan(0);
    expect(ledger.received).toBe(ledger.acknowledged + ledger.gaps + ledger.paused);
    expect(ledger.gaps).toBe(0);
  }
}

describe.concurrent('from the carrier to the transcript', () => {
  test.each(carrierNames)(
    '%s by its own secret: both roles, their words, every byte',
    async (carrier) => {
      const call = await place(carrier, { secrets: secretsOf(carrier) });
      expectWhole(call);
      expect(call).toMatchObject({ carrier, from: '+15550100123', to: '+15550100200' });
    },
  );

  test('the same with a stream token, where no secret is known', async () => {
    expectWhole(
      await place('twilio', { api: { url: app.url }, parameters: { crmCase: 'C-20417' } }),
    );
    expectWhole(await place('asterisk', { api: { url: app.url } }));
  });

  test.each([
    ['vonage', {}],
    ['infobip', { call_id: 'dialog-of-two-parties' }],
  ] satisfies [CarrierName, Record<string, string>][])(
    '%s: sockets that hear one party each are joined into one call of two legs',
    async (carrier, own) => {
      const { callId } = carriers[carrier].player.newIds();
      const results = await Promise.all(
        legs.map((leg) =>
          playCall({
            player: carriers[carrier].player,
            to: app.url,
            legs: [leg],
            speed: 1,
            secrets: secretsOf(carrier),
            // Vonage's sockets bring the id of the call, each of Infobip's an id of its own.
            callId: 'call_id' in own ? `${callId}-${leg.leg}` : callId,
            parameters: { ...own, leg: leg.leg },
          }),
        ),
      );
      expect(results.flat().map(({ outcome }) => outcome)).toEqual(['played', 'played']);
      const call = await ended('call_id' in own ? own.call_id : callId);
      expectWhole(call);
      expect(call.legs.map(({ role, track }) => [role, track]).toSorted()).toEqual([
        ['agent', 'outbound'],
        ['customer', 'inbound'],
      ]);
    },
  );

  test('a track that never speaks holds nothing up', async () => {
    const call = await place('telnyx', { secrets: secretsOf('telnyx'), legs: legs.slice(0, 1) });
    expect(call.transcript.map(({ text }) => text.toLowerCase()).join(' ')).toContain(
      'my card is lost',
    );
    expect(call.legs.map(({ ledger }) => ledger.gaps)).toEqual(call.legs.map(() => 0));
  });

  test.each([
    ['telnyx', 'alaw', 8000],
    ['telnyx', 'slin', 16_000],
    ['audiohook', 'slin', 8000],
    ['exotel', 'slin', 16_000],
    ['vonage', 'slin', 16_000],
    ['freeswitch', 'slin', 16_000],
  ] satisfies [CarrierName, Encoding, number][])(
    '%s with %s at %i Hz',
    async (carrier, encoding, rateHz) => {
      const call = await place(carrier, { secrets: secretsOf(carrier), encoding, rateHz });
      expectWhole(call);
      expect(call.legs.map(({ sample_rate }) => sample_rate)).toEqual(call.legs.map(() => rateHz));
    },
  );
});
