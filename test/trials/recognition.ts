import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from '../bench/recognition/figures.ts';
import { recognisersOf } from '../support/process/recognisers.ts';
import { session } from '../bench/recognition/client.ts';
import { monologue } from '../bench/recognition/measures.ts';
import { startApp, type App } from '../support/process/app.ts';
import { telephonePrompts, type Prompt } from '../support/recognition/prompts.ts';
import { realModel } from '../support/recognition/real-model.ts';
import { normalisedWords, wordErrors } from '../support/recognition/word-errors.ts';

const seconds = Number(process.env['SECONDS_EACH'] ?? 30);
/** `overload` or `killing`: that half alone. */
const only = process.argv[2];
const kills = Number(process.env['KILLS'] ?? 10);

/**
 * Half as many callers again as the service admits, all speaking all the time: those that are in stay
 * in time, the others are told when to come back. Then recogniser processes killed while people speak:
 * what was said is the same.
 */
export async function run(): Promise<string[]> {
  const model = await realModel();
  if (!model) throw new Error('the default model is not to be had');
  const prompts = telephonePrompts().filter(({ samples }) => samples.length < 8000 * 8);
  await using app = await startApp({
    env: {
      TRUNKLINE_MODEL: model.model,
      TRUNKLINE_MODELS: model.models,
      TRUNKLINE_RECOGNISERS: '1',
      TRUNKLINE_ROLES: 'speech',
    },
  });
  while (recognisersOf(app.process.pid!).length === 0) await sleep(100);
  await session(app.url, monologue(prompts, 0, 5).audio, { pace: 'fast' });
  const lines: string[] = [];
  if (only !== 'killing') lines.push(await overload(app, prompts));
  if (only !== 'overload') lines.push(await killing(app, prompts));
  console.log(lines.join('\n'));
  if (lines.some((line) => line.includes('BROKEN'))) process.exitCode = 1;
  return lines;
}

async function overload(app: App, prompts: readonly Prompt[]): Promise<string> {
  const late: number[] = [];
  let admitted = 0;
  let refused = 0;
  let enough = false;
  const running: Promise<void>[] = [];
  // One after the other until half of what is in has been refused.
  for (let caller = 0; !enough && caller < 1_000; caller++) {
    running.push(
      (async () => {
        const { audio, ends } = monologue(prompts, caller, seconds);
        admitted++;
        const heard = await session(app.url, audio, { pace: 'call', partials: true });
        if (!heard) {
          admitted--;
          refused++;
          return;
        }
        for (const final of heard.finals) {
          const end = ends.find((at) => Math.abs(at - final.end) < 0.35);
          if (end !== undefined) late.push(final.atMs - heard.sentAtMs(end));
        }
      })(),
    );
    await sleep(60);
    enough = refused >= admitted / 2;
  }
  const answer = await fetch(`${app.url}/v2/live`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  const retryAfter = answer.headers.get('retry-after');
  await Promise.all(running);
  const p95 = quantile(late, 0.95);
  const held = p95 < 1_000 && refused > 0 && answer.status === 429 && Number(retryAfter) > 0;
  return (
    `${held ? 'held' : 'BROKEN'}: admitted ${admitted}, refused ${refused} (${answer.status}, Retry-After ${retryAfter ?? 'none'}), ` +
    `finals ${late.length}: p50 ${quantile(late, 0.5).toFixed(0)} ms, p95 ${p95.toFixed(0)} ms`
  );
}

async function killing(app: App, prompts: readonly Prompt[]): Promise<string> {
  const spoken = [0, 1, 2].map((caller) => monologue(prompts, caller, 25).audio);
  const hear = () =>
    Promise.all(
      spoken.map(async (audio) => {
        const heard = await session(app.url, audio, { pace: 'call' });
        return normalisedWords((heard?.finals ?? []).map((final) => final.text).join(' '));
      }),
    );
  const before = await hear();
  let killed = 0;
  const killer = setInterval(() => {
    const [pid] = recognisersOf(app.process.pid!);
    if (pid === undefined || killed >= kills) return;
    process.kill(pid, 'SIGKILL');
    killed++;
  }, 2_300);
  const after = await hear();
  clearInterval(killer);
  const words = before.reduce((sum, list) => sum + list.length, 0);
  const changed = before.reduce(
    (sum, list, index) => sum + wordErrors(list, after[index] ?? []),
    0,
  );
  // A reading more or less, as load decides, may change a word in fifty without any kill.
  const held = killed > 0 && changed <= words * 0.05;
  return `${held ? 'held' : 'BROKEN'}: ${killed} recognisers killed while three people spoke, ${changed} of ${words} words differ`;
}

if (import.meta.main) await run();
