import type { Command } from 'commander';
import { access, constants, statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Config } from '../config.ts';
import { reasonOf, TrunklineError } from '../lib/errors.ts';
import { endpointsOf } from '../outbox/config.ts';
import type { Api } from '../player/api-client.ts';
import { isLoopback } from '../port/addresses.ts';
import type {
  ApiCall,
  ApiDelivery,
  CallDiagnostics,
  CallPage,
  CarrierList,
  DeliveryPage,
  Installation,
  JobCallbackPage,
} from '../protocol/api.ts';
import type { CallEvent } from '../protocol/events.ts';
import {
  answerOf,
  askProcess,
  everyPage,
  runningProcess,
  whyUnreachable,
} from './running-process.ts';
import { printJson, printLine } from './terminal.ts';

const answerWithinMs = 10_000;

type DoctorOptions = { url?: string; json?: boolean };

/** `trunkline doctor [call]`: one call's evidence, or the installation's, and what to do about it. */
export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .argument('[call]', 'the id of a call, ours or the carrier’s')
    .description('evidence of one call, or of this installation, and what to do')
    .option('--url <url>', 'the running process; by default the one of these settings')
    .option('--json', 'as data')
    .action((call: string | undefined, options: DoctorOptions) =>
      call === undefined ? installation(options) : oneCall(call, options),
    );
}

async function installation(options: DoctorOptions): Promise<void> {
  const { api, config } = runningProcess(options.url);
  const findings = await installationFindings(config, api);
  if (options.json) printJson(findings, 2);
  else {
    const marks = { ok: 'ok ', attention: ' ! ', wrong: 'NO ' };
    for (const { what, state, detail, todo } of findings)
      printLine(
        `${marks[state]} ${what.padEnd(11)} ${detail}${todo === undefined ? '' : `\n    ${' '.repeat(11)} → ${todo}`}`,
      );
  }
  if (findings.some((finding) => finding.state === 'wrong')) process.exitCode = 1;
}

async function oneCall(id: string, options: DoctorOptions): Promise<void> {
  const { api } = runningProcess(options.url);
  const facts = await factsOf(api, id);
  const report = callReport(facts);
  if (options.json) {
    printJson({ ...facts, todo: report.todo }, 2);
    return;
  }
  printLine(report.lines.join('\n'));
  printLine(
    report.todo.length === 0
      ? '\nNothing to do.'
      : `\nTo do:\n${report.todo.map((line) => `  → ${line}`).join('\n')}`,
  );
}

async function factsOf(api: Api, id: string): Promise<DiagnosedCall> {
  const call = await findCall(api, id);
  const path = `/api/calls/${encodeURIComponent(call.id)}`;
  const [evidence, events, deliveries] = await Promise.all([
    answerOf<CallDiagnostics>(api, `${path}/evidence`),
    everyPage<CallEvent>(api, `${path}/events?limit=1000`),
    everyPage<ApiDelivery>(api, `/api/deliveries?limit=100&call_id=${encodeURIComponent(call.id)}`),
  ]);
  return { call, evidence, events, deliveries };
}

/** Finds a call by our id or by the carrier's: an engineer has the one as often as the other. */
async function findCall(api: Api, id: string): Promise<ApiCall> {
  const ours = id.startsWith('call_') ? id : await idOfCarriers(api, id);
  return answerOf<ApiCall>(api, `/api/calls/${encodeURIComponent(ours)}`);
}

async function idOfCarriers(api: Api, carrierCallId: string): Promise<string> {
  const { items } = await answerOf<CallPage>(
    api,
    `/api/calls?limit=1&carrier_call_id=${encodeURIComponent(carrierCallId)}`,
  );
  const [call] = items;
  if (call === undefined)
    throw new TrunklineError('BAD_INPUT', `no call is known as ${carrierCallId}`);
  return call.id;
}

type DiagnosedCall = {
  call: ApiCall;
  evidence: CallDiagnostics;
  events: CallEvent[];
  deliveries: ApiDelivery[];
};

type CallReport = { lines: string[]; todo: string[] };

/** One call on one screen: what came, what became of it, who closed its streams, and what to do. Pure. */
function callReport({ call, evidence, events, deliveries }: DiagnosedCall): CallReport {
  const latency = latencies(call, evidence, events);
  const gaps = events.filter((event) => event.type === 'call.gap');
  const lines = [
    `${call.id}  ${call.carrier} ${call.carrier_call_id}  ${call.state}`,
    `  began ${call.started_at}${call.duration == null ? '' : `, ${call.duration} s to the hang-up`}${call.ended_at === null ? '' : `, all told ${call.ended_at}`}`,
    '',
    ...call.legs.flatMap((leg) => {
      const own = evidence.legs.find((one) => one.id === leg.id);
      const cadence = own?.cadence;
      const { received, acknowledged, gaps: lost, paused, filler = 0 } = leg.ledger;
      return [
        `${leg.role} (${leg.track})  ${leg.encoding} ${leg.sample_rate} Hz, ${leg.channels} channel`,
        `  frames    ${cadence == null ? 'none counted' : `${cadence.frames}, every ${cadence.mean_ms} ms, longest pause ${cadence.longest_ms} ms, drift ${cadence.drift_ms} ms`}`,
        `  bytes     ${received} received = ${acknowledged} acknowledged + ${lost} in gaps + ${paused} paused; ${filler} of silence added`,
        `  sessions  ${evidence.sessions.filter((session) => session.leg_id === leg.id).length}, resumed ${own?.reconnects ?? 0} times`,
      ];
    }),
    '',
    `finals      ${latency.length}${latency.length === 0 ? '' : `, ${spread(latency)}`}`,
    `gaps        ${gaps.length}${gaps.map((gap) => ` · ${gap.data.cause} ${gap.data.start}-${gap.data.end} s`).join('')}${shortGaps(events)}`,
    `streams     ${evidence.streams.map((stream) => streamSpan(stream, call.state === 'ended')).join(', ') || 'none'}`,
    `deliveries  ${deliveryLine(deliveries)}`,
  ];
  return { lines, todo: todoOf({ call, evidence, events, deliveries }) };
}

/** Nobody saw the end of a stream whose process was killed: its row stays open when the call has ended. */
function streamSpan(stream: CallDiagnostics['streams'][number], hasEnded: boolean): string {
  const [end, by] = hasEnded ? ['an end that nobody saw', 'cut off'] : ['now', 'open'];
  return `${stream.opened_at.slice(11, 23)} to ${stream.closed_at?.slice(11, 23) ?? end} (${stream.closed_by ?? by})`;
}

/** Known once the call has ended. */
function shortGaps(events: readonly CallEvent[]): string {
  const ended = events.find((event) => event.type === 'call.ended');
  // An event of an earlier version has no such figure.
  const short = ended?.data.short_gaps as { count: number; seconds: number } | undefined;
  if (short === undefined || short.count === 0) return '';
  return ` · and ${short.count} short ones, ${short.seconds} s together`;
}

function todoOf({ call, evidence, events, deliveries }: DiagnosedCall): string[] {
  const todo: string[] = [];
  for (const warning of warningsOf(call)) todo.push(warning);
  if (call.incomplete != null) {
    const causes = call.incomplete.causes.map(({ cause, seconds }) => `${cause} ${seconds} s`);
    todo.push(
      `${call.incomplete.seconds} s of the call have no words (${causes.join(', ')}): its figures and summary do not tell of them`,
    );
  }
  for (const leg of call.legs) {
    const { received, acknowledged, gaps, paused } = leg.ledger;
    if (call.state === 'ended' && received !== acknowledged + gaps + paused)
      todo.push(`the ${leg.role}'s audio is unaccounted for: keep the data folder and report it`);
    if (received === 0)
      todo.push(
        `nothing came on track ${leg.track}: look at which tracks the carrier is told to stream`,
      );
    const cadence = evidence.legs.find((one) => one.id === leg.id)?.cadence;
    if (cadence != null && cadence.longest_ms > 2_000)
      todo.push(
        `track ${leg.track} was quiet for ${cadence.longest_ms} ms: the carrier or the network held frames back`,
      );
    if (leg.state === 'waiting')
      todo.push(
        `the ${leg.role}'s audio waits for the speech service: npx trunkline doctor shows it`,
      );
    if (leg.state === 'failed')
      todo.push(`the ${leg.role}'s leg used up its sessions: look at why the service ended them`);
  }
  for (const event of events)
    if (event.type === 'call.gap') todo.push(...gapAdvice(event.data.cause));
  if (
    evidence.streams.some((stream) => stream.closed_by === 'error' || stream.closed_by === 'close')
  )
    todo.push(
      'a stream closed without its stop message: look at proxies and idle time-outs between the carrier and here',
    );
  const blocked = deliveries
    .filter((delivery) => delivery.state === 'pending' && delivery.reason !== null)
    .toSorted((a, b) => a.sequence - b.sequence)[0];
  if (blocked !== undefined)
    todo.push(
      `${blocked.endpoint} does not take ${blocked.type} #${blocked.sequence}: ${blocked.reason ?? ''}; what comes after it waits`,
    );
  if (deliveries.some((delivery) => delivery.state === 'parked'))
    todo.push(
      `deliveries are parked: npx trunkline deliveries list --call ${call.id}, then retry or release`,
    );
  return [...new Set(todo)];
}

function gapAdvice(cause: string): string[] {
  switch (cause) {
    case 'carrier':
      return ['the carrier lost audio before it reached us: its own network or a proxy on the way'];
    case 'journal':
    case 'damaged':
      return ['the journal could not be written or read: look at the disk of the data folder'];
    case 'node':
      return ['a node was lost with the audio on its disk: npx trunkline nodes says which'];
    case 'deadline':
      return [
        'the speech service did not answer in time: its health, then TRUNKLINE_FINISH_WITHIN_MS',
      ];
    default:
      return ['the speech service refused or lost audio: its own log has the reason'];
  }
}

function warningsOf(call: ApiCall): string[] {
  const warnings: unknown = 'warnings' in call ? call.warnings : [];
  return Array.isArray(warnings)
    ? warnings.flatMap((one: unknown) =>
        typeof one === 'object' && one !== null && 'message' in one ? [String(one.message)] : [],
      )
    : [];
}

/** Milliseconds from the end of each utterance on the call's clock to its event; negative for a call played faster than life. */
function latencies(call: ApiCall, evidence: CallDiagnostics, events: CallEvent[]): number[] {
  const zero = Date.parse(evidence.zero_at ?? call.started_at);
  return events
    .flatMap((event) =>
      event.type === 'call.transcript'
        ? [Date.parse(event.occurred_at) - zero - event.data.end * 1_000]
        : [],
    )
    .toSorted((a, b) => a - b);
}

function spread(sorted: number[]): string {
  if ((sorted[0] ?? 0) < 0) return 'played faster than life: no latency can be told';
  const at = (share: number): string =>
    `${Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)} ms`;
  return `median ${at(0.5)}, 95 % ${at(0.95)}, slowest ${at(1)} after the end of speech`;
}

function deliveryLine(deliveries: ApiDelivery[]): string {
  if (deliveries.length === 0) return 'none: no webhook is configured';
  const count = (state: string): number =>
    deliveries.filter((delivery) => delivery.state === state).length;
  const retries = deliveries.reduce((sum, delivery) => sum + Math.max(0, delivery.attempts - 1), 0);
  return `${count('delivered')} delivered, ${count('pending')} pending, ${count('parked')} parked, ${retries} retries`;
}

type InstallationFinding = {
  what: string;
  state: 'ok' | 'attention' | 'wrong';
  detail: string;
  todo?: string;
};

/** What a person should do about a part that is not well. */
const todoOfPart: Partial<Record<string, string>> = {
  store: 'look at the database and at the disk it is on',
  disk: 'free space on the data disk: new calls are refused until there is room',
  memory: 'raise the limit of memory (container, --max-old-space-size), or share the calls out',
  journal: 'look at the data disk: it is full, slow or cannot be written',
  recogniser: 'npx trunkline models list shows what is there, models pull fetches what is missing',
  speech:
    'audio is kept meanwhile, and transcribe-again reads calls that ended without words; look at the speech service, TRUNKLINE_SPEECH_URL and its key, or at how many sessions it takes',
  delivery:
    'look at the receiver: its events wait in order and are tried again; npx trunkline deliveries list --state pending',
  outbox:
    'npx trunkline deliveries list --state parked (or pending) shows why; then retry or release',
};

/** Carriers whose last stream or webhook was refused, and from which no stream came since. */
async function refusedFindings(api: Api): Promise<InstallationFinding[]> {
  const { items } = await answerOf<CarrierList>(api, '/api/carriers');
  return items.flatMap(({ name, last_refused: refused, last_stream_at: streamed }) =>
    !refused || (streamed !== null && Date.parse(streamed) > Date.parse(refused.at))
      ? []
      : [
          {
            what: 'carriers',
            state: 'attention',
            detail: `${name}: last refused ${refused.at}: ${refused.reason}`,
            todo: `compare its settings: npx trunkline carriers ${name}`,
          },
        ],
  );
}

/**
 * Looks at each thing that an installation needs; each finding says what to do. A process that answers is asked itself,
 * because the settings of this terminal may be others.
 */
async function installationFindings(config: Config, api: Api): Promise<InstallationFinding[]> {
  const { findings, answers } = await processFindings(api);
  if (!answers)
    return [
      ...findings,
      await diskFinding(config),
      keysFinding(config),
      endpointsFinding(endpointsOf(config.outbox).length),
      await publicUrlFinding(config.http.publicUrl),
    ];
  try {
    const installation = await answerOf<Installation>(api, '/api/installation');
    const endpoints = await answerOf<{ items: { name: string; disabled_at: string | null }[] }>(
      api,
      '/api/deliveries/endpoints',
    );
    const { public_url: address, roles } = installation;
    return [
      ...findings,
      ...(roles.includes('speech') ? await callbackFindings(api) : []),
      ...(roles.includes('bridge') ? await incompleteFindings(api) : []),
      ...(roles.includes('bridge') ? await refusedFindings(api) : []),
      keysFinding(config),
      ...(await webhookFindings(api, endpoints.items)),
      await publicUrlFinding(isLoopback(new URL(address).hostname) ? undefined : address),
    ];
  } catch (error) {
    const detail = `the process does not tell more: ${reasonOf(error)}`;
    const todo = 'set TRUNKLINE_API_KEYS here as the process has it';
    return [...findings, { what: 'keys', state: 'wrong', detail, todo }];
  }
}

async function processFindings(
  api: Api,
): Promise<{ findings: InstallationFinding[]; answers: boolean }> {
  try {
    const response = await askProcess(api, '/health/ready', answerWithinMs);
    const body = (await response.json()) as {
      checks?: Record<string, { state: string; detail?: string }>;
    };
    const checks = Object.entries(body.checks ?? {}).map(([what, check]): InstallationFinding => {
      const todo = check.state === 'ok' ? undefined : todoOfPart[what];
      return {
        what,
        state: check.state === 'ok' ? 'ok' : check.state === 'down' ? 'wrong' : 'attention',
        detail: check.detail ?? check.state,
        ...(todo === undefined ? {} : { todo }),
      };
    });
    const process: InstallationFinding = {
      what: 'process',
      state: response.ok ? 'ok' : 'wrong',
      detail: `${api.url} is ${response.ok ? 'ready' : 'not ready'}`,
    };
    return { findings: [process, ...checks], answers: true };
  } catch (error) {
    const process: InstallationFinding = {
      what: 'process',
      state: 'wrong',
      detail: `${api.url} does not answer: ${whyUnreachable(error)}`,
      todo: 'npm start, or name the process with --url or TRUNKLINE_URL',
    };
    return { findings: [process], answers: false };
  }
}

async function diskFinding(config: Config): Promise<InstallationFinding> {
  const folder = resolve(config.store.dataDir);
  try {
    await access(folder, constants.R_OK | constants.W_OK);
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    const low = free < config.store.lowWaterBytes;
    const detail = `${folder}, ${Math.round(free / 1_048_576)} MiB free`;
    if (!low) return { what: 'disk', state: 'ok', detail };
    return {
      what: 'disk',
      state: 'wrong',
      detail,
      todo: 'free space: new calls are refused under TRUNKLINE_DISK_LOW_WATER_BYTES',
    };
  } catch (error) {
    return {
      what: 'disk',
      state: 'attention',
      detail: `${folder}: ${reasonOf(error)}`,
      todo: 'the first start makes the folder; later it must be readable and writable',
    };
  }
}

function keysFinding(config: Config): InstallationFinding {
  const open = config.http.apiKeys.length === 0;
  const count = config.http.apiKeys.length;
  if (!open)
    return { what: 'keys', state: 'ok', detail: `${count} API ${count === 1 ? 'key' : 'keys'}` };
  if (isLoopback(config.http.host))
    return { what: 'keys', state: 'ok', detail: 'none: only this machine is answered' };
  return {
    what: 'keys',
    state: 'wrong',
    detail: 'none, and others can reach this address',
    todo: 'set TRUNKLINE_API_KEYS',
  };
}

/** Nothing is said where every call is whole. */
async function incompleteFindings(api: Api): Promise<InstallationFinding[]> {
  const { items, next_cursor: next } = await answerOf<CallPage>(
    api,
    '/api/calls?incomplete=true&limit=100',
  );
  const [newest] = items;
  if (newest === undefined) return [];
  const count = `${items.length}${next === null ? '' : '+'}`;
  return [
    {
      what: 'calls',
      state: 'attention',
      detail: `${count} lack words, the newest ${newest.incomplete?.seconds ?? 0} s (${newest.id})`,
      todo: 'npx trunkline transcribe-again --incomplete reads their recordings again',
    },
  ];
}

/** Nothing is said where none is parked: most installations have no callbacks at all. */
async function callbackFindings(api: Api): Promise<InstallationFinding[]> {
  const { items, next_cursor: next } = await answerOf<JobCallbackPage>(
    api,
    '/api/job-callbacks?state=parked&limit=100',
  );
  const [newest] = items;
  if (newest === undefined) return [];
  const count = `${items.length}${next === null ? '' : '+'} parked`;
  const where = newest.host === null ? '' : ` at ${newest.host}`;
  return [
    {
      what: 'callbacks',
      state: 'attention',
      detail: `${count}, the newest${where}: ${newest.reason ?? 'no reason is known'}`,
      todo: 'mend the receiver; then the Jobs view of the page, or POST /api/job-callbacks/{id}/retry, tries again',
    },
  ];
}

type EndpointItem = { name: string; disabled_at: string | null };

/** How the newest events of each webhook fared: a webhook is well where it takes events, not where it is configured. */
async function webhookFindings(
  api: Api,
  endpoints: readonly EndpointItem[],
): Promise<InstallationFinding[]> {
  const switchedOff = endpoints.filter((one) => one.disabled_at !== null).map(({ name }) => name);
  if (endpoints.length === 0 || switchedOff.length > 0)
    return [endpointsFinding(endpoints.length, switchedOff)];
  const findings: InstallationFinding[] = [];
  for (const { name } of endpoints) {
    const path = `/api/deliveries?limit=${newestTried}&endpoint=${encodeURIComponent(name)}`;
    const { items } = await answerOf<DeliveryPage>(api, path);
    const refused = refusedAll(name, items);
    if (refused !== undefined) findings.push(refused);
  }
  return findings.length > 0 ? findings : [endpointsFinding(endpoints.length)];
}

/** Deliveries of a webhook that tell how it is; older ones may be of a time before it was mended. */
const newestTried = 50;

/** Undefined where the webhook took the event that was tried last, or nothing was tried yet. Pure. */
export function refusedAll(
  name: string,
  newest: readonly ApiDelivery[],
): InstallationFinding | undefined {
  const tried = newest
    .filter(({ attempts }) => attempts > 0)
    .toSorted((a, b) => (b.last_attempt_at ?? '').localeCompare(a.last_attempt_at ?? ''));
  const taken = tried.findIndex(({ state }) => state === 'delivered');
  const refused = taken < 0 ? tried : tried.slice(0, taken);
  const [last] = refused;
  if (last === undefined) return undefined;
  const since = taken < 0 ? 'has taken none of' : 'has refused';
  const of = refused.length === 1 ? 'the last event' : `the last ${refused.length} events`;
  return {
    what: 'webhooks',
    state: taken < 0 ? 'wrong' : 'attention',
    detail: `${name} ${since} ${of}: ${last.reason ?? 'no reason is known'}`,
    todo: `npx trunkline deliveries list --endpoint ${name} shows them; webhooks try ${name} ${last.type} shows the request`,
  };
}

function endpointsFinding(count: number, switchedOff: string[] = []): InstallationFinding {
  if (switchedOff.length > 0)
    return {
      what: 'webhooks',
      state: 'wrong',
      detail: `switched off: ${switchedOff.join(', ')}`,
      todo: 'npx trunkline deliveries enable <name>, once it takes events again',
    };
  if (count > 0)
    return {
      what: 'webhooks',
      state: 'ok',
      detail: `${count} configured; npx trunkline webhooks try shows what one is sent`,
    };
  return {
    what: 'webhooks',
    state: 'attention',
    detail: 'none',
    todo: 'set TRUNKLINE_WEBHOOK_URL and TRUNKLINE_WEBHOOK_SECRET',
  };
}

/** Carriers reach us by the public address, so this process must be what answers there. */
async function publicUrlFinding(publicUrl: string | undefined): Promise<InstallationFinding> {
  if (publicUrl === undefined)
    return {
      what: 'public url',
      state: 'attention',
      detail: 'not set: carriers elsewhere cannot reach this machine',
      todo: 'set TRUNKLINE_PUBLIC_URL to the https address that leads here',
    };
  try {
    const response = await fetch(`${publicUrl.replace(/\/+$/, '')}/health/live`, {
      signal: AbortSignal.timeout(answerWithinMs),
    });
    if (response.ok) return { what: 'public url', state: 'ok', detail: `${publicUrl} answers` };
    return {
      what: 'public url',
      state: 'wrong',
      detail: `${publicUrl} answers ${response.status}`,
      todo: 'point it at this port',
    };
  } catch (error) {
    return {
      what: 'public url',
      state: 'wrong',
      detail: `${publicUrl} does not answer: ${whyUnreachable(error)}`,
      todo: 'point it at this port',
    };
  }
}
