import { LinksOfOneRun } from '../crm/link-rows.ts';
import { presetNamed } from '../crm/preset.ts';
import type { MappingStep } from '../crm/step.ts';
import { systemClock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { eventExamples } from '../protocol/event-examples.ts';
import type { TrialPart } from '../protocol/connection-reports.ts';
import type { CallEvent } from '../protocol/events.ts';
import type { Endpoint } from './config.ts';
import { queuedOf, Sender } from './sender.ts';

/** A line of a trial, in a person's words. */
export type TrialLine = { ok: boolean; text: string };

/** An abort of this signal ends a trial with what it has found out. */
const noEnd = new AbortController().signal;

/** Reads at the CRM what is missing there. Changes nothing. */
export async function checkCrm(endpoint: Endpoint, signal = noEnd): Promise<TrialLine[]> {
  const lines: TrialLine[] = [];
  for (const step of presetOf(endpoint).check) {
    const trouble = await stepTrouble(endpoint, step, signal);
    lines.push({
      ok: trouble === undefined,
      text: `${step.name}${trouble === undefined ? '' : `: ${trouble}`}`,
    });
  }
  return lines;
}

/**
 * Proves that the address is right, and leaves nothing behind: reads alone where that is proof enough, and with a test
 * record where a wrong path answers as an unknown number does.
 */
export async function proveCrm(endpoint: Endpoint, signal = noEnd): Promise<TrialLine[]> {
  const checked = await checkCrm(endpoint, signal);
  if (presetOf(endpoint).check_proves || checked.some(({ ok }) => !ok)) return checked;
  return [...checked, ...(await tryRecord(endpoint, { signal }))];
}

/** Makes the record of a call that nobody had, and removes it again unless `keep` is true. */
export async function tryRecord(
  endpoint: Endpoint,
  { keep = false, signal = noEnd }: { keep?: boolean; signal?: AbortSignal } = {},
): Promise<TrialLine[]> {
  const preset = presetOf(endpoint);
  const links = new LinksOfOneRun();
  const event = testCall(newId('call'));
  const trouble = await runSteps(endpoint, preset.steps, event, links, signal);
  if (trouble !== undefined)
    return [{ ok: false, text: `the CRM did not take the test call: ${trouble}` }];
  const record = links.links['record'];
  const took = `the CRM took the test call${record === undefined ? '' : ` as ${record}`}`;
  const lines: TrialLine[] = [{ ok: true, text: took }];
  if (keep || preset.cleanup.length === 0) return lines;
  const left = await runSteps(endpoint, preset.cleanup, event, links, signal);
  return [
    ...lines,
    left === undefined
      ? { ok: true, text: 'the test record was removed' }
      : { ok: false, text: `the test record is still there: ${left}` },
  ];
}

/**
 * All that can be found out before an endpoint is used: a CRM with a test record, a webhook with an example. With
 * `withSetup`, the field for the id of a call is made at the CRM first.
 */
export async function tryEndpoint(
  endpoint: Endpoint,
  { signal, withSetup }: { signal: AbortSignal; withSetup: boolean },
): Promise<TrialLine[]> {
  if (endpoint.preset === undefined) return tryExample(endpoint, signal);
  const { setup } = presetOf(endpoint);
  if (withSetup && setup.length > 0) {
    const links = new LinksOfOneRun();
    const trouble = await runSteps(endpoint, setup, testCall('setup'), links, signal);
    if (trouble !== undefined)
      return [{ ok: false, text: `the field could not be made: ${trouble}` }];
  }
  const checked = await checkCrm(endpoint, signal);
  if (checked.some(({ ok }) => !ok)) return checked;
  return [...checked, ...(await tryRecord(endpoint, { signal }))];
}

/** One part of a trial, for an endpoint that is in use. A webhook has one part: it takes an example. */
export async function tryPart(
  endpoint: Endpoint,
  part: TrialPart,
  signal = noEnd,
): Promise<TrialLine[]> {
  if (endpoint.preset === undefined) return tryExample(endpoint, signal);
  if (part === 'check') return checkCrm(endpoint, signal);
  if (part !== 'setup') return tryRecord(endpoint, { keep: part === 'kept-record', signal });
  const { setup } = presetOf(endpoint);
  const links = new LinksOfOneRun();
  const trouble = await runSteps(endpoint, setup, testCall('setup'), links, signal);
  return [trouble === undefined ? { ok: true, text: 'made' } : { ok: false, text: trouble }];
}

/** Sends an example that says of itself that it is one. */
async function tryExample(endpoint: Endpoint, signal: AbortSignal): Promise<TrialLine[]> {
  await using sender = new Sender(endpoint, systemClock);
  const event: CallEvent = { ...testCall(newId('call')), test: true };
  const { verdict } = await sender.send(
    queuedOf(event),
    endpoint.timeoutMs,
    systemClock.now(),
    signal,
  );
  if (verdict.kind === 'delivered') return [{ ok: true, text: 'the endpoint took the example' }];
  return [{ ok: false, text: `the endpoint did not take the example: ${verdict.reason}` }];
}

async function stepTrouble(
  endpoint: Endpoint,
  step: MappingStep,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    return await runSteps(endpoint, [step], testCall('check'), new LinksOfOneRun(), signal);
  } catch (error) {
    return reasonOf(error);
  }
}

/** Undefined where the CRM took every step; otherwise the reason. */
export async function runSteps(
  endpoint: Endpoint,
  steps: MappingStep[],
  event: CallEvent,
  links: LinksOfOneRun,
  signal = noEnd,
): Promise<string | undefined> {
  await using sender = new Sender({ ...endpoint, shape: { steps } }, systemClock, undefined, {
    links,
  });
  const { verdict } = await sender.send(
    queuedOf(event),
    endpoint.timeoutMs,
    systemClock.now(),
    signal,
  );
  if (verdict.kind === 'delivered') return undefined;
  return verdict.answer === null || verdict.answer === ''
    ? verdict.reason
    : `${verdict.reason}: ${verdict.answer}`;
}

function presetOf({ preset = '' }: Endpoint) {
  return presetNamed(preset);
}

/** A call that nobody had: its text says so to a person who finds it in the CRM. */
export function testCall(id: string): CallEvent {
  const example = eventExamples['call.completed'];
  return {
    ...example,
    id: newId('evt'),
    call: { ...example.call, id, from: '+15550100123', to: '+15550100200' },
    data: {
      ...example.data,
      summary: { type: 'general' as const, text: 'A test record of Trunkline: no call was made.' },
    },
  };
}
