import type { WordlessSpeech } from '../../protocol/job.ts';
import { open } from 'node:fs/promises';
import type { CustomVocabularyConfig } from '../../protocol/addon-configs.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Utterance } from '../../protocol/addons.ts';
import { utteranceOf } from '../results/utterance.ts';
import type { Recogniser, RecogniserStreamOptions } from '../../hearing/recogniser.ts';
import { ChannelSections } from './channel-sections.ts';
import type { JobLane, SectionLanes } from './section-lanes.ts';

/** Decoded audio: 16-bit little-endian mono at 16 kHz. */
export type ReadableChannel = { channel: number; path: string; samples: number };

export const sampleRate = 16_000;

type ReadingOptions = {
  recogniser: Recogniser;
  clock: Clock;
  channels: readonly ReadableChannel[];
  languages: string[];
  codeSwitching: boolean;
  /** The vocabulary of the request. */
  vocabulary: CustomVocabularyConfig | undefined;
  /** The lanes of all jobs, which limit how many sections are read at once. */
  lanes: SectionLanes;
  /** The least length of a section, if it differs from the usual one. */
  sectionS?: number;
  signal: AbortSignal;
  /** Called with the seconds that are read without a gap from the beginning; with several channels, their mean. */
  onProgress(seconds: number): void;
  /** Called once at the end, with the stretches that have a voice but no recognised words. */
  onWordless?(stretches: readonly WordlessSpeech[]): void;
};

/** Nobody waits for single words here, so pieces may be long: more context and fewer cuts. */
const stream: Omit<RecogniserStreamOptions, 'languages' | 'codeSwitching' | 'vocabulary'> = {
  sampleRate,
  endpointingS: 0.5,
  maximumDurationS: 30,
  speechThreshold: 0.6,
  audioEnhancer: false,
  recorded: true,
  partials: false,
};

const shortestSectionS = 20;
const longestSectionS = 60;

/**
 * The least length of a section. A section takes a process some seconds, so a waiting job waits little, and the cost of
 * a seam is small. Towards the end of a recording sections become shorter, so that no process works on a long one while
 * the others have nothing.
 */
function ordinarySectionS(leftS: number, processes: number): number {
  return Math.min(longestSectionS, Math.max(shortestSectionS, leftS / (2 * processes)));
}

/** Reads all channels of a file, in sections if several processes can read. Returns the utterances in order of time. */
export async function readChannels(options: ReadingOptions): Promise<Utterance[]> {
  const { recogniser, clock, languages, codeSwitching, vocabulary, lanes } = options;
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const isCut = lanes.sideBySide && mayBeCut(recogniser, languages, codeSwitching);
  const language = languages.length === 1 ? languages[0] : undefined;
  await using files = new AsyncDisposableStack();
  const readings: { channel: number; sections: ChannelSections }[] = [];
  for (const { channel, path, samples } of options.channels) {
    if (samples === 0) continue;
    const file = files.use(await open(path, 'r'));
    const sections = new ChannelSections({
      recogniser,
      clock,
      stream: { ...stream, languages, codeSwitching, vocabulary },
      read: async (from, count) => {
        const bytes = Buffer.alloc(count * 2);
        const { bytesRead } = await file.read(bytes, 0, bytes.length, from * 2);
        return new Int16Array(bytes.buffer, bytes.byteOffset, bytesRead >> 1);
      },
      samples,
      sectionS: isCut
        ? (leftS) => options.sectionS ?? ordinarySectionS(leftS, recogniser.mostProcesses)
        : undefined,
      signal,
      onProgress: () => {
        const decidedS = readings.reduce((sum, one) => sum + one.sections.decidedS, 0);
        options.onProgress(decidedS / readings.length);
      },
    });
    readings.push({ channel, sections });
  }
  const sections = readings.map((reading) => reading.sections);
  await readSections(sections, lanes.ofJob(), signal, (reason) => failed.abort(reason));
  options.signal.throwIfAborted();
  options.onWordless?.(
    readings.flatMap(({ channel, sections: { wordless } }) =>
      wordless.map(({ from, to }) => ({ channel, start: from, end: to })),
    ),
  );
  return readings
    .flatMap((reading) =>
      reading.sections.said.map((said) => utteranceOf(said, reading.channel, language)),
    )
    .map(withoutSpace)
    .sort((a, b) => a.start - b.start || a.channel - b.channel);
}

/**
 * Begins sections as the lane allows, always in the channel that has read least. The first failure stops the others,
 * because their words are not needed then.
 */
async function readSections(
  channels: readonly ChannelSections[],
  lane: JobLane,
  signal: AbortSignal,
  onFailure: (reason: unknown) => void,
): Promise<void> {
  const work: Promise<void>[] = [];
  let failure: { reason: unknown } | undefined;
  const fail = (reason: unknown): void => {
    failure ??= { reason };
    onFailure(reason);
  };
  const leastFar = (): ChannelSections | undefined =>
    channels.filter(({ hasMore }) => hasMore).toSorted((a, b) => a.begunS - b.begunS)[0];
  const begin = async (place: Disposable): Promise<void> => {
    const section = await leastFar()?.begin();
    if (section) work.push(section.done.catch(fail).finally(() => place[Symbol.dispose]()));
    else place[Symbol.dispose]();
  };
  try {
    while (leastFar()) {
      const place = await lane.take(signal);
      await begin(place).catch((error: unknown) => {
        place[Symbol.dispose]();
        throw error;
      });
    }
  } catch (error) {
    fail(error);
  }
  await Promise.all(work);
  if (failure) throw failure.reason;
}

/**
 * True if the channel may be divided. If the first words settle the language of the others, they must be heard first.
 */
function mayBeCut(recogniser: Recogniser, languages: string[], codeSwitching: boolean): boolean {
  const covered = recogniser.status().languages;
  const asked = languages.filter((language) => covered.includes(language));
  return codeSwitching || (asked.length > 0 ? asked : covered).length <= 1;
}

/** Removes the space at the start of an utterance. Live text begins with one; here only later words do. */
function withoutSpace(utterance: Utterance): Utterance {
  const [first, ...rest] = utterance.words;
  return {
    ...utterance,
    text: utterance.text.trim(),
    words: first ? [{ ...first, word: first.word.trim() }, ...rest] : [],
  };
}
