import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/*
 * Computes the files that a power cut leaves, from a trace of system calls. Synced bytes stay. Each 512-byte piece
 * written since stays or goes at random, and so does each name created or removed since its folder was last synced.
 * Acknowledgements are in the same trace, so each cut knows what had been promised by then.
 */
export type DiskCall =
  | { call: 'write'; file: string; at: number; bytes: Buffer }
  | { call: 'truncate'; file: string; size: number }
  | { call: 'sync'; file: string }
  | { call: 'create'; file: string }
  | { call: 'unlink'; file: string }
  | { call: 'sync-folder' }
  | { call: 'ack'; number: number };

export const traced = [
  '-e',
  'trace=openat,pwrite64,write,ftruncate,fsync,fdatasync,close,unlink',
  '-xx',
  '-s',
  '1000000',
];

/** Reads the trace of `strace -f -xx -o`. Files other than the database and its log are ignored. */
export function readTrace(path: string, database: string): DiskCall[] {
  const calls: DiskCall[] = [];
  const files = new Map<number, string>();
  const folders = new Set<number>();
  const begun = new Map<string, string>();
  for (const raw of readFileSync(path, 'latin1').split('\n')) {
    const [, thread = '', text = ''] = /^(\d+) +(.*)$/.exec(raw) ?? [];
    const line = whole(text, thread, begun);
    const parts = line === undefined ? null : /^(\w+)\((.*)\) += (-?\d+)/.exec(line);
    if (!parts || Number(parts[3]) < 0) continue;
    const [, name = '', args = '', result = ''] = parts;
    if (name === 'openat') {
      const file = text2(/"((?:\\x[0-9a-f]{2})*)"/.exec(args)?.[1] ?? '');
      const fd = Number(result);
      files.delete(fd);
      folders.delete(fd);
      if (file === dirname(database)) folders.add(fd);
      if (!file.startsWith(database) || file.endsWith('-shm')) continue;
      files.set(fd, basename(file));
      if (args.includes('O_CREAT')) calls.push({ call: 'create', file: basename(file) });
      continue;
    }
    if (name === 'unlink') {
      const gone = text2(/"((?:\\x[0-9a-f]{2})*)"/.exec(args)?.[1] ?? '');
      if (gone.startsWith(database)) calls.push({ call: 'unlink', file: basename(gone) });
      continue;
    }
    const fd = Number(/^\d+/.exec(args)?.[0]);
    const file = files.get(fd);
    if (name === 'fsync' && folders.has(fd)) calls.push({ call: 'sync-folder' });
    const data = /"((?:\\x[0-9a-f]{2})*)"/.exec(args)?.[1] ?? '';
    if (name === 'write' && args.startsWith('1,')) {
      for (const ack of text2(data).matchAll(/ack (\d+)\n/g))
        calls.push({ call: 'ack', number: Number(ack[1]) });
    } else if (file === undefined) continue;
    else if (name === 'pwrite64')
      calls.push({
        call: 'write',
        file,
        at: Number(/(\d+)$/.exec(args)?.[1]),
        bytes: bytesOf(data),
      });
    else if (name === 'ftruncate')
      calls.push({ call: 'truncate', file, size: Number(/(\d+)$/.exec(args)?.[1]) });
    else if (name === 'fsync' || name === 'fdatasync') calls.push({ call: 'sync', file });
    else if (name === 'close') files.delete(fd);
  }
  return calls;
}

/** A call interrupted by another thread is logged in two halves. An acknowledgement counts from its start. */
function whole(text: string, thread: string, begun: Map<string, string>): string | undefined {
  if (text.endsWith('<unfinished ...>')) {
    begun.set(thread, text.slice(0, -'<unfinished ...>'.length).trimEnd());
    return undefined;
  }
  const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text);
  return resumed ? (begun.get(thread) ?? '') + (resumed[1] ?? '') : text;
}

function bytesOf(escaped: string): Buffer {
  return Buffer.from(escaped.replaceAll('\\x', ''), 'hex');
}

function text2(escaped: string): string {
  return bytesOf(escaped).toString('utf8');
}

const piece = 512;

/**
 * The state of the disk during the calls: durable data, and data that waits for a sync. A name refers to a file, as on
 * a real disk.
 */
class Disk {
  readonly acks: number[] = [];
  readonly #content = new Map<string, Buffer>();
  readonly #pending = new Map<string, DiskCall[]>();
  #names = new Map<string, string>();
  #durableNames = new Map<string, string>();
  #made = 0;

  take(call: DiskCall): void {
    if (call.call === 'ack') this.acks.push(call.number);
    else if (call.call === 'sync-folder') this.#durableNames = new Map(this.#names);
    else if (call.call === 'unlink') this.#names.delete(call.file);
    else if (call.call === 'create') this.#fileOf(call.file);
    else {
      const file = this.#fileOf(call.file);
      if (call.call === 'sync') {
        for (const write of this.#pending.get(file) ?? []) apply(this.#content, file, write);
        this.#pending.delete(file);
      } else this.#pending.set(file, [...(this.#pending.get(file) ?? []), call]);
    }
  }

  /** The files after a power cut at this moment. */
  cut(random: () => number): Map<string, Buffer> {
    const found = new Map<string, Buffer>();
    for (const name of new Set([...this.#names.keys(), ...this.#durableNames.keys()])) {
      const [now, durable] = [this.#names.get(name), this.#durableNames.get(name)];
      const file = now === durable || random() < 0.5 ? now : durable;
      if (file !== undefined) found.set(name, this.#left(file, random));
    }
    return found;
  }

  #left(file: string, random: () => number): Buffer {
    const left = new Map([[file, Buffer.from(this.#content.get(file) ?? [])]]);
    for (const write of this.#pending.get(file) ?? [])
      for (const part of torn(write)) if (random() < 0.5) apply(left, file, part);
    return left.get(file) ?? Buffer.alloc(0);
  }

  #fileOf(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const made = `${name}#${++this.#made}`;
    this.#names.set(name, made);
    return made;
  }
}

function torn(call: DiskCall): DiskCall[] {
  if (call.call !== 'write') return [call];
  const parts: DiskCall[] = [];
  for (let from = 0; from < call.bytes.length; from += piece)
    parts.push({ ...call, at: call.at + from, bytes: call.bytes.subarray(from, from + piece) });
  return parts;
}

function apply(files: Map<string, Buffer>, file: string, call: DiskCall): void {
  if (call.call !== 'write' && call.call !== 'truncate') return;
  const old = files.get(file) ?? Buffer.alloc(0);
  const size =
    call.call === 'write' ? Math.max(old.length, call.at + call.bytes.length) : call.size;
  const grown =
    size <= old.length
      ? old.subarray(0, size)
      : Buffer.concat([old, Buffer.alloc(size - old.length)]);
  if (call.call === 'write') call.bytes.copy(grown, call.at);
  files.set(file, grown);
}

export type CutResult = { cuts: number; lossy: number; lostRows: number; corrupt: number };

/** Rebuilds the disk at this many moments, and counts acknowledged rows that are missing. */
export function replayCuts(
  calls: readonly DiskCall[],
  database: string,
  cuts: number,
  random: () => number,
): CutResult {
  const result: CutResult = { cuts, lossy: 0, lostRows: 0, corrupt: 0 };
  const firstAck = calls.findIndex((call) => call.call === 'ack');
  const moments = Array.from(
    { length: cuts },
    () => firstAck + 1 + Math.floor(random() * (calls.length - firstAck)),
  );
  moments.sort((a, b) => a - b);
  const disk = new Disk();
  let done = 0;
  for (const moment of moments) {
    for (; done < moment; done++) {
      const call = calls[done];
      if (call) disk.take(call);
    }
    const lost = lossAfter(disk, database, random);
    if (lost === 'corrupt') result.corrupt++;
    else if (lost > 0) {
      result.lossy++;
      result.lostRows += lost;
    }
  }
  return result;
}

function lossAfter(disk: Disk, database: string, random: () => number): number | 'corrupt' {
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-cut-'));
  try {
    for (const [name, bytes] of disk.cut(random)) writeFileSync(join(folder, name), bytes);
    return lostRows(join(folder, basename(database)), disk.acks);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function lostRows(path: string, acks: readonly number[]): number | 'corrupt' {
  const database = new DatabaseSync(path);
  try {
    const verdict = database.prepare('PRAGMA integrity_check').get();
    if (Object.values(verdict ?? {})[0] !== 'ok') return 'corrupt';
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE name = 'events'").all();
    if (tables.length === 0) return acks.length;
    const rows = new Map(
      database
        .prepare('SELECT id, body FROM events')
        .all()
        .map((row) => [row['id'], row['body']]),
    );
    return acks.filter((number) => rows.get(`e${number}`) !== String(number).repeat(40)).length;
  } catch {
    return 'corrupt';
  } finally {
    database.close();
  }
}

/** Equal seeds give equal sequences, so that a failure can be reproduced. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
