import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { linearToMulaw, mulawToLinear } from '../../../src/audio/g711.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { builtInConversation } from '../../../src/player/conversation.ts';
import { SectionLanes } from '../../../src/speech-service/jobs/section-lanes.ts';
import { readChannels } from '../../../src/speech-service/jobs/reading.ts';
import { readModelFolder } from '../../../src/hearing/models/model-folder.ts';
import { loadSherpa } from '../../../src/hearing/engine/sherpa.ts';
import { AudioTrack } from '../../../src/hearing/offline/audio-track.ts';
import { OfflineModel } from '../../../src/hearing/offline/offline-model.ts';
import { PieceReader } from '../../../src/hearing/offline/piece-reader.ts';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import { canSpeak, sayWithFlite } from '../../support/recognition/dialogue.ts';
import { lineNoises } from '../../support/recognition/noises.ts';
import { promptsAreThere, telephonePrompts } from '../../support/recognition/prompts.ts';
import { realModel } from '../../support/recognition/real-model.ts';
import {
  hear,
  pushAll,
  recogniserOf,
  type TestStream,
} from '../../support/recognition/recogniser.ts';
import { until } from '../../support/process/until.ts';
import { expectNearly } from '../../support/recognition/expect-nearly.ts';
import { normalisedWords } from '../../support/recognition/word-errors.ts';

vi.setConfig({ testTimeout: 120_000 }); // a busy machine may take its time
const model = await realModel();
const prompts = promptsAreThere() ? telephonePrompts(1) : [];

/** A prompt as a telephone hears it, with quiet around it. */
function call(name: string): { text: string; audio: Int16Array } {
  const prompt = prompts.find((one) => one.name === name)!;
  const audio = new Int16Array(prompt.samples.length + 12_000);
  audio.set(prompt.samples, 4_000);
  return { text: prompt.text, audio: audio.map((s) => mulawToLinear[linearToMulaw(s)]!) };
}

/** Without the quiet at both ends. */
function spokenIn(audio: Int16Array): Int16Array {
  const loud = (sample: number) => Math.abs(sample) > 200;
  return audio.subarray(audio.findIndex(loud), audio.findLastIndex(loud));
}

async function endOf(hearing: TestStream): Promise<string> {
  await hearing.end();
  return hearing.text();
}

describe.skipIf(!model || prompts.length === 0)('a recogniser with the default model', async () => {
  // One for all tests: a session leaves nothing behind in it, and loading it takes a second.
  const recogniser = model ? await recogniserOf(model.model, model) : undefined!;
  afterAll(() => recogniser?.[Symbol.asyncDispose]());

  test('telephone audio comes back as its words, with times that grow and stay inside', async () => {
    const { text, audio } = call('conf-onlyperson');
    const hearing = hear(recogniser, { endpointingS: 0.3 });
    pushAll(hearing.stream, audio);
    expectNearly(await endOf(hearing), text);
    expect(recogniser.status()).toMatchObject({
      state: 'ready',
      estimatedTimes: false,
      languages: ['en'],
    });
    const words = hearing.finals.flatMap((final) => final.words);
    let last = 0.3;
    for (const word of words) {
      expect(word.start).toBeGreaterThanOrEqual(last - 0.05);
      expect(word.end).toBeGreaterThan(word.start);
      expect(word.confidence).toBeGreaterThan(0);
      expect(word.confidence).toBeLessThanOrEqual(1);
      last = word.end;
    }
    expect(last).toBeLessThan(audio.length / 8000 - 0.5);
  });

  // Stretches of the built-in call that end inside a word: channel, first second, seconds. The model repeats
  // a word or a number there until its limit.
  test.each([
    [0, 5, 3.1],
    [0, 23, 0.7],
    [0, 24, 1.9],
    [1, 14, 0.7],
  ])(
    'a reading of leg %d, %d s on, cut after %d s repeats nothing without an end',
    async (leg, from, seconds) => {
      const { bytes } = (await builtInConversation())[leg]!;
      const track = new AudioTrack();
      for (const code of bytes.subarray(from * 8_000, (from + seconds) * 8_000))
        track.push(new Float32Array(2).fill(mulawToLinear[code]! / 32_768));
      const { models, model: name } = model!;
      const folder = await readModelFolder(join(models, name), name);
      const { description } = folder;
      if (description.kind !== 'moonshine') throw new Error('another model');
      const reader = new PieceReader(new OfflineModel(loadSherpa(), folder, description), track);
      const { reading } = reader.glance({ pieceFrom: 0, cutBefore: true }, track.end, 0, {
        hint: '',
        draft: [],
      });
      expect(reading.text).not.toMatch(/(\b[\p{L}\d]+\b)(?:[-,. ]+\1\b){3,}/iu);
    },
  );

  test('a process killed in the middle of an utterance leaves the text as it would have been', async () => {
    const { audio } = call('vm-enter-num-to-call');
    const undisturbed = hear(recogniser, { endpointingS: 0.3, maximumDurationS: 30 });
    pushAll(undisturbed.stream, audio);
    const expected = await endOf(undisturbed);
    const hearing = hear(recogniser, { endpointingS: 0.3, maximumDurationS: 30 });
    pushAll(hearing.stream, audio.subarray(0, audio.length / 2));
    await hearing.until(({ type }) => type === 'speech-start');
    process.kill(recogniser.processes()[0]!.pid!, 'SIGKILL');
    pushAll(hearing.stream, audio.subarray(audio.length / 2));
    expect(await endOf(hearing)).toBe(expected);
    expect(hearing.events.filter(({ type }) => type === 'speech-start')).toHaveLength(1);
  });

  test('words of one breath are one utterance at the default endpointing', async () => {
    const spoken = ['auth-thankyou', 'conf-muted', 'call-forwarding', 'conf-full', 'cancelled'].map(
      (name) => {
        const { text, audio } = call(name);
        const hearing = hear(recogniser, { partials: false });
        pushAll(hearing.stream, audio);
        return { hearing, text };
      },
    );
    for (const { hearing, text } of spoken) {
      await hearing.end();
      expect(hearing.finals, text).toHaveLength(1);
      expect(hearing.finals[0]!.text).toBe(hearing.finals[0]!.text.trim());
    }
  });

  test('a speech longer than the model can read at once is one utterance, if the session allows it', async () => {
    const { text, audio } = call('conf-usermenu');
    const hearing = hear(recogniser, { endpointingS: 2, maximumDurationS: 60, partials: false });
    pushAll(hearing.stream, audio);
    await hearing.end();
    expect(audio.length / 8000).toBeGreaterThan(10);
    expect(hearing.finals).toHaveLength(1);
    expectNearly(hearing.text(), text);
  });

  test('without a pause an utterance ends at its longest duration', async () => {
    const { text, audio } = call('conf-usermenu');
    const hearing = hear(recogniser, { endpointingS: 5, maximumDurationS: 5, partials: false });
    pushAll(hearing.stream, audio);
    await hearing.end();
    expect(hearing.finals.length).toBeGreaterThanOrEqual(2);
    for (const final of hearing.finals) expect(final.end - final.start).toBeLessThan(5.5);
    expectNearly(hearing.text(), text);
  });

  test('fluent speech that is cut for its length loses no word and doubles none', async () => {
    const calls = ['conf-usermenu', 'demo-echotest', 'vm-rec-unv'].map((name) => call(name));
    const truth = calls.map(({ text }) => text).join(' ');
    const audio = Int16Array.from(calls.flatMap((one) => [...spokenIn(one.audio)]));
    const counts: number[] = [];
    for (const maximumDurationS of [5, 30]) {
      const hearing = hear(recogniser, { endpointingS: 5, maximumDurationS, partials: false });
      pushAll(hearing.stream, audio);
      await hearing.end();
      expectNearly(hearing.text(), truth);
      counts.push(normalisedWords(hearing.text()).length);
      const words = hearing.finals.flatMap((final) => final.words);
      for (const [index, word] of words.slice(1).entries())
        expect(
          word.start,
          JSON.stringify(words.slice(Math.max(0, index - 3), index + 3)),
        ).toBeGreaterThanOrEqual(words[index]!.start);
    }
    expect(Math.abs(counts[0]! - counts[1]!)).toBeLessThanOrEqual(3);
  });

  test.skipIf(!canSpeak())('a name of the vocabulary is heard as it is written', async () => {
    const spoken = sayWithFlite('rms', 'My name is Hargreaves and I am calling about Novalink.');
    const audio = new Int16Array(spoken.length + 12_000);
    audio.set(spoken, 4_000);
    for (const names of [[], ['Hargreaves', 'Novalink']]) {
      const vocabulary = { vocabulary: names };
      const hearing = hear(recogniser, { endpointingS: 0.5, partials: false, vocabulary });
      pushAll(hearing.stream, audio);
      const text = await endOf(hearing);
      if (names.length === 0) expect(text).not.toMatch(/Hargreaves.*Novalink/);
      else expect(text).toMatch(/Hargreaves.*Novalink/);
    }
  });

  test('partials of an utterance share its number and nearly all their words', async () => {
    const { audio } = call('pbx-invalidpark');
    const hearing = hear(recogniser, { endpointingS: 0.5, maximumDurationS: 30 });
    // Partials are for audio that grows, and made while no audio waits.
    for (let at = 0; at < audio.length; at += 800) {
      hearing.stream.push(audio.subarray(at, at + 800));
      await until(() => hearing.stream.backlogS < 0.05);
    }
    await hearing.end();
    const partials = hearing.events.filter((event) => event.type === 'partial');
    expect(partials.length).toBeGreaterThan(0);
    for (const { utterance } of partials) {
      const final = hearing.finals.find(({ index }) => index === utterance.index)!;
      expect(final).toBeDefined();
      expect(utterance.start).toBeGreaterThan(0.2);
    }
  });

  test('two parties heard side by side stay apart', async () => {
    const left = call('vm-enter-num-to-call');
    const right = call('demo-congrats');
    const hearings = [left, right].map(({ audio }) => {
      const hearing = hear(recogniser, { endpointingS: 0.3, partials: false });
      return { hearing, audio };
    });
    for (let at = 0; at < right.audio.length; at += 800)
      for (const { hearing, audio } of hearings) hearing.stream.push(audio.subarray(at, at + 800));
    const [one, other] = await Promise.all(hearings.map(({ hearing }) => endOf(hearing)));
    expectNearly(one!, left.text);
    expectNearly(other!, right.text);
  });

  test('a recording is read alike however slowly its audio comes', async () => {
    const { audio } = call('demo-congrats');
    const long = audio.subarray(0, 12 * 8_000);
    const recording = { recorded: true, partials: false, endpointingS: 0.5, maximumDurationS: 30 };
    const atOnce = hear(recogniser, recording);
    pushAll(atOnce.stream, long);
    const slowly = hear(recogniser, recording);
    const startedMs = performance.now();
    for (let at = 0; at < long.length; at += 800) {
      slowly.stream.push(long.subarray(at, at + 800));
      await sleep(Math.max(0, startedMs + at / 8 - performance.now())); // as it was spoken
    }
    await Promise.all([endOf(atOnce), endOf(slowly)]);
    expect(slowly.finals).toEqual(atOnce.finals);
    expect(slowly.finals.flatMap(({ words }) => words).length).toBeGreaterThan(10);
  });

  test('a recording that is read in parts has the words and times that one stream gives', async () => {
    const pause = new Int16Array(8_000);
    const names = ['vm-enter-num-to-call', 'auth-thankyou', 'conf-onlyperson', 'pbx-invalidpark'];
    const spoken = names.flatMap((name) => [...call(name).audio, ...pause]);
    // Twice each sample: 16 kHz of what a telephone hears.
    const audio = Int16Array.from(spoken.flatMap((sample) => [sample, sample]));
    const folder = await mkdtemp(join(tmpdir(), 'trunkline-parts-'));
    await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
    const path = join(folder, 'audio.pcm');
    await writeFile(path, new Uint8Array(audio.buffer));
    let streams = 0;
    const counted: Recogniser = {
      mostProcesses: 2,
      status: () => recogniser.status(),
      admits: (...parameters) => recogniser.admits(...parameters),
      open: (...parameters) => {
        streams++;
        return recogniser.open(...parameters);
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    const readWith = (lanes: SectionLanes) =>
      readChannels({
        recogniser: counted,
        clock: systemClock,
        channels: [{ channel: 0, path, samples: audio.length }],
        languages: ['en'],
        codeSwitching: false,
        vocabulary: undefined,
        lanes,
        sectionS: 3,
        signal: new AbortController().signal,
        onProgress: () => undefined,
      });
    const expected = await readWith(new SectionLanes(1));
    const inParts = await readWith(new SectionLanes(2));
    expect(streams).toBeGreaterThan(3);
    const times = (heard: typeof expected) => heard.flatMap(({ words }) => words);
    expect(inParts.map(({ text }) => text)).toEqual(expected.map(({ text }) => text));
    // Voice detection remembers for many seconds: a part may take a window of 32 ms otherwise.
    for (const [index, { start, end }] of times(expected).entries()) {
      expect(Math.abs(times(inParts)[index]!.start - start)).toBeLessThan(0.1);
      expect(Math.abs(times(inParts)[index]!.end - end)).toBeLessThan(0.1);
    }
    expect(expected.length).toBeGreaterThan(3);
  });

  test('the enhancer leaves speech understandable', async () => {
    const { text, audio } = call('vm-enter-num-to-call');
    const hearing = hear(recogniser, { audioEnhancer: true, partials: false });
    pushAll(hearing.stream, audio);
    expectNearly(await endOf(hearing), text);
  });

  test('silence, tones, ringing, DTMF, hold music and noise say no word, not in a partial either', async () => {
    const noises = [...lineNoises(10)];
    // A few at a time: a slow machine admits fewer streams than there are noises.
    while (noises.length > 0) {
      const heard = noises.splice(0, 3).map(([name, audio]) => {
        const hearing = hear(recogniser);
        pushAll(hearing.stream, audio);
        return { name, hearing };
      });
      for (const { name, hearing } of heard) {
        await hearing.end();
        const said = hearing.events.filter(({ type }) => type === 'partial' || type === 'final');
        expect(said, name).toEqual([]);
      }
    }
  });
});
