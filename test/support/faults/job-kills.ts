import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { callbackSecret, jobWeb, toldOf } from '../speech/job-web.ts';
import { jobsApi, wavOf } from '../speech/jobs.ts';
import { speechApi } from '../speech/speech-service.ts';
import { speechProcess } from '../speech/speech-process.ts';
import { temporaryFolder } from '../store/store.ts';
import { until } from '../process/until.ts';
import { randomOf } from './live-faults.ts';

export type JobKillsOutcome = { kills: number; states: Record<string, number>; wrong: string[] };

const words = ['my card is lost', 'hello please', 'one two three four five', 'thanks goodbye'];

/**
 * Runs jobs from uploads and addresses in one process that is killed at random moments of the seed. Afterwards every
 * job must be done once with its words, its success must be reported under one id, and no working file may be left.
 */
export async function killJobs(
  seed: number,
  kills: number,
  jobCount = 6,
): Promise<JobKillsOutcome> {
  const random = randomOf(seed);
  const wrong: string[] = [];
  const states: Record<string, number> = {};
  await using folder = await temporaryFolder();
  await using web = await jobWeb(
    Object.fromEntries(words.map((text, at) => [`/${at}.wav`, wavOf(text)])),
  );
  const config = {
    callbackHosts: [web.host],
    callbackSecret,
    jobs: { audioHosts: [web.host] } as never,
  };
  let service = await speechProcess(folder.path, { config });
  const { port } = service;
  const api = jobsApi(speechApi(service.url));
  const ids = new Map<string, string>();
  let killed = 0;
  const kill = async (): Promise<void> => {
    await sleep(random() * 700);
    await service.kill();
    service = await speechProcess(folder.path, { port, config });
    killed++;
    for (const id of ids.keys()) {
      const { status } = await api.record(id);
      states[status] = (states[status] ?? 0) + 1;
    }
  };
  for (let count = 0; count < jobCount; count++) {
    const text = words[count % words.length] ?? '';
    const audio_url =
      count % 2 === 0
        ? (await api.upload(wavOf(text))).audio_url
        : `${web.url}/${count % words.length}.wav`;
    ids.set(await api.begin({ audio_url, callback_url: `${web.url}/told` }), text);
    if (killed < kills) await kill();
  }
  while (killed < kills) await kill();
  for (const [id, text] of ids) {
    const job = await api.ended(id);
    const said = job.result?.transcription?.full_transcript;
    if (said !== text)
      wrong.push(
        `${id}: ${job.status} ${job.error_message ?? ''} said ${said ?? 'nothing'}, not ${text}`,
      );
    await until(() => toldOf(web).has(id), 60_000);
  }
  for (const id of ids.keys()) {
    const identities = toldOf(web).get(id)?.size ?? 0;
    if (identities !== 1) wrong.push(`${id}: told under ${identities} identities`);
  }
  const left = await readdir(join(folder.path, 'speech', 'jobs'));
  if (left.length > 0) wrong.push(`working files are left: ${left.join(', ')}`);
  await service.kill();
  return { kills: killed, states, wrong };
}
