import { wait, type Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { ServerMessage } from '../../protocol/live-messages.ts';
import type { SessionRecord } from '../../speech-client/service-api.ts';
import type { SpeechClient } from '../../speech-client/client.ts';
import { missingOf, SeenMessages } from '../../speech-client/message-identity.ts';
import type { SpeechSession } from '../../speech-client/speech-session.ts';
import { spokenBy } from './session-span.ts';
import type { KnownSession } from './session-records.ts';

/** A session that takes no more audio, with everything that is needed to read its record. */
type PastSession = {
  entry: KnownSession;
  seen: SeenMessages;
  /** Seconds of audio that were sent to the session. */
  sentS: number;
  originOf(message: ServerMessage): number;
  /** Converts the session's own count of bytes to a leg position. */
  heardUpTo(bytes: number): number;
};

type PastSessionsOptions = {
  speech: SpeechClient;
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
  bytesPerSecond: number;
  /** The longest time that a service which answers may take to finish a session. */
  patienceMs(): number;
  /** True if another session of the leg followed this one. */
  replaced(entry: KnownSession): boolean;
  onMessage(message: ServerMessage, sessionId: string, offsetS: number): void;
  onHeard(entry: KnownSession, position: number): void;
  /** Called when the last words of a session cannot be read. */
  onLate: () => void;
  /** Called when a session was lost. It will not transcribe its audio after its last final. */
  onUnsaid(entry: KnownSession): void;
  onChange(): void;
};

/**
 * Reads the records of ended sessions by GET: the messages that were lost with their sockets, and how much audio the
 * sessions had heard.
 */
export class PastSessions {
  readonly #options: PastSessionsOptions;
  readonly #reading = new Set<Promise<void>>();

  constructor(options: PastSessionsOptions) {
    this.#options = options;
  }

  get isBusy(): boolean {
    return this.#reading.size > 0;
  }

  /** Resolves when the record was read or cannot be read. Never rejects. */
  read(session: PastSession): Promise<void> {
    const reading = this.#readRecord(session)
      .catch((error: unknown) => {
        const { log, onLate } = this.#options;
        log.error({ err: error, sessionId: session.entry.id }, 'a record could not be read');
        onLate();
      })
      .then(() => {
        this.#reading.delete(reading);
        this.#options.onChange();
      });
    this.#reading.add(reading);
    return reading;
  }

  async #readRecord(session: PastSession): Promise<void> {
    const { clock, speech, signal, log } = this.#options;
    const { entry } = session;
    let answeredAtMs: number | undefined;
    for (let attempt = 0; !signal.aborted; attempt++) {
      const result = await speech.record(entry.id, signal, entry.service);
      if (signal.aborted) return;
      if (result.outcome === 'unknown') {
        log.warn({ sessionId: entry.id }, 'the service no longer knows the session');
        this.#options.onLate();
        this.#options.onUnsaid(entry);
        break;
      }
      if (result.outcome === 'found') {
        const done = result.record.status === 'done' || result.record.status === 'error';
        answeredAtMs ??= clock.monotonicMs();
        const late = clock.monotonicMs() - answeredAtMs > this.#options.patienceMs();
        if (done || late) {
          if (!done) this.#options.onLate();
          this.#take(session, result.record);
          if (!done || isEmpty(result.record)) this.#options.onUnsaid(entry);
          break;
        }
      }
      // The session's speech node is unreachable while others are running. The call does not wait for words that only
      // this node may have.
      if (result.outcome === 'unavailable' && speech.hasOther(entry.service)) {
        answeredAtMs ??= clock.monotonicMs();
        if (clock.monotonicMs() - answeredAtMs > this.#options.patienceMs()) {
          log.warn(
            { sessionId: entry.id },
            'the speech node that had the session did not come back',
          );
          this.#options.onLate();
          this.#options.onUnsaid(entry);
          break;
        }
      }
      const delayMs = result.outcome === 'found' ? 250 : Math.min(10_000, 250 * 2 ** attempt);
      await wait(clock, delayMs, signal);
    }
    entry.isUnfetched = false;
  }

  #take(session: PastSession, record: SessionRecord): void {
    const { entry } = session;
    const durationS = record.result?.metadata?.audio_duration ?? 0;
    if (!this.#options.replaced(entry)) this.#heard(session, durationS);
    for (const message of missingOf(record, entry.id, session.seen, session.sentS))
      this.#add(session, message);
  }

  /** The duration in the record replaces a lost ack, unless another session has begun to hear the same bytes. */
  #heard(session: PastSession, durationS: number): void {
    // Durations are exact to milliseconds at best. A duration that ends this close to the last frame's end means that
    // end.
    const slack = Math.ceil(this.#options.bytesPerSecond / 1_000);
    const position = session.heardUpTo(Math.round(durationS * this.#options.bytesPerSecond));
    const most = session.heardUpTo(Infinity);
    this.#options.onHeard(session.entry, most - position <= slack ? most : position);
  }

  #add(session: PastSession, message: ServerMessage): void {
    const { entry } = session;
    const { bytesPerSecond } = this.#options;
    const origin = session.originOf(message);
    const spoken = spokenBy(entry, message, {
      origin,
      bytesPerSecond,
      isReplaced: this.#options.replaced(entry),
    });
    if (spoken) this.#options.onMessage(spoken, entry.id, origin / bytesPerSecond);
  }
}

/** True for a session that ended with its node. Its record has no words. */
function isEmpty({ status, result }: SessionRecord): boolean {
  return status === 'error' && (result?.messages ?? []).length === 0;
}

export function pastOf(session: SpeechSession, entry: KnownSession): PastSession {
  return {
    entry,
    seen: session.seen,
    sentS: session.sentS,
    originOf: (message) => session.originOf(message),
    heardUpTo: (bytes) => session.inFlight.heardUpTo(bytes),
  };
}

/**
 * Describes a session of a killed process. Its messages come again; the ledger has the last acks that the process read.
 */
export function unknownPast(entry: KnownSession, sentS: number): PastSession {
  const seen = new SeenMessages();
  return { entry, seen, sentS, originOf: () => entry.base, heardUpTo: () => 0 };
}
