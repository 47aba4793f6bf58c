import type { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { findCall, getCall, watchCall, type Api } from '../player/api-client.ts';
import { legsOfFiles } from '../player/leg-audio.ts';
import { playCall, type CallPlan } from '../player/play-call.ts';
import type { PlayResult } from '../player/play.ts';
import { reasonOf } from '../lib/errors.ts';
import { addCallOptions, faultsOf, secretsOf, type CallOptions } from './call-options.ts';
import { targetBridge } from './running-process.ts';
import { ledgerLines, TranscriptPrinter } from './transcript-printer.ts';

/** A call is known to the bridge soon after its start; the rest waits for its last words. */
const knownWithinMs = 10_000;
const endedWithinMs = 30_000;

/** `trunkline call`: a phone call without a phone, played as its carrier would. */
export function registerCall(program: Command): void {
  addCallOptions(
    program
      .command('call [audio...]')
      .description(
        'play a call as a carrier would: the built-in conversation, a stereo file (customer left), or two files (customer first)',
      ),
  ).action(async (audio: string[], options: CallOptions) => {
    await call(audio, options);
  });
}

async function call(audio: string[], options: CallOptions): Promise<void> {
  const { api, config, mayBeForeign } = targetBridge(options);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const plan: CallPlan = {
    carrier: options.carrier,
    to: options.to ?? api.url,
    secrets: secretsOf(config, options.carrier),
    speed: options.speed,
    faults: faultsOf(options),
    parameters: options.param,
    dtmf: options.dtmf,
    direction: options.outbound ? 'outbound' : 'inbound',
    controlFormat: options.json ? 'json' : 'plain-text',
    signal: stop.signal,
    api,
    apiIsOptional: mayBeForeign,
    ...(audio.length > 0 ? { legs: await legsOfFiles(audio) } : {}),
    ...(options.encoding === undefined ? {} : { encoding: options.encoding }),
    ...(options.rate === undefined ? {} : { rateHz: options.rate }),
    ...(options.from === undefined ? {} : { fromNumber: options.from }),
    ...(options.number === undefined ? {} : { toNumber: options.number }),
    ...(options.publicUrl === undefined ? {} : { publicUrl: options.publicUrl }),
  };
  if (options.calls > 1) return callMany(plan, options.calls);
  await callOne(plan, options.watch ? api : undefined, stop.signal);
}

async function callOne(plan: CallPlan, api: Api | undefined, signal: AbortSignal): Promise<void> {
  const watching = new AbortController();
  let watched: Promise<string | undefined> = Promise.resolve(undefined);
  const printer = new TranscriptPrinter(process.stdout);
  const results = await playCall({
    ...plan,
    onStarted: ({ callId }) => {
      console.log(`${plan.carrier} call ${callId}`);
      if (api) watched = watch(api, callId, printer, AbortSignal.any([watching.signal, signal]));
    },
  });
  for (const result of results) report(result);
  if (results.every(({ outcome }) => outcome === 'refused')) {
    watching.abort();
    process.exitCode = 1;
    return;
  }
  const timer = setTimeout(() => watching.abort(), endedWithinMs);
  const id = await watched;
  clearTimeout(timer);
  printer.end();
  if (!api || id === undefined) return;
  const known = await getCall(api, id);
  console.log(`\n${known.id} ${known.state}`);
  for (const line of ledgerLines(known)) console.log(line);
  if (known.state !== 'ended')
    console.log(
      `\nThe rest is still to be transcribed: npx trunkline doctor ${known.id} shows why.`,
    );
}

/** Prints what the bridge says of the call; answers its id once it has ended or the waiting has. */
async function watch(
  api: Api,
  carrierCallId: string,
  printer: TranscriptPrinter,
  signal: AbortSignal,
): Promise<string | undefined> {
  const id = await waitForCall(api, carrierCallId, signal);
  if (id === undefined) return undefined;
  try {
    for await (const message of watchCall(api, id, signal)) {
      printer.show(message);
      if (message.type === 'call.ended') break;
    }
  } catch (error) {
    if (!signal.aborted) console.error(`the transcript stopped coming: ${reasonOf(error)}`);
  }
  return id;
}

async function waitForCall(
  api: Api,
  carrierCallId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const untilMs = performance.now() + knownWithinMs;
  while (performance.now() < untilMs && !signal.aborted) {
    // A bridge that is not ours has no such list: then the call is only played.
    const found = await findCall(api, carrierCallId).catch(() => undefined);
    if (found) return found.id;
    await sleep(200);
  }
  return undefined;
}

async function callMany(plan: CallPlan, calls: number): Promise<void> {
  const startedMs = performance.now();
  const results = (await Promise.all(Array.from({ length: calls }, () => playCall(plan)))).flat();
  const byOutcome = Map.groupBy(
    results,
    ({ outcome, detail }) => `${outcome}${detail === '' ? '' : ` (${detail})`}`,
  );
  for (const [outcome, these] of byOutcome) console.log(`${these.length} ${outcome}`);
  const bytes = results
    .flatMap(({ sentBytes }) => Object.values(sentBytes))
    .reduce((sum, one) => sum + one, 0);
  console.log(
    `${calls} calls, ${bytes} bytes of audio sent in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`,
  );
  if (results.some(({ outcome }) => outcome === 'refused' || outcome === 'failed'))
    process.exitCode = 1;
}

function report({ outcome, detail, sentBytes, framesDropped, framesReordered }: PlayResult): void {
  const sent = Object.entries(sentBytes)
    .map(([leg, bytes]) => `${leg} ${bytes} bytes`)
    .join(', ');
  const faults =
    framesDropped + framesReordered > 0
      ? `, ${framesDropped} frames dropped, ${framesReordered} out of order`
      : '';
  console.log(
    `-- ${outcome}${detail === '' ? '' : ` (${detail})`}: sent ${sent || 'nothing'}${faults}`,
  );
}
