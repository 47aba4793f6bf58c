import type { PreRecordedJobRecord } from '../../../src/protocol/job.ts';
import type { UploadedFile } from '../../../src/protocol/pre-recorded.ts';
import { buildHeader } from '../../../src/speech-service/live/incoming/audio-format.ts';
import { tones } from '../recognition/fixture-model.ts';
import { until } from '../process/until.ts';
import type { SpeechHttp } from './speech-service.ts';

/** A WAV file that says these words to the fixture model. */
export function wavOf(words: string, options: Parameters<typeof tones>[1] = {}): Buffer {
  return wavFile([tones(words, options)]);
}

/** 16-bit PCM at 8 kHz with interleaved channels. */
export function wavFile(channels: readonly Int16Array[]): Buffer {
  const frames = Math.max(...channels.map(({ length }) => length));
  const bytes = Buffer.alloc(frames * channels.length * 2);
  for (const [channel, samples] of channels.entries())
    for (const [frame, sample] of samples.entries())
      bytes.writeInt16LE(sample, (frame * channels.length + channel) * 2);
  const format = {
    encoding: 'wav/pcm',
    bitDepth: 16,
    sampleRate: 8000,
    channels: channels.length,
  } as const;
  return Buffer.concat([buildHeader(format, bytes.length), bytes]);
}

export type JobsApi = {
  upload(bytes: Buffer, filename?: string): Promise<UploadedFile>;
  /** Creates a job with POST and resolves with its id. */
  begin(body: Record<string, unknown>): Promise<string>;
  record(id: string): Promise<PreRecordedJobRecord>;
  ended(id: string, deadlineMs?: number): Promise<PreRecordedJobRecord>;
};

/** Client requests for pre-recorded jobs, over the HTTP client of the tests. */
export function jobsApi({ http }: Pick<SpeechHttp, 'http'>): JobsApi {
  const record = async (id: string): Promise<PreRecordedJobRecord> => {
    const response = await http(`/v2/pre-recorded/${id}`);
    if (response.status !== 200) throw new Error(`GET answered ${response.status}`);
    return (await response.json()) as PreRecordedJobRecord;
  };
  return {
    record,
    async upload(bytes, filename = 'call.wav') {
      const form = new FormData();
      form.append('audio', new Blob([Uint8Array.from(bytes)]), filename);
      const response = await http('/v2/upload', { method: 'POST', body: form });
      if (response.status !== 200)
        throw new Error(`upload answered ${response.status}: ${await response.text()}`);
      return (await response.json()) as UploadedFile;
    },
    async begin(body) {
      const response = await http('/v2/pre-recorded', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (response.status !== 201)
        throw new Error(`POST answered ${response.status}: ${await response.text()}`);
      return ((await response.json()) as { id: string }).id;
    },
    ended: (id, deadlineMs = 60_000) =>
      until(async () => {
        const job = await record(id);
        return (job.status === 'done' || job.status === 'error') && job;
      }, deadlineMs),
  };
}
