import type { Command } from 'commander';
import { TrunklineError } from '../lib/errors.ts';
import type { TranscribeAgain, TranscribeAllAgain } from '../protocol/api.ts';
import { requestOf, runningProcess } from './running-process.ts';
import { printJson, printLine } from './terminal.ts';

type Options = { url?: string; json?: boolean; incomplete?: boolean };

/** `trunkline transcribe-again`: reads the recording of a call again, or those of all calls with missing words. */
export function registerTranscribeAgain(program: Command): void {
  program
    .command('transcribe-again')
    .argument('[call]', 'the id of a call')
    .description('read the recording of a call again, to have the words that it lacks')
    .option('--incomplete', 'every ended call that lacks words')
    .option('--url <url>', 'the running process; by default that of the settings')
    .option('--json', 'as the API answers')
    .action(again);
}

async function again(call: string | undefined, options: Options): Promise<void> {
  if ((call === undefined) === (options.incomplete !== true))
    throw new TrunklineError(
      'BAD_INPUT',
      'name one call, or say --incomplete for all that lack words',
    );
  if (call === undefined) {
    const counts = await allAgain(options);
    if (options.json) printJson(counts);
    else
      printLine(
        `${counts.ordered} are read again, ${counts.already} were on their way; ${counts.waiting} wait for the speech service; of ${counts.without_recording} nothing is left to read`,
      );
    return;
  }
  const answer = (await post(
    options,
    `/api/calls/${encodeURIComponent(call)}/transcribe`,
  )) as TranscribeAgain;
  if (options.json) printJson(answer);
  else printLine(told[answer.status]);
}

/** A request examines a limited number of calls. The last answer gives the number of those that wait. */
async function allAgain(options: Options): Promise<Omit<TranscribeAllAgain, 'next'>> {
  const sum = { ordered: 0, already: 0, without_recording: 0, waiting: 0 };
  for (let next: string | null = ''; next !== null;) {
    const query: string = next === '' ? '' : `?before=${encodeURIComponent(next)}`;
    const some = (await post(options, `/api/calls/transcribe${query}`)) as TranscribeAllAgain;
    for (const name of ['ordered', 'already', 'without_recording'] as const)
      sum[name] += some[name];
    sum.waiting = some.waiting;
    ({ next } = some);
  }
  return sum;
}

const told: Record<TranscribeAgain['status'], string> = {
  ordered: 'the recording is read again; the words come as call.transcript.revised',
  already: 'the recording is being read already',
  waiting: 'its audio waits in the journal and is sent as soon as the speech service takes it',
};

async function post(options: Options, path: string): Promise<unknown> {
  return await requestOf(runningProcess(options.url).api, path, { method: 'POST' });
}
