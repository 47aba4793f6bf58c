import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLanguageRunner, type LanguageRunner } from '../../../src/language/runner.ts';
import type { AddonRunner } from '../../../src/speech-service/results/answer.ts';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import {
  connect,
  fixtureRecogniser,
  mulawOf,
  startTestService,
  telephony,
} from '../../support/speech/speech-service.ts';

let recogniser: Recogniser;
let language: LanguageRunner;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
  language = startLanguageRunner();
  await language.warm();
});
afterAll(async () => {
  await recogniser[Symbol.asyncDispose]();
  await language[Symbol.asyncDispose]();
});

const everything = {
  ...telephony,
  realtime_processing: {
    sentiment_analysis: true,
    named_entity_recognition: true,
    translation: true,
    translation_config: { target_languages: ['fr', 'de'] },
  },
  post_processing: { summarization: true, chapterization: true },
};

/** The real runner, but for the tasks named here. */
function misbehaving(faults: Record<string, () => Promise<never>>): AddonRunner {
  return {
    run: (task, input, options) => faults[task]?.() ?? language.run(task, input, options),
  };
}

const faults = {
  throws: () => Promise.reject(new Error('secret words of the caller')),
  hangs: () => new Promise<never>(() => undefined),
};

test.each(['throws', 'hangs'] as const)(
  'an add-on that %s costs its own blocks an error and delays nothing else',
  async (kind) => {
    const runner = misbehaving({ entities: faults[kind], summarization: faults[kind] });
    // An add-on that hangs is waited for; one that throws answers at once, and the others have all the time they need.
    const deadlineS = kind === 'hangs' ? 3 : 30;
    const config = { addonDeadlineS: deadlineS, postDeadlineS: deadlineS };
    await using service = await startTestService({ recogniser, language: runner, config });
    const { id, url } = await service.post(everything);
    const client = await connect(url);
    client.send(mulawOf('my refund is terrible'));
    // The final and the healthy add-on come while the other one still hangs.
    await client.until('transcript');
    await client.until('sentiment_analysis', (message) => message.data !== null);
    client.stop();
    expect((await client.closed).code).toBe(1000);
    expect(client.of('named_entity_recognition')).toMatchObject([
      {
        data: null,
        error: {
          message: kind === 'throws' ? 'entities failed' : 'entities did not answer in time',
        },
      },
    ]);
    expect(client.of('post_summarization')).toMatchObject([{ data: null }]);
    expect(client.texts.join('')).not.toContain('secret words');
    const { status, result } = await service.ended(id);
    expect(status).toBe('done');
    expect(result?.named_entity_recognition).toMatchObject({
      success: false,
      results: null,
      error: { status_code: kind === 'throws' ? 500 : 504 },
    });
    expect(result?.summarization).toMatchObject({ success: false, results: null });
    expect(result?.sentiment_analysis?.success).toBe(true);
    expect(result?.chapterization?.success).toBe(true);
    expect(result?.transcription?.full_transcript).toBe('my refund is terrible');
  },
);

test('translation without a language model answers with its error, one message for each target', async () => {
  await using service = await startTestService({ recogniser, language });
  const { id, url } = await service.post(everything);
  const client = await connect(url);
  client.send(mulawOf('hello'));
  client.stop();
  await client.closed;
  const messages = client.of('translation');
  expect(messages).toHaveLength(2);
  for (const message of messages)
    expect(message).toMatchObject({ data: null, error: { status_code: 501 } });
  const { result } = await service.ended(id);
  expect(result?.translation).toMatchObject({
    success: false,
    results: [{ languages: ['fr'] }, { languages: ['de'] }],
  });
});

test('custom spelling changes the final, its words and the result', async () => {
  await using service = await startTestService({ recogniser, language });
  const { id, url } = await service.post({
    ...telephony,
    realtime_processing: {
      custom_spelling: true,
      custom_spelling_config: { spelling_dictionary: { Karte: ['card'] } },
    },
  });
  const client = await connect(url);
  client.send(mulawOf('my card'));
  client.stop();
  await client.closed;
  expect(client.finals()).toBe(' my Karte');
  expect((await service.ended(id)).result?.transcription?.full_transcript).toBe('my Karte');
});

test('a rewriting that hangs leaves the words as they were recognised, in order', async () => {
  const config = { addonDeadlineS: 0.2 };
  await using service = await startTestService({
    recogniser,
    language: misbehaving({ rewrite: faults.hangs }),
    config,
  });
  const { url } = await service.post({
    ...telephony,
    endpointing: 0.3,
    realtime_processing: {
      custom_spelling: true,
      custom_spelling_config: { spelling_dictionary: { Karte: ['card'] } },
    },
  });
  const client = await connect(url);
  client.send(Buffer.concat([mulawOf('my card'), mulawOf('is lost'), mulawOf('hello')]));
  client.stop();
  await client.closed;
  expect(client.finals()).toBe(' my card is lost hello');
});
