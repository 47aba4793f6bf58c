import { open } from 'node:fs/promises';
import type { Clock } from '../../lib/clock.ts';
import type { Utterance } from '../../protocol/addons.ts';
import { Channel } from '../live/channels.ts';
import { utteranceOf } from '../live/messages.ts';
import type { Recogniser, RecogniserStreamOptions } from '../recognition/recogniser.ts';
import { JobFailure } from './failure.ts';

/** Decoded audio: 16-bit little-endian mono at 16 kHz. */
export type ReadableChannel = { channel: number; path: string; samples: number };

export const sampleRate = 16_000;

type ReadingOptions = {
  recogniser: Recogniser;
  clock: Clock;
  channels: readonly ReadableChannel[];
  languages: string[];
  codeSwitching: boolean;
  signal: AbortSignal;
  /** The second up to which every channel is read. */
  onProgress(seconds: number): void;
};

/** Nobody waits for a word here, so pieces may be long: more context, fewer cuts. */
const stream: Omit<RecogniserStreamOptions, 'languages' | 'codeSwitching'> = {
  sampleRate,
  endpointingS: 0.5,
  maximumDurationS: 30,
  speechThreshold: 0.6,
  audioEnhancer: false,
  recorded: true,
  partials: false,
};

/** A recogniser that decides nothing for so long has hung in a way that its own deadline does not see. */
const stalledMs = 300_000;
const lookEveryMs = 1_000;

/** Reads all channels of a file, each as one stream, and answers with their utterances in order of time. */
export async function readChannels(options: ReadingOptions): Promise<Utterance[]> {
  const { channels, signal } = options;
  const decided = channels.map(() => 0);
  const said = await Promise.all(
    channels.map((channel, index) =>
      readChannel(options, channel, (seconds) => {
        decided[index] = seconds;
        options.onProgress(Math.min(...decided));
      }),
    ),
  );
  signal.throwIfAborted();
  return said.flat().sort((a, b) => a.start - b.start || a.channel - b.channel);
}

async function readChannel(
  { recogniser, clock, languages, codeSwitching, signal }: ReadingOptions,
  { channel, path, samples }: ReadableChannel,
  onProgress: (seconds: number) => void,
): Promise<Utterance[]> {
  if (samples === 0) return [];
  const utterances: Utterance[] = [];
  const language = languages.length === 1 ? languages[0] : undefined;
  await using file = await open(path, 'r');
  let stopWatch = (): void => undefined;
  let abort = (): void => undefined;
  let reader: Channel | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      abort = () => reject(signal.reason as Error);
      reader = new Channel({
        recogniser,
        clock,
        stream: { ...stream, languages, codeSwitching },
        received: () => samples,
        read: async (frame, count) => {
          const bytes = Buffer.alloc(count * 2);
          const { bytesRead } = await file.read(bytes, 0, bytes.length, frame * 2);
          return new Int16Array(bytes.buffer, bytes.byteOffset, bytesRead >> 1);
        },
        onEvent: (event) => {
          if (event.type === 'final')
            utterances.push(utteranceOf(event.utterance, channel, language));
          else if (event.type === 'finished') resolve();
          else if (event.type === 'failed')
            reject(new JobFailure(500, `the audio could not be recognised: ${event.reason}`));
        },
      });
      stopWatch = watch(reader, clock, onProgress, reject);
      if (signal.aborted) abort();
      signal.addEventListener('abort', abort, { once: true });
      reader.finish();
    });
  } finally {
    signal.removeEventListener('abort', abort);
    stopWatch();
    reader?.close();
  }
  return utterances.map(withoutSpace);
}

/** Tells the progress, and gives up when there is none. */
function watch(
  reader: Channel,
  clock: Clock,
  onProgress: (seconds: number) => void,
  onStalled: (failure: JobFailure) => void,
): () => void {
  let last = -1;
  let sinceMs = clock.monotonicMs();
  let stop: () => void;
  const look = (): void => {
    const { decidedS } = reader;
    const nowMs = clock.monotonicMs();
    if (decidedS > last) {
      last = decidedS;
      sinceMs = nowMs;
      onProgress(decidedS);
    } else if (nowMs - sinceMs > stalledMs) {
      onStalled(new JobFailure(504, `the recogniser decided nothing for ${stalledMs / 1e3} s`));
      return;
    }
    stop = clock.after(lookEveryMs, look);
  };
  stop = clock.after(lookEveryMs, look);
  return () => stop();
}

/** Live text begins with a space; here only the words after the first of an utterance do. */
function withoutSpace(utterance: Utterance): Utterance {
  const [first, ...rest] = utterance.words;
  return {
    ...utterance,
    text: utterance.text.trim(),
    words: first ? [{ ...first, word: first.word.trim() }, ...rest] : [],
  };
}
