import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { languagesModel, RecogniserConfig } from '../../../src/hearing/config.ts';
import { catalogueEntry } from '../../../src/hearing/models/catalogue.ts';
import { problemsOf } from '../../../src/hearing/models/installed.ts';
import { modelsFolder } from '../../../src/hearing/models/supply.ts';
import { type Recognisers, startRecognisers } from '../../../src/hearing/pool/recognisers.ts';
import { until } from '../../support/process/until.ts';
import { lineNoises } from '../../support/recognition/noises.ts';
import { promptsAreThere, telephonePrompts } from '../../support/recognition/prompts.ts';
import { hear, pushAll, silentLog } from '../../support/recognition/recogniser.ts';
import { normalisedWords, wordErrors } from '../../support/recognition/word-errors.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 }); // a busy machine may take its time

/** Tests never download the 145 MB. They read with the model where somebody has pulled it, beside the default model. */
const models = modelsFolder({ models: process.env['TRUNKLINE_MODELS'] });
const problems = await Promise.all(
  ['moonshine-tiny-en', languagesModel].map((name) => problemsOf(models, catalogueEntry(name))),
);
const isThere = problems.flat().length === 0 && promptsAreThere();
if (!isThere) console.error(`not tried: ${problems.flat().join('; ')}`);

describe.skipIf(!isThere)('with the model for many languages installed', () => {
  const prompts = isThere ? telephonePrompts(8).slice(0, 5) : [];
  const truth = prompts.map(({ text }) => text).join(' ');
  let recognisers: Recognisers;
  beforeAll(async () => {
    const config = RecogniserConfig.parse({ models, processes: 1, pullModels: false });
    recognisers = await startRecognisers({ config, log: silentLog });
    await until(() => recognisers.live.status().state === 'ready');
  });
  afterAll(() => recognisers[Symbol.asyncDispose]());

  /** A recogniser that starts with the first stream refuses until then, as a session knows. */
  const started = async (recogniser: Recognisers['live'], languages: string[]) => {
    recogniser.admits({ languages }, 1);
    await vi.waitFor(
      () => {
        const tried = recogniser.open({ ...probe, languages }, () => undefined);
        if (tried.outcome !== 'admitted') throw new Error(tried.outcome);
        tried.stream.close();
      },
      { timeout: 60_000 },
    );
  };
  const probe = {
    sampleRate: 8000, codeSwitching: false, endpointingS: 0.3, maximumDurationS: 20,
    speechThreshold: 0.6, audioEnhancer: false, recorded: false, partials: false,
  }; // prettier-ignore

  test('English speech of an unknown language is found, goes to the English model, and no word is lost', async () => {
    await started(recognisers.live, []);
    const hearing = hear(recognisers.live, { ...probe, languages: [] });
    for (const { samples } of prompts) {
      pushAll(hearing.stream, samples);
      pushAll(hearing.stream, new Int16Array(8000));
    }
    await hearing.end();
    expect(new Set(hearing.finals.map(({ language }) => language))).toEqual(new Set(['en']));
    const [wanted, heard] = [normalisedWords(truth), normalisedWords(hearing.text())];
    expect(wordErrors(wanted, heard) / wanted.length).toBeLessThan(0.2);
    const starts = hearing.finals.map(({ start }) => start);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    expect(hearing.finals.map(({ index }) => index)).toEqual(hearing.finals.map((_, at) => at));
  });

  test('a recording is read in packed windows, and its language is found', async () => {
    await started(recognisers.recordings, []);
    const hearing = hear(recognisers.recordings, { ...probe, recorded: true, languages: [] });
    for (const { samples } of prompts) {
      pushAll(hearing.stream, samples);
      pushAll(hearing.stream, new Int16Array(8000));
    }
    await hearing.end();
    const [wanted, heard] = [normalisedWords(truth), normalisedWords(hearing.text())];
    expect(wordErrors(wanted, heard) / wanted.length).toBeLessThan(0.15);
    expect(hearing.finals[0]?.language).toBe('en');
  });

  test('noise, ringing and music have no word in any language', async () => {
    for (const recorded of [false, true]) {
      const recogniser = recorded ? recognisers.recordings : recognisers.live;
      await started(recogniser, ['es']);
      const hearing = hear(recogniser, { ...probe, recorded, languages: ['es'] });
      for (const noise of lineNoises(6).values()) pushAll(hearing.stream, noise);
      await hearing.end();
      expect(hearing.finals.map(({ text }) => text)).toEqual([]);
    }
  });
});
