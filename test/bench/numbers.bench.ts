import { randomBytes } from 'node:crypto';
import { twilioPlayer } from '../../src/carriers/twilio/player.ts';
import { RecogniserConfig } from '../../src/hearing/config.ts';
import { startRecogniser } from '../../src/hearing/pool/pool.ts';
import { playCall } from '../../src/player/play-call.ts';
import { startCrm } from '../support/crm/crm.ts';
import { startApp, type App } from '../support/process/app.ts';
import { until } from '../support/process/until.ts';
import {
  pulledSecondReader,
  realModel,
  type RealModel,
} from '../support/recognition/real-model.ts';
import { silentLog } from '../support/recognition/recogniser.ts';
import { heardAlone, lateness, otherAnswers } from './numbers/alone.ts';
import { heardInRecordings, type MaskedCall } from './numbers/masked-audio.ts';
import { heardTalks } from './numbers/talks.ts';
import { digitsIn } from '../support/language/digits-in.ts';
import { judge, textOf, type HeardCall } from './numbers/scores.ts';
import { secretKinds, spokenNumbers, type SpokenNumber } from './numbers/utterances.ts';
import { type NumberCall, spokenCall } from './numbers/voices.ts';
import { inPinkNoise, throughGsm } from './recognition/audio.ts';
import { inParallel, quantile } from './recognition/figures.ts';
import { bytesOf, filesBelow } from '../support/process/files-below.ts';

/**
 * Numbers, dates, addresses and secrets from the audio to the webhook: each utterance is a real call with two parties
 * over the Twilio socket, at the pace of speech, and what the CRM got is judged. Half of the utterances have frames,
 * voices and values that nobody looked at; both halves are told apart.
 *
 *   NUMBERS_CALLS=8          calls at once
 *   NUMBERS_CONDITION=clean  or GSM, or noise (pink, 15 dB)
 *   NUMBERS_HALF=both        or seen, or unseen
 *   NUMBERS_EACH=1           2 takes every second utterance
 *   NUMBERS_KINDS=digits,ssn the kinds of utterances; all unless it is set
 *   NUMBERS_LIMIT=10         at most so many of each kind in each half
 *   NUMBERS_WAY=calls        or alone: no calls but the recogniser, as fast as it reads; or paced: the same at the pace
 *                            of speech; or others: the cost of an expectation where something else is said;
 *                            or late: how soon finals without numbers come, with and without the wait for numbers;
 *                            or masked: what both readers hear in the recordings of redacted calls (the second
 *                            one from `TRUNKLINE_MODELS`, where it was pulled to);
 *                            or talks: questions for the date and the code of a card, in a third set of words and
 *                            voices, and what redaction leaves of the answers
 *   NUMBERS_SHOW=seen        prints what was heard of each utterance of the half; third, of the talks
 *
 * Secrets and neutral sentences are said to a process that redacts, the others to one that does not. A leak is `whole`
 * where all digits of a secret are in a text of any webhook, `part` where four in a row are.
 */
const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const setting = (name: string, fallback: string) => process.env[`NUMBERS_${name}`] ?? fallback;

export async function run(): Promise<void> {
  const model = await realModel();
  if (!model) throw new Error('npx trunkline models pull moonshine-tiny-en');
  const half = setting('HALF', 'both');
  const each = Number(setting('EACH', '1'));
  const kinds = setting('KINDS', '').split(',').filter(Boolean);
  const all = spokenNumbers()
    .filter((said) => half === 'both' || said.half === half)
    .filter(({ kind }) => kinds.length === 0 || kinds.includes(kind))
    .filter((_, index) => index % each === 0)
    .filter(firstOfEach(Number(setting('LIMIT', '1000'))));
  const isSecret = ({ kind }: SpokenNumber) => secretKinds.includes(kind) || kind === 'neutral';
  const heard: HeardCall[] = [];
  const way = setting('WAY', 'calls');
  if (['others', 'late', 'talks'].includes(way)) {
    await using recogniser = await recogniserOf(model);
    const limit = Number(setting('LIMIT', '1000'));
    if (way === 'talks') console.log(await heardTalks(recogniser, setting('SHOW', '') === 'third'));
    else console.log(await (way === 'late' ? lateness : otherAnswers)(recogniser, limit));
    return;
  }
  if (!['calls', 'masked'].includes(way)) {
    report(await hearAlone(all, model));
    return;
  }
  const isMasked = way === 'masked';
  for (const redacts of isMasked ? [true] : [false, true]) {
    const mine = all.filter((said) => isSecret(said) === redacts);
    // All is spoken before: a voice blocks this thread for a second, and requests would time out.
    const spoken = mine.map(spokenCall);
    await using crm = await startCrm([secret]);
    await using app = await startApp({
      env: {
        TRUNKLINE_MODEL: model.model,
        TRUNKLINE_MODELS: model.models,
        TRUNKLINE_RECOGNISERS: '2',
        ...(isMasked ? { TRUNKLINE_RECORDING: 'on' } : {}),
        TRUNKLINE_WEBHOOK_URL: crm.url,
        TRUNKLINE_WEBHOOK_SECRET: secret,
        ...(redacts ? { TRUNKLINE_REDACT: 'PCI,SSN' } : {}),
      },
    });
    const calls = await inParallel(mine, Number(setting('CALLS', '8')), (said, index) =>
      hear({ app, crm, said, index, spoken: spoken[index]! }),
    );
    heard.push(...calls);
    if (isMasked) {
      console.log(await heardMasked(app, model, calls));
      return;
    }
    if (redacts)
      console.log(`secrets raw in the data folder: ${String(await rawAtRest(app, mine))}`);
  }
  report(heard);
}

function recogniserOf(model: RealModel) {
  const config = RecogniserConfig.parse({ ...model, processes: 2 });
  return startRecogniser({ config, log: silentLog, inBackground: false });
}

async function heardMasked(
  app: App,
  model: RealModel,
  calls: readonly HeardCall[],
): Promise<string> {
  const recorded: MaskedCall[] = [];
  for (const { said, requests } of calls) {
    const id = requests.find(({ event }) => event !== undefined)?.event?.call.id;
    const response = await fetch(`${app.url}/api/calls/${String(id)}/recording`);
    if (!response.ok) throw new Error(`the recording of ${String(id)}: ${String(response.status)}`);
    recorded.push({ said, recording: Buffer.from(await response.arrayBuffer()) });
  }
  const secondReader = await pulledSecondReader();
  if (secondReader === undefined) throw new Error('npx trunkline models pull whisper-tiny-en');
  const config = RecogniserConfig.parse({ ...model, processes: 1 });
  await using recogniser = await startRecogniser({ config, log: silentLog, secondReader });
  await until(() => recogniser.status().state === 'ready', 60_000);
  return await heardInRecordings(recogniser, recorded, ({ half }) => setting('SHOW', '') === half);
}

async function hearAlone(all: readonly SpokenNumber[], model: RealModel): Promise<HeardCall[]> {
  const atPace = setting('WAY', 'calls') === 'paced';
  await using recogniser = await recogniserOf(model);
  return await inParallel(all, atPace ? Number(setting('CALLS', '8')) : 2, (said, index) => {
    const { customer, endS } = spokenCall(said, index);
    return heardAlone(recogniser, said, { audio: inCondition(customer, index), endS, atPace });
  });
}

function inCondition(customer: Int16Array, index: number): Int16Array {
  const condition = setting('CONDITION', 'clean');
  if (condition === 'GSM') return throughGsm([customer])[0]!;
  return condition === 'noise' ? inPinkNoise(customer, 15, index + 1) : customer;
}

type BenchCall = {
  app: App;
  crm: Awaited<ReturnType<typeof startCrm>>;
  said: SpokenNumber;
  index: number;
  spoken: NumberCall;
};

/** Passes the first of each kind in each half. */
function firstOfEach(limit: number): (said: SpokenNumber) => boolean {
  const counts = new Map<string, number>();
  return ({ kind, half }) => {
    const count = counts.get(`${half} ${kind}`) ?? 0;
    counts.set(`${half} ${kind}`, count + 1);
    return count < limit;
  };
}

async function hear({ app, crm, said, index, spoken }: BenchCall): Promise<HeardCall> {
  const { agent, customer, endS } = spoken;
  const audio = inCondition(customer, index);
  const callId = `CA${randomBytes(16).toString('hex')}`;
  await playCall({
    player: twilioPlayer,
    to: app.url.replace('http', 'ws'),
    api: { url: app.url },
    legs: [
      { leg: 'customer', samples: audio, rateHz: 8_000 },
      { leg: 'agent', samples: agent, rateHz: 8_000 },
    ],
    callId,
  });
  const ofCall = () =>
    crm.requests.filter(
      ({ event }) =>
        (event?.call as { carrier_call_id?: string } | undefined)?.carrier_call_id === callId,
    );
  await until(() => ofCall().some(({ event }) => event?.type === 'call.completed'), 120_000);
  const requests = ofCall();
  const finals = requests.filter(({ event }) => event?.type === 'call.transcript');
  const ends = finals.map(({ event }) => (event as unknown as { data: { end: number } }).data.end);
  return { said, requests, lateMs: Math.round((Math.max(0, ...ends) - endS) * 1_000) };
}

/** Cards and social security numbers of which four digits in a row stand as words in any file of the data folder. */
async function rawAtRest(app: App, said: readonly SpokenNumber[]): Promise<number> {
  const texts: string[] = [];
  for (const path of await filesBelow(app.dataDir))
    texts.push((await bytesOf(path)).toString('latin1'));
  const spelled = (digits: string) =>
    new RegExp(
      Array.from(digits)
        .map((digit) => digitName[Number(digit)])
        .join('[^a-z\\d]{1,4}'),
      'i',
    );
  const partsOf = (value: string) =>
    Array.from({ length: value.length - 3 }, (_, at) => value.slice(at, at + 4));
  return said.filter(
    ({ kind, value }) =>
      secretKinds.includes(kind) &&
      value.length > 4 &&
      texts.some((text) => partsOf(value).some((part) => spelled(part).test(text))),
  ).length;
}
const digitName = 'zero one two three four five six seven eight nine'.split(' ');

const share = (part: number, of: number) =>
  of === 0 ? '-' : `${((100 * part) / of).toFixed(0)} %`;

function report(heard: readonly HeardCall[]): void {
  const show = setting('SHOW', '');
  for (const half of ['seen', 'unseen'] as const) {
    const rows = new Map<string, string>();
    for (const [kind, calls] of Map.groupBy(
      heard.filter(({ said }) => said.half === half),
      ({ said }) => said.kind,
    )) {
      const verdicts = calls.map((call) => ({ call, ...judge(call) }));
      if (show === half)
        for (const { call, exact, whole } of verdicts)
          console.log(
            `${kind} ${exact ? 'exact' : '-----'} ${whole ? 'whole' : '-----'} ${call.said.pieces.join(' / ')}\n      ${textOf(call)} (${digitsIn(textOf(call))})`,
          );
      const count = verdicts.length;
      const paused = verdicts.filter(({ call }) => Math.max(0, ...call.said.pausesS) >= 0.4);
      if (kind === 'neutral')
        rows.set(kind, `${count}: masked ${verdicts.filter(({ isMasked }) => isMasked).length}`);
      else if (secretKinds.includes(kind))
        rows.set(
          kind,
          `${count}: left whole ${verdicts.filter(({ leaked }) => leaked === 'whole').length}, in part ${verdicts.filter(({ leaked }) => leaked === 'part').length}` +
            (setting('WAY', 'calls') === 'calls'
              ? ''
              : ` of nothing masked; exact ${share(verdicts.filter((one) => one.exact).length, count)}`),
        );
      else {
        const exact = verdicts.filter((one) => one.exact);
        rows.set(
          kind,
          `${count}: exact ${share(exact.length, count)}; of those the right value in one entity ${share(exact.filter(({ whole }) => whole).length, exact.length)}; ` +
            `with pauses in one piece ${share(paused.filter(({ pieces }) => pieces === 1).length, paused.length)} of ${paused.length}`,
        );
      }
    }
    console.log(`\n${half}, ${setting('CONDITION', 'clean')}`);
    for (const [kind, row] of rows) console.log(`  ${kind}: ${row}`);
  }
  const late = heard.map(({ lateMs }) => lateMs);
  console.log(`\nend of the last final after the end of speech: p50 ${quantile(late, 0.5)} ms`);
}
