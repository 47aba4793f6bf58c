import { failed, succeeded } from '../../language/block.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { AddonBlock } from '../../protocol/addons.ts';
import { askFileProcess } from '../media/file-process.ts';
import { FileLanes } from '../media/file-lanes.ts';
import { catalogueEntry } from '../models/catalogue.ts';
import { vadModelPath } from '../offline/voice-activity.ts';
import type { SpeakersAnswer, SpeakersOrder, SpokenChannel } from './speakers-messages.ts';
import { sampleRate } from './segments.ts';
import type { VoiceTurn } from './speaker-turns.ts';
import type { SpeakerHints } from './voice-groups.ts';
import { voiceModel } from '../config.ts';
import { isPulled, pullCommand, weightsPath } from './weights.ts';

export type Speakers = {
  /** The turns of each channel. A failure becomes an error block; only an aborted signal throws. */
  find(
    channels: readonly SpokenChannel[],
    hints: SpeakerHints,
    signal: AbortSignal,
  ): Promise<AddonBlock<VoiceTurn[][]>>;
};

export type SpeakersOptions = {
  /** The folder of all models. */
  models: string;
  log: Logger;
  /** The time for this much audio, from the start of its process. */
  deadlineMs?: (audioS: number) => number;
};

/** At most this many files are analysed at the same time. */
const maxAtOnce = 2;
const maxHeapMiB = 192;
const program = new URL('./speakers-child.ts', import.meta.url);

/**
 * The default deadline. An hour takes some two minutes of processor time, and a busy machine leaves little time to this
 * process.
 */
function usualDeadlineMs(audioS: number): number {
  return 120_000 + audioS * 1_000;
}

export function openSpeakers(options: SpeakersOptions): Speakers {
  const { models, log, deadlineMs = usualDeadlineMs } = options;
  const turns = new FileLanes(maxAtOnce);
  return {
    async find(channels, hints, signal) {
      const startedAtMs = performance.now();
      if (!(await isPulled(models))) return failed(501, 'NotConfigured', missing, startedAtMs);
      const spoken = channels.filter(({ samples }) => samples > 0);
      if (spoken.length === 0)
        return succeeded(
          channels.map(() => []),
          startedAtMs,
        );
      const order: SpeakersOrder = {
        channels: spoken,
        hints,
        weights: weightsPath(models),
        voiceActivityModel: vadModelPath(),
      };
      const audioS = spoken.reduce((sum, { samples }) => sum + samples / sampleRate, 0);
      try {
        const answer = await turns.run(() => runChild(order, deadlineMs(audioS), signal), signal);
        if (answer.outcome === 'failed')
          throw new Error(answer.message, { cause: new Error(answer.reason) });
        const found = new Map(spoken.map(({ channel }, index) => [channel, answer.turns[index]]));
        return succeeded(
          channels.map(({ channel }) => found.get(channel) ?? []),
          startedAtMs,
        );
      } catch (error) {
        signal.throwIfAborted();
        const reason = reasonOf(error);
        const cause = error instanceof Error && error.cause ? { cause: reasonOf(error.cause) } : {};
        log.warn({ reason, ...cause }, 'the speakers of a file could not be told apart');
        return failed(500, 'DiarizationFailed', `diarization failed: ${reason}`, startedAtMs); // prettier-ignore
      }
    },
  };
}

const missing =
  `diarization needs the model ${voiceModel}, which is not installed: ` +
  `"${pullCommand}" fetches it (${String(catalogueEntry(voiceModel).megabytes)} MB), as does POST /api/models/${voiceModel}/install`;

function runChild(
  order: SpeakersOrder,
  limitMs: number,
  signal: AbortSignal,
): Promise<SpeakersAnswer> {
  return askFileProcess({
    program,
    order,
    maxHeapMiB,
    limitMs,
    signal,
    late: () => new Error(`it took longer than ${Math.round(limitMs / 1_000)} s`),
    lost: (how, cause) => new Error(`its process ${how}`, { cause }),
  });
}
