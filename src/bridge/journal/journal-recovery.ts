import { readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../lib/log.ts';
import type { LegSnapshot, RecoveredLeg } from '../leg/leg-snapshot.ts';
import { readSegmentHeader, scanSegment, type JournalRecord } from './journal-format.ts';
import { fileNameOf, LegFile } from './leg-file.ts';
import { Ledger } from '../leg/ledger.ts';

type Piece = { position: number; bytes: Buffer };
type LegBeing = { snapshot: LegSnapshot; ledger: Ledger; pieces: Piece[] };

export type Recovery = {
  recovered: Map<string, RecoveredLeg>;
  nextSeq: number;
  /** Once this run has written down the legs by itself. */
  removeOldSegments(): Promise<void>;
};

/**
 * Reads what an earlier run left. Each leg's last snapshot and the audio after it make up its state; audio
 * that is still needed moves into the leg's own file, so that the old segments can go. Killed in the middle
 * of this, the next start does it again: everything here can be done twice.
 */
export async function recoverJournal(dir: string, log: Logger): Promise<Recovery> {
  const folder = join(dir, 'wal');
  const names = (await readdir(folder)).filter((name) => /^\d{12}\.wal$/.test(name)).sort();
  const legs = new Map<string, LegBeing>();
  let damagedBytes = 0;
  for (const name of names) {
    const bytes = await readFile(join(folder, name));
    damagedBytes += readSegment(bytes, legs);
  }
  if (damagedBytes > 0) log.warn({ bytes: damagedBytes }, 'journal has torn or damaged parts');
  const recovered = new Map<string, RecoveredLeg>();
  for (const being of legs.values()) recovered.set(being.snapshot.legId, await rescue(dir, being));
  return {
    recovered,
    nextSeq: Number((names.at(-1) ?? '0').slice(0, 12)) + 1,
    removeOldSegments: async () => {
      for (const name of names) await rm(join(folder, name), { force: true });
      await removeLeftovers(join(dir, 'legs'), recovered);
    },
  };
}

/** Later segments of one run go on with the same leg numbers; another run has its own. */
function readSegment(bytes: Buffer, legs: Map<string, LegBeing>): number {
  const header = readSegmentHeader(bytes);
  if (!header) return bytes.length;
  return scanSegment(bytes, (record) => {
    apply(`${header.run} ${record.leg}`, record, legs);
  }).damagedBytes;
}

function apply(key: string, record: JournalRecord, legs: Map<string, LegBeing>): void {
  if (record.kind === 3) {
    snapshot(key, record.payload, legs);
    return;
  }
  const leg = legs.get(key);
  if (!leg) return; // its first snapshot was lost to damage: nothing says whose audio this is
  const paused = record.kind === 2 && record.payload[4] === 1;
  const length = record.kind === 2 ? record.payload.readUInt32LE(0) : record.payload.length;
  const { ledger } = leg;
  const missing = record.position - ledger.end;
  if (missing > 0) {
    ledger.audio(missing); // a damaged batch: counted as received; `rescue` looks for it elsewhere
  }
  // Audio written twice, after trouble with the disk, counts once.
  if (record.position >= ledger.end) {
    if (record.kind === 2) ledger.filler(length, paused);
    else ledger.audio(length);
  }
  const bytes =
    record.kind === 2 ? Buffer.alloc(length, leg.snapshot.silence) : Buffer.from(record.payload);
  leg.pieces.push({ position: record.position, bytes });
}

function snapshot(key: string, payload: Buffer, legs: Map<string, LegBeing>): void {
  const state = JSON.parse(payload.toString('utf8')) as LegSnapshot;
  if (state.done) {
    legs.delete(key);
    for (const [other, being] of legs) if (being.snapshot.legId === state.legId) legs.delete(other);
    return;
  }
  const known = legs.get(key);
  const keepFrom = state.recording ? state.spilled : Math.max(state.ledger.settled, state.spilled);
  const pieces = (known?.pieces ?? []).filter(
    (piece) => piece.position + piece.bytes.length > keepFrom,
  );
  // The same leg under the number of a run before: the newer word counts.
  if (!known)
    for (const [other, being] of legs) if (being.snapshot.legId === state.legId) legs.delete(other);
  legs.set(key, { snapshot: state, ledger: new Ledger(state.ledger), pieces });
}

async function rescue(dir: string, being: LegBeing): Promise<RecoveredLeg> {
  const { snapshot, ledger, pieces } = being;
  const file = await LegFile.load(
    join(dir, 'legs', fileNameOf(snapshot.legId)),
    snapshot.silence,
    snapshot.recording,
  );
  const from = snapshot.recording ? 0 : ledger.settled;
  await putAway(file, pieces, from);
  await file.release(); // opened again by whoever takes the leg; perhaps nobody does
  const gaps: { start: number; end: number }[] = [];
  for (let position = ledger.settled; position < ledger.end;) {
    const next = file.holds(position)
      ? Math.min(ledger.end, file.endOfRun(position))
      : Math.min(ledger.end, file.nextFrom(position));
    if (!file.holds(position)) {
      ledger.gap(position, next);
      gaps.push({ start: position, end: next });
    }
    position = next;
  }
  // All that the speech service can have heard was journalled before it was sent.
  const current = snapshot.current && {
    ...snapshot.current,
    flight: { ...snapshot.current.flight, everSent: ledger.end },
  };
  const state: LegSnapshot = {
    ...snapshot,
    spilled: file.end,
    ledger: ledger.snapshot(),
    ...(current ? { current } : {}),
  };
  return {
    legId: snapshot.legId,
    callId: snapshot.callId,
    ledger: ledger.counts(),
    sessionId: snapshot.current?.id,
    finishing: snapshot.finishing,
    recording: snapshot.recording,
    paused: snapshot.paused,
    snapshot: state,
    gaps,
    file,
  };
}

/** Journalled audio that only the shared segments have goes into the leg's own file, in runs that join. */
async function putAway(file: LegFile, pieces: readonly Piece[], from: number): Promise<void> {
  let run: Buffer[] = [];
  let runStart = 0;
  let next = -1;
  for (const piece of [...pieces].sort((one, other) => one.position - other.position)) {
    const end = piece.position + piece.bytes.length;
    const start = Math.max(piece.position, file.end, from, next);
    if (start >= end) continue;
    if (start !== next) {
      await file.append(runStart, run);
      run = [];
      runStart = start;
    }
    run.push(piece.bytes.subarray(start - piece.position));
    next = end;
  }
  await file.append(runStart, run);
}

/** Files of legs that ended just before the process did: only recordings outlive their leg. */
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
