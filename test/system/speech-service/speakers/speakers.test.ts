import { GladiaClient } from '@gladiaio/sdk';
import { spawn } from 'node:child_process';
import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linearToMulaw } from '../../../../src/audio/g711.ts';
import { PreRecordedJobRecord } from '../../../../src/protocol/job.ts';
import type { Recogniser } from '../../../../src/hearing/recogniser.ts';
import { VoiceEncoder } from '../../../../src/hearing/speakers/voice-encoder.ts';
import { catalogueEntry } from '../../../../src/hearing/models/catalogue.ts';
import { openSpeakers } from '../../../../src/hearing/speakers/speakers.ts';
import { weightsPath } from '../../../../src/hearing/speakers/weights.ts';
import {
  canSpeak,
  dialogueOf,
  rightWords,
  sayWithFlite,
  type SpokenDialogue,
} from '../../../support/recognition/dialogue.ts';
import { tones } from '../../../support/recognition/fixture-model.ts';
import { realModel } from '../../../support/recognition/real-model.ts';
import { endsWithUs } from '../../../support/process/ends-with-us.ts';
import { cpuTicksOf, isRunning, parentOf, pidsWith } from '../../../support/process/proc.ts';
import { until } from '../../../support/process/until.ts';
import { recogniserOf, silentLog } from '../../../support/recognition/recogniser.ts';
import { jobsApi, wavFile, wavOf } from '../../../support/speech/jobs.ts';
import { madeUpSound, noise, reference } from '../../../support/speech/made-up-voice.ts';
import {
  connect,
  fixtureRecogniser,
  startTestService,
  telephony,
  type TestService,
} from '../../../support/speech/speech-service.ts';
import { temporaryFolder } from '../../../support/store/store.ts';

const words = await realModel();
const voices = await realModel('voice-encoder');

describe('with the real model', () => {
  test.skipIf(!voices)('a direction is that of another program', async () => {
    const encoder = await VoiceEncoder.open(weightsPath(voices!.models));
    const direction = encoder.directionOf(madeUpSound());
    expect(direction).toHaveLength(reference.direction.length);
    const furthest = Math.max(
      ...direction.map((value, k) => Math.abs(value - reference.direction[k]!)),
    );
    expect(furthest).toBeLessThan(1e-5);
  });

  const isReady = voices !== undefined && words !== undefined && canSpeak();

  test.skipIf(!isReady)(
    'a job of two voices is cut where they change, with a speaker each',
    async () => {
      await using client = await sdkClient();
      const two = twoVoices(16);
      const utterances = await client.transcribe(two);
      const heard = utterances.flatMap(({ words: own, speaker = -1 }) =>
        own.map(({ start, end }) => ({ start, end, speaker })),
      );
      expect(utterances[0]?.speaker).toBe(0);
      expect(speakersOf(utterances)).toEqual(new Set([0, 1]));
      expect(rightWords(heard, two.turns) / heard.length).toBeGreaterThan(0.9);
      for (const { words: own, text } of utterances)
        expect(own.map(({ word }) => word).join('')).toBe(text);
      // The recogniser cuts at half a second of silence: what is cut at less was cut because another one speaks.
      const cuts = utterances.slice(1).map(({ start, speaker }, index) => {
        const before = utterances[index]!;
        return { pauseS: start - before.end, isOther: speaker !== before.speaker };
      });
      expect(cuts.some(({ pauseS, isOther }) => pauseS < 0.4 && isOther)).toBe(true);
      const alone = await client.transcribe(two, { max_speakers: 1 });
      expect(speakersOf(alone)).toEqual(new Set([0]));
    },
  );

  test.skipIf(!isReady)('a short talk has its voices, and one voice stays one', async () => {
    await using client = await sdkClient();
    const short = twoVoices(4);
    expect(speakersOf(await client.transcribe(short))).toEqual(new Set([0, 1]));
    expect(speakersOf(await client.transcribe(short, { max_speakers: 1 }))).toEqual(new Set([0]));
    expect(speakersOf(await client.transcribe(oneVoice()))).toEqual(new Set([0]));
  });
});

describe('live, where all parties share one channel', () => {
  const isReady = voices !== undefined && words !== undefined && canSpeak();
  const mixed = { ...telephony, custom_metadata: { role: 'mixed' } };

  test.skipIf(!isReady)(
    'two voices are told apart behind the words and in the record; one stays one; nobody is listened to unasked',
    async () => {
      await using recogniser = await recogniserOf(words!.model, { models: words!.models });
      const config = { recogniser: { models: voices!.models } };
      await using service = await startTestService({ recogniser, config });
      // Others may run this very test beside us.
      const listeners = () =>
        pidsWith('speakers/live-child.ts').filter((pid) => parentOf(pid) === process.pid);

      const two = await live(service, twoVoices(12), mixed);
      // Audio that comes at once is listened to for some seconds: a call's own pace leaves five of them to its end.
      await two.client.until('speakers');
      // Lost in the middle: another process hears everything again, and the words go on.
      const [lost = 0] = listeners();
      process.kill(lost, 'SIGKILL');
      await until(() => !isRunning(lost));
      await two.client.until('speakers', ({ data }) => data.time >= 30);
      const record = await two.end();
      const labels = two.client.of('speakers').map(({ data }) => data);
      expect(labels.at(-1)).toMatchObject({ is_final: true });
      expect(labels.length).toBeGreaterThan(1);
      expect(labels[0]).toMatchObject({ is_final: false });
      // The words do not wait for it: what they say is the same, and nobody is named in them.
      for (const { data } of two.client.of('transcript'))
        expect(data.utterance).not.toHaveProperty('speaker');
      const told = new Map(labels.flatMap(({ utterances }) => utterances.map(({ id, speaker }) => [id, speaker] as const))); // prettier-ignore
      const finals = two.client.of('transcript').filter(({ data }) => data.is_final);
      expect(told.size).toBe(finals.length);
      const said = record.utterances;
      expect(said[0]?.speaker).toBe(0);
      expect(speakersOf(said)).toEqual(new Set([0, 1]));
      const heard = said.flatMap(({ words: own, speaker = -1 }) =>
        own.map(({ start, end }) => ({ start, end, speaker })),
      );
      expect(rightWords(heard, twoVoices(12).turns) / heard.length).toBeGreaterThan(0.75);
      expect(record.full_transcript.split(' ').length).toBe(
        finals.flatMap(({ data }) => data.utterance.words).length,
      );
      expect(listeners()).toHaveLength(1);

      const one = await live(service, oneVoice(), mixed);
      expect(speakersOf((await one.end()).utterances)).not.toContain(1);
      expect(one.client.of('speakers')).toEqual([]);

      const unasked = await live(service, twoVoices(4), telephony);
      expect(speakersOf((await unasked.end()).utterances)).toEqual(new Set([undefined])); // prettier-ignore
    },
    240_000, // the listener runs when nobody else wants the machine
  );

  /** A session whose audio comes as fast as the service takes it. */
  async function live(service: TestService, { samples }: SpokenDialogue, request: object) {
    const { id, url } = await service.post(request);
    const client = await connect(url);
    client.send(Buffer.from(Uint8Array.from(samples, linearToMulaw)), 8_000);
    return {
      client,
      async end() {
        client.stop();
        await client.closed;
        return (await service.ended(id)).result!.transcription!;
      },
    };
  }
});

/** The released SDK before a service with both models. */
async function sdkClient() {
  const stack = new AsyncDisposableStack();
  const recogniser = stack.use(await recogniserOf(words!.model, { models: words!.models }));
  const apiKey = 'a-key-of-the-test';
  const config = { recogniser: { models: voices!.models } };
  const service = stack.use(await startTestService({ recogniser, keys: [apiKey], config }));
  const api = new GladiaClient({ apiUrl: service.url, apiKey }).preRecorded();
  return {
    async transcribe(dialogue: SpokenDialogue, hints?: object) {
      const file = new File([Uint8Array.from(wavFile([dialogue.samples]))], 'call.wav');
      const options = { diarization: true, ...(hints ? { diarization_config: hints } : {}) };
      const job = await api.transcribe(file, options, { interval: 100 });
      expect(PreRecordedJobRecord.parse(job)).toBeTruthy();
      expect(job.result).not.toHaveProperty('diarization');
      return job.result?.transcription?.utterances ?? [];
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function speakersOf(utterances: readonly { speaker?: number | undefined }[]) {
  return new Set(utterances.map(({ speaker }) => speaker));
}

const lines = [
  'Thank you for calling, how may I help you today?',
  'My card was stolen last night and I need a new one.',
  'We are very sorry. Could you tell me your name and your address?',
  'My name is Laura, and I live in the old house behind the station.',
  'Thank you. The new card will be there by Friday.',
  'Is there anything else that I have to do before that?',
  'No, that is all, you will get a letter from our office.',
  'I have been waiting for twenty minutes and nobody answered.',
];

/** Two voices by turns; sixteen turns are three quarters of a minute, and each line is said by both. */
function twoVoices(turns: number): SpokenDialogue {
  return dialogueOf(
    Array.from({ length: turns }, (_, index) => {
      const text = lines[(index + Math.floor(index / lines.length)) % lines.length]!;
      const voice = index % 2 === 0 ? 'rms' : 'slt';
      return { voice, samples: sayWithFlite(voice, text), pauseS: 0.3 };
    }),
  );
}

function oneVoice(): SpokenDialogue {
  const { turns } = twoVoices(2);
  const text = Array.from({ length: 3 }, () => lines.join(' ')).join(' ');
  const samples = sayWithFlite('slt', text).subarray(0, 32 * 8_000);
  return { samples, turns };
}

describe('what goes wrong is said in the block, and the job is done', () => {
  let recogniser: Recogniser;
  beforeAll(async () => void (recogniser = await fixtureRecogniser()));
  afterAll(() => recogniser[Symbol.asyncDispose]());

  async function blockOf(models: string) {
    await using service = await startTestService({
      recogniser,
      config: { recogniser: { models } },
    });
    const api = jobsApi(service);
    const { audio_url } = await api.upload(wavOf('my card is lost'));
    const job = await api.ended(await api.begin({ audio_url, diarization: true }));
    expect(job).toMatchObject({
      status: 'done',
      result: { transcription: { full_transcript: 'my card is lost' } },
    });
    expect(job.result?.transcription?.utterances[0]).not.toHaveProperty('speaker');
    return job.result?.diarization;
  }

  test('without the model, with the command that fetches it', async () => {
    await using folder = await temporaryFolder();
    expect(await blockOf(folder.path)).toEqual({
      success: false,
      is_empty: true,
      exec_time: expect.any(Number),
      error: {
        status_code: 501,
        exception: 'NotConfigured',
        message: expect.stringContaining('npx trunkline models pull voice-encoder'),
      },
      results: [],
    });
  });

  test('with a model that is not the known one, of which no byte is used', async () => {
    const program = Buffer.from('cos\nsystem\n(S"exit 1"\ntR.');
    const knownBytes = catalogueEntry('voice-encoder').derived!.files[0]!.bytes;
    for (const [content, why] of [
      [program, `it has ${program.length} bytes instead of ${knownBytes}`],
      [Buffer.concat([program], knownBytes), 'its sha256 differs'],
    ] as const) {
      await using folder = await modelsWith(content);
      const block = await blockOf(folder.path);
      expect(block).toMatchObject({ success: false, error: { status_code: 500 }, results: [] });
      expect(block?.error?.message).toContain(why);
      expect(block?.error?.message).toContain('npx trunkline models pull voice-encoder');
    }
  });

  test('a process that takes too long is ended, and so is one that nobody waits for', async () => {
    await using folder = await modelsWith('too late to be read');
    const options = { models: folder.path, log: silentLog };
    const channels = [{ channel: 0, path: join(folder.path, 'none.pcm'), samples: 16_000 }];
    const late = openSpeakers({ ...options, deadlineMs: () => 1 });
    const block = await late.find(channels, {}, new AbortController().signal);
    expect(block).toMatchObject({ success: false, error: { status_code: 500 } });
    expect(block.error?.message).toContain('took longer than');
    const given = new AbortController();
    const finding = openSpeakers(options).find(channels, {}, given.signal);
    given.abort(new Error('cancelled'));
    await expect(finding).rejects.toThrow('cancelled');
  });

  test.skipIf(!voices)('a file that is gone; silence, noise, and audio of 10 ms', async () => {
    await using folder = await temporaryFolder();
    const speakers = openSpeakers({ models: voices!.models, log: silentLog });
    const path = join(folder.path, 'channel-0.pcm');
    const find = (samples: number) =>
      speakers.find([{ channel: 0, path, samples }], {}, new AbortController().signal);
    const gone = await find(48_000);
    expect(gone).toMatchObject({ success: false, error: { exception: 'DiarizationFailed' } });
    expect(gone.error?.message).toBe('diarization failed: the audio could not be listened to');
    await writeFile(path, Buffer.alloc(96_000));
    expect(await find(48_000)).toMatchObject({ success: true, results: [[]] });
    const next = noise(1);
    const loud = Int16Array.from({ length: 48_000 }, () => 32_767 * Math.sign(next()));
    await writeFile(path, loud);
    expect(await find(48_000)).toMatchObject({ success: true, results: [expect.any(Array)] });
    expect(await find(160)).toMatchObject({ success: true, results: [[]] });
    expect(await find(0)).toMatchObject({ success: true, results: [[]] });
  });

  test.skipIf(!voices)(
    'its process dies: the words are there; the job is cancelled: it goes with it',
    async () => {
      await using service = await startTestService({
        recogniser,
        config: { recogniser: { models: voices!.models } },
      });
      const api = jobsApi(service);
      // Ten minutes of silence behind the words keep the process at work for seconds.
      const tenMinutes = new Int16Array(600 * 8_000);
      tenMinutes.set(tones('my card is lost'));
      const { audio_url } = await api.upload(wavFile([tenMinutes]));
      const started = async () => {
        const id = await api.begin({ audio_url, diarization: true });
        const [pid = 0] = await until(() => {
          const pids = pidsWith('speakers/speakers-child.ts', service.store.dataDir);
          return pids.length > 0 && pids;
        });
        return { id, pid };
      };
      const first = await started();
      // Each attempt is killed: one that is killed from outside is begun anew, three times in all.
      const killed = new Set<number>();
      let isOver = false;
      const ended = api.ended(first.id).finally(() => (isOver = true));
      await until(() => {
        for (const pid of pidsWith('speakers/speakers-child.ts', service.store.dataDir)) {
          if (killed.has(pid)) continue;
          killed.add(pid);
          process.kill(pid, 'SIGKILL');
        }
        return isOver;
      }, 60_000);
      expect(killed.size).toBe(3);
      const job = await ended;
      expect(job).toMatchObject({
        status: 'done',
        result: {
          transcription: { full_transcript: 'my card is lost' },
          diarization: { success: false, error: { status_code: 500 }, results: [] },
        },
      });
      expect(job.result?.diarization?.error?.message).toContain('its process was killed 3 times');
      const second = await started();
      const { status } = await service.http(`/v2/pre-recorded/${second.id}/cancel`, {
        method: 'POST',
      });
      expect(status).toBeLessThan(300);
      await until(() => !isRunning(second.pid));
    },
  );

  test.skipIf(!voices)('a process whose parent is killed does not outlive it', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'channel-0.pcm');
    const samples = 2 * 3_600 * 16_000;
    await writeFile(path, '');
    await truncate(path, 2 * samples); // two hours of silence that take no room on the disk
    const from = new URL('../../../../src/hearing/speakers/speakers.ts', import.meta.url);
    const program = `
      import { openSpeakers } from ${JSON.stringify(from)};
      const options = { models: ${JSON.stringify(voices!.models)}, log: { warn: console.error } };
      const channels = [{ channel: 0, path: ${JSON.stringify(path)}, samples: ${samples} }];
      await openSpeakers(options).find(channels, {}, new AbortController().signal);`;
    const parent = endsWithUs(spawn(process.execPath, ['--input-type=module', '-e', program]));
    const pid = await until(() => pidsWith('speakers/speakers-child.ts', path)[0]);
    await until(() => cpuTicksOf(pid) > 50); // deep in its work
    parent.kill('SIGKILL');
    await until(() => !isRunning(pid));
  });

  /** A models folder in which something stands in the place of the weights. */
  async function modelsWith(content: string | Buffer) {
    const folder = await temporaryFolder();
    await mkdir(join(folder.path, 'voice-encoder'));
    await writeFile(weightsPath(folder.path), content);
    return folder;
  }
});
