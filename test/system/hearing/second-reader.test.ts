import { copyFile, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { SpeechServiceConfig } from '../../../src/speech-service/config.ts';
import { secondReaderFolder } from '../../../src/hearing/models/second-reader.ts';
import { RecogniserConfig } from '../../../src/hearing/config.ts';
import { type RecogniserPool, startRecogniser } from '../../../src/hearing/pool/pool.ts';
import { WhisperReader } from '../../../src/hearing/whisper/whisper-reader.ts';
import { until } from '../../support/process/until.ts';
import { lineNoises } from '../../support/recognition/noises.ts';
import { promptsAreThere, telephonePrompts } from '../../support/recognition/prompts.ts';
import { pulledSecondReader, realModel } from '../../support/recognition/real-model.ts';
import { hear, pushAll, silentLog } from '../../support/recognition/recogniser.ts';
import { normalisedWords, wordErrors } from '../../support/recognition/word-errors.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 }); // a busy machine may take its time
const first = await realModel();
const second = await pulledSecondReader();

/** A log that keeps what it is told. */
function keptLog() {
  const said: { reason?: string; problems?: string[] }[] = [];
  const write = (line: string) => void said.push(JSON.parse(line));
  return { said, log: pino({ level: 'warn' }, { write }) };
}

test('a second reader that was never pulled is not missed, unless somebody asked for it', async () => {
  const models = await mkdtemp(join(tmpdir(), 'trunkline-second-'));
  const { said, log } = keptLog();
  const settings = (jobs: { model?: string }) =>
    SpeechServiceConfig.parse({ recogniser: { models }, jobs });
  const folderOf = (chosen: { model?: string }) => {
    const { recogniser, jobs } = settings(chosen);
    return secondReaderFolder(recogniser, jobs.model, log);
  };
  try {
    expect(await folderOf({})).toBeUndefined();
    expect(await folderOf({ model: 'moonshine-tiny-en' })).toBeUndefined();
    expect(said).toEqual([]);
    expect(await folderOf({ model: 'whisper-tiny-en' })).toBeUndefined();
    expect(said[0]?.problems).toEqual([expect.stringContaining('whisper-tiny-en is not in')]);
    expect(() => settings({ model: 'no-such' })).toThrow(/must be whisper-tiny-en/);
  } finally {
    await rm(models, { recursive: true });
  }
});

test.skipIf(!first)(
  'a second reader that cannot be opened leaves recordings to the first, and the log says so',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'trunkline-second-'));
    const { said, log } = keptLog();
    try {
      await writeFile(join(folder, 'config.json'), '{}');
      const config = RecogniserConfig.parse({ ...first, processes: 1 });
      await using recogniser = await startRecogniser({ config, log, secondReader: folder });
      await until(() => recogniser.status().state === 'ready');
      expect(said.map(({ reason }) => reason)).toEqual([
        expect.stringContaining('the model cannot be opened'),
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);

const isThere = first && second !== undefined && promptsAreThere();
if (isThere)
  describe('the second reader', () => {
    const prompts = telephonePrompts().filter(({ samples }) => samples.length < 4 * 8000);
    const some = prompts.slice(40, 46);
    let recogniser: RecogniserPool;
    beforeAll(async () => {
      const config = RecogniserConfig.parse({ ...first, processes: 1 });
      recogniser = await startRecogniser({ config, log: silentLog, secondReader: second });
      await until(() => recogniser.status().state === 'ready');
    });
    afterAll(() => recogniser[Symbol.asyncDispose]());

    /** The prompts one after the other, a second between them. */
    const recording = Int16Array.from(
      some.flatMap(({ samples }) => [...new Int16Array(8000), ...samples]),
    );
    const truth = normalisedWords(some.map(({ text }) => text).join(' '));
    const read = async (recorded: boolean) => {
      const heard = hear(recogniser, { recorded, endpointingS: 0.5, maximumDurationS: 30 });
      pushAll(heard.stream, recording);
      await heard.end();
      return heard;
    };

    test('reads a recording again: its words, in the utterances and at the times of the first', async () => {
      const live = await read(false);
      const recorded = await read(true);
      expect(recorded.text()).not.toBe(live.text());
      const errors = wordErrors(truth, normalisedWords(recorded.text()));
      expect(errors, recorded.text()).toBeLessThanOrEqual(truth.length * 0.1);
      expect(recorded.finals).toHaveLength(live.finals.length);
      for (const [index, { start, end, words }] of recorded.finals.entries()) {
        expect(Math.abs(start - live.finals[index]!.start)).toBeLessThan(0.3);
        expect(Math.abs(end - live.finals[index]!.end)).toBeLessThan(0.5);
        const starts = words.map((word) => word.start);
        expect(starts).toEqual(starts.toSorted((a, b) => a - b));
        for (const { confidence } of words) expect(confidence).toBeLessThanOrEqual(1);
      }
    });

    test('hears no speech in noises, and speech in speech', async () => {
      const opened = await WhisperReader.open(second);
      if ('failure' in opened) throw new Error(opened.failure);
      const at16k = (samples: Int16Array) =>
        Float32Array.from({ length: 2 * samples.length }, (_, i) => (samples[i >> 1] ?? 0) / 32768);
      const noSpeechOf = (samples: Int16Array) =>
        opened.reader.read(opened.reader.encode(at16k(samples))).noSpeech;
      expect(noSpeechOf(some[0]!.samples)).toBeLessThan(0.2);
      for (const [name, samples] of [...lineNoises(4)].slice(0, 2))
        expect(noSpeechOf(samples), name).toBeGreaterThan(0.5);
    });

    test('a graph that is cut short is no model, and its checksum is looked at first', async () => {
      const models = await mkdtemp(join(tmpdir(), 'trunkline-second-'));
      try {
        for (const file of ['config.json', 'tokens.txt', 'encoder.onnx', 'decoder.onnx'])
          await copyFile(join(second, file), join(models, file));
        await truncate(join(models, 'encoder.onnx'), 1_000_000);
        expect(await WhisperReader.open(models)).toMatchObject({
          failure: expect.stringContaining('cannot be opened'),
        });
      } finally {
        await rm(models, { recursive: true });
      }
    });
  });
