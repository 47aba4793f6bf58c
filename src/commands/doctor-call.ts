import { TrunklineError } from '../lib/errors.ts';
import type { Api } from '../player/api-client.ts';
import type { ApiCall, CallDiagnostics, CallPage } from '../protocol/api.ts';
import type { ApiDelivery } from '../protocol/delivery-reports.ts';
import type { CallEvent } from '../protocol/events.ts';
import { answerOf, everyPage } from './running-process.ts';

export async function factsOf(api: Api, id: string): Promise<DiagnosedCall> {
  const call = await findCall(api, id);
  const path = `/api/calls/${encodeURIComponent(call.id)}`;
  const [evidence, events, deliveries] = await Promise.all([
    answerOf<CallDiagnostics>(api, `${path}/evidence`),
    everyPage<CallEvent>(api, `${path}/events?limit=1000`),
    everyPage<ApiDelivery>(api, `/api/deliveries?limit=100&call_id=${encodeURIComponent(call.id)}`),
  ]);
  return { call, evidence, events, deliveries };
}

/** Finds a call by our id or the carrier's: an engineer may have either. */
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

/** One call on one screen: received audio, results, who closed its streams, and what to do. Pure. */
export function callReport({ call, evidence, events, deliveries }: DiagnosedCall): CallReport {
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

/** When a process is killed, nobody sees the end of its streams. Their rows stay open after the end of the call. */
function streamSpan(stream: CallDiagnostics['streams'][number], hasEnded: boolean): string {
  const [end, by] = hasEnded ? ['an end that nobody saw', 'cut off'] : ['now', 'open'];
  return `${stream.opened_at.slice(11, 23)} to ${stream.closed_at?.slice(11, 23) ?? end} (${stream.closed_by ?? by})`;
}

/** The short gaps are known once the call has ended. */
function shortGaps(events: readonly CallEvent[]): string {
  const ended = events.find((event) => event.type === 'call.ended');
  // Events of an earlier version lack this figure.
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

/**
 * Milliseconds from the end of each utterance, on the call's clock, to its event. Negative for a call that is played
 * faster than real time.
 */
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
