import { expect, test } from 'vitest';
import { ruleSetOf, playbookFrom } from '../../../src/assist/rule-set.ts';
import {
  speak,
  testBridge,
  type AnyJson,
  type TestBridge,
} from '../../support/bridge/test-bridge.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';

/** A final of two seconds, from every session. */
function say(speech: FakeSpeech, text: string, language: string, at: number, seconds = 2): void {
  const word = { start: at, end: at + seconds, confidence: 0.9 };
  const utterance = { ...word, channel: 0, language, text, words: [{ ...word, word: text }] };
  const data = { id: `said_${at}`, is_final: true, utterance };
  speech.sendToAll((session) => ({
    ...{ type: 'transcript', session_id: session.id, created_at: new Date().toISOString(), data },
  }));
}

const asked = (speech: FakeSpeech): unknown[] =>
  [...speech.sessions.values()].map(
    (session) => (session.request['language_config'] as AnyJson)?.languages,
  );

/** A call with 16 s of audio, in which the finals lie. */
async function opened(speech: FakeSpeech, app: TestBridge) {
  const { stream } = await app.open();
  const audio = seededAudio(128_000, 1);
  await speak(stream, 'inbound', audio);
  await until(() => [...speech.sessions.values()][0]?.bytes.length === audio.length);
  return stream;
}

/** Resolves when the call has these words. */
const heard = (app: TestBridge, words: string) =>
  until(async () =>
    (await app.callOf())?.transcript.some(({ text }: AnyJson) =>
      text.toLowerCase().includes(words),
    ),
  );

test('a call that changes from English to Spanish is told in each once it is sure, after a restart too', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const options = { store, speechUrl: speech.url, config: { rejoinWaitMs: 30_000 } };
  let callId = '';
  {
    await using app = await testBridge(options);
    const stream = await opened(speech, app);
    callId = stream.callId;
    say(speech, 'oui', 'ar', 0, 0.4);
    say(speech, 'hello, I have a question about my bill', 'en', 1);
    await heard(app, 'hello');
    expect(await app.callOf()).toMatchObject({ language: null, legs: [{ language: null }] });
    say(speech, 'it is from last month', 'en', 4);
    await heard(app, 'last month');
    say(speech, 'perdón, un momento por favor', 'es', 7);
    await heard(app, 'momento');
    expect(await app.callOf()).toMatchObject({
      language: 'en',
      legs: [{ language: 'en', languages: ['en'] }],
    });
    say(speech, 'mi mujer quiere hablar con usted', 'es', 10);
    await heard(app, 'mujer');
    stream.end('drain');
  }
  await using app = await testBridge(options);
  const legs = [{ language: 'es', languages: ['en', 'es'] }];
  expect(await app.callOf()).toMatchObject({ language: 'es', legs });
  const { stream } = await app.open({ streamId: 'MZ2' });
  stream.end('stop');
  await app.ended(callId);
  expect(await app.callOf()).toMatchObject({ language: 'es', legs });

  const events = await app.events(callId);
  const ofLeg = events.filter(({ type }) => type === 'call.transcript');
  expect(ofLeg.slice(-5).map(({ leg, data }) => [data.language, leg.language])).toEqual([
    ['ar', null],
    ['en', null],
    ['en', 'en'],
    ['es', 'en'],
    ['es', 'es'],
  ]);
  const ofCall = new Map(events.map(({ type, call }) => [type, call.language]));
  expect(ofCall.get('call.started')).toBeUndefined();
  expect(ofCall.get('call.completed')).toBe('es');
});

test('the number that was called sets the language, and a parameter of the call comes first', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const numberLanguages = { '+34 910 000 000': 'Spanish', '+34*': 'es, ca', '+41*': 'de-CH, fr' };
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { numberLanguages, session: { language_config: { languages: ['en'] } } },
  });
  const calls = [
    [{ to: '+34910000000' }, ['es'], 'es'],
    [{ to: '+34910000001' }, ['es', 'ca'], null],
    [{ to: '+34910000000', parameters: { language: 'fr_CA' } }, ['fr'], 'fr'],
    [{ to: '+34910000000', parameters: { language: 'auto' } }, [], null],
    [{ to: '+41440000000', parameters: { language: 'klingon' } }, ['de', 'fr'], null],
    [{ to: '+15550100200', from: '+34910000000' }, ['en'], 'en'],
    [{ direction: 'outbound', from: '+34910000000' }, ['es'], 'es'],
  ] as const;
  for (const [at, [start, languages, language]] of calls.entries()) {
    const carrierCallId = `CA${at}`;
    const { stream } = await app.open({ ...start, carrierCallId, streamId: `MZ${at}` });
    await until(() => speech.sessions.size === at + 1);
    expect(asked(speech).at(-1)).toEqual(languages);
    const call = await app.callOf(carrierCallId);
    expect([call.language, call.legs[0].language]).toEqual([language, language]);
    const [started] = await app.events(stream.callId);
    expect(started.call.language ?? null).toBe(language);
    stream.end('stop');
    await app.ended(stream.callId);
  }
  const ignored = await app.callOf('CA4');
  expect(ignored.warnings).toMatchObject([{ code: 'PARAMETER_IGNORED' }]);
});

test('a rule of a playbook changes the language, and a playbook may be for one language alone', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const playbook = (id: string, scope: string, rule: string) =>
    playbookFrom(`
id: ${id}
status: live
scope: ${scope}
rules:
  - { id: ${id}, title: ${id}, ${rule} }
`);
  const set = ruleSetOf([
    playbook(
      'asks',
      '{}',
      'when: { phrase: { any: [speak spanish] } }, then: [{ language: Spanish }, { tag: asked }]',
    ),
    playbook(
      'greets',
      '{ language: [es] }',
      'when: { phrase: { any: [buenos dias] } }, then: [{ tag: greeted }]',
    ),
  ]);
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    playbooks: { current: set, problems: [], load: () => Promise.resolve(false) },
  });
  const stream = await opened(speech, app);
  say(speech, 'buenos dias', 'en', 0);
  say(speech, 'do you speak spanish', 'en', 3);
  await until(() => speech.sessions.size === 2);
  expect(asked(speech).at(-1)).toEqual(['es']);
  await until(async () => (await app.callOf()).language === 'es');
  const tagged = async () =>
    (await app.events(stream.callId)).flatMap(({ type, data }) =>
      type === 'call.tagged' ? data.added : [],
    );
  await until(async () => (await tagged()).length === 1);
  await until(() => [...speech.sessions.values()][0]?.state === 'done');
  await speak(stream, 'inbound', seededAudio(1_600, 2));
  say(speech, 'buenos dias', 'es', 6);
  await until(async () => (await tagged()).length === 2);
  expect(await tagged()).toEqual(['asked', 'greeted']);
  stream.end('stop');
  await app.ended(stream.callId);
});
