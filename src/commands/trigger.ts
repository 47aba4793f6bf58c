import type { Command } from 'commander';
import { systemClock, wait } from '../lib/clock.ts';
import { TrunklineError } from '../lib/errors.ts';
import { nearestName } from '../lib/nearest-name.ts';
import type { Api } from '../player/api-client.ts';
import type { TestEvent } from '../protocol/api.ts';
import type { ApiDelivery } from '../protocol/delivery-reports.ts';
import { callEventTypes } from '../protocol/events.ts';
import { answerOf, requestOf, runningProcess } from './running-process.ts';
import { printable } from '../lib/printable.ts';
import { printJson, printLine, printNote } from './terminal.ts';

type TriggerOptions = { url?: string; json?: boolean; endpoint?: string };

/** `trigger` watches for the first answers for 15 s. The running process retries deliveries that fail after that. */
const followedMs = 15_000;
const lookEveryMs = 200;

/** `trunkline trigger`: sends an example event through a running installation, marked as a test. */
export function registerTrigger(program: Command): void {
  program
    .command('trigger <event>')
    .description(
      `send an example of an event, marked as a test, to \`trunkline listen\` and to every webhook that wants it and has no mapping; events: ${callEventTypes.join(', ')}`,
    )
    .option(
      '--endpoint <name>',
      'only to this webhook; one with a mapping gets examples only so, because its CRM cannot see that they are tests',
    )
    .option('--url <url>', 'the running process; by default that of the settings')
    .option('--json', 'one JSON line per webhook')
    .action(trigger);
}

async function trigger(type: string, options: TriggerOptions): Promise<void> {
  const known: readonly string[] = callEventTypes;
  if (!known.includes(type)) {
    const meant = nearestName(type, known);
    const advice = meant === undefined ? `: it is none of ${known.join(', ')}` : `, did you mean ${meant}?`; // prettier-ignore
    throw new TrunklineError('BAD_INPUT', `there is no event ${type}${advice}`);
  }
  const { api } = runningProcess(options.url);
  const { endpoint } = options;
  const body = { type, endpoint };
  const request = { method: 'POST', body };
  const sent = (await requestOf(api, '/api/test-events', request)) as TestEvent;
  // With --json every line of stdout is JSON, because a program reads it.
  const say = options.json ? printNote : printLine;
  say(`${type} ${sent.event_id}, marked as a test, of ${sent.call_id}`);
  for (const name of sent.left_out)
    say(`${name} has a mapping and got nothing: --endpoint ${name} sends it there, where the call will look real`); // prettier-ignore
  if (sent.endpoints.length === 0) {
    say('No webhook gets it; `trunkline listen` shows it.');
    return;
  }
  const deliveries = await settled(api, sent);
  for (const delivery of deliveries) {
    if (options.json) printJson(delivery);
    else printLine(lineOf(delivery));
  }
  if (deliveries.some(({ state }) => state !== 'delivered')) process.exitCode = 1;
}

/** The event's deliveries, once every endpoint was tried. */
async function settled(api: Api, { call_id, endpoints }: TestEvent): Promise<ApiDelivery[]> {
  const untilMs = systemClock.monotonicMs() + followedMs;
  for (;;) {
    const path = `/api/deliveries?call_id=${encodeURIComponent(call_id)}&limit=200`;
    const { items } = await answerOf<{ items: ApiDelivery[] }>(api, path);
    const isOver = items.length >= endpoints.length && items.every(({ attempts }) => attempts > 0);
    if (isOver || systemClock.monotonicMs() >= untilMs) return items;
    await wait(systemClock, lookEveryMs);
  }
}

function lineOf({ endpoint, state, status, attempts, reason, answer }: ApiDelivery): string {
  const answered = status === null ? 'no answer' : String(status);
  const tries = attempts === 1 ? '1 attempt' : `${String(attempts)} attempts`;
  const why = [reason, answer].filter((text) => text !== null && text !== '').join(': ');
  const outcome = state === 'pending' ? 'not taken yet, and tried on' : state;
  return printable(`${endpoint}  ${outcome}  ${answered}  ${tries}${why === '' ? '' : `  ${why}`}`);
}
