import { expect, test } from 'vitest';
import { keepStatus } from '../../../src/bridge/api/statuses.ts';
import type { CallStream, StreamControl } from '../../../src/bridge/streams.ts';
import { factsOf } from '../../../src/carriers/all.ts';
import {
  speak,
  streamStart,
  testBridge,
  type TestBridge,
} from '../../support/bridge/test-bridge.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';

const over = { CallSid: 'CA1', CallStatus: 'completed' };
const config = { rejoinWaitMs: 600_000 };

/** A stream whose socket does what it is asked to: it ends in the way that it is told. */
async function openObeying(app: TestBridge): Promise<{ stream: CallStream; asked: string[] }> {
  const asked: string[] = [];
  const control: StreamControl = {
    pause: () => undefined,
    resume: () => undefined,
    disconnect(_reason, how = 'drain') {
      asked.push(how);
      if (opened.outcome === 'opened') opened.stream.end(how);
    },
  };
  const opened = await app.bridge.openStream(streamStart(), control);
  if (opened.outcome !== 'opened') throw new Error(opened.outcome);
  return { stream: opened.stream, asked };
}

test('a stream whose close was lost ends when its carrier says that the call is over, not before its last audio', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const clock = new TestClock(1);
  await using app = await testBridge({ store, speechUrl: speech.url, config, clock, factsOf });
  const { stream, asked } = await openObeying(app);
  await speak(stream, 'inbound', seededAudio(1_600, 1));
  await app.bridge.carrierStatus('twilio', 'CA1', { ...over, CallStatus: 'in-progress' });
  await clock.pass(6_000);
  expect(asked).toEqual([]);
  await app.bridge.carrierStatus('twilio', 'CA1', over);
  await clock.pass(3_000);
  // Audio on its way is heard, however often the carrier says that the call is over.
  await speak(stream, 'inbound', seededAudio(1_600, 2));
  await app.bridge.carrierStatus('twilio', 'CA1', { ...over, Timestamp: 'again' });
  await clock.pass(3_000);
  expect(asked).toEqual([]);
  await clock.pass(6_000);
  expect(asked).toEqual(['stop']);
  const { data } = await app.ended(stream.callId);
  expect(data).toMatchObject({ reason: 'stop', legs: [{ ledger: { received: 3_200 } }] });
});

test('a callback that came to another node, or before a restart, ends the call once its stream is gone', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url, config, factsOf });
    const { stream } = await app.open({ carrierCallId: 'CA2', streamId: 'MZ2' });
    await speak(stream, 'inbound', seededAudio(1_600, 1));
    const told = { carrier: 'twilio', carrierCallId: 'CA2', status: { ...over, CallSid: 'CA2' } };
    await keepStatus(store, new TestClock(1), told);
    stream.end('close');
    expect((await app.ended(stream.callId)).data.reason).toBe('close');
    // The process learns of the next call only while its stream is open, and then stops.
    const next = await app.open();
    callId = next.stream.callId;
    await speak(next.stream, 'inbound', seededAudio(1_600, 1));
    await app.bridge.carrierStatus('twilio', 'CA1', over);
  }
  await using app = await testBridge({ store, speechUrl: speech.url, config, factsOf });
  expect((await app.ended(callId)).data.legs[0].ledger.received).toBe(1_600);
});

test('a callback changes nothing that the stream said, and one that cannot be read changes nothing at all', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url, config, factsOf });
  const { stream } = await app.open({ to: undefined as unknown as string });
  const parties = { From: '+15559999999', To: '+15550100300', Direction: 'outbound-api' };
  const long = { From: 'x'.repeat(400), Direction: '__proto__', CallStatus: 'constructor' };
  for (const told of [{ ...long, To: '' }, parties, { ...parties, To: '+15550100400' }])
    await app.bridge.carrierStatus('twilio', 'CA1', { CallSid: 'CA1', ...told });
  const known = { from: '+15550100123', to: '+15550100300', direction: 'inbound', state: 'live' };
  expect(await app.callOf()).toMatchObject(known);
  stream.end('stop');
  const { call, custom_metadata } = (await app.ended(stream.callId)) as Record<string, object>;
  expect(call).toMatchObject({ from: known.from, to: known.to, direction: known.direction });
  expect(custom_metadata).toMatchObject({ from: known.from, to: known.to, crmCase: 'C-20417' });
});
