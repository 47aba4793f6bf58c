import { join } from 'node:path';
import pg from 'pg';
import { until } from '../../support/process/until.ts';
import { callbackSecret, jobWeb, toldOf, type JobWeb } from '../../support/speech/job-web.ts';
import { jobsApi, wavOf } from '../../support/speech/jobs.ts';
import { speechApi } from '../../support/speech/speech-service.ts';
import { speechProcess, type SpeechProcess } from '../../support/speech/speech-process.ts';
import { temporaryFolder } from '../../support/store/store.ts';

export type NodesOutcome = {
  seconds: number;
  /** Ends by the node that told them, in the order in which the nodes were started. */
  doneBy: number[];
  wrong: string[];
};

export type NodesTrial = {
  databaseUrl: string;
  jobs: number;
  nodes: number;
  /** One node is killed with -9 when a third of the jobs is done. */
  isOneKilled: boolean;
};

const words = ['my card is lost', 'hello please', 'one two three', 'thanks goodbye'];
const path = (job: number): string => `/${job % words.length}.wav`;

/**
 * Runs this many jobs with addresses, on nodes with folders of their own and one database. Every job is done once: its
 * success is told under one identity, its row of usage is there once, and it says the words of its file.
 */
export async function jobsOverNodes(trial: NodesTrial): Promise<NodesOutcome> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const web = stack.use(
    await jobWeb(Object.fromEntries(words.map((text, at) => [path(at), wavOf(text)]))),
  );
  const config = {
    callbackHosts: [web.host],
    callbackSecret,
    jobs: { audioHosts: [web.host], maxQueued: 1_000_000 } as never,
  };
  const { databaseUrl } = trial;
  const nodes: SpeechProcess[] = [];
  for (let node = 0; node < trial.nodes; node++)
    nodes.push(
      stack.use(await speechProcess(join(folder.path, String(node)), { config, databaseUrl })),
    );
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  stack.defer(() => database.end());
  const ids = await begin(nodes, web, trial.jobs);
  const startedMs = performance.now();
  const done = async (): Promise<number> => countOf(database, "status in ('done', 'error')");
  if (trial.isOneKilled) {
    await until(async () => (await done()) >= trial.jobs / 3, 1_800_000);
    await until(async () => (await countOf(database, "status = 'processing'")) > 0);
    await nodes[0]?.kill();
  }
  await until(async () => (await done()) === trial.jobs, 3_600_000);
  const seconds = (performance.now() - startedMs) / 1e3;
  await until(() => toldOf(web).size === trial.jobs, 120_000);
  const { rows } = await database.query<{ jobs: string }>(
    'select count(*) as jobs from speech_jobs group by node order by node',
  );
  return {
    seconds,
    doneBy: rows.map(({ jobs }) => Number(jobs)),
    wrong: await wrongOf(database, web, ids),
  };
}

/** As clients would: some at once, each at another node. */
async function begin(
  nodes: readonly SpeechProcess[],
  web: JobWeb,
  count: number,
): Promise<Map<string, string>> {
  const apis = nodes.map(({ url }) => jobsApi(speechApi(url)));
  const ids = new Map<string, string>();
  let next = 0;
  const client = async (): Promise<void> => {
    for (let job = next++; job < count; job = next++) {
      const api = apis[job % apis.length];
      if (!api) throw new Error('there is no node');
      const id = await api.begin({ audio_url: web.url + path(job), callback_url: web.url });
      ids.set(id, words[job % words.length] ?? '');
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
  return ids;
}

async function wrongOf(
  database: pg.Client,
  web: JobWeb,
  ids: ReadonlyMap<string, string>,
): Promise<string[]> {
  const wrong: string[] = [];
  const jobs = await database.query<{ id: string; status: string; result: string | null }>(
    'select id, status, result from speech_jobs',
  );
  if (jobs.rows.length !== ids.size)
    wrong.push(`${ids.size} jobs were taken, and ${jobs.rows.length} are there`);
  for (const { id, status, result } of jobs.rows) {
    const said = (JSON.parse(result ?? '{}') as { transcription?: { full_transcript: string } })
      .transcription?.full_transcript;
    if (said !== ids.get(id)) wrong.push(`${id}: ${status} said ${said ?? 'nothing'}`);
  }
  const usage = await countOf(database, 'true', 'speech_usage');
  if (usage !== ids.size) wrong.push(`${usage} rows of usage for ${ids.size} jobs`);
  const told = toldOf(web);
  for (const id of ids.keys()) {
    const identities = told.get(id)?.size ?? 0;
    if (identities !== 1) wrong.push(`${id}: told under ${identities} identities`);
  }
  return wrong;
}

async function countOf(database: pg.Client, where: string, table = 'speech_jobs'): Promise<number> {
  const { rows } = await database.query<{ rows: string }>(
    `select count(*) as rows from ${table} where ${where}`,
  );
  return Number(rows[0]?.rows ?? 0);
}
