import { copyFile, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { windowSamples } from '../../../src/hearing/recogniser.ts';
import { mulawToLinear } from '../../../src/audio/g711.ts';
import { builtInConversation } from '../../../src/player/conversation.ts';
import { loadOnnx } from '../../../src/hearing/decoder/onnx.ts';
import { vadModelPath, VoiceDetector } from '../../../src/hearing/offline/voice-activity.ts';
import {
  heardSamples,
  VoiceNetwork,
  VoiceState,
} from '../../../src/hearing/offline/voice-network.ts';
import { pinkNoise } from '../../support/recognition/noises.ts';

/** The part of the native engine that detects voices with the same network. */
type NativeEngine = {
  Vad: new (
    config: object,
    bufferS: number,
  ) => {
    acceptWaveform(samples: Float32Array): void;
    isDetected(): boolean;
    isEmpty(): boolean;
    pop(): void;
  };
};
const native = createRequire(import.meta.url)('sherpa-onnx-node') as NativeEngine;

/** Telephone audio at 16 kHz, each sample twice: a detector hears no difference worth a filter. */
const doubled = (samples: readonly number[]) =>
  Float32Array.from({ length: 2 * samples.length }, (_, at) => (samples[at >> 1] ?? 0) / 32_768);

/** Two people who talk, a moment of quiet behind each, and noise. */
let sounds: Float32Array[];
beforeAll(async () => {
  const legs = await builtInConversation();
  sounds = [
    ...legs.map(({ bytes }) => {
      const codes = bytes.subarray(0, 30 * 8_000);
      return doubled(Array.from(codes, (code) => mulawToLinear[code] ?? 0));
    }),
    doubled([...pinkNoise(5, 0.2), ...new Int16Array(8_000)]),
  ];
});

/** The questions to the network, in the order of the native engine. */
function* windowsOf(sound: Float32Array): Generator<Float32Array> {
  for (let at = 0; at + heardSamples <= sound.length; at += windowSamples)
    yield sound.subarray(at, at + heardSamples);
}

/** The native engine's answers, window by window. */
function detectedByNative(sound: Float32Array, threshold: number): boolean[] {
  const vad = new native.Vad(
    {
      sileroVad: {
        model: vadModelPath(),
        threshold,
        minSilenceDuration: 1e-5,
        minSpeechDuration: 1e-5,
        maxSpeechDuration: 1e5,
        windowSize: windowSamples,
      },
      sampleRate: 16_000,
      numThreads: 1,
      debug: 0,
    },
    20,
  );
  const detected: boolean[] = [];
  for (let at = 0; at + windowSamples <= sound.length; at += windowSamples) {
    vad.acceptWaveform(sound.slice(at, at + windowSamples));
    detected.push(vad.isDetected());
    while (!vad.isEmpty()) vad.pop();
  }
  return detected;
}

test('the network answers what the runtime answers that its graph was written for', async () => {
  const onnx = loadOnnx();
  if ('missing' in onnx) throw new Error(onnx.missing);
  const graph = await onnx.open(new Uint8Array(await readFile(vadModelPath())));
  const network = VoiceNetwork.open(vadModelPath());
  for (const sound of sounds) {
    const ours = new VoiceState();
    let state = onnx.floats(new Float32Array(256), [2, 1, 128]);
    const rate = onnx.integers(BigInt64Array.of(16_000n), []);
    let furthest = 0;
    for (const samples of windowsOf(sound)) {
      const input = onnx.floats(samples.slice(), [1, heardSamples]);
      const told = graph.run({ input, state, sr: rate }, ['output', 'stateN']);
      state = told['stateN']!;
      const [likelihood] = network.hear([{ samples, state: ours }]);
      furthest = Math.max(furthest, Math.abs(likelihood! - Number(told['output']!.data[0])));
    }
    expect(furthest).toBeLessThan(1e-4);
  }
});

describe.each([0.6, 0.3, 0.95])('with a threshold of %d', (threshold) => {
  const detector = new VoiceDetector(vadModelPath());

  test('every window is told as the native engine tells it, in blocks of any length', () => {
    for (const sound of sounds)
      for (const blockSamples of [640, 37, 5_000]) {
        const stream = detector.open(threshold);
        const told: boolean[] = [];
        let last = 0;
        for (let at = 0; at < sound.length; at += blockSamples)
          stream.accept(sound.subarray(at, at + blockSamples), (voiced, end) => {
            expect(end).toBe(last + windowSamples);
            last = end;
            told.push(voiced);
          });
        expect(told).toEqual(detectedByNative(sound, threshold - 0.1));
        expect(told).toContain(false);
      }
  });

  test('streams that are heard together are told what each is told alone', () => {
    // More than are multiplied at once, each a little later than the one before it.
    const lengths = Array.from({ length: 21 }, (_, index) => 900 * index);
    const streams = lengths.map((late, index) => {
      const sound = sounds[index % sounds.length]!.subarray(late);
      return { sound, stream: detector.open(threshold), told: [] as boolean[] };
    });
    const alone = streams.map(({ sound }) => {
      const told: boolean[] = [];
      detector.open(threshold).accept(sound.slice(0, 160_000), (voiced) => told.push(voiced));
      return told;
    });
    for (let at = 0; at < 160_000; at += 640) {
      for (const { sound, stream } of streams)
        stream.push(sound.slice(at, Math.min(160_000, at + 640)));
      for (const { stream, told } of streams) stream.take((voiced) => told.push(voiced));
    }
    expect(streams.map(({ told }) => told)).toEqual(alone);
    expect(alone.flat()).toContain(true);
  });
});

test('with the lowest threshold a voice still ends in silence', () => {
  const stream = new VoiceDetector(vadModelPath()).open(0);
  const told: boolean[] = [];
  const silence = new Float32Array(5 * 16_000);
  for (const sound of [sounds[0]!, silence]) stream.accept(sound, (voiced) => told.push(voiced));
  expect(told).toContain(true);
  expect(told.at(-1)).toBe(false);
});

test('a file without the weights is named, and what it lacks', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-voice-'));
  try {
    const path = join(folder, 'weights.onnx');
    expect(() => new VoiceDetector(path)).toThrow(/no such file.*install the packages again/u);
    await writeFile(path, 'not a graph');
    expect(() => new VoiceDetector(path)).toThrow(path);
    await copyFile(vadModelPath(), path);
    await truncate(path, 600_000);
    expect(() => new VoiceDetector(path)).toThrow('the graph ends inside a field');
    await writeFile(path, new Uint8Array(0));
    expect(() => new VoiceDetector(path)).toThrow('the file has no');
  } finally {
    await rm(folder, { recursive: true });
  }
});
