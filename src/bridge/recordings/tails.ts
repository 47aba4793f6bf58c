import { createHash } from 'node:crypto';
import { wait, within, type Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { every, type Loop } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import { SettledTime } from '../../lib/settled-time.ts';
import { BucketError } from '../../objects/bucket.ts';
import type { Objects, StoredObject } from '../../objects/objects.ts';
import { maxDatabaseWaitMs } from '../../store/backend.ts';
import type { Store } from '../../store/store.ts';
import { holdLease, LeaseLost, type CallLease } from '../records/lease.ts';
import { maxChunkBytes, type LegFile } from '../journal/leg-file.ts';
import type { Journal } from '../journal/journal.ts';
import type { LegTail } from '../journal/leg-store.ts';
import { recordingKeys, tailKeys } from './recordings.ts';

type TailedCall = {
  readonly record: { readonly id: string };
  readonly lease: CallLease;
  readonly legs: readonly {
    readonly audio: { readonly legId: string; tail(): LegTail | undefined };
  }[];
};

type TailsOptions = {
  calls: { readonly all: readonly TailedCall[] };
  objects: Objects;
  store: Store;
  journal: Journal;
  node: string;
  everyS: number;
  clock: Clock;
  log: Logger;
};

type Piece = { from: number; to: number; object: StoredObject };
type Sent = { to: number; pieces: Piece[] };

/** At most this many bytes of one leg are copied in one round. Later rounds copy the rest. */
const maxPieceBytes = 1_048_576;
const atOnce = 8;
/** Limit of the wait for the object store. While it waits, a stream that reconnects to a live call is held as well. */
const fetchWithinMs = 20_000;
const answersWithinMs = 2_000;
const askAgainMs = 500;
/** No call lasts this long, so older pieces belong to no call. */
const leftAfterMs = 86_400_000;

/**
 * Copies new audio of running legs from the journal to the object store in every round. If this node's disk is lost,
 * only the last seconds of audio are lost with it. The pieces of a leg that is not recorded stay until the speech
 * service has acknowledged them.
 */
export class Tails implements AsyncDisposable {
  readonly #options: TailsOptions;
  readonly #sent = new Map<string, Sent>();
  #isFailing = false;
  readonly #ofEarlier: Promise<void>;
  readonly #rounds: Loop;
  #isClosed = false;

  constructor(options: TailsOptions) {
    this.#options = options;
    const settled = new SettledTime(options.clock);
    options.objects.attach({
      kind: 'tails',

      async *ready() {},
      waiting: () => Promise.resolve({ files: 0, bytes: 0 }),
      // Pieces older than a day are not needed.
      owned: (objects) => {
        const sinceMs = settled.now() - leftAfterMs;
        return Promise.resolve(
          objects.flatMap(({ id, createdAt }) => (createdAt >= sinceMs ? [id] : [])),
        );
      },
    });
    this.#ofEarlier = this.#ofEarlierRun().catch(() => undefined); // the hourly check finds them too
    this.#rounds = every(options.clock, options.everyS * 1_000, () => this.#send(), {
      failed: (error) => {
        // The store's own health check and metrics give the details.
        if (!this.#isFailing)
          options.log.warn(
            { reason: reasonOf(error) },
            'audio of running calls did not reach the object store; will retry',
          );
        this.#isFailing = true;
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const working = Promise.all([this.#ofEarlier, this.#rounds.stop()]);
    await within(this.#options.clock, maxDatabaseWaitMs, working);
  }

  async #send(): Promise<void> {
    const running = new Set<string>();
    const work = this.#options.calls.all
      .flatMap((call) => call.legs.map(({ audio }) => ({ call, audio })))
      .values();
    const next = async (): Promise<void> => {
      for (const { call, audio } of work) {
        const tail = audio.tail();
        if (tail === undefined || this.#isClosed) continue;
        running.add(audio.legId);
        await this.#sendOf(call, audio.legId, tail);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, next));
    for (const legId of this.#sent.keys()) if (!running.has(legId)) await this.#forget(legId);
    this.#isFailing = false;
  }

  async #sendOf(call: TailedCall, legId: string, tail: LegTail): Promise<void> {
    const { objects, store } = this.#options;
    const sent = this.#sent.get(legId) ?? (await sentOf(objects, legId));
    this.#sent.set(legId, sent);
    const from = Math.max(sent.to, tail.recording ? 0 : tail.settled);
    if (tail.recording) tail.keepFrom(from);
    else await this.#trim(sent, tail.settled);
    const to = Math.min(tail.end, from + maxPieceBytes);
    if (to <= from) return;
    const bytes = await this.#read(legId, tail, from, to);
    if (bytes === undefined) return;
    const key = keyOf(legId, from, to, call.lease);
    const isPut = await objects.put(key, bytes, async (tx) => {
      try {
        await holdLease(store, tx, call.record.id, call.lease);
        return true;
      } catch (error) {
        if (error instanceof LeaseLost) return false;
        throw error;
      }
    });
    if (!isPut) return;
    sent.to = to;
    const object = { key, bytes: bytes.length, partBytes: bytes.length, sha256: '' };
    if (!tail.recording) sent.pieces.push({ from, to, object });
  }

  async #read(legId: string, tail: LegTail, from: number, to: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = [];
    let at = from;
    if (from < tail.readableFrom) {
      // This part is no longer in the recording's index in memory, but it is in the file.
      const recording = await this.#options.journal.recordingOf(legId);
      const until = Math.min(to, recording?.bytes ?? 0);
      if (recording !== undefined)
        for await (const part of recording.read(from, until)) parts.push(Buffer.from(part));
      at = Math.max(at, until);
    }
    while (at < to) {
      const part = Buffer.from(await tail.read(at, to - at));
      if (part.length === 0) return undefined;
      parts.push(part);
      at += part.length;
    }
    return Buffer.concat(parts);
  }

  /** If nothing is recorded, audio that the speech service has acknowledged is deleted from the store. */
  async #trim(sent: Sent, settled: number): Promise<void> {
    const { objects, store } = this.#options;
    const done = sent.pieces.filter(({ to }) => to <= settled);
    if (done.length === 0) return;
    await store.transaction((tx) =>
      objects.erase(
        tx,
        done.map(({ object }) => object.key),
      ),
    );
    sent.pieces = sent.pieces.filter(({ to }) => to > settled);
    objects.wake();
  }

  /**
   * Handles the end of a leg. Its pieces are deleted once the store has its complete recording, or at once if it has
   * none.
   */
  async #forget(legId: string): Promise<void> {
    const { objects, store, node } = this.#options;
    const row = await store.db
      .selectFrom('legs')
      .innerJoin('calls', 'calls.id', 'legs.call_id')
      .select(['calls.state', 'calls.summary_due', 'calls.has_recording', 'calls.node'])
      .where('legs.id', '=', legId)
      .executeTakeFirst();
    if (row !== undefined && row.node !== node) {
      this.#sent.delete(legId); // its new node continues with it
      return;
    }
    if (row !== undefined) {
      if (row.state !== 'ended' || row.summary_due === 1) return;
      if (row.has_recording === 1 && !(await objects.stored(recordingKeys + legId))) return;
    }
    await store.transaction((tx) => objects.eraseBelow(tx, `${tailKeys}${legId}/`));
    this.#sent.delete(legId);
    objects.wake();
  }

  async #ofEarlierRun(): Promise<void> {
    const { objects, node } = this.#options;
    for (const { key } of await objects.below(tailKeys, node)) {
      const [, legId = ''] = key.split('/');
      if (!this.#sent.has(legId)) this.#sent.set(legId, await sentOf(objects, legId));
    }
  }
}

/**
 * Requests one byte to check whether the object store can return its audio of the leg. Returns true if it has no audio
 * of the leg.
 */
export async function canFetchTail(objects: Objects, legId: string): Promise<boolean> {
  const [first] = await piecesOf(objects, legId);
  if (first === undefined) return true;
  try {
    const signal = AbortSignal.timeout(answersWithinMs);
    for await (const byte of objects.read(first.object, 0, 1, signal)) if (byte.length > 0) break;
    return true;
  } catch (error) {
    // An object that the store has lost is not waited for.
    return error instanceof BucketError && error.trouble === 'missing';
  }
}

/**
 * Copies the audio that the object store has of a lost node's leg into a file here. A store that does not answer is
 * asked again until the time is over. Returns the positions that the file now has, without those that could not be read
 * in time.
 */
export async function fetchTail(
  objects: Objects,
  legId: string,
  file: LegFile,
  from: number,
  clock: Clock,
): Promise<{ start: number; end: number }[]> {
  const signal = AbortSignal.timeout(fetchWithinMs);
  const kept: { start: number; end: number }[] = [];
  const pieces = (await piecesOf(objects, legId)).filter(({ to }) => to > from);
  for (let next = 0; next < pieces.length && !signal.aborted; next += atOnce) {
    const some = pieces.slice(next, next + atOnce);
    const read = await Promise.allSettled(
      some.map(({ object }) => untilRead(objects, object, clock, signal)),
    );
    for (const [at, piece] of some.entries()) {
      const found = read[at];
      if (found?.status !== 'fulfilled') continue;
      const start = Math.max(piece.from, from, kept.at(-1)?.end ?? 0);
      if (start >= piece.to) continue;
      for (let position = start; position < piece.to; position += maxChunkBytes) {
        const end = Math.min(piece.to, position + maxChunkBytes);
        await file.append(position, [
          found.value.subarray(position - piece.from, end - piece.from),
        ]);
      }
      kept.push({ start, end: piece.to });
    }
  }
  return kept;
}

async function untilRead(
  objects: Objects,
  object: StoredObject,
  clock: Clock,
  signal: AbortSignal,
): Promise<Buffer> {
  for (;;)
    try {
      return await wholeOf(objects, object, signal);
    } catch (error) {
      const isAway = error instanceof BucketError && error.trouble === 'away';
      if (!isAway || signal.aborted) throw error;
      await wait(clock, askAgainMs, signal);
      signal.throwIfAborted();
    }
}

async function wholeOf(
  objects: Objects,
  object: StoredObject,
  signal: AbortSignal,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of objects.read(object, 0, object.bytes, signal)) parts.push(part);
  const whole = Buffer.concat(parts);
  if (createHash('sha256').update(whole).digest('hex') !== object.sha256)
    throw new Error('the object store gave other bytes than it was given');
  return whole;
}

async function piecesOf(objects: Objects, legId: string): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for (const object of await objects.below(`${tailKeys}${legId}/`)) {
    const [, from, to] = /\/(\d+)-(\d+)(?:-\d+)?$/.exec(object.key) ?? [];
    if (from === undefined || to === undefined || Number(to) - Number(from) !== object.bytes)
      continue;
    pieces.push({ from: Number(from), to: Number(to), object });
  }
  return pieces;
}

async function sentOf(objects: Objects, legId: string): Promise<Sent> {
  const pieces = await piecesOf(objects, legId);
  return { to: pieces.at(-1)?.to ?? 0, pieces };
}

/**
 * Each node that has had the call writes under names of its own. A stalled node that continues later writes its
 * pieces beside those of its successor, not over them.
 */
function keyOf(legId: string, from: number, to: number, { fence }: CallLease): string {
  const of = fence === 0 ? '' : `-${fence}`;
  return `${tailKeys}${legId}/${padded(from)}-${padded(to)}${of}`;
}

function padded(position: number): string {
  return String(position).padStart(15, '0');
}
