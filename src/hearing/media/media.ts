import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isFfmpegInstalled } from './ffmpeg.ts';
import { askFileProcess } from './file-process.ts';
import { FileLanes } from './file-lanes.ts';
import { MediaError } from './media-error.ts';
import {
  grantedBytes,
  type DecodedMedia,
  type MediaAnswer,
  type MediaFacts,
  type MediaOrder,
  type RoomQuestion,
} from './media-messages.ts';
import { engineRateHz, maxChannels } from './pcm.ts';

export { MediaError } from './media-error.ts';
export type { DecodedMedia, MediaFacts } from './media-messages.ts';

/** Disk space in the folder. The channel files never grow beyond it. */
export type DecodingRoom = {
  /** Asks for space up to this size. Throws if it is refused, and the decoding ends with that error. */
  extend(reachBytes: number): void;
  wrote(totalBytes: number): void;
};

export type Media = {
  /**
   * Describes the file by its own header. If the header is an estimate, ffmpeg lists all packets. A FLAC file whose
   * writer did not know the length gets `durationS` 0, since only decoding would tell.
   */
  probe(path: string, signal?: AbortSignal): Promise<MediaFacts>;
  /** Writes the distinct channels into an existing folder. A failure leaves nothing there. */
  decode(
    path: string,
    folder: string,
    signal?: AbortSignal,
    room?: DecodingRoom,
  ): Promise<DecodedMedia>;
  /** One line for each ability that this machine lacks, for the operator. */
  missing(): string[];
};

type MediaOptions = {
  /** Longer audio is refused. */
  maxSeconds: number;
  /** The number of files decoded at the same time. */
  maxDecodes?: number;
  /** The time for a file of this size, from the start of its process. */
  deadlineMs?: (task: 'probe' | 'decode', fileBytes: number) => number;
};

/** The number of files probed at the same time. Probing is short and must not wait for a long decoding. */
const maxProbes = 2;
const maxHeapMiB = 96;
const program = new URL('./media-child.ts', import.meta.url);

/**
 * The default deadline. A machine under load decodes an hour of speech in half a minute, and reads a disk at far more
 * than 1 MB/s.
 */
function usualDeadlineMs(task: 'probe' | 'decode', fileBytes: number): number {
  const forSizeMs = (fileBytes / 1_000_000) * 1_000;
  return (task === 'probe' ? 30_000 : 300_000) + forSizeMs;
}

export function openMedia(options: MediaOptions): Media {
  const { maxSeconds, maxDecodes = 2, deadlineMs = usualDeadlineMs } = options;
  const decodes = new FileLanes(maxDecodes);
  const probes = new FileLanes(maxProbes);

  const carryOut = async (
    task: MediaOrder['task'],
    path: string,
    folder: string,
    signal?: AbortSignal,
    room?: DecodingRoom,
  ): Promise<MediaAnswer> => {
    const { size } = await stat(path);
    const limitMs = deadlineMs(task, size);
    const cpuSeconds = Math.max(1, Math.ceil(limitMs / 1_000));
    const lane = task === 'probe' ? probes : decodes;
    return lane.run(
      () =>
        runChild(
          { task, path, folder, maxSeconds, cpuSeconds, asksForRoom: room !== undefined },
          { limitMs, fileBytes: size, signal, room },
        ),
      signal,
    );
  };

  return {
    async probe(path, signal) {
      const answer = await carryOut('probe', path, '', signal);
      if (answer.outcome === 'facts') return answer.facts;
      throw failureOf(answer);
    },
    async decode(path, folder, signal, room) {
      try {
        const answer = await carryOut('decode', path, folder, signal, room);
        if (answer.outcome === 'decoded') {
          room?.wrote(bytesOf(answer.decoded));
          return answer.decoded;
        }
        throw failureOf(answer);
      } catch (error) {
        await removeChannels(folder);
        throw error;
      }
    },
    missing: () => (isFfmpegInstalled() ? [] : ['files but WAV and FLAC (install ffmpeg)']),
  };
}

function failureOf(answer: MediaAnswer): MediaError {
  return answer.outcome === 'failed'
    ? new MediaError(answer.status, answer.message)
    : new MediaError(500, 'the process that reads files answered another request');
}

async function removeChannels(folder: string): Promise<void> {
  for (let channel = 0; channel < maxChannels; channel++)
    await rm(join(folder, `channel-${channel}.pcm`), { force: true });
}

function bytesOf({ distinct }: DecodedMedia): number {
  return distinct.reduce((sum, { samples }) => sum + samples * 2, 0);
}

/**
 * The most bytes that audio of this length can become once decoded. If the length is unknown, space is requested along
 * the way.
 */
export function decodedBytes(durationS: number, channels: number): number {
  return Math.ceil(durationS * engineRateHz) * 2 * channels + 2 * grantedBytes * channels;
}

type ChildRun = {
  limitMs: number;
  fileBytes: number;
  signal: AbortSignal | undefined;
  room: DecodingRoom | undefined;
};

function runChild(
  order: MediaOrder,
  { limitMs, fileBytes, signal, room }: ChildRun,
): Promise<MediaAnswer> {
  return askFileProcess({
    program,
    order,
    maxHeapMiB,
    limitMs,
    signal,
    isQuestion: (message) => {
      if (!isRoomQuestion(message)) return false;
      room?.wrote(message.writtenBytes);
      room?.extend(message.reachBytes);
      return true;
    },
    late: () =>
      new MediaError(
        504,
        `reading the file took longer than ${Math.round(limitMs / 1_000)} s, the limit for its ${(fileBytes / 1e6).toFixed(1)} MB`,
      ),
    lost: (how, cause, isKilled) =>
      new MediaError(isKilled ? 503 : 500, `the process that reads files ${how}`, { cause }),
  });
}

function isRoomQuestion(message: unknown): message is RoomQuestion {
  return typeof message === 'object' && message !== null && 'question' in message;
}
