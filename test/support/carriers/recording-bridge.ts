import { createHash } from 'node:crypto';
import type {
  Bridge,
  CallStream,
  OpenedStream,
  StreamControl,
  StreamEvent,
  StreamStart,
  TokenClaim,
} from '../../../src/bridge/streams.ts';

/** The events that one stream gave to the bridge, in order, with the audio joined per track. */
export class RecordedStream implements CallStream {
  readonly callId: string;
  readonly start: StreamStart;
  readonly control: StreamControl;
  /** All events except the audio. */
  readonly happened: Exclude<StreamEvent, { type: 'audio' }>[] = [];
  readonly #audio = new Map<string, Buffer[]>();
  readonly #changed: () => void;
  ends: { reason: string; detail: string | undefined }[] = [];

  constructor(callId: string, start: StreamStart, control: StreamControl, changed: () => void) {
    this.callId = callId;
    this.start = start;
    this.control = control;
    this.#changed = changed;
  }

  take(event: StreamEvent): void {
    if (event.type === 'audio') {
      const frames = this.#audio.get(event.track) ?? [];
      frames.push(Buffer.from(event.payload));
      this.#audio.set(event.track, frames);
    } else this.happened.push(event);
    this.#changed();
  }

  bytes(track: string): Buffer {
    return Buffer.concat(this.#audio.get(track) ?? []);
  }

  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const event of this.happened)
      if (event.type === 'count') counts[event.what] = (counts[event.what] ?? 0) + 1;
    return counts;
  }

  end(reason: string, detail?: string): void {
    this.ends.push({ reason, detail });
    this.#changed();
  }
}

/** A bridge for tests of the carriers alone. It records everything and does nothing else. */
export class RecordingBridge implements Bridge {
  readonly streams: RecordedStream[] = [];
  readonly statuses: { carrier: string; callId: string; status: Record<string, string> }[] = [];
  readonly tokens = new Map<
    string,
    {
      carrier: string;
      callId?: string;
      metadata: Record<string, unknown>;
      used: boolean;
      expired: boolean;
    }
  >();
  claims = 0;
  /** Replaces the next `openStream`. */
  answer: (start: StreamStart) => Promise<OpenedStream | undefined> = () =>
    Promise.resolve(undefined);
  readonly #waiting = new Set<() => void>();
  #nextToken = 1;

  async openStream(start: StreamStart, control: StreamControl): Promise<OpenedStream> {
    const other = await this.answer(start);
    if (other) return other;
    const stream = new RecordedStream(`call_${this.streams.length}`, start, control, () =>
      this.#changed(),
    );
    this.streams.push(stream);
    this.#changed();
    return { outcome: 'opened', stream, startPaused: false };
  }

  claimToken(token: string, carrier: string, carrierCallId?: string): Promise<TokenClaim> {
    this.claims++;
    const known = this.tokens.get(token);
    const refused = (
      reason: Extract<TokenClaim, { outcome: 'refused' }>['reason'],
    ): Promise<TokenClaim> => Promise.resolve({ outcome: 'refused', reason });
    if (!known) return refused('unknown');
    if (known.carrier !== carrier) return refused('other-carrier');
    if (known.used) return refused('used');
    if (known.expired) return refused('expired');
    if (carrierCallId !== undefined && known.callId !== undefined && known.callId !== carrierCallId)
      return refused('other-call');
    known.used = true;
    return Promise.resolve({
      outcome: 'accepted',
      metadata: known.metadata,
      ...(known.callId === undefined ? {} : { carrierCallId: known.callId }),
    });
  }

  mintToken(request: {
    carrier: string;
    carrierCallId?: string;
    metadata?: Record<string, unknown>;
    madeOf?: string;
  }): Promise<{ token: string; expiresAt: number }> {
    const token =
      request.madeOf !== undefined
        ? createHash('sha256')
            .update(request.carrier + request.madeOf)
            .digest()
            .subarray(0, 24)
            .toString('base64url')
        : `token-${this.#nextToken++}-${request.carrier}`;
    const isNew = !this.tokens.has(token);
    if (isNew)
      this.tokens.set(token, {
        carrier: request.carrier,
        metadata: request.metadata ?? {},
        used: false,
        expired: false,
        ...(request.carrierCallId === undefined ? {} : { callId: request.carrierCallId }),
      });
    return Promise.resolve({ token, expiresAt: Date.now() + 30_000 });
  }

  /** Used nonces, shared between carrier servers of one bridge as in the store. */
  readonly nonces = new Set<string>();

  claimNonce(scheme: string, nonce: string): Promise<boolean> {
    const key = `${scheme} ${nonce}`;
    const isNew = !this.nonces.has(key);
    this.nonces.add(key);
    return Promise.resolve(isNew);
  }

  lastStreamAt(): Promise<number | undefined> {
    return Promise.resolve(undefined);
  }

  carrierStatus(carrier: string, callId: string, status: Record<string, string>): Promise<void> {
    this.statuses.push({ carrier, callId, status });
    this.#changed();
    return Promise.resolve();
  }

  /** Resolves once the condition holds. It is checked at every change. */
  async until<T>(found: () => T | undefined | false, what = 'it'): Promise<T> {
    const deadline = AbortSignal.timeout(20_000);
    for (;;) {
      const value = found();
      if (value !== undefined && value !== false) return value;
      await new Promise<void>((resolve, reject) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
        deadline.addEventListener('abort', () => reject(new Error(`waited 20 s for ${what}`)), {
          once: true,
        });
      });
    }
  }

  stream(at = 0): Promise<RecordedStream> {
    return this.until(() => this.streams[at], `stream ${at}`);
  }

  async ended(at = 0): Promise<RecordedStream> {
    const stream = await this.stream(at);
    await this.until(() => stream.ends.length > 0, `the end of stream ${at}`);
    return stream;
  }

  #changed(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
