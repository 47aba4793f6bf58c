/**
 * Five callers whose words end together, on a machine that is short of CPU: three busy loops beside the recogniser.
 * The words of each round end at one moment in real time. A final is late by the time from the last of its words to the
 * message, the pause that ends an utterance included. What one reading takes by itself is told by a caller alone under
 * the same load: the latest of the five may come two seconds after that, and none may be missing. A machine that others
 * use at the same time proves nothing when the bound is missed: their share of its cores is told (Linux).
 * `node test/trials/late-finals.ts [rounds]`.
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { spokenPrompt } from '../bench/recognition/audio.ts';
import { latenessOf, session, type Lateness } from '../bench/recognition/client.ts';
import { quantile } from '../bench/recognition/figures.ts';
import { startApp, type App } from '../support/process/app.ts';
import { endsWithUs } from '../support/process/ends-with-us.ts';
import { telephonePrompts, type Prompt } from '../support/recognition/prompts.ts';
import { realModel } from '../support/recognition/real-model.ts';

const rounds = Number(process.argv[2] ?? 3);
const callers = 5;
const busyLoops = 3;
const boundMs = 2_000;
/** The share of the cores that other programs may have had for a miss to be ours. */
const othersAtMost = 0.15;

export async function run(): Promise<string[]> {
  const model = await realModel();
  if (!model) {
    process.exitCode = 1;
    return ['BROKEN: the default model is neither installed nor to be had; nothing was measured'];
  }
  // Long enough to be a sentence, short enough that it has no pause that would end it.
  const prompts = telephonePrompts().filter(({ samples }) => lengthS(samples) > 1 && lengthS(samples) < 4); // prettier-ignore
  await using app = await startApp({
    env: {
      TRUNKLINE_MODEL: model.model,
      TRUNKLINE_MODELS: model.models,
      TRUNKLINE_RECOGNISERS: String(Math.min(4, availableParallelism())),
      TRUNKLINE_ROLES: 'speech',
    },
  });
  // Whatever a first call loads is loaded now.
  await session(app.url, speakers(prompts, 1)[0]?.audio ?? new Int16Array(0), { pace: 'call' });
  const lines = [await measured(app, prompts, 'no busy loops')];
  {
    using _busy = startBusyLoops();
    lines.push(await measured(app, prompts, `${busyLoops} busy loops`));
  }
  if (lines.some((line) => !line.startsWith('held'))) process.exitCode = 1;
  return lines;
}

async function measured(app: App, prompts: readonly Prompt[], what: string): Promise<string> {
  const before = coreTicks();
  const alone = await lateness(app, prompts, 1);
  const together = await lateness(app, prompts, callers);
  const after = coreTicks();
  const others = (after.others - before.others) / (after.all - before.all);
  const ownMs = quantile(alone.ms, 0.5);
  const beyondMs = Math.max(...together.ms) - ownMs;
  const missing = alone.missing + together.missing;
  const held = beyondMs <= boundMs && missing === 0;
  return (
    `${held ? 'held' : others > othersAtMost ? 'NOT PROVEN' : 'BROKEN'}: ${what}: one caller ${figures(alone)}; ${callers} callers ${figures(together)}; ` +
    `the latest ${beyondMs.toFixed(0)} ms after one reading's own time (at most ${boundMs}), ${missing} finals missing, ` +
    `others had ${(others * 100).toFixed(0)} % of the ${availableParallelism()} cores`
  );
}

function figures({ ms }: Lateness): string {
  return `p50 ${quantile(ms, 0.5).toFixed(0)} ms, max ${Math.max(...ms).toFixed(0)} ms`;
}

async function lateness(app: App, prompts: readonly Prompt[], count: number): Promise<Lateness> {
  const all: Lateness = { ms: [], missing: 0 };
  await Promise.all(
    speakers(prompts, count).map(async ({ audio, ends }) => {
      const heard = await session(app.url, audio, { pace: 'call', partials: true });
      if (heard === undefined) throw new Error('a session was refused: the machine is too full');
      const { ms, missing } = latenessOf(heard, ends);
      all.ms.push(...ms);
      all.missing += missing;
    }),
  );
  return all;
}

/** The words of each caller, and the seconds at which its words end: the same for all of them. */
function speakers(prompts: readonly Prompt[], count: number) {
  const said = Array.from({ length: count * rounds }, (_, at) => spokenPrompt(prompts, at));
  const longest = Math.max(...said.map(lengthS));
  const roundS = longest + 1;
  const ends = Array.from({ length: rounds }, (_, round) => (round + 1) * roundS);
  return Array.from({ length: count }, (_, caller) => {
    // A pause after the last words: they end by it, not by the end of the session.
    const audio = new Int16Array(Math.round((rounds * roundS + 1.5) * 8_000));
    for (const [round, end] of ends.entries()) {
      const words = said[round * count + caller] ?? new Int16Array(0);
      audio.set(words, Math.round(end * 8_000) - words.length);
    }
    return { audio, ends };
  });
}

function lengthS(samples: Int16Array): number {
  return samples.length / 8_000;
}

/** The time that the cores could give since the machine's start, and the part of it that went to neither this trial nor idleness. */
function coreTicks(): { all: number; others: number } {
  const [cpu = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  // user, nice, system, idle, waiting for disks, two kinds of interrupts, taken by the host; guests are in user already.
  const kinds = cpu.split(/\s+/).slice(1, 9).map(Number);
  const all = kinds.reduce((sum, ticks) => sum + ticks, 0);
  const idle = (kinds[3] ?? 0) + (kinds[4] ?? 0);
  return { all, others: all - idle - ownTicks() };
}

/** The CPU time of this process and of all that descend from it. */
function ownTicks(): number {
  const processes = new Map<number, { parent: number; ticks: number }>();
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []; // prettier-ignore
      processes.set(Number(name), {
        parent: Number(fields[1]),
        ticks: Number(fields[11]) + Number(fields[12]),
      });
    } catch {
      // It ended while we looked.
    }
  }
  const descends = (pid: number): boolean => {
    for (let at = pid; at > 1; at = processes.get(at)?.parent ?? 0)
      if (at === process.pid) return true;
    return false;
  };
  let ticks = 0;
  for (const [pid, one] of processes) if (descends(pid)) ticks += one.ticks;
  return ticks;
}

/** Each takes all of a core that it can get. */
function startBusyLoops(): Disposable {
  const loops = Array.from({ length: busyLoops }, () =>
    endsWithUs(spawn(process.execPath, ['--eval', 'for (;;);'], { stdio: 'ignore' })),
  );
  return {
    [Symbol.dispose]: () => {
      for (const loop of loops) loop.kill('SIGKILL');
    },
  };
}

if (import.meta.main) {
  for (const line of await run()) console.log(line);
}
