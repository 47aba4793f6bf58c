import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { mulawToLinear } from '../audio/g711.ts';
import { TrunklineError } from '../lib/errors.ts';
import type { RecogniserConfig } from '../hearing/config.ts';
import { startRecognisers } from '../hearing/pool/recognisers.ts';
import type { Recogniser, RecogniserEvent } from '../hearing/recogniser.ts';

/** The words of the sample. A model for another language hears other words in it. */
export const sampleText = 'Hello, Daniel. My name is Emily Johnson. I would like a refund.';
const sample = new URL('../hearing/offline/measured-speech.ulaw', import.meta.url);
const loadMs = 150_000;
const readMs = 60_000;
const lookMs = 100;

type ModelTest = { heard: string; legs: number; processes: number; factor: number };

/** Loads an installed model as the service does, and recognises a sentence of telephone speech with it. */
export async function testModel(config: RecogniserConfig): Promise<ModelTest> {
  const log = pino({ level: 'silent' });
  await using recognisers = await startRecognisers({
    config: { ...config, pullModels: false },
    log,
  });
  const recogniser = recognisers.live;
  await isReady(recogniser);
  const bytes = await readFile(sample);
  const samples = Int16Array.from(bytes, (byte) => mulawToLinear[byte] ?? 0);
  const startedMs = performance.now();
  const heard = await read(recogniser, samples);
  const tookS = (performance.now() - startedMs) / 1e3;
  return {
    heard,
    legs: recogniser.status().capacity,
    processes: recogniser.mostProcesses,
    factor: samples.length / 8000 / tookS,
  };
}

async function isReady(recogniser: Recogniser): Promise<void> {
  for (let waitedMs = 0; waitedMs < loadMs; waitedMs += lookMs) {
    const { state, detail } = recogniser.status();
    if (state === 'ready') return;
    if (state !== 'starting') throw new TrunklineError('MODEL_INVALID', detail);
    await sleep(lookMs);
  }
  throw new TrunklineError('MODEL_INVALID', `the model was not ready after ${loadMs / 1e3} s`);
}

async function read(recogniser: Recogniser, samples: Int16Array): Promise<string> {
  const heard: string[] = [];
  const ended = Promise.withResolvers<undefined>();
  const take = (event: RecogniserEvent): void => {
    if (event.type === 'final') heard.push(event.utterance.text.trim());
    if (event.type === 'finished') ended.resolve(undefined);
    if (event.type === 'failed') ended.reject(new TrunklineError('MODEL_INVALID', event.reason));
  };
  const options = {
    sampleRate: 8000,
    languages: [],
    codeSwitching: false,
    endpointingS: 0.5,
    maximumDurationS: 30,
    speechThreshold: 0.6,
    audioEnhancer: false,
    recorded: true,
    partials: false,
  };
  const admission = recogniser.open(options, take);
  if (admission.outcome !== 'admitted') throw new TrunklineError('MODEL_INVALID', admission.detail);
  admission.stream.push(samples);
  admission.stream.finish();
  const late = new AbortController();
  const tooLate = sleep(readMs, undefined, { signal: late.signal }).then(
    () => {
      throw new TrunklineError('MODEL_INVALID', `the sample was not read in ${readMs / 1e3} s`);
    },
    () => undefined,
  );
  try {
    await Promise.race([ended.promise, tooLate]);
  } finally {
    late.abort();
  }
  return heard.join(' ');
}
