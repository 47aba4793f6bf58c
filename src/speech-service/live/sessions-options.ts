import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { AddonRunner } from '../addons/addons.ts';
import type { Callbacks } from '../callbacks/callbacks.ts';
import type { SpeechServiceConfig } from '../config.ts';
import type { Recogniser } from '../recognition/recogniser.ts';
import type { DiskWriter } from './disk-writer.ts';
import type { Jobs } from './jobs.ts';

export type SessionsOptions = {
  config: SpeechServiceConfig;
  jobs: Jobs;
  /** Audio and logs of sessions. */
  folder: string;
  disk: DiskWriter;
  node: string;
  clock: Clock;
  log: Logger;
  recogniser: Recogniser;
  language: AddonRunner;
  callbacks: Callbacks;
};
