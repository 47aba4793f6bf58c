import { expect, test } from 'vitest';
import { linearToAlaw, mulawToLinear } from '../../../src/audio/g711.ts';
import { builtInConversation } from '../../../src/player/conversation.ts';
import { speak, testBridge } from '../../support/speech/bridge.ts';
import { journalHolds } from '../../support/store/journal-bytes.ts';
import { ScriptedSpeech, seededAudio } from '../../support/speech/scripted-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

const said = (text: string, id: string) => (session: { id: string }) => ({
  session_id: session.id,
  created_at: new Date().toISOString(),
  type: 'transcript',
  data: {
    id,
    is_final: true,
    utterance: {
      start: 0,
      end: 4,
      confidence: 1,
      channel: 0,
      language: 'en',
      text: ` ${text}`,
      words: text
        .split(' ')
        .map((word, at) => ({ word: ` ${word}`, start: at / 4, end: at / 4 + 0.2, confidence: 1 })),
    },
  },
});

test('configured entity types are taken out of everything that is stored and sent', async () => {
  await using speech = await ScriptedSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { redactEntities: ['EMAIL_ADDRESS'] },
  });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(1_600, 1));
  await until(() => [...speech.sessions.values()][0]?.bytes.length === 1_600);
  speech.sendToAll(said('please write to jane.roe@example.com today', 'a'));
  speech.sendToAll(said('yes jane.roe@example.com is right', 'b'));
  await until(async () => (await app.callOf()).transcript.length === 2);
  stream.end('stop');
  await app.ended(stream.callId);
  const everything = JSON.stringify([await app.events(stream.callId), await app.callOf()]);
  expect(everything).not.toContain('jane.roe');
  expect(everything).toContain('[EMAIL_1]');
  const texts = (await app.events(stream.callId))
    .filter((event) => event.type === 'call.transcript')
    .map((event) => event.data.text);
  expect(texts).toEqual(['please write to [EMAIL_1] today', 'yes [EMAIL_1] is right']);
});

/** The customer's first seconds, as A-law bytes. */
async function alawSpeech(): Promise<Buffer> {
  const [leg] = await builtInConversation();
  if (leg === undefined) throw new Error('no leg');
  return Buffer.from(
    leg.bytes.subarray(0, 8_000 * 8).map((code) => linearToAlaw(mulawToLinear[code] ?? 0)),
  );
}

test('a stream declared mu-law that sounds like A-law gets a warning, and the declared law is kept', async () => {
  await using speech = await ScriptedSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const audio = await alawSpeech();
  const { stream } = await app.open();
  await speak(stream, 'inbound', audio);
  stream.end('stop');
  await app.ended(stream.callId);
  const call = await app.callOf();
  expect(call.warnings).toMatchObject([{ code: 'WRONG_COMPANDING' }]);
  expect(call.legs[0].encoding).toBe('mulaw');
  expect([...speech.sessions.values()].map((session) => session.request['encoding'])).toEqual([
    'wav/ulaw',
  ]);
});

test('with the setting the leg is transcribed by the law that it shows, from its first byte', async () => {
  await using speech = await ScriptedSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { correctCompanding: true },
  });
  const audio = await alawSpeech();
  const { stream } = await app.open();
  await speak(stream, 'inbound', audio);
  await until(() => [...speech.sessions.values()].at(-1)?.request['encoding'] === 'wav/alaw');
  await until(async () => (await app.callOf()).legs[0].ledger.acknowledged >= audio.length);
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  const session = [...speech.sessions.values()].at(-1)!;
  expect(session.bytes.equals(audio)).toBe(true);
  expect((await app.callOf()).legs[0].encoding).toBe('alaw');
  expect(ended.data.legs[0].ledger).toMatchObject({
    received: audio.length,
    acknowledged: audio.length,
  });
});

test('a leg that is begun anew by the law it shows says nothing that was paused, and keeps its times', async () => {
  await using speech = await ScriptedSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { correctCompanding: true },
  });
  const secret = Buffer.from('4111111111111111'.repeat(250));
  const audio = await alawSpeech();
  const { stream } = await app.open();
  stream.take({ type: 'paused' });
  await speak(stream, 'inbound', secret);
  stream.take({ type: 'resumed', discardedMs: 0 });
  stream.take({ type: 'lost', track: 'inbound', durationMs: 500, cause: 'numbering' });
  await speak(stream, 'inbound', audio);
  await until(() => [...speech.sessions.values()].at(-1)?.request['encoding'] === 'wav/alaw');
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  const { bytes } = [...speech.sessions.values()].at(-1)!;
  expect(bytes.equals(Buffer.concat([Buffer.alloc(8_000, 0xd5), audio]))).toBe(true);
  for (const session of speech.sessions.values())
    expect(session.bytes.includes(secret.subarray(0, 160))).toBe(false);
  expect(await journalHolds(store.dataDir, secret.subarray(0, 160))).toBe(false);
  expect(ended.data.legs[0].ledger).toEqual({
    received: 4_000 + audio.length,
    acknowledged: audio.length,
    gaps: 0,
    paused: 4_000,
    filler: 8_000,
  });
});
