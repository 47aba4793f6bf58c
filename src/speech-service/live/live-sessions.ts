import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { wait } from '../../lib/clock.ts';
import { digestOf } from '../../lib/digest.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import { Addons } from './words/session-addons.ts';
import {
  assemble,
  type Assembled,
  type Assembly,
  type SessionsOptions,
  restoreSession,
} from './assembly.ts';
import { bytesPerSecond, formatOf } from './incoming/audio-format.ts';
import type { SessionEnd } from './session-ending.ts';
import { message } from './words/server-messages.ts';
import { pathsOf } from './disk/session-audio.ts';
import type { JobRow } from '../records/job-records.ts';
import type { LiveSession } from './live-session.ts';
import { speechMetrics } from '../metrics.ts';

type TokenLookup =
  | { outcome: 'session'; session: LiveSession; frameLimitBytes: number }
  /** The session is over and all its messages have arrived. The socket is closed with 4403. */
  | { outcome: 'ended' }
  /** The session runs in the process of another node. */
  | { outcome: 'elsewhere'; node: string }
  | { outcome: 'unknown' };

/** An ended session stays in memory this long, for a client that returns for the last messages. */
const lingerMs = 300_000;
/** At most this many ended sessions stay in memory; then the oldest is forgotten early. */
export const maxLingeringSessions = 2_000;
const frameFloorBytes = 1_048_576;
/** After the POST a place at the recogniser is reserved for this long. Without audio it is then free for others. */
const promiseMs = 3_000;
const storeRetryMs = [250, 1_000, 4_000, 15_000];

type HeldSession = Assembled & {
  digest: string;
  zeroRetention: boolean;
  counted: boolean;
  /** Ends the reservation at the recogniser: the session has its place, or needs none. */
  unpromise: () => void;
};

/** All live sessions of this process. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #addons: Addons;
  readonly #byDigest = new Map<string, HeldSession>();
  readonly #byId = new Map<string, HeldSession>();
  readonly #lingering: HeldSession[] = [];
  #open = 0;
  #channelsPromised = 0;
  #suspending = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#addons = new Addons({
      runner: options.language,
      clock: options.clock,
      realtimeMs: options.config.addonDeadlineS * 1e3,
      postMs: options.config.postDeadlineS * 1e3,
    });
  }

  get open(): number {
    return this.#open;
  }

  /** The channels of new sessions that will soon open recogniser streams. */
  get channelsPromised(): number {
    return this.#channelsPromised;
  }

  /** Creates a session. Resolves once the row is stored, so that the session survives the process. */
  async create(request: LiveRequest): Promise<{ id: string; token: string; createdAt: number }> {
    const { rows, clock, config, node, recogniser } = this.#options;
    const id = randomUUID();
    const token = newToken();
    const tokenDigest = digestOf(token);
    const createdAt = clock.now();
    const { zeroRetention } = config;
    // The session is counted before the first wait, so that simultaneous requests cannot exceed the limit together.
    this.#opened(1);
    const release = this.#promise(request.channels);
    try {
      const { estimatedTimes } = recogniser.status();
      await rows.insert({
        id,
        node,
        tokenDigest,
        createdAt,
        request,
        zeroRetention,
        estimatedTimes,
      });
    } catch (error) {
      this.#opened(-1);
      release();
      throw error;
    }
    const entry = this.#add(tokenDigest, { id, request, createdAt, zeroRetention }, release);
    entry.broadcast.emit(message(id, createdAt, 'start_session', {}));
    entry.session.start();
    return { id, token, createdAt };
  }

  /** Restores the sessions that an earlier run of this node left open. Clients can resume them again. */
  async recover(): Promise<void> {
    const { rows, node, folder, log, clock } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const row of await rows.unfinished(node)) {
      try {
        await this.#recoverOne(row);
      } catch (error) {
        log.error(
          { sessionId: row.id, reason: reasonOf(error) },
          'a live session could not be resumed',
        );
        const reason = 'the session could not be taken up again after a restart';
        const audioS = row.audio_duration ?? 0;
        const end = { outcome: 'error', errorCode: 500, reason, audioS } as const;
        await rows.end(row.id, end, clock.now(), false);
        await rows.callbacksSettled(row.id);
      }
    }
  }

  async #recoverOne(row: JobRow): Promise<void> {
    const { rows, folder, log, clock } = this.#options;
    if (row.zero_retention === 1 || row.request_params === null) {
      // With zero retention nothing of the session was kept.
      await this.erase(row.id);
      return;
    }
    const request = JSON.parse(row.request_params) as LiveRequest;
    const restored = await restoreSession(
      this.#options.disk,
      pathsOf(folder, row.id),
      formatOf(request),
      {
        kept: this.#options.recording.kept,
        onLogFailure: (error) =>
          log.error({ sessionId: row.id, err: error }, 'the log of a session could not be written'),
      },
    );
    const ended = row.status === 'done' || row.status === 'error';
    if (ended) restored.state = { at: 'ended', outcome: row.status === 'done' ? 'done' : 'error' };
    if (!ended) this.#opened(1);
    const entry = this.#add(row.token_digest ?? '', {
      id: row.id,
      request,
      createdAt: row.created_at,
      zeroRetention: false,
      restored,
    });
    entry.counted = !ended;
    if (ended) {
      await restored.audio.end();
      this.#sayEnd(entry, row, clock.now());
      void this.#afterEnd(entry);
    } else {
      if (restored.state.at !== 'queued') await rows.recording(row.id);
      entry.log.info(
        { sessionId: row.id, state: restored.state.at, ageMs: clock.now() - row.created_at },
        'a live session was resumed',
      );
      entry.session.start();
    }
  }

  /**
   * Sends the end after a restart. The end is stored before it is sent, so a process that died in between had sent it
   * to nobody.
   */
  #sayEnd({ broadcast }: HeldSession, row: JobRow, nowMs: number): void {
    const end = message(row.id, nowMs, 'end_session', {});
    if (row.status === 'done') broadcast.emit(end);
    else broadcast.emitOutside(end);
  }

  async find(token: string): Promise<TokenLookup> {
    const digest = digestOf(token);
    const entry = this.#byDigest.get(digest);
    if (!entry) {
      const row = await this.#options.rows.byToken(digest);
      if (row === undefined) return { outcome: 'unknown' };
      return row.completed_at === null && row.node !== this.#options.node
        ? { outcome: 'elsewhere', node: row.node }
        : { outcome: 'ended' };
    }
    const { session, broadcast, format } = entry;
    if (!session.isOpen && broadcast.socket.undelivered === 0) return { outcome: 'ended' };
    // The audio that a client may hold if it returns at the last moment, in base64, with 30 s to spare.
    const windowBytes = (bytesPerSecond(format) * (this.#options.config.abandonedS + 30) * 4) / 3;
    const wanted = Math.max(frameFloorBytes, Math.ceil(windowBytes));
    return {
      outcome: 'session',
      session,
      frameLimitBytes: Math.min(wanted, this.#options.config.frameLimitBytes),
    };
  }

  get(id: string): LiveSession | undefined {
    return this.#byId.get(id)?.session;
  }

  /** Deletes row, audio and log of an ended session. Its token is invalid from then on. */
  async erase(id: string): Promise<void> {
    const entry = this.#byId.get(id);
    if (entry) {
      this.#forget(entry);
      entry.broadcast.close();
      entry.broadcast.socket.logClosed();
      await entry.sessionLog.close();
    }
    await this.#options.rows.delete(id);
    const paths = pathsOf(this.#options.folder, id);
    await Promise.all([rm(paths.audio, { force: true }), rm(paths.log, { force: true })]);
  }

  /**
   * Leaves the sessions that other nodes ended while this node stood still. Their clients have been told and hear
   * nothing more from here. A client that is still connected comes back and finds its session ended.
   */
  async leaveEndedByOthers(): Promise<void> {
    const { rows, folder, log } = this.#options;
    const open = [...this.#byId.values()].filter(({ session }) => session.isOpen);
    const ended = new Set(await rows.endedByOthers(open.map(({ session }) => session.id)));
    for (const entry of open) {
      const { id } = entry.session;
      if (!ended.has(id) || !this.#byId.has(id)) continue;
      this.#forget(entry);
      entry.unpromise();
      if (entry.counted) this.#opened(-1);
      entry.counted = false;
      log.error({ sessionId: id }, 'other nodes ended this session while this one stood still');
      await entry.session.suspend();
      const paths = pathsOf(folder, id);
      await Promise.all([rm(paths.audio, { force: true }), rm(paths.log, { force: true })]);
    }
  }

  /** Waits until the deadline for sessions that are ending. The others are resumed after the restart. */
  async drain(deadlineMs: number): Promise<void> {
    const entries = [...this.#byId.values()];
    const finishing = entries.filter(({ session }) => session.state.at === 'finishing');
    let cancel = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(deadlineMs, resolve);
    });
    await Promise.race([Promise.all(finishing.map(({ session }) => session.ended())), late]);
    cancel();
    this.#suspending = true;
    const suspended = entries.map(({ session }) => session.suspend());
    this.#options.disk.hurry();
    await Promise.all(suspended);
  }

  #add(digest: string, assembly: Assembly, unpromise = (): void => undefined): HeldSession {
    const { folder, rows } = this.#options;
    const { id } = assembly;
    const assembled = assemble(
      {
        ...this.#options,
        addons: this.#addons.of(id),
        paths: pathsOf(folder, id),
        onRecording: () => {
          unpromise();
          this.#inBackground(id, () => rows.recording(id));
        },
        onEnd: (end) => this.#ended(id, end),
      },
      assembly,
    );
    const { zeroRetention } = assembly;
    const entry = { ...assembled, digest, zeroRetention, counted: true, unpromise };
    this.#byDigest.set(digest, entry);
    this.#byId.set(id, entry);
    return entry;
  }

  /**
   * Stores the end, in as many attempts as needed. The session is over only then. Rejects if other nodes have ended it.
   */
  async #ended(id: string, end: SessionEnd): Promise<void> {
    const { rows, clock, log } = this.#options;
    const entry = this.#byId.get(id);
    entry?.unpromise();
    const zero = entry?.zeroRetention ?? false;
    const stored = zero && end.outcome === 'done' ? { ...end, result: null } : end;
    let isFirst = false;
    for (let attempt = 0; ; attempt++) {
      try {
        isFirst = await rows.end(id, stored, clock.now(), !zero);
        if (!isFirst) await this.leaveEndedByOthers();
        break;
      } catch (error) {
        if (this.#suspending) throw error;
        log.error(
          { sessionId: id, reason: reasonOf(error), attempt },
          'the end of a session is not stored yet',
        );
        const delayMs = storeRetryMs[Math.min(attempt, storeRetryMs.length - 1)] ?? 1_000;
        await wait(clock, delayMs);
      }
    }
    if (!isFirst && entry !== undefined && !this.#byId.has(id))
      throw new Error('other nodes have ended this session');
    const ended = { sessionId: id, outcome: end.outcome, audioS: end.audioS };
    (entry?.log ?? log).info(ended, 'a live session ended');
    speechMetrics.ended.inc({ outcome: end.outcome });
    speechMetrics.audio.inc(end.audioS);
    if (entry) setImmediate(() => void this.#afterEnd(entry));
  }

  /** Frees the session's place. The session stays in memory for a late client and its callbacks. */
  async #afterEnd(entry: HeldSession): Promise<void> {
    const { clock, rows } = this.#options;
    if (entry.counted) this.#opened(-1);
    entry.counted = false;
    this.#lingering.push(entry);
    if (this.#lingering.length > maxLingeringSessions) {
      const oldest = this.#lingering.shift();
      if (oldest) this.#forget(oldest);
    }
    clock.after(lingerMs, () => this.#forget(entry));
    try {
      await entry.session.ended();
      await entry.broadcast.settled();
      if (this.#suspending) return;
      if (entry.zeroRetention) await rows.delete(entry.session.id);
      else await rows.callbacksSettled(entry.session.id);
      entry.broadcast.socket.logClosed();
      await entry.sessionLog.remove();
    } catch (error) {
      entry.log.error(
        { sessionId: entry.session.id, reason: reasonOf(error) },
        'an ended session could not be cleaned up; its result is safe',
      );
    }
  }

  #forget(entry: HeldSession): void {
    this.#byDigest.delete(entry.digest);
    this.#byId.delete(entry.session.id);
    const index = this.#lingering.indexOf(entry);
    if (index !== -1) this.#lingering.splice(index, 1);
  }

  #opened(by: 1 | -1): void {
    this.#open += by;
    speechMetrics.open.inc(by);
  }

  /** Reserves places until the first audio, for a short time only: a silent client must not hold them. */
  #promise(channels: number): () => void {
    this.#channelsPromised += channels;
    let kept = true;
    const release = (): void => {
      if (kept) this.#channelsPromised -= channels;
      kept = false;
    };
    this.#options.clock.after(promiseMs, release);
    return release;
  }

  #inBackground(id: string, work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      this.#options.log.error(
        { sessionId: id, reason: reasonOf(error) },
        'the row of a session could not be changed',
      );
    });
  }
}

/** Makes a token of 256 random bits. Only its digest is stored. */
function newToken(): string {
  return randomBytes(32).toString('base64url');
}
