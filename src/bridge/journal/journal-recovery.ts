import { readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../lib/log.ts';
import { LegLedger, type LedgerCounts } from '../records/ledger.ts';
import type { LegSnapshot } from '../records/leg-snapshot.ts';
import { silenceViews } from './leg-backlog.ts';
import {
  readSegmentHeader,
  readSilenceNote,
  recordKinds,
  scanSegment,
  type JournalRecord,
} from './format.ts';
import { fileNameOf, LegFile, maxChunkBytes } from './leg-file.ts';

/** A leg in the state that the killed process left it in. */
export type RecoveredLeg = {
  legId: string;
  callId: string;
  ledger: LedgerCounts;
  /** The leg's live session, if it may still exist. */
  sessionId: string | undefined;
  /** True if finishing the leg had already begun, so no more audio can come. */
  finishing: boolean;
  recording: boolean;
  paused: boolean;
  /** The state that the new leg continues from. */
  snapshot: LegSnapshot;
  /** Audio that was damaged in the journal or lost with a node. It is declared as gaps when the leg continues. */
  gaps: { start: number; end: number; cause: 'damaged' | 'node' }[];
  file: LegFile;
};

/** Audio of a leg in the shared segments. Silence is stored there only as a length. */
type JournalledAudio = { position: number; length: number; audio: Buffer | undefined };
/** A leg of the earlier run, as far as its segments have been read. */
type FoundLeg = { snapshot: LegSnapshot; ledger: LegLedger; journalled: JournalledAudio[] };
type Found = {
  legs: Map<string, FoundLeg>;
  /**
   * Audio of legs that are not known yet. A leg's snapshot is written only when the leg changes, which it does not
   * while the speech service is unreachable. The first remaining segment may therefore hold seconds of audio before the
   * first snapshot.
   */
  unnamed: Map<string, JournalledAudio[]>;
};

type Recovery = {
  recovered: Map<string, RecoveredLeg>;
  nextSeq: number;
  /** Removes the old segments. It must be called after this run has written the legs into its own segments. */
  removeOldSegments(): Promise<void>;
};

/**
 * Reads the journal of an earlier run. Each leg's state is its last snapshot and the audio after it. Audio that is
 * still needed moves into the leg's own file, so that the old segments can be removed. Every step can be repeated: if
 * the process is killed here, the next start does them again.
 */
export async function recoverJournal(dir: string, log: Logger): Promise<Recovery> {
  const folder = join(dir, 'wal');
  const names = (await readdir(folder)).filter((name) => /^\d{12}\.wal$/.test(name)).sort();
  const found: Found = { legs: new Map(), unnamed: new Map() };
  let damagedBytes = 0;
  for (const name of names) {
    const bytes = await readFile(join(folder, name));
    damagedBytes += readSegment(bytes, found);
  }
  if (damagedBytes > 0) log.warn({ bytes: damagedBytes }, 'journal has torn or damaged parts');
  const recovered = new Map<string, RecoveredLeg>();
  for (const leg of found.legs.values()) recovered.set(leg.snapshot.legId, await rescue(dir, leg));
  // Leftovers are removed before any leg of this run is opened: files of new legs are not in the list of files to keep.
  await removeLeftovers(join(dir, 'legs'), recovered);
  return {
    recovered,
    nextSeq: Number((names.at(-1) ?? '0').slice(0, 12)) + 1,
    removeOldSegments: async () => {
      for (const name of names) await rm(join(folder, name), { force: true });
    },
  };
}

/** Reads a segment. Later segments of one run use the same leg numbers; another run has its own numbers. */
function readSegment(bytes: Buffer, found: Found): number {
  const header = readSegmentHeader(bytes);
  if (!header) return bytes.length;
  return scanSegment(bytes, (record) => {
    const key = `${header.run} ${record.leg}`;
    if (record.kind === recordKinds.leg) takeSnapshot(key, record.payload, found);
    else takeAudio(key, record, found);
  }).damagedBytes;
}

function takeAudio(key: string, { kind, position, payload }: JournalRecord, found: Found): void {
  const leg = found.legs.get(key);
  const silence = kind === recordKinds.silence ? readSilenceNote(payload) : undefined;
  const length = silence ? silence.bytes : payload.length;
  const audio = { position, length, audio: silence ? undefined : Buffer.from(payload) };
  if (!leg) {
    // Audio found earlier without a leg. The leg's snapshot, which is known now, says how much of it was received.
    const unnamed = found.unnamed.get(key);
    if (unnamed) unnamed.push(audio);
    else found.unnamed.set(key, [audio]);
    return;
  }
  const { ledger } = leg;
  // Bytes in a damaged batch count as received. `rescue` looks for them elsewhere.
  const missing = position - ledger.end;
  if (missing > 0) ledger.audio(missing);
  // After trouble with the disk the same audio may have been written twice. It counts once.
  if (position >= ledger.end) {
    if (silence) ledger.filler(length, silence.paused);
    else ledger.audio(length);
  }
  leg.journalled.push(audio);
}

function takeSnapshot(key: string, payload: Buffer, { legs, unnamed }: Found): void {
  const state = JSON.parse(payload.toString('utf8')) as LegSnapshot;
  const known = legs.get(key);
  const earlier = known?.journalled ?? unnamed.get(key) ?? [];
  unnamed.delete(key);
  // An earlier run may have used another number for the leg. The newer snapshot is the valid one.
  if (!known || state.done)
    for (const [other, leg] of legs) if (leg.snapshot.legId === state.legId) legs.delete(other);
  if (state.done) {
    legs.delete(key);
    return;
  }
  const keepFrom = state.recording ? state.spilled : Math.max(state.ledger.settled, state.spilled);
  const journalled = earlier.filter(({ position, length }) => position + length > keepFrom);
  legs.set(key, { snapshot: state, ledger: new LegLedger(state.ledger), journalled });
}

async function rescue(dir: string, leg: FoundLeg): Promise<RecoveredLeg> {
  const { snapshot, ledger, journalled } = leg;
  const path = join(dir, 'legs', fileNameOf(snapshot.legId));
  const file = await LegFile.load(path, snapshot.silence, snapshot.recording);
  const from = snapshot.recording ? 0 : ledger.settled;
  await moveIntoFile(file, journalled, from, snapshot.silence);
  await file.release(); // the leg's new owner opens it again, if there is one
  const gaps: RecoveredLeg['gaps'] = [];
  for (let position = ledger.settled; position < ledger.end;) {
    const next = file.holds(position)
      ? Math.min(ledger.end, file.endOfRun(position))
      : Math.min(ledger.end, file.nextFrom(position));
    if (!file.holds(position)) {
      ledger.gap(position, next);
      gaps.push({ start: position, end: next, cause: 'damaged' });
    }
    position = next;
  }
  // Audio is journalled before it is sent, so the speech service cannot have heard more than the journal has.
  const current = snapshot.current && {
    ...snapshot.current,
    flight: { ...snapshot.current.flight, everSent: ledger.end },
  };
  return {
    legId: snapshot.legId,
    callId: snapshot.callId,
    ledger: ledger.counts(),
    sessionId: snapshot.current?.id,
    finishing: snapshot.finishing,
    recording: snapshot.recording,
    paused: snapshot.paused,
    snapshot: {
      ...snapshot,
      spilled: file.end,
      ledger: ledger.snapshot(),
      ...(current ? { current } : {}),
    },
    gaps,
    file,
  };
}

/** Moves journalled audio that exists only in the shared segments into the leg's own file, in continuous runs. */
async function moveIntoFile(
  file: LegFile,
  journalled: readonly JournalledAudio[],
  from: number,
  silence: number,
): Promise<void> {
  let run: Buffer[] = [];
  let runStart = 0;
  let next = -1;
  const add = async (start: number, views: readonly Buffer[]): Promise<void> => {
    if (start !== next || start - runStart >= maxChunkBytes) {
      await file.append(runStart, run);
      run = [];
      runStart = start;
    }
    run.push(...views);
    next = start + views.reduce((sum, view) => sum + view.length, 0);
  };
  for (const { position, length, audio } of [...journalled].sort(byPosition)) {
    const end = position + length;
    let start = Math.max(position, file.end, from, next);
    // A long silence is stored as a length and written piece by piece. Each piece consists of views of one short frame.
    for (; start < end; start = next) {
      const size = Math.min(end - start, maxChunkBytes);
      const at = start - position;
      await add(start, audio ? [audio.subarray(at, at + size)] : silenceViews(silence, size));
    }
  }
  await file.append(runStart, run);
}

function byPosition(one: JournalledAudio, other: JournalledAudio): number {
  return one.position - other.position;
}

/** Removes files of legs that ended just before the process did. Only recordings are kept after their leg has ended. */
async function removeLeftovers(
  folder: string,
  recovered: Map<string, RecoveredLeg>,
): Promise<void> {
  const wanted = new Set([...recovered.keys()].map(fileNameOf));
  for (const name of await readdir(folder)) {
    if (wanted.has(name)) continue;
    const header = await LegFile.headerOf(join(folder, name));
    if (!header?.recording) await rm(join(folder, name), { force: true });
  }
}
