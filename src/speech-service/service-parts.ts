import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PublicUrl } from '../port/addresses.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Objects } from '../objects/objects.ts';
import type { Store } from '../store/store.ts';
import type { AddonRunner } from './results/answer.ts';
import { Callbacks, callbackSender } from './callbacks/session-callbacks.ts';
import type { SpeechServiceConfig } from './config.ts';
import { ExtraModels } from './extra-models.ts';
import { openFiles, type Files } from './files/files.ts';
import { Jobs } from './jobs/jobs.ts';
import type { RecordingRule } from './live/assembly.ts';
import { DiskWriter } from './live/disk/disk-writer.ts';
import { SessionRows } from './live/session-rows.ts';
import { Sessions } from './live/live-sessions.ts';
import type { OtherSpeechNodes } from './live/sockets.ts';
import { storeAudio } from './live/disk/stored-audio.ts';
import { nodeIdOf } from '../lib/node-id.ts';
import { openMedia, type Media } from '../hearing/media/media.ts';
import { ModelShelf } from '../hearing/models/shelf.ts';
import type { Recogniser } from '../hearing/recogniser.ts';
import { LiveListener } from '../hearing/speakers/live-listener.ts';
import { openSpeakers } from '../hearing/speakers/speakers.ts';

export type SpeechServiceOptions = {
  config: SpeechServiceConfig;
  store: Store;
  log: Logger;
  recogniser: Recogniser;
  language: AddonRunner;
  publicUrl: PublicUrl;
  /** The data directory. Its folder `speech` holds the audio and logs of sessions. */
  dataDir: string;
  clock?: Clock;
  /** The rule of keeping recordings. Without it the audio is kept as long as the session's row. */
  recording?: RecordingRule;
  /** The other nodes of the database. Without them this node serves only its own sessions. */
  others?: OtherSpeechNodes | undefined;
  /** The object store for audio. Without one, all audio stays on the disk. */
  objects?: Objects | undefined;
  /** The recogniser for files. Without it, the recogniser of live sessions reads them. */
  jobsRecogniser?: Recogniser;
  /** Called when a model for recordings was installed while the process runs. */
  onModel?: (name: string) => void;
  /** True while this node stops and another speech node can take its jobs. */
  isRelieved?: () => boolean;
};

/** The components of the speech service. Each is created once, here. */
export type SpeechServiceParts = {
  node: string;
  folder: string;
  recording: RecordingRule;
  rows: SessionRows;
  sessions: Sessions;
  media: Media;
  files: Files;
  jobs: Jobs;
  extraModels: ExtraModels;
  listener: LiveListener;
  disk: DiskWriter;
  sender: AsyncDisposable;
  clock: Clock;
  log: Logger;
};

/** Creates the components in the order of their needs, and continues what an earlier run left. */
export async function openSpeechServiceParts(
  options: SpeechServiceOptions,
): Promise<SpeechServiceParts> {
  const { config, store, dataDir, publicUrl, objects, clock = systemClock } = options;
  const { recording = { kept: true, days: config.retentionDays } } = options;
  const log = options.log.child({ part: 'speech-service' });
  const folder = join(dataDir, 'speech');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const node = await nodeIdOf(dataDir);
  const rows = new SessionRows(store, objects);
  const sender = callbackSender({ allow: config.callbackHosts, clock });
  const callbacks = new Callbacks({ config, clock, log, send: sender.send });
  const disk = new DiskWriter({ clock, withoutRoomMs: config.withoutRoomS * 1e3 });
  const shelf = new ModelShelf(config.recogniser);
  const extraModels = new ExtraModels({ shelf, log, onInstalled: options.onModel });
  const models = shelf.folder;
  const listener = new LiveListener({ models, log });
  const sessions = new Sessions({
    ...options,
    listener,
    rows,
    folder,
    disk,
    node,
    clock,
    log,
    callbacks,
    recording,
  });
  await sessions.recover();
  if (objects !== undefined && recording.kept) storeAudio({ objects, store, node, folder });
  const media = openMedia({ maxSeconds: config.jobs.maxSeconds });
  const files = await openFiles({
    config: config.jobs,
    zeroRetention: config.zeroRetention,
    store,
    folder: join(folder, 'files'),
    node,
    probe: (path, signal) => media.probe(path, signal),
    publicUrl,
    clock,
    log,
    objects,
  });
  const jobs = new Jobs({
    config,
    store,
    node,
    folder: join(folder, 'jobs'),
    clock,
    log,
    files,
    media,
    language: options.language,
    send: sender.send,
    recogniser: options.jobsRecogniser ?? options.recogniser,
    speakers: openSpeakers({ models, log }),
    isRelieved: options.isRelieved,
  });
  await jobs.start();
  return {
    node,
    folder,
    recording,
    rows,
    sessions,
    media,
    files,
    jobs,
    extraModels,
    listener,
    disk,
    sender,
    clock,
    log,
  };
}
