import type { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { TrunklineError } from '../lib/errors.ts';
import { newWebhookSecret } from '../lib/webhook-signature.ts';
import { endpointsOf, typesOf, type Endpoint } from '../outbox/config.ts';
import { endpointNamed } from '../outbox/outbox.ts';
import { previewOf, Sender } from '../outbox/sender.ts';
import { withoutSecrets } from './without-secrets.ts';
import { callEventTypes, type CallEventType } from '../protocol/events.ts';
import { eventExamples } from '../protocol/event-examples.ts';

/** `trunkline webhooks`: what a webhook would be sent, before a call is made. */
export function registerWebhooks(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .description('list the configured webhooks, try one on an example event, make a secret');
  webhooks.command('list', { isDefault: true }).description('names and addresses').action(list);
  webhooks
    .command('secret')
    .description('a new secret in the form that TRUNKLINE_WEBHOOK_SECRET wants')
    .action(() => console.log(newWebhookSecret()));
  webhooks
    .command('try <endpoint> <event>')
    .description(
      `shows the request that an example event becomes; events: ${callEventTypes.join(', ')}`,
    )
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
    console.log('no webhook is configured: set TRUNKLINE_WEBHOOK_URL and TRUNKLINE_WEBHOOK_SECRET');
  for (const { name, url, events, shape, ordering } of endpoints)
    console.log(
      `${name}  ${withoutSecrets(url)}  ${chosen(events)}  ${shape === 'envelope' ? 'envelope' : 'mapped'}  ${ordering}`,
    );
}

async function tryEvent(
  name: string,
  type: string,
  options: { send?: boolean; answers?: string },
): Promise<void> {
  const endpoint = endpointNamed(loadConfig(process.env).config.outbox, name);
  if (!isEventType(type))
    throw new TrunklineError('BAD_INPUT', `${type} is none of ${callEventTypes.join(', ')}`);
  const example = eventExamples[type];
  if (!typesOf(endpoint).includes(type)) console.log(`(${name} is not configured for ${type})`);
  for (const text of await previewOf(endpoint, example, answersOf(options.answers)))
    console.log(text);
  if (!options.send) return;
  await using sender = new Sender(endpoint, systemClock);
  const item = {
    eventId: example.id, callId: example.call.id, sequence: example.sequence, type: example.type, attempts: 0,
    history: null, progress: null, bytes: 0, occurredAt: Date.now(), body: JSON.stringify(example),
  }; // prettier-ignore
  const { verdict } = await sender.send(
    item,
    endpoint.timeoutMs,
    Date.now(),
    new AbortController().signal,
  );
  console.log(`\n${verdict.kind}${verdict.status === null ? '' : ` (${verdict.status})`}`);
  if ('reason' in verdict) console.log(verdict.reason);
  if (verdict.answer !== null) console.log(verdict.answer);
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
