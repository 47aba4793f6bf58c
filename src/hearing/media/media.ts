import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isFfmpegInstalled } from './ffmpeg.ts';
import { askFileProcess } from './file-process.ts';
import { FileTurns } from './file-turns.ts';
import { MediaError } from './media-error.ts';
import type { DecodedMedia, MediaAnswer, MediaFacts, MediaOrder } from './messages.ts';
import { maxChannels } from './pcm.ts';

export { MediaError } from './media-error.ts';
export type { DecodedMedia, MediaFacts } from './messages.ts';

export type Media = {
  /** What the file says of itself. A file without a length of its own is read through, but not decoded. */
  probe(path: string, signal?: AbortSignal): Promise<MediaFacts>;
  /** Writes the distinct channels into a folder that exists. Where it fails, nothing is left there. */
  decode(path: string, folder: string, signal?: AbortSignal): Promise<DecodedMedia>;
  /** One line for each thing that this machine cannot do, for people who start it. */
  notes(): string[];
};

type MediaOptions = {
  /** Audio longer than this is refused. */
  maxSeconds: number;
  /** Files decoded at the same time. */
  maxDecodes?: number;
  /** Time for a file of that size, from the start of its process. */
  deadlineMs?: (task: 'probe' | 'decode', fileBytes: number) => number;
};

/** Files that are probed at the same time: short work, which must not wait for a long decoding. */
const maxProbes = 2;
const maxHeapMiB = 96;
const program = new URL('./child.ts', import.meta.url);

/** A machine under load decodes an hour of speech in half a minute, and reads a disk at far more than 1 MB/s. */
function usualDeadlineMs(task: 'probe' | 'decode', fileBytes: number): number {
  const forSizeMs = (fileBytes / 1_000_000) * 1_000;
  return (task === 'probe' ? 30_000 : 300_000) + forSizeMs;
}

export function openMedia(options: MediaOptions): Media {
  const { maxSeconds, maxDecodes = 2, deadlineMs = usualDeadlineMs } = options;
  const decodes = new FileTurns(maxDecodes);
  const probes = new FileTurns(maxProbes);

  const carryOut = async (
    task: MediaOrder['task'],
    path: string,
    folder: string,
    signal?: AbortSignal,
  ): Promise<MediaAnswer> => {
    const { size } = await stat(path);
    const limitMs = deadlineMs(task, size);
    const cpuSeconds = Math.max(1, Math.ceil(limitMs / 1_000));
    const lane = task === 'probe' ? probes : decodes;
    return lane.run(
      () => runChild({ task, path, folder, maxSeconds, cpuSeconds }, limitMs, size, signal),
      signal,
    );
  };

  return {
    async probe(path, signal) {
      const answer = await carryOut('probe', path, '', signal);
      if (answer.outcome === 'facts') return answer.facts;
      throw failureOf(answer);
    },
    async decode(path, folder, signal) {
      try {
        const answer = await carryOut('decode', path, folder, signal);
        if (answer.outcome === 'decoded') return answer.decoded;
        throw failureOf(answer);
      } catch (error) {
        await removeChannels(folder);
        throw error;
      }
    },
    notes: () =>
      isFfmpegInstalled()
        ? []
        : ['ffmpeg is not installed: of pre-recorded files only WAV and FLAC can be read'],
  };
}

function failureOf(answer: MediaAnswer): MediaError {
  return answer.outcome === 'failed'
    ? new MediaError(answer.status, answer.message)
    : new MediaError(500, 'the process that reads files gave the answer to another question');
}

async function removeChannels(folder: string): Promise<void> {
  for (let channel = 0; channel < maxChannels; channel++)
    await rm(join(folder, `channel-${channel}.pcm`), { force: true });
}

function runChild(
  order: MediaOrder,
  limitMs: number,
  fileBytes: number,
  signal?: AbortSignal,
): Promise<MediaAnswer> {
  return askFileProcess({
    program,
    order,
    maxHeapMiB,
    limitMs,
    signal,
    late: () =>
      new MediaError(
        504,
        `reading the file took longer than ${Math.round(limitMs / 1_000)} s, the limit for its ${(fileBytes / 1e6).toFixed(1)} MB`,
      ),
    lost: (how, cause, isKilled) =>
      new MediaError(isKilled ? 503 : 500, `the process that reads files ${how}`, { cause }),
  });
}
