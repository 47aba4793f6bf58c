import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';

/** Work for a memory that is short would cost more of it; a burst of upgrades between two looks fits the reserve. */
const lookEveryMs = 100;
/** Kept for what goes on: an eighth, and no more than this of a large memory. */
const reserveAtMost = 67_108_864;
/** What a leg may still come to hold: its session, and outside the heap the audio that waits for it (bridge/leg-store). */
const legMayGrowBytes = { heap: 16_384, outside: 65_536 };

/** V8 does not say how much of its limit is for young objects: three semi-spaces, of 16 MB unless our command line (package.json) says otherwise. */
const youngBytes =
  3 * 2 ** 20 * Number(/--max-semi-space-size=(\d+)/.exec(process.execArgv.join(' '))?.[1] ?? 16);

type Memory = { what: string; limit: number; used: number };

let looked: { atMs: number; memories: Memory[] } | undefined;

/**
 * Why no further leg may begin, if so: the limit of the heap and that of the control group end the whole
 * process and all its calls, so a call that does not fit is refused in words before (F67).
 */
export function memoryShortage(legs: number): string | undefined {
  const nowMs = performance.now();
  if (looked === undefined || nowMs - looked.atMs > lookEveryMs)
    looked = { atMs: nowMs, memories: [heap(), controlGroup()].filter((one) => one !== undefined) };
  const short = looked.memories.find((memory) => isShort(memory, legs));
  return short === undefined ? undefined : reasonOf(short);
}

export function isShort({ limit, used, what }: Memory, legs: number): boolean {
  const outside = what === 'heap' ? 0 : legMayGrowBytes.outside;
  const growth = legs * (legMayGrowBytes.heap + outside);
  return limit - used < Math.min(reserveAtMost, limit / 8) + growth;
}

function reasonOf({ what, limit, used }: Memory): string {
  const [free, all] = [limit - used, limit].map((bytes) =>
    Math.floor(Math.max(0, bytes) / 2 ** 20),
  );
  return `no room in memory: ${free} of ${all} MiB left (${what}); raise the limit or share the calls out`;
}

/** Young objects have a room of their own within V8's figures; it is the room of the old ones whose end is fatal. */
function heap(): Memory {
  const { heap_size_limit: all } = getHeapStatistics();
  const old = getHeapSpaceStatistics().filter(({ space_name: name }) => !name.startsWith('new_'));
  const used = old.reduce((sum, { space_used_size: bytes }) => sum + bytes, 0);
  return { what: 'heap', limit: all - youngBytes, used };
}

/** Of this process and its children together; nothing where no limit is set or nobody says. */
export function controlGroup(
  proc = '/proc/self/cgroup',
  root = '/sys/fs/cgroup',
): Memory | undefined {
  const lines = textOf(proc)?.split('\n') ?? [];
  for (const { at, limit, usage, cache } of [versionOne, versionTwo]) {
    const path = lines.map((line) => at.exec(line)?.[1]).find((found) => found !== undefined);
    // In a container the path is often that of the machine outside, and the group is the root.
    for (const folder of path === undefined ? [] : [path, '/']) {
      const place = join(root, limit.folder, folder);
      const bytes = Number(textOf(join(place, limit.file)) ?? Number.NaN);
      if (!(bytes < totalmem())) continue;
      const used = Number(textOf(join(place, usage)));
      // Pages of files that were read or written, the journal's too, are given back when asked for.
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
    return undefined; // no such group on this system
  }
}
