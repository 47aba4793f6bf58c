import { randomBytes } from 'node:crypto';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { expect, test } from 'vitest';
import { isBalanced } from '../../../src/bridge/call/call-ending.ts';
import { carrierNames, carriers } from '../../../src/carriers/all.ts';
import { playCall } from '../../../src/player/play-call.ts';
import { eventsOnlyNamed } from '../../../src/protocol/events.ts';
import { startApp } from '../../support/process/app.ts';
import { check, type Issued } from '../../support/crm/delivery-checker.ts';
import { digestOf, startCrm } from '../../support/crm/crm.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { tones } from '../../support/recognition/fixture-model.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { until } from '../../support/process/until.ts';

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const bare = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z ]/g, '')
    .trim();

const isForAgents = (type: string): boolean =>
  (eventsOnlyNamed as readonly string[]).includes(type);

test('a call of each carrier, through our own speech service, reaches the CRM signed, whole and in order', async () => {
  await using crm = await startCrm([secret]);
  await using app = await startApp({
    env: {
      TRUNKLINE_WEBHOOK_URL: crm.url,
      TRUNKLINE_WEBHOOK_SECRET: secret,
      TRUNKLINE_REJOIN_WAIT_MS: '1000',
    },
  });
  const customer = { leg: 'customer' as const, samples: tones('my card is lost'), rateHz: 8_000 };
  const agent = {
    leg: 'agent' as const,
    samples: tones('thanks please', { leadS: 2.2 }),
    rateHz: 8_000,
  };
  const callIds = carrierNames.map((carrier) => `${carrier}-${randomBytes(4).toString('hex')}`);
  await Promise.all(
    carrierNames.map((carrier, at) =>
      playCall({
        player: carriers[carrier].player,
        to: app.url.replace('http', 'ws'),
        api: { url: app.url },
        legs: [customer, agent],
        callId: callIds[at]!,
        parameters: { crmCase: 'C-20417' },
      }),
    ),
  );
  const calls: AnyJson[] = await until(async () => {
    const { items } = (await (await app.get('/api/calls?limit=100')).json()) as AnyJson;
    return (
      items.length === carrierNames.length &&
      items.every((call: AnyJson) => call.summary !== null) &&
      items
    );
  }, 120_000);
  for (const { id } of calls) {
    const call = (await (await app.get(`/api/calls/${id}`)).json()) as AnyJson;
    const said = (role: string) =>
      bare(
        call.transcript
          .filter((turn: AnyJson) => turn.role === role)
          .map((turn: AnyJson) => turn.text)
          .join(' '),
      );
    const isMixed = call.legs.some(({ track }: AnyJson) => track === 'mixed');
    expect([call.carrier, ...['customer', 'agent', 'mixed'].map(said)]).toEqual([
      call.carrier,
      ...(isMixed
        ? ['', '', 'my card is lost thanks please']
        : ['my card is lost', 'thanks please', '']),
    ]);
    for (const { ledger } of call.legs) expect(isBalanced(ledger), call.carrier).toBe(true);
  }
  // The events at the CRM are compared with those in the store.
  const issued: Issued[] = [];
  for (const call of calls) {
    const { items } = (await (
      await app.get(`/api/calls/${call.id}/events?limit=1000`)
    ).json()) as AnyJson;
    // A CRM gets hints for the agent only where it names them.
    for (const event of items.filter(({ type }: AnyJson) => !isForAgents(type as string)))
      issued.push({
        callId: call.id,
        sequence: event.sequence,
        id: event.id,
        digest: digestOf(JSON.stringify(event)),
      });
  }
  await until(() => crm.arrivals.length >= issued.length);
  const acknowledged = new Set(issued.map((event) => event.id));
  const findings = check({ issued, acknowledged, arrivals: crm.arrivals });
  expect(findings).toMatchObject({ lost: [], invented: [], order: [], altered: [] });
  expect(crm.refusedSignatures).toBe(0);
}, 120_000);

test('SIGTERM under a live call: the process ends by itself, and the next one finishes the call', async () => {
  await using app = await startApp({ env: { TRUNKLINE_REJOIN_WAIT_MS: '500' } });
  const hangUp = new AbortController();
  const playing = playCall({
    player: twilioPlayer,
    to: app.url.replace('http', 'ws'),
    api: { url: app.url },
    callId: 'CA-drain',
    legs: [{ leg: 'customer', samples: tones(Array(40).fill('one')), rateHz: 8_000 }],
    signal: hangUp.signal,
  }).catch(() => undefined);
  await until(async () => (await newestCall(app))?.transcript.length > 0, 60_000);
  hangUp.abort();
  await playing;
  expect(await app.end('SIGTERM')).toEqual({ code: 0, signal: null });
  await using next = await startApp({
    dataDir: app.dataDir,
    env: { TRUNKLINE_REJOIN_WAIT_MS: '500' },
  });
  const call = await until(async () => {
    const { items } = (await (await next.get('/api/calls')).json()) as AnyJson;
    return items[0]?.state === 'ended' && items[0];
  }, 120_000);
  expect(call.legs[0].ledger.received).toBe(call.legs[0].ledger.acknowledged);
}, 120_000);
