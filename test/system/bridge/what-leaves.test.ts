import { expect, test } from 'vitest';
import { linearToAlaw, mulawToLinear } from '../../../src/audio/g711.ts';
import { builtInConversation } from '../../../src/player/conversation.ts';
import { speak, testBridge } from '../../support/bridge/test-bridge.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
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
  await using speech = await FakeSpeech.start();
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
  await using speech = await FakeSpeech.start();
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

test('speech in which the service found no words is a warning of the call, with its places', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(1_600, 1));
  await until(() => [...speech.sessions.values()][0]?.bytes.length === 1_600);
  const unread = [1, 3, 5, 7, 9, 11].map((start) => ({ channel: 0, start, end: start + 0.5 }));
  speech.sendToAll((session) => ({
    session_id: session.id,
    created_at: new Date().toISOString(),
    type: 'post_final_transcript',
    data: {
      metadata: {
        audio_duration: 12,
        number_of_distinct_channels: 1,
        billing_time: 12,
        transcription_time: 12,
        unread,
      },
    },
  }));
  await until(async () => (await app.callOf()).warnings.length > 0);
  stream.end('stop');
  await app.ended(stream.callId);
  const message =
    'track inbound: somebody spoke for 3.0 s in which no words were found: ' +
    '1.0 to 1.5 s, 3.0 to 3.5 s, 5.0 to 5.5 s, 7.0 to 7.5 s, 9.0 to 9.5 s and 1 more';
  expect((await app.callOf()).warnings).toMatchObject([{ code: 'SPEECH_UNREAD', message }]);
  const told = (await app.events(stream.callId)).filter(({ type }) => type === 'call.warning');
  expect(told.map(({ data }) => data)).toMatchObject([{ code: 'SPEECH_UNREAD', message }]);
});
