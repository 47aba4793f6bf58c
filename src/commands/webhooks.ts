import type { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { TrunklineError } from '../lib/errors.ts';
import { newWebhookSecret } from '../lib/webhook-signature.ts';
import { endpointsOf, typesOf, type Endpoint } from '../outbox/config.ts';
import { endpointNamed } from '../outbox/outbox.ts';
import { previewOf, queuedOf, Sender } from '../outbox/sender.ts';
import { answerOf, runningProcess } from './running-process.ts';
import { withoutSecrets } from '../lib/without-secrets.ts';
import { callEventTypes, type CallEvent, type CallEventType } from '../protocol/events.ts';
import { eventExamples } from '../protocol/event-examples.ts';
import { printLine } from './terminal.ts';

/** `trunkline webhooks`: shows what a webhook would receive, before a call is made. */
export function registerWebhooks(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .description('list the configured webhooks, try one on an example event, make a secret');
  webhooks.command('list', { isDefault: true }).description('names and addresses').action(list);
  webhooks
    .command('secret')
    .description('a new secret in the form that TRUNKLINE_WEBHOOK_SECRET wants')
    .action(() => printLine(newWebhookSecret()));
  webhooks
    .command('try <endpoint> [event]')
    .description(
      `shows the request that an example event becomes; events: ${callEventTypes.join(', ')}`,
    )
    .option(
      '--call <id>',
      'takes the events of this call in place of examples; without an event, the last of each type',
    )
    .option('--url <url>', 'the running process that has the call; by default that of the settings')
    .option('--send', 'also sends it and shows the answer')
    .option(
      '--answers <json>',
      'what earlier steps of a mapping answered, e.g. {"case":{"status":200,"body":{"id":7}}}',
    )
    .action(tryEvent);
}

function list(): void {
  const endpoints = endpointsOf(loadConfig(process.env).config.outbox);
  if (endpoints.length === 0)
    printLine('no webhook is configured: set TRUNKLINE_WEBHOOK_URL and TRUNKLINE_WEBHOOK_SECRET');
  for (const { name, url, events, shape, ordering } of endpoints)
    printLine(
      `${name}  ${withoutSecrets(url)}  ${chosen(events)}  ${shape === 'envelope' ? 'envelope' : 'mapped'}  ${ordering}`,
    );
}

type TryOptions = { send?: boolean; answers?: string; call?: string; url?: string };

async function tryEvent(
  name: string,
  type: string | undefined,
  options: TryOptions,
): Promise<void> {
  const endpoint = endpointNamed(loadConfig(process.env).config.outbox, name);
  if (type !== undefined && !isEventType(type))
    throw new TrunklineError('BAD_INPUT', `${type} is none of ${callEventTypes.join(', ')}`);
  const wanted = typesOf(endpoint);
  if (type !== undefined && !wanted.includes(type))
    printLine(`(${name} is not configured for ${type})`);
  const types = type === undefined ? wanted : [type];
  for (const event of await eventsOf(types, type, options)) {
    for (const text of await previewOf(endpoint, event, answersOf(options.answers)))
      printLine(text);
    if (options.send) await send(endpoint, event);
  }
}

/** An example of the given type, or the events of a real call of the given types. */
async function eventsOf(
  types: readonly CallEventType[],
  named: CallEventType | undefined,
  { call, url }: TryOptions,
): Promise<CallEvent[]> {
  if (call === undefined) {
    if (named === undefined)
      throw new TrunklineError('BAD_INPUT', 'name an event, or a call with --call');
    return [eventExamples[named]];
  }
  const { api } = runningProcess(url);
  const found: CallEvent[] = [];
  for (const type of types) {
    const path = `/api/calls/${encodeURIComponent(call)}/events?limit=1000&type=${type}`;
    const { items } = await answerOf<{ items: CallEvent[] }>(api, path);
    found.push(...items.slice(-1));
  }
  if (found.length === 0)
    throw new TrunklineError('BAD_INPUT', `${call} has no event of ${types.join(', ')}`);
  return found.sort((one, other) => one.sequence - other.sequence);
}

async function send(endpoint: Endpoint, event: CallEvent): Promise<void> {
  await using sender = new Sender(endpoint, systemClock);
  const { verdict } = await sender.send(
    queuedOf(event),
    endpoint.timeoutMs,
    Date.now(),
    new AbortController().signal,
  );
  printLine(`\n${verdict.kind}${verdict.status === null ? '' : ` (${verdict.status})`}`);
  if ('reason' in verdict) printLine(verdict.reason);
  if (verdict.answer !== null) printLine(verdict.answer);
  if (verdict.kind !== 'delivered') process.exitCode = 1;
}

function chosen(events: Endpoint['events']): string {
  if (events === undefined || events === 'all') return 'all events';
  return [events].flat().join(' ');
}

function isEventType(type: string): type is CallEventType {
  return (callEventTypes as string[]).includes(type);
}

function answersOf(text: string | undefined): Record<string, { status: number; body: unknown }> {
  if (text === undefined) return {};
  try {
    return JSON.parse(text) as Record<string, { status: number; body: unknown }>;
  } catch (error) {
    throw new TrunklineError('BAD_INPUT', '--answers is not JSON', { cause: error });
  }
}
