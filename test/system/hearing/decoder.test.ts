import { appendFile, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { mulawToLinear } from '../../../src/audio/g711.ts';
import { builtInConversation } from '../../../src/player/conversation.ts';
import { readModelFolder } from '../../../src/hearing/models/model-folder.ts';
import { RecogniserLoop } from '../../../src/hearing/child/loop.ts';
import { loadSherpa } from '../../../src/hearing/engine/sherpa.ts';
import { RecogniserConfig } from '../../../src/hearing/config.ts';
import { DecodedModel } from '../../../src/hearing/offline/decoded-model.ts';
import { MoonshineReader } from '../../../src/hearing/decoder/moonshine-reader.ts';
import { endToken } from '../../../src/hearing/decoder/moonshine-steps.ts';
import { OfflineModel } from '../../../src/hearing/offline/offline-model.ts';
import { vadModelPath } from '../../../src/hearing/offline/voice-activity.ts';
import type { FromChild } from '../../../src/hearing/engine/child-messages.ts';
import { startRecogniser } from '../../../src/hearing/pool/pool.ts';
import { until } from '../../support/process/until.ts';
import { promptsAreThere, telephonePrompts } from '../../support/recognition/prompts.ts';
import { realModel } from '../../support/recognition/real-model.ts';
import { streamDefaults } from '../../support/recognition/recogniser.ts';
import { normalisedWords, wordErrors } from '../../support/recognition/word-errors.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 }); // a busy machine may take its time
const model = await realModel();
const prompts = promptsAreThere() ? telephonePrompts() : [];
const sherpa = loadSherpa();

/** A prompt at 16 kHz with the margins of a first reading. */
function heard(samples: Int16Array): Float32Array {
  const resampler = new sherpa.LinearResampler(8000, 16000);
  const speech = resampler.resample(Float32Array.from(samples, (sample) => sample / 32768));
  const rest = resampler.flush(new Float32Array(0));
  const audio = new Float32Array(2400 + speech.length + rest.length + 800);
  audio.set(speech, 2400);
  audio.set(rest, 2400 + speech.length);
  return audio;
}

describe.skipIf(!model || prompts.length === 0)('the default model, read by our own loop', () => {
  let reader: MoonshineReader;
  let native: OfflineModel;

  beforeAll(async () => {
    const folder = await readModelFolder(join(model!.models, model!.model), model!.model);
    const opened = await MoonshineReader.open(folder);
    if ('failure' in opened) throw new Error(opened.failure);
    const { description } = folder;
    if (description.kind !== 'moonshine') throw new Error('another model');
    reader = opened.reader;
    native = new OfflineModel(sherpa, folder, description);
  });

  const short = prompts.filter(({ samples }) => samples.length < 8 * 8000);
  const some = short.filter((_, index) => index % Math.ceil(short.length / 24) === 0);

  // Our encoder has the published weights, but those of one convolution are rounded to eight bits like all others.
  test('with one beam it writes what the native engine writes, or something as good', () => {
    let same = 0;
    const wrong = { ours: 0, native: 0 };
    for (const { samples, text } of some) {
      const audio = heard(samples);
      const ours = reader.read([reader.encode(audio)], { beams: 1 }).text;
      const theirs = native.read(audio, '').text.trim();
      if (ours === theirs) same++;
      const said = normalisedWords(text);
      wrong.ours += wordErrors(said, normalisedWords(ours));
      wrong.native += wordErrors(said, normalisedWords(theirs));
    }
    expect(same).toBeGreaterThanOrEqual(0.9 * some.length);
    expect(wrong.ours).toBeLessThanOrEqual(wrong.native + 2);
  });

  test('a third of the tokens was never taught and is left out; English is written with the others', () => {
    expect(reader.table.size).toBe(22_382);
    for (const { text } of prompts)
      expect(
        reader.table.spell(text.replace(/[^\x20-\x7e]/g, '').replaceAll(' ', '▁')),
        text,
      ).toBeDefined();
    for (const text of ['▁café', '▁£20', '▁naïve'])
      expect(reader.table.spell(text), text).toBeDefined();
    for (const text of ['▁Ортсте', '<<ST_1>>'])
      expect(reader.table.spell(text)?.length ?? Infinity, text).toBeGreaterThan(1);
  });

  test('times of words grow, stay inside the audio, and the first is where the voice begins', () => {
    for (const { samples, name } of some) {
      const audio = heard(samples);
      const { tokens } = reader.read([reader.encode(audio)], { beams: 4 });
      const starts = tokens.map(({ start }) => start);
      expect(starts, name).toEqual(starts.toSorted((a, b) => a - b));
      expect(starts.at(-1), name).toBeLessThan(audio.length / 16000);
      const loudest = Math.max(...audio.map(Math.abs));
      const voiceS = audio.findIndex((sample) => Math.abs(sample) > loudest / 10) / 16000;
      expect(Math.abs((starts[0] ?? 0) - voiceS), name).toBeLessThan(0.3);
    }
  });

  test('audio longer than the native engine can read is read to its end', () => {
    const long = prompts.find(
      ({ samples }) => samples.length > 11 * 8000 && samples.length < 15 * 8000,
    )!;
    const audio = heard(long.samples);
    const { text } = reader.read([reader.encode(audio)], { beams: 4 });
    const words = normalisedWords(long.text);
    const errors = wordErrors(words, normalisedWords(text));
    expect(errors, `"${text}" for "${long.text}"`).toBeLessThanOrEqual(words.length * 0.2);
  });

  test('three margins read as one text have the times of the first', () => {
    const { samples } = some[0]!;
    const model = new DecodedModel(reader, ['en']);
    const audio = heard(samples);
    const first = model.read(audio, '');
    const wider = new Float32Array(audio.length + 2400);
    wider.set(audio, 2400);
    const together = model.readTogether(first, [audio, wider, audio.subarray(1600)]);
    expect(normalisedWords(together.text).length).toBeGreaterThan(0);
    expect(together.timestamps).toHaveLength(together.tokens.length);
    expect(Math.abs((together.timestamps[0] ?? 0) - (first.timestamps[0] ?? 0))).toBeLessThan(0.1);
  });

  test('encodings of other lengths side by side say the mean of what each says alone', () => {
    let compared = 0;
    for (const { samples, name } of some.slice(0, 8)) {
      const audio = heard(samples);
      const longer = new Float32Array(audio.length + 8000);
      longer.set(audio, 4000);
      const encodings = [reader.encode(audio), reader.encode(longer)];
      const [first, second, ...others] = [
        reader.read(encodings, { beams: 1 }),
        reader.read(encodings, { beams: 1, sideBySide: true }),
        ...encodings.map((one) => reader.read([one], { beams: 1 })),
      ].map(({ tokens }) => tokens[0]);
      if (others.some((one) => one?.text !== first?.text)) continue;
      compared++;
      const mean = others.reduce((sum, one) => sum + (one?.logProbability ?? 0) / 2, 0);
      for (const both of [first, second])
        expect(Math.abs((both?.logProbability ?? 0) - mean), name).toBeLessThan(0.15);
    }
    expect(compared).toBeGreaterThan(0);
  });

  test('audio that ends inside speech is read up to its end and not beyond', () => {
    const model = new DecodedModel(reader, ['en']);
    const read = (audio: Float32Array, open: boolean) =>
      model.read(audio, '', { hurried: true, open });
    let cheaper = 0;
    for (const { samples, name } of some) {
      const audio = heard(samples);
      const cut = audio.slice(0, 16000);
      const [closed, open] = [read(cut, false), read(cut, true)];
      expect(closed.text.startsWith(open.text), `${name}: ${open.text}, ${closed.text}`).toBe(true);
      cheaper += closed.tokens.length - open.tokens.length;
      // Before a pause nothing is left out but the mark at the end.
      const paused = new Float32Array(audio.length + 4800);
      paused.set(audio);
      const words = (result: { text: string }) => normalisedWords(result.text);
      expect(words(read(paused, true)), name).toEqual(words(read(paused, false)));
    }
    expect(cheaper).toBeGreaterThan(some.length);
  });

  test('the text of a glance makes a reading cheaper and changes no word, even if it is wrong', () => {
    const model = new DecodedModel(reader, ['en']);
    const read = vi.spyOn(reader, 'read');
    let sure = 0;
    for (const { samples, name } of some) {
      const audio = heard(samples);
      const alone = model.read(audio, '');
      const written = alone.ids?.flat() ?? [];
      const asked = () => read.mock.calls.map(([, { beams }]) => beams);
      for (const draft of [written, written.slice(0, -3), [...written].reverse()]) {
        read.mockClear();
        expect(model.read(audio, '', { draft, sparing: true }).text, name).toBe(alone.text);
        const least = Math.min(...alone.ys_log_probs);
        // Far from the limit both ways: a token may be less likely where others end.
        if (least > -0.4) expect(asked(), name).toEqual([1]);
        else if (least < -0.6) expect(asked(), name).toEqual([1, 4]);
      }
      if (asked().length === 1) sure++;
    }
    read.mockRestore();
    expect(sure).toBeGreaterThan(0);
    expect(sure).toBeLessThan(some.length);
  });

  test('with four beams is not read what one beam doubts, where it is read again with other margins', () => {
    const model = new DecodedModel(reader, ['en']);
    const read = vi.spyOn(reader, 'read');
    const beams = { doubted: [] as number[], others: [] as number[] };
    const doubts = { all: 0, great: 0 };
    for (const { samples } of some) {
      const audio = heard(samples.map((sample) => sample + 900 * Math.sin(sample * 12.9898)));
      read.mockClear();
      const result = model.read(audio, '', {
        sparing: true,
        firstOnly: true,
        draft: [endToken],
      });
      const last = read.mock.calls.at(-1)?.[1].beams ?? 0;
      const mean = result.ys_log_probs.reduce((sum, one) => sum + one, 0) / result.ys_log_probs.length; // prettier-ignore
      (mean < -0.4 ? beams.doubted : beams.others).push(last);
      if (last === 1 && Math.min(...result.ys_log_probs) < -0.6)
        expect(model.doubts(result)).toBe(true);
      for (const sparing of [false, true])
        if (model.doubts(result, { sparing })) doubts[sparing ? 'great' : 'all']++;
    }
    read.mockRestore();
    // While many speak, only a great doubt counts.
    expect(doubts.great).toBeGreaterThan(0);
    expect(doubts.great).toBeLessThan(doubts.all);
    expect(beams.doubted).toContain(1);
    expect(beams.doubted).not.toContain(4);
    expect(beams.others).toContain(4);
  });

  // Stretches of the built-in call that end inside a word, where a greedy reading repeats itself to its limit.
  test.each([
    [0, 5, 3.1],
    [0, 23, 0.7],
    [0, 24, 1.9],
    [1, 14, 0.7],
  ])(
    'speech of leg %d, %d s on, cut after %d s makes four beams repeat nothing',
    async (leg, from, seconds) => {
      const { bytes } = (await builtInConversation())[leg]!;
      const coded = bytes.subarray(from * 8000, (from + seconds) * 8000);
      const audio = heard(Int16Array.from(coded, (code) => mulawToLinear[code] ?? 0));
      const { text } = reader.read([reader.encode(audio)], { beams: 4 });
      expect(text).not.toMatch(/(\b[\p{L}\d]+\b)(?:[-,. ]+\1\b){3,}/iu);
    },
  );

  test('a process whose voice detection lost its file fails its streams, and does not hear silence', async () => {
    const sent: FromChild[] = [];
    const folder = await readModelFolder(join(model!.models, model!.model), model!.model);
    const load = { vadModel: '/nowhere/vad.onnx', loadEveryMs: 60_000, measured: false } as const;
    const loop = await RecogniserLoop.load(
      sherpa,
      { type: 'load', model: folder, secondReader: undefined, ...load },
      (message) => sent.push(message),
    );
    loop.handle({ type: 'open', stream: 1, options: streamDefaults });
    loop.handle({ type: 'audio', stream: 1, samples: new Int16Array(8_000) });
    const reason = expect.stringContaining('/nowhere/vad.onnx') as string;
    expect(sent).toContainEqual({ type: 'event', stream: 1, event: { type: 'failed', reason } });
  });

  test('the progress of live streams is told for all of them together, a few times a second', async () => {
    const folder = await readModelFolder(join(model!.models, model!.model), model!.model);
    const consumed = new Map<number, number>();
    let messages = 0;
    const load = { vadModel: vadModelPath(), loadEveryMs: 500, measured: false };
    const loop = await RecogniserLoop.load(
      sherpa,
      { type: 'load', model: folder, secondReader: undefined, ...load },
      (message) => {
        if (message.type !== 'consumed') return;
        messages++;
        for (const { stream, samples } of message.of)
          consumed.set(stream, (consumed.get(stream) ?? 0) + samples);
      },
    );
    const streams = [1, 2, 3];
    for (const stream of streams) loop.handle({ type: 'open', stream, options: streamDefaults });
    const blocks = 40;
    for (let block = 0; block < blocks; block++) {
      for (const stream of streams)
        loop.handle({ type: 'audio', stream, samples: new Int16Array(160) });
      await sleep(20);
    }
    const toldMeanwhile = messages;
    await until(() => streams.every((stream) => consumed.get(stream) === 160 * blocks));
    // A message for each block of each stream would be 120.
    expect(toldMeanwhile).toBeLessThan(2 * blocks);
    for (const stream of streams) loop.handle({ type: 'close', stream });
  });

  test('a decoder file that the loop does not know is read by the native engine, and the log says so', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'trunkline-decoder-'));
    const said: { reason?: string }[] = [];
    const log = pino(
      { level: 'warn' },
      { write: (line: string) => void said.push(JSON.parse(line)) },
    );
    try {
      await cp(join(model!.models, model!.model), folder, { recursive: true });
      await appendFile(join(folder, 'decoder_model_merged.ort'), '\0');
      const config = RecogniserConfig.parse({ model: folder, processes: 1 });
      await using recogniser = await startRecogniser({ config, log });
      await until(() => recogniser.status().state === 'ready');
      expect(recogniser.status().estimatedTimes).toBe(true);
      expect(said.map(({ reason }) => reason)).toEqual([
        expect.stringContaining('decoder_model_merged.ort is not a file that the decoder knows'),
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
