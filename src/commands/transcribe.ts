import { InvalidArgumentError, Option, type Command } from 'commander';
import { mkdir } from 'node:fs/promises';
import { relative } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { reasonOf, TrunklineError } from '../lib/errors.ts';
import { languageName } from '../lib/language-name.ts';
import { printable } from '../lib/printable.ts';
import { ProgressBars } from '../lib/progress-bars.ts';
import { speechUrls } from '../speech-client/config.ts';
import { runningProcess } from './running-process.ts';
import {
  collision,
  inputOf,
  whyNoInput,
  whyUnreadable,
  type JobInput,
} from './transcription/inputs.ts';
import { jobRequest, type JobWishes } from './transcription/wished-job.ts';
import {
  JobRefused,
  JobService,
  JobUnanswered,
  type JobTarget,
} from './transcription/job-service.ts';
import { transcribeOne, whyFailed, type RecordingOutcome } from './transcription/one-recording.ts';
import { whyUnwritable, writeOutput } from './transcription/outputs.ts';
import { patiently } from './transcription/patience.ts';
import { contentsOf, kindsOf, shortcomings, type Wanted } from './transcription/result-files.ts';
import { resultText } from './transcription/transcript-text.ts';

type TranscribeOptions = JobWishes & {
  json?: true;
  output?: string;
  force?: true;
  parallel: number;
  url?: string;
  key?: string;
};

/** The exit codes. */
const exit = { done: 0, someFailed: 1, usage: 2, noService: 78, interrupted: 130 } as const;

const more = `
Of call.wav comes call.txt, or call.json with --json, and with --subtitles call.srt and call.vtt; translations are
call.de.txt, call.de.srt. Of an address they come into this folder. With --output - and --json there is one line for
each recording on stdout, as they are done.

Ctrl-C cancels the jobs, a second one ends at once.

Exit codes: 0 all done; 1 some failed, or lack a part that was asked for; 2 the command line is wrong;
78 no service to talk to, or it refuses the key; 130 interrupted.

Examples:
  trunkline transcribe call.wav
  trunkline transcribe calls/*.mp3 --diarize --subtitles srt,vtt --output transcripts
  trunkline transcribe call.wav --language Spanish
  trunkline transcribe https://files.example.com/call.mp3 --redact PCI --summary --json --output -`;

/** `trunkline transcribe`: turns recordings into text, through the jobs of a speech service. */
export function registerTranscribe(program: Command): void {
  const command = program
    .command('transcribe <recordings...>')
    .description('transcribe recordings: files of audio or video, or http(s) addresses of them')
    .option(
      '--diarize',
      'tell the speakers apart; our own service needs the model voice-encoder for that',
    )
    .option('--subtitles <formats>', 'srt, vtt or both', list)
    .option('--sentences', 'sentence by sentence')
    .addOption(
      new Option('--summary [type]', 'with a summary: general, bullet_points or concise').preset(
        'general',
      ),
    )
    .option('--chapters', 'with chapters')
    .option('--entities', 'with the names, places, numbers ... that are said')
    .option('--sentiment', 'with the sentiment of each sentence')
    .option('--translate <languages>', 'translated as well, for example de,fr', list)
    .option('--redact <types>', 'without these, for example PCI,NAME or GDPR', list)
    .option(
      '--language <languages>',
      'the spoken language: a code or a name (es, Spanish), several with commas if it is one of them, or auto (default: auto)',
      list,
    )
    .option(
      '--code-switching',
      'the language may change in a recording: each utterance is read in its own',
    )
    .option('--vocabulary <words>', 'words to listen for, with commas between', list)
    .option('--callback <url>', 'the service also sends the result there')
    .option('--json', 'the whole record as JSON instead of text')
    .option(
      '-o, --output <folder>',
      'where the results go; - is stdout (default: beside each file)',
    )
    .option('--force', 'overwrite results that exist')
    .option('--parallel <n>', 'recordings at a time, at most 32', count, 4)
    .option('--url <url>', 'the speech service; by default the one of these settings')
    .option(
      '--key <key>',
      'its key; TRUNKLINE_API_KEYS in its place keeps the key out of the list of processes',
    )
    .addHelpText('after', more)
    .action(async (given: string[], options: TranscribeOptions) => {
      process.exitCode = await transcribe(given, options, command);
    });
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? exit.done : exit.usage));
}

function list(value: string): string[] {
  const items = value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  if (items.length === 0) throw new InvalidArgumentError('Give at least one.');
  return [...new Set(items)];
}

function count(value: string): number {
  const number = Number(value);
  if (Number.isInteger(number) && number >= 1 && number <= 32) return number;
  throw new InvalidArgumentError('Give a number from 1 to 32.');
}

async function transcribe(
  given: string[],
  options: TranscribeOptions,
  command: Command,
): Promise<number> {
  const usage = (problem: string): never =>
    command.error(`error: ${printable(problem)}`, { exitCode: exit.usage });
  const request = jobRequest({ ...options, ...upper(options.redact) });
  if ('problems' in request) return usage(request.problems.join('\n       '));
  const wanted: Wanted = {
    isJson: options.json ?? false,
    subtitles: options.subtitles ?? [],
    languages: options.translate ?? [],
  };
  const { output } = options;
  if (output === '-' && wanted.subtitles.length > 0 && !wanted.isJson && !isOneThing(wanted))
    return usage('only one kind of subtitles goes to stdout: name one, or add --json');
  for (const name of given) {
    const why = whyNoInput(name);
    if (why !== undefined) return usage(`${name}: ${why}`);
  }
  const inputs = given.map((name) => inputOf(name, output, kindsOf(wanted)));
  const meeting = collision(inputs);
  if (meeting !== undefined) return usage(meeting);
  const target = targetOf(options);
  if (typeof target === 'string') return usage(target);
  if (output !== undefined && output !== '-') await makeFolder(output);
  const run = new TranscribeRun(new JobService(target), target, request.body, wanted, options);
  return run.all(inputs);
}

/** Types are capitalised in the speech interface. Users may write them in lower case. */
function upper(types: string[] | undefined): Pick<JobWishes, 'redact'> {
  return types ? { redact: types.map((type) => type.toUpperCase()) } : {};
}

function isOneThing({ subtitles, languages }: Wanted): boolean {
  return subtitles.length === 1 && languages.length === 0;
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (cause) {
    const why = `--output ${printable(folder)}: cannot be made: ${reasonOf(cause)}`;
    throw new TrunklineError('BAD_INPUT', why, { cause });
  }
}

/**
 * The service given by URL, else the hosted one of the settings, else the process on this machine. A string is an
 * error message.
 */
function targetOf({ url, key }: TranscribeOptions): JobTarget | string {
  const { api, config } = runningProcess(url);
  const { speech } = config;
  const isNamed = url !== undefined || process.env['TRUNKLINE_URL'] !== undefined;
  const [hosted] = speech.url === undefined ? [] : speechUrls(speech.url);
  const address = isNamed || hosted === undefined ? api.url : hosted;
  const base = address.replace(/\/+$/, '').replace(/\/v2$/, '');
  if (!/^https?:$/.test(URL.parse(base)?.protocol ?? ''))
    return `--url ${base}: give an address that begins with http:// or https://`;
  // The key of one service is never sent to another.
  const isHosted = hosted !== undefined && URL.parse(hosted)?.host === URL.parse(base)?.host;
  const used = key ?? (isHosted ? speech.key : api.key);
  if (used !== undefined && !/^[\x21-\x7e]+$/.test(used))
    return '--key: a key has printable characters without spaces';
  return { url: base, key: used, keyHeader: isHosted ? speech.keyHeader : 'x-service-key' };
}

/** One run of the command: its recordings side by side, and their results. */
class TranscribeRun {
  readonly #service: JobService;
  readonly #target: JobTarget;
  readonly #body: object;
  readonly #wanted: Wanted;
  readonly #options: TranscribeOptions;
  readonly #bars = new ProgressBars(process.stderr, {
    isDumb: process.env['TERM'] === 'dumb',
  });
  readonly #ending = new AbortController();
  #isInterrupted = false;
  #isUnread = false;
  #failed = 0;
  #incomplete = 0;
  #done = 0;

  constructor(
    service: JobService,
    target: JobTarget,
    body: object,
    wanted: Wanted,
    options: TranscribeOptions,
  ) {
    this.#service = service;
    this.#target = target;
    this.#body = body;
    this.#wanted = wanted;
    this.#options = options;
  }

  async all(inputs: readonly JobInput[]): Promise<number> {
    process.on('SIGINT', this.#interrupt).on('SIGTERM', this.#interrupt);
    process.stdout.on('error', this.#unread);
    process.stderr.on('error', () => undefined); // the results are written even if nobody reads the progress
    try {
      const usable: JobInput[] = [];
      for (const input of inputs) {
        const why =
          (await whyUnreadable(input)) ??
          (await whyUnwritable(input, this.#options.force ?? false));
        if (why === undefined) usable.push(input);
        else await this.#fail(input, { is: 'failed', why: printable(why) });
      }
      if (usable.length > 0) {
        const refusal = await this.#refusalOfService();
        if (refusal !== undefined) {
          this.#bars.say(refusal);
          return exit.noService;
        }
      }
      await this.#sideBySide(usable);
      if (inputs.length > 1) this.#bars.say(this.#balance(inputs.length));
    } finally {
      this.#bars.close();
      process.off('SIGINT', this.#interrupt).off('SIGTERM', this.#interrupt);
    }
    if (this.#isInterrupted) return exit.interrupted;
    const isAllDone = this.#failed + this.#incomplete === 0 && !this.#isUnread;
    return isAllDone ? exit.done : exit.someFailed;
  }

  #balance(all: number): string {
    const incomplete =
      this.#incomplete === 0 ? '' : `, ${this.#incomplete} without all that was asked for`;
    return `${this.#done} of ${all} done${incomplete}, ${this.#failed} failed`;
  }

  readonly #interrupt = (): void => {
    if (this.#isInterrupted) process.exit(exit.interrupted);
    this.#isInterrupted = true;
    this.#bars.say('cancelling; Ctrl-C once more ends at once');
    this.#ending.abort();
  };

  /** The reader of stdout, such as `| head`, has closed it. Results that nobody reads need not be made. */
  readonly #unread = (): void => {
    if (this.#isUnread) return;
    this.#isUnread = true;
    this.#bars.say('nobody reads the output any more; what is left is cancelled');
    this.#ending.abort();
  };

  /**
   * Checks the service. Returns one sentence that says what to do, or undefined if the service is reachable and
   * accepts the key.
   */
  async #refusalOfService(): Promise<string | undefined> {
    const { url, key } = this.#target;
    const { signal } = this.#ending;
    const check = (): Promise<void> =>
      this.#service.check(signal).catch((error: unknown) => {
        // A user at a terminal is told at once that no service is running.
        throw error instanceof JobUnanswered
          ? new TrunklineError('UNREACHABLE', error.message)
          : error;
      });
    try {
      await patiently(check, {
        signal,
        wait: (delayMs, ends) => wait(delayMs, undefined, { signal: ends }),
        nowMs: () => performance.now(),
        mayRepeat: true,
        onWait: (_delayMs, why) => this.#bars.say(`${url}: ${why}`),
      });
      return undefined;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof TrunklineError)
        return `UNREACHABLE: no speech service answers at ${url} (${error.message}): start one with npm start, or name one with --url or TRUNKLINE_URL`;
      if (error instanceof JobRefused && error.status === 401)
        return `UNAUTHORIZED: ${url} ${key === undefined ? 'wants a key' : 'refuses the key'}: give one of its keys in TRUNKLINE_API_KEYS or --key`;
      if (error instanceof JobRefused)
        return `UNREACHABLE: ${url} takes no recordings: ${printable(whyFailed(error) ?? '')}; name a speech service with --url or TRUNKLINE_URL`;
      throw error;
    }
  }

  async #sideBySide(inputs: readonly JobInput[]): Promise<void> {
    const waiting = [...inputs];
    const worker = async (): Promise<void> => {
      for (let input = waiting.shift(); input; input = waiting.shift()) {
        if (this.#ending.signal.aborted) return;
        await this.#one(input);
      }
    };
    await Promise.all(Array.from({ length: this.#options.parallel }, worker));
  }

  async #one(input: JobInput): Promise<void> {
    const startedMs = performance.now();
    const outcome = await transcribeOne(input, {
      service: this.#service,
      body: this.#body,
      show: (progress) => this.#bars.update(input.label, progress),
      signal: this.#ending.signal,
    });
    if (outcome.is === 'cancelled') this.#bars.end(input.label, printable(outcome.how));
    else if (outcome.is === 'failed') await this.#fail(input, outcome);
    else await this.#keep(input, outcome, performance.now() - startedMs);
  }

  async #fail(
    input: JobInput,
    { why, id, code, json }: RecordingOutcome & { is: 'failed' },
  ): Promise<void> {
    this.#failed++;
    this.#bars.end(input.label, `failed: ${printable(why)}`);
    if (this.#options.output !== '-' || !this.#wanted.isJson) return;
    const record = typeof json === 'object' ? json : { id };
    const error = { status: 'error', error_code: code ?? null, error_message: why };
    await this.#print(`${JSON.stringify({ input: input.given, ...record, ...error })}\n`);
  }

  async #keep(
    input: JobInput,
    { id, result, json }: RecordingOutcome & { is: 'done' },
    tookMs: number,
  ): Promise<void> {
    const contents = contentsOf(result, json, this.#wanted);
    const missing = shortcomings(result);
    // A service may silently leave out parts that it does not offer.
    const absent = kindsOf(this.#wanted).filter((kind) => !contents.has(kind));
    if (missing.length === 0)
      missing.push(...absent.map((kind) => `${kind}: the service sent none`));
    const written: string[] = [];
    try {
      if (this.#options.output === '-')
        await this.#print(this.#stdoutText(input, contents, result, json));
      for (const [kind, path] of input.outputs) {
        const text = contents.get(kind);
        if (text === undefined) continue;
        await writeOutput(path, text, this.#options.force ?? false);
        written.push(printable(relative('.', path)));
      }
    } catch (error) {
      await this.#fail(input, {
        is: 'failed',
        why: `its result could not be written (${reasonOf(error)}); the service still has it as job ${id}`,
      });
      return;
    }
    const where = written.length === 0 ? '' : `: ${written.join(', ')}`;
    const spoken = result.transcription?.languages.map(languageName).join(', ') ?? '';
    const heard = spoken === '' ? '' : `, ${printable(spoken)}`;
    const took = `done in ${(tookMs / 1e3).toFixed(1)} s${heard}${where}`;
    if (missing.length === 0) this.#done++;
    else this.#incomplete++;
    this.#bars.end(
      input.label,
      missing.length === 0
        ? took
        : `${took}, but without all that was asked for: ${printable(missing.join('; '))}`,
    );
  }

  #stdoutText(
    input: JobInput,
    contents: ReadonlyMap<string, string>,
    result: Parameters<typeof resultText>[0],
    json: unknown,
  ): string {
    const { isJson, subtitles } = this.#wanted;
    if (isJson) return `${JSON.stringify({ input: input.given, ...(json as object) })}\n`;
    const [format] = subtitles;
    return format === undefined ? resultText(result, true) : (contents.get(format) ?? '');
  }

  /** Resolves when the text is written. Text that nobody reads any more is dropped. */
  async #print(text: string): Promise<void> {
    this.#bars.clear();
    await new Promise<void>((resolve) => {
      process.stdout.write(text, (error) => {
        if (error) this.#unread();
        resolve();
      });
    });
  }
}
