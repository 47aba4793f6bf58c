import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';

/**
 * The figures are read at most this often. Reading costs memory, and a flood of upgrades may come when memory is short.
 * Calls that begin between two readings fit into the reserve.
 */
const lookEveryMs = 100;
/** An eighth of the memory, but at most this much, stays free for running calls. */
const reserveAtMost = 67_108_864;
/**
 * Each running leg may still grow by this much: its session in the heap, and the audio that waits outside the heap.
 */
const legMayGrowBytes = { heap: 16_384, outside: 65_536 };

/**
 * This part of V8's limit is for young objects, and V8 does not tell it: three semi-spaces of 16 MB each, unless the
 * command line (package.json, Dockerfile) says otherwise.
 */
const youngBytes =
  3 * 2 ** 20 * Number(/--max-semi-space-size=(\d+)/.exec(process.execArgv.join(' '))?.[1] ?? 16);

/** A kind of memory with a limit at which the system or V8 ends the process. */
type LimitedMemory = { what: string; limit: number; used: number };

let looked: { atMs: number; memories: LimitedMemory[] } | undefined;

/**
 * Returns the reason why no further leg may begin, or undefined if there is room. At the limit of the heap or of the
 * control group, the whole process ends with all its calls. A call that would not fit is therefore refused before it
 * begins.
 */
export function memoryShortage(legs: number): string | undefined {
  // The machine's own time is used and not the clock, because it only measures the age of the machine's figures.
  const nowMs = performance.now();
  if (looked === undefined || nowMs - looked.atMs > lookEveryMs)
    looked = { atMs: nowMs, memories: [heap(), controlGroup()].filter((one) => one !== undefined) };
  const short = looked.memories.find((memory) => isShort(memory, legs));
  return short === undefined ? undefined : reasonOf(short);
}

export function isShort({ limit, used, what }: LimitedMemory, legs: number): boolean {
  const outside = what === 'heap' ? 0 : legMayGrowBytes.outside;
  const growth = legs * (legMayGrowBytes.heap + outside);
  return limit - used < Math.min(reserveAtMost, limit / 8) + growth;
}

function reasonOf({ what, limit, used }: LimitedMemory): string {
  const [free, all] = [limit - used, limit].map((bytes) =>
    Math.floor(Math.max(0, bytes) / 2 ** 20),
  );
  return `no room in memory: ${free} of ${all} MiB left (${what}); raise the limit or share the calls out`;
}

/**
 * Reads the room for old objects: V8 ends the process when they fill it. Young objects have a room of their own and are
 * left out.
 */
function heap(): LimitedMemory {
  const { heap_size_limit: all } = getHeapStatistics();
  const old = getHeapSpaceStatistics().filter(({ space_name: name }) => !name.startsWith('new_'));
  const used = old.reduce((sum, { space_used_size: bytes }) => sum + bytes, 0);
  return { what: 'heap', limit: all - youngBytes, used };
}

/**
 * The memory of this process and its children together. Undefined if the system sets no limit or does not report it.
 */
export function controlGroup(
  proc = '/proc/self/cgroup',
  root = '/sys/fs/cgroup',
): LimitedMemory | undefined {
  const lines = textOf(proc)?.split('\n') ?? [];
  for (const { at, limit, usage, cache } of [versionOne, versionTwo]) {
    const path = lines.map((line) => at.exec(line)?.[1]).find((found) => found !== undefined);
    // Inside a container, the path is often that of the machine outside. The group is then the root folder.
    for (const folder of path === undefined ? [] : [path, '/']) {
      const place = join(root, limit.folder, folder);
      const bytes = Number(textOf(join(place, limit.file)) ?? Number.NaN);
      if (!(bytes < totalmem())) continue;
      const used = Number(textOf(join(place, usage)));
      // Cached pages of files count as used, those of the journal too. The system takes them back when it needs memory.
      const pages = Number(cache.exec(textOf(join(place, 'memory.stat')) ?? '')?.[1] ?? 0);
      if (!Number.isNaN(used)) return { what: 'control group', limit: bytes, used: used - pages };
    }
  }
  return undefined;
}

const versionOne = {
  at: /^\d+:(?:.*,)?memory(?:,.*)?:(.*)$/,
  limit: { folder: 'memory', file: 'memory.limit_in_bytes' },
  usage: 'memory.usage_in_bytes',
  cache: /^total_inactive_file (\d+)$/m,
};

const versionTwo = {
  at: /^0::(.*)$/,
  limit: { folder: '', file: 'memory.max' },
  usage: 'memory.current',
  cache: /^inactive_file (\d+)$/m,
};

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // this system has no such group
  }
}
