import { wait, type Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { ServerMessage } from '../../protocol/live-messages.ts';
import type { SessionRecord } from '../../speech-client/api.ts';
import type { SpeechClient } from '../../speech-client/client.ts';
import { missingOf, Seen } from '../../speech-client/messages.ts';
import type { LiveSession } from '../../speech-client/session.ts';
import { heardWithin } from './heard-within.ts';
import type { SessionSnapshot } from './leg-snapshot.ts';

/** A session that takes no more audio, and what its record may still tell. */
export type PastSession = {
  entry: SessionSnapshot;
  seen: Seen;
  originOf(message: ServerMessage): number;
  /** Leg position up to which it has heard the leg, by its own count of bytes. */
  heardUpTo(bytes: number): number;
};

export type PastSessionsOptions = {
  speech: SpeechClient;
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
  bytesPerSecond: number;
  /** How long a service that answers may take until it has finished a session. */
  patienceMs(): number;
  /** Another session of the leg came after this one. */
  replaced(entry: SessionSnapshot): boolean;
  onMessage(message: ServerMessage, sessionId: string, offsetS: number): void;
  onHeard(entry: SessionSnapshot, position: number): void;
  /** Its last words cannot be had. */
  onLate(): void;
  onChange(): void;
};

/** Reads by GET what sockets of ended sessions swallowed, and how much those sessions had heard. */
export class PastSessions {
  private readonly options: PastSessionsOptions;
  private readonly reading = new Set<Promise<void>>();

  constructor(options: PastSessionsOptions) {
    this.options = options;
  }

  get busy(): boolean {
    return this.reading.size > 0;
  }

  /** Resolves when the record was read or cannot be. */
  read(session: PastSession): Promise<void> {
    const reading = this.readRecord(session).finally(() => {
      this.reading.delete(reading);
      this.options.onChange();
    });
    this.reading.add(reading);
    return reading;
  }

  private async readRecord(session: PastSession): Promise<void> {
    const { clock, speech, signal, log } = this.options;
    const { entry } = session;
    let answeredAtMs: number | undefined;
    for (let attempt = 0; !signal.aborted; attempt++) {
      const result = await speech.record(entry.id, signal);
      if (signal.aborted) return;
      if (result.outcome === 'unknown') {
        log.warn({ sessionId: entry.id }, 'the service no longer knows the session');
        this.options.onLate();
        break;
      }
      if (result.outcome === 'found') {
        const done = result.record.status === 'done' || result.record.status === 'error';
        answeredAtMs ??= clock.monotonicMs();
        const late = clock.monotonicMs() - answeredAtMs > this.options.patienceMs();
        if (done || late) {
          if (!done) this.options.onLate();
          this.take(session, result.record);
          break;
        }
      }
      const delayMs = result.outcome === 'found' ? 250 : Math.min(10_000, 250 * 2 ** attempt);
      await wait(clock, delayMs);
    }
    entry.unread = false;
  }

  private take(session: PastSession, record: SessionRecord): void {
    const { entry } = session;
    const durationS = record.result?.metadata?.audio_duration ?? 0;
    if (!this.options.replaced(entry)) this.heard(session, durationS);
    for (const message of missingOf(record, entry.id, session.seen)) this.add(session, message);
  }

  /** As good as the ack that was lost, while no other session has begun to hear the same bytes. */
  private heard(session: PastSession, durationS: number): void {
    // Durations come in milliseconds at best: the end of the last frame is meant.
    const slack = Math.ceil(this.options.bytesPerSecond / 1_000);
    const position = session.heardUpTo(Math.round(durationS * this.options.bytesPerSecond));
    const most = session.heardUpTo(Infinity);
    this.options.onHeard(session.entry, most - position <= slack ? most : position);
  }

  private add(session: PastSession, message: ServerMessage): void {
    const { entry } = session;
    const { bytesPerSecond } = this.options;
    const origin = session.originOf(message);
    const told = toldBy(entry, message, {
      origin,
      bytesPerSecond,
      isReplaced: this.options.replaced(entry),
    });
    if (told) this.options.onMessage(told, entry.id, origin / bytesPerSecond);
  }
}

/** Of audio that two sessions heard the one speaks that spoke first. */
export function toldBy(
  { from, end, said }: SessionSnapshot,
  message: ServerMessage,
  {
    origin,
    bytesPerSecond,
    isReplaced,
  }: { origin: number; bytesPerSecond: number; isReplaced: boolean },
): ServerMessage | undefined {
  // What it heard beyond its end was sent again to the session after it.
  const to = isReplaced ? end : undefined;
  if (from === undefined && to === undefined) return message;
  return heardWithin(message, {
    fromS: (channel) => ((from?.[channel] ?? 0) - origin) / bytesPerSecond,
    toS: (channel) =>
      to === undefined ? Infinity : (Math.max(to, said?.[channel] ?? 0) - origin) / bytesPerSecond,
  });
}

export function pastOf(session: LiveSession, entry: SessionSnapshot): PastSession {
  return {
    entry,
    seen: session.seen,
    originOf: (message) => session.originOf(message),
    heardUpTo: (bytes) => session.inFlight.heardUpTo(bytes),
  };
}

/** Of a process that was killed: its messages come again; what its last acks said is in the ledger. */
export function unknownPast(entry: SessionSnapshot): PastSession {
  return { entry, seen: new Seen(), originOf: () => entry.base, heardUpTo: () => 0 };
}
