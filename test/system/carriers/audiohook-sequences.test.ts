import { expect, test } from 'vitest';
import { isBalanced } from '../../../src/bridge/call/call-ending.ts';
import { randomFrom } from '../../../src/player/faults.ts';
import { startApp } from '../../support/process/app.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { CarrierLine } from '../../support/carriers/carrier-line.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { until } from '../../support/process/until.ts';

type Message = { type: string; seq: number; serverseq: number } & Record<string, unknown>;

/** Faults in the numbers of a message that is otherwise right. */
const mutations: [string, (message: Message) => Record<string, unknown>][] = [
  ['the number before', ({ seq }) => ({ seq: seq - 1 })],
  ['one number left out', ({ seq }) => ({ seq: seq + 1 })],
  ['a hundred left out', ({ seq }) => ({ seq: seq + 100 })],
  ['a number of 2^31', () => ({ seq: 2 ** 31 })],
  ['a number past the whole ones', () => ({ seq: 2 ** 53 })],
  ['zero', () => ({ seq: 0 })],
  ['below zero', ({ seq }) => ({ seq: -seq })],
  ['a fraction', ({ seq }) => ({ seq: seq + 0.5 })],
  ['text', ({ seq }) => ({ seq: String(seq) })],
  ['none', () => ({ seq: undefined })],
  ['an answer to what we never said', ({ serverseq }) => ({ serverseq: serverseq + 50 })],
  ['a serverseq below zero', () => ({ serverseq: -1 })],
];
const kinds = ['ping', 'paused', 'update', 'discarded'] as const;

test('a wrong sequence number, anywhere in a call: disconnect with reason error, closed for its close, and the record keeps all that was heard', async () => {
  await using speech = await FakeSpeech.start();
  await using app = await startApp({
    env: {
      TRUNKLINE_ROLES: 'bridge',
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_INSECURE: '1',
      TRUNKLINE_REJOIN_WAIT_MS: '200',
      TRUNKLINE_QUIET_FILL_MS: '0',
    },
  });
  const random = randomFrom(14);
  for (const [what, mutate] of mutations) {
    await using line = await CarrierLine.connect(app, 'audiohook');
    await line.open();
    line.speak(1 + Math.floor(random() * 4));
    const { received } = line.client;
    // Some right messages first: the wrong one comes at any place.
    let seq = 1;
    const next = (type: string): Message => ({
      version: '2',
      type,
      id: line.streamId,
      seq: ++seq,
      serverseq: 1,
      position: 'PT1S',
      parameters: type === 'discarded' ? { start: 'PT0S', discarded: 'PT0S' } : {},
    });
    for (let turn = Math.floor(random() * 4); turn > 0; turn--)
      line.slip(JSON.stringify(next('update')), 1);
    const wrong = next(kinds[Math.floor(random() * kinds.length)]!);
    line.slip(JSON.stringify({ ...wrong, ...mutate(wrong) }), 1);
    // Audio that was on its way is dropped quietly.
    line.slip(Buffer.alloc(320));
    const last = (): AnyJson => JSON.parse(received.at(-1) ?? '{}');
    await until(() => last().type === 'closed');
    const disconnect: AnyJson = JSON.parse(received.at(-2) ?? '{}');
    expect([what, disconnect.type, disconnect.parameters.reason]).toEqual([
      what,
      'disconnect',
      'error',
    ]);
    // Our own numbers have no hole, and every one names the last of the client's that was processed.
    expect(received.map((text) => (JSON.parse(text) as Message).seq)).toEqual(
      received.map((_, at) => at + 1),
    );
    const call: AnyJson = await until(async () => {
      const list = (await (await app.get(`/api/calls?carrier_call_id=${line.callId}`)).json()) as AnyJson;
      return list.items[0]?.state === 'ended' && list.items[0];
    }); // prettier-ignore
    for (const leg of call.legs) {
      expect(isBalanced(leg.ledger), what).toBe(true);
      expect([what, leg.ledger.received, leg.ledger.gaps]).toEqual([
        what,
        line.sentBytes(leg.role),
        0,
      ]);
    }
    expect(call.legs.length).toBe(2);
  }
}, 120_000);
