import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { every } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import { SettledTime } from '../../lib/settled-time.ts';
import type { Objects } from '../../objects/objects.ts';
import type { Store } from '../../store/store.ts';
import type { SpeechServiceConfig } from '../config.ts';
import type { RecordingRule } from './assembly.ts';
import { eraseEach } from '../records/erase-each.ts';
import type { SessionRows } from './session-rows.ts';
import { forgetAudioBefore } from './disk/stored-audio.ts';
import type { Sessions } from './live-sessions.ts';

type SessionRetentionOptions = {
  config: SpeechServiceConfig;
  recording: RecordingRule;
  rows: SessionRows;
  sessions: Sessions;
  store: Store;
  node: string;
  clock: Clock;
  log: Logger;
  folder: string;
  objects?: Objects | undefined;
};

const dayMs = 86_400_000;
/** With zero days of retention a session must be gone within 24 hours, which an hourly sweep ensures. */
const everyMs = 3_600_000;
const batch = 200;

/** Deletes sessions past their retention, and files without a row. */
export function startRetention(options: SessionRetentionOptions): {
  sweep(): Promise<number>;
  stop(): void;
} {
  let stopped = false;
  const settled = new SettledTime(options.clock);
  const sweep = async (): Promise<number> => {
    const { rows, sessions, store, node, config } = options;
    const nowMs = settled.now();
    const before = nowMs - Math.round(config.retentionDays * dayMs);
    const erased = await eraseEach({
      next: (except) => rows.completedBefore(node, before, batch, except),
      erase: ({ id }) => sessions.erase(id),
      isStopped: () => stopped,
      log: options.log,
    });
    if (erased > 0) await store.forgetDeleted();
    await sweepFiles(options, nowMs);
    return erased;
  };
  const { clock, log } = options;
  const sweepAndTell = async (): Promise<void> => {
    const erased = await sweep();
    if (erased > 0) log.info({ erased }, 'live sessions past their retention were deleted');
  };
  const sweeps = every(clock, everyMs, sweepAndTell, {
    firstMs: 1_000,
    failed: (error) =>
      log.error({ reason: reasonOf(error) }, 'the retention of live sessions failed'),
  });
  return {
    sweep,
    stop() {
      stopped = true;
      void sweeps.stop();
    },
  };
}

/**
 * Deletes audio past its retention, or all of it at once where no recording is kept. Also deletes files without a row,
 * which a crash leaves between the deletion of a row and of its files.
 */
async function sweepFiles(options: SessionRetentionOptions, nowMs: number): Promise<void> {
  const { folder, rows, recording, objects, store } = options;
  const keptSinceMs = recording.kept ? nowMs - Math.round(recording.days * dayMs) : nowMs;
  if (objects !== undefined) await forgetAudioBefore(objects, store, keptSinceMs);
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const [, id, kind] = /^([0-9a-f-]{36})\.(audio|log)$/.exec(name) ?? [];
    if (id === undefined) continue;
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: nowMs }));
    // Files that were written within the last hour belong to kept audio or to a running session.
    const isOrphanable = nowMs - mtimeMs >= everyMs;
    const isDue = kind === 'audio' && mtimeMs <= keptSinceMs;
    if (!isOrphanable && !isDue) continue;
    const end = await rows.endOf(id);
    const isOrphan = end === undefined && isOrphanable;
    const isPast = isDue && typeof end === 'number' && end <= keptSinceMs;
    if (isOrphan || isPast) await rm(path, { force: true });
  }
}
