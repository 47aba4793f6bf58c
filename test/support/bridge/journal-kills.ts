import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { faultsOf, legRig } from './leg-rig.ts';
import { frameBytes } from '../speech/audio.ts';
import { FakeSpeech } from '../speech/fake-speech.ts';

const child = fileURLToPath(new URL('./journal-child.ts', import.meta.url));
/** Each run of the process journals this many legs at once. */
export const legCount = 8;

/**
 * Kills a process that journals and sends, repeatedly and at any moment. Each new process resumes the same live
 * sessions. At the end every leg's frames must have been heard once, at their own times, up to the last journalled one.
 */
export async function runKills(
  kills: number,
  seed: number,
): Promise<{ problems: string[]; frames: number }> {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  const dir = await mkdtemp(join(tmpdir(), 'trunkline-kill-'));
  const problems: string[] = [];
  try {
    let said = 0;
    for (let kill = 0; kill < kills; kill++) {
      const reached = await lifeOf(dir, speech.url, 30 + ((seed * 31 + kill * 17) % 200));
      if (reached < said)
        problems.push(`kill ${kill}: ${said} frames were journalled, ${reached} came back`);
      said = Math.max(said, reached);
    }
    await using rig = await legRig({ url: speech.url, dir });
    for (let index = 0; index < legCount; index++) {
      const legId = `leg_${index}`;
      const recovered = rig.journal.recovered.get(legId);
      if (!recovered) {
        problems.push(`${legId} was not recovered`);
        continue;
      }
      const recording = index % 2 === 0;
      const leg = rig.leg({ legId, recovered, recording });
      leg.pushed = leg.leg.ledger().received / frameBytes;
      if (leg.pushed < said) problems.push(`${legId}: ${leg.pushed} of ${said} frames recovered`);
      const { finals } = await leg.leg.finish({ finalsMs: 10_000, withinMs: 30_000 });
      // Words that earlier processes heard are not in this list. The service's record has all of them.
      leg.words = leg.words.filter(
        (one, at, all) =>
          all.findIndex((other) => other.word === one.word && other.atS === one.atS) === at,
      );
      for (const fault of faultsOf(leg)) problems.push(`${legId}: ${fault}`);
      if (finals !== 'complete') problems.push(`${legId}: finals late`);
      if (leg.leg.sessions().length !== 1)
        problems.push(`${legId}: ${leg.leg.sessions().length} sessions`);
      const kept = await rig.journal.recordingOf(legId);
      if (recording && kept?.bytes !== leg.pushed * frameBytes)
        problems.push(`${legId}: recording of ${kept?.bytes ?? 0} bytes`);
    }
    return { problems, frames: said * legCount };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** One run of the child. Kills it some milliseconds after its first frame, and returns the last number it printed. */
async function lifeOf(dir: string, url: string, lifeMs: number): Promise<number> {
  const process_ = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', child, dir, url, String(legCount)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let last = 0;
  let timer: NodeJS.Timeout | undefined;
  createInterface({ input: process_.stdout }).on('line', (line) => {
    last = Number(line);
    timer ??= setTimeout(() => process_.kill('SIGKILL'), lifeMs);
  });
  await new Promise((resolve) => process_.on('close', resolve));
  clearTimeout(timer);
  return last;
}
