import type { Transaction } from 'kysely';
import type { LanguageRunner } from '../../language/runner.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { SpeechClient } from '../../speech-client/client.ts';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import type { BridgeConfig } from '../config.ts';
import type { Objects } from '../../objects/objects.ts';
import type { Journal } from '../journal/journal.ts';
import type { CallLinks } from '../call-links.ts';
import type { OpenedStream, ReadFacts, StreamControl, StreamStart } from '../streams.ts';
import type { LiveFeed } from '../live-feed.ts';

/** What every call of this process works with. */
export type CallEnvironment = {
  config: BridgeConfig;
  store: Store;
  journal: Journal;
  speech: SpeechClient;
  language: LanguageRunner;
  feed: LiveFeed;
  links: CallLinks;
  clock: Clock;
  log: Logger;
  recording: boolean;
  /** Where there is one, it may have audio of lost nodes. */
  objects?: Objects | undefined;
  /** Hears of legs whose recording is on the disk of a lost node. */
  lostRecordings?: { lacks(legId: string, node: string): void } | undefined;
  /** Whose disk this is: of which node the calls are. */
  node: string;
  /**
   * How long a stream may wait until the call that it belongs to, of a node that seems to be gone, goes on here; 0 where
   * there are no other nodes.
   */
  takeOverMs: number;
  /** The stream's call is at that node: it goes there. Undefined where that cannot be. */
  relay?: (
    node: string,
    start: StreamStart,
    control: StreamControl,
  ) => Promise<OpenedStream | undefined>;
  secondPasses: {
    /** With the summary: the recording, if there is one, will be read again where that is asked for. */
    order(tx: Transaction<Database>, callId: string): Promise<void>;
    wake(): void;
  };
  /** What a callback of a carrier says of its call. */
  factsOf: ReadFacts;
  /** The audio of an ended call, here and at the speech service; what was said stays. */
  eraseAudio(callId: string): Promise<void>;
  /** What the speech service keeps of the sessions of a redacted call. */
  eraseSessions(callId: string): Promise<void>;
  /** After each commit that holds events: the outbox has work. */
  wakeOutbox(): void;
};
