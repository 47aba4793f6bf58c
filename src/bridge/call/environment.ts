import type { Transaction } from 'kysely';
import type { RuleSet } from '../../assist/rule-set.ts';
import type { LanguageRunner } from '../../language/runner.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { CallContact, LookedUpCall } from '../../protocol/contact.ts';
import type { WrapUp } from '../../protocol/wrap-up.ts';
import type { SpeechClient } from '../../speech-client/client.ts';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import type { BridgeConfig } from '../config.ts';
import type { CallKnowledge } from '../events/knowledge-cards.ts';
import type { Objects } from '../../objects/objects.ts';
import type { Journal } from '../journal/journal.ts';
import type { CallLinks } from '../call-links.ts';
import type { OpenedStream, ReadFacts, StreamControl, StreamStart } from '../streams.ts';
import type { LiveFeed } from '../live-feed.ts';

/** The services and settings that every call of this process uses. */
export type CallEnvironment = {
  config: BridgeConfig;
  store: Store;
  journal: Journal;
  speech: SpeechClient;
  language: LanguageRunner;
  feed: LiveFeed;
  links: CallLinks;
  /** The playbooks that calls which begin now listen with. */
  playbooks: { readonly current: RuleSet };
  /** The articles that calls show by themselves. Absent where the setting says so. */
  knowledge?: CallKnowledge | undefined;
  clock: Clock;
  log: Logger;
  recording: boolean;
  /** The object store, if one is configured. It may hold audio of lost nodes. */
  objects?: Objects | undefined;
  /** Takes note of legs whose recording is on the disk of a lost node. */
  lostRecordings?: { lacks(legId: string, node: string): void } | undefined;
  /** The id of this node. A call belongs to the node whose disk holds its audio. */
  node: string;
  /**
   * The longest time that a stream waits for its call to move here from a node that seems to be lost. 0 if there are
   * no other nodes.
   */
  takeOverMs: number;
  /** Sends the stream to the node that has its call. If absent, streams cannot be relayed. */
  relay?:
    | ((
        node: string,
        start: StreamStart,
        control: StreamControl,
      ) => Promise<OpenedStream | undefined>)
    | undefined;
  secondPasses: {
    /**
     * Runs in the summary's transaction. If the second pass is enabled and the call has a recording, the recording will
     * be recognised again.
     */
    order(tx: Transaction<Database>, callId: string): Promise<void>;
    wake(): void;
  };
  wrapUps: {
    /** The record with a disposition of the installation's list, or as it was. It takes two seconds at most. */
    suggested(record: WrapUp, turns: readonly { role: string; text: string }[]): Promise<WrapUp>;
    /** Runs in the summary's transaction. The record goes out after a while, unless somebody edits it before. */
    keep(tx: Transaction<Database>, callId: string, record: WrapUp, text: string): Promise<void>;
    wake(): void;
  };
  /** Looks up the other party of a call that begins. Undefined where no CRM knows it in time; never rejects. */
  contacts: { find(call: LookedUpCall): Promise<CallContact | undefined> };
  /** Reads the facts about a call from a carrier's callback. */
  factsOf: ReadFacts;
  /** Erases the audio of an ended call, here and at the speech service. The words stay. */
  eraseAudio(callId: string): Promise<void>;
  /** Writes a tone over the redacted words in the kept audio of an ended call. */
  coverAudio(callId: string): Promise<void>;
  /** Erases the sessions of a redacted call at the speech service. */
  eraseSessions(callId: string): Promise<void>;
  /** Wakes the outbox after each commit that holds events. */
  wakeOutbox(): void;
};
