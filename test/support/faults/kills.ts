import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { play } from '../../../src/player/play.ts';
import { startApp, type App } from '../process/app.ts';
import type { AnyJson } from '../bridge/test-bridge.ts';
import { callsOf } from './crashed-calls.ts';
import { playedCall } from '../carriers/played-call.ts';
import { seededAudio } from '../speech/audio.ts';
import { FakeSpeech, wordsOf } from '../speech/fake-speech.ts';
import { until } from '../process/until.ts';

const token = 'twilio-secret-of-the-tests';
const bytesPerSecond = 8_000;
/** Longer than a busy machine needs to place the calls. With more legs than this, some play the same audio. */
const audioSeconds = 180;
const voicesAtMost = 50;
/** At most this much audio exists only in memory. */
const inMemoryBytes = bytesPerSecond / 5;

export type KillReport = {
  legs: number;
  kills: number;
  bytes: number;
  finals: number;
  /** The most that the session of one leg had heard beyond what the journal knew, in bytes. */
  uncounted: number;
  faults: string[];
};

/**
 * Kills the whole process with SIGKILL during calls of two legs each, restarts it on the same folder and lets the calls
 * end. Each leg is then judged by three things: the bytes that the ledger had counted before the kill, the bytes that
 * the speech service got, and the resulting words and events.
 */
export async function killRounds(options: {
  rounds: number;
  calls: number;
  seed: number;
  /** Ends the process during the calls. The default is SIGKILL. */
  end?: (app: App) => Promise<unknown>;
  env?: Record<string, string>;
  /** The counted audio that the end may lose. By default as much as a kill may lose. */
  lostBytesAtMost?: number;
  frameMs?: number;
  onRound?: (round: number, faults: string[]) => void;
}): Promise<KillReport> {
  await using speech = await FakeSpeech.start();
  const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-kills-'));
  const report: KillReport = { legs: 0, kills: 0, bytes: 0, finals: 0, uncounted: 0, faults: [] };
  const start = (): Promise<App> =>
    startApp({
      dataDir,
      env: {
        TRUNKLINE_TWILIO_AUTH_TOKEN: token,
        TRUNKLINE_SPEECH_URL: speech.url,
        TRUNKLINE_ROLES: 'bridge',
        TRUNKLINE_REJOIN_WAIT_MS: '200',
        TRUNKLINE_QUIET_FILL_MS: '0',
        ...options.env,
      },
    });
  let app = await start();
  try {
    for (let round = 0; round < options.rounds; round++) {
      const before = report.faults.length;
      app = await killRound({
        app,
        start,
        speech,
        report,
        calls: options.calls,
        end: options.end ?? ((running) => running.end('SIGKILL')),
        lostBytesAtMost: options.lostBytesAtMost ?? inMemoryBytes,
        frameMs: options.frameMs ?? 20,
        seed: options.seed + round,
      });
      options.onRound?.(round, report.faults.slice(before));
    }
  } finally {
    await app[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true, force: true });
  }
  return report;
}

type Round = {
  app: App;
  start: () => Promise<App>;
  speech: FakeSpeech;
  report: KillReport;
  calls: number;
  seed: number;
  end: (app: App) => Promise<unknown>;
  lostBytesAtMost: number;
  frameMs: number;
};

async function killRound(round: Round): Promise<App> {
  const { app, start, speech, report, calls, seed, end, lostBytesAtMost } = round;
  const hangUp = new AbortController();
  const voices = Array.from({ length: Math.min(2 * calls, voicesAtMost) }, (_, at) =>
    seededAudio(bytesPerSecond * audioSeconds, seed * 1_000 + at),
  );
  const plans = Array.from({ length: calls }, (_, at) => ({
    callId: `CA${randomBytes(16).toString('hex')}`,
    inbound: voices[(at * 2) % voices.length]!,
    outbound: voices[(at * 2 + 1) % voices.length]!,
  }));
  const playing = plans.map(async ({ callId, inbound, outbound }, at) => {
    // Calls start one after the other, not in the same millisecond.
    await sleep(at * Math.min(100, calls));
    const call = () =>
      play({
        to: `${app.url.replace('http', 'ws')}/carriers/twilio`,
        player: twilioPlayer,
        call: playedCall({
          ...twilioPlayer.newIds(),
          callId,
          legs: ['customer', 'agent'],
        }),
        secrets: { authToken: token },
        audio: [
          { leg: 'customer', bytes: inbound },
          { leg: 'agent', bytes: outbound },
        ],
        speed: 1,
        frameMs: round.frameMs,
        signal: hangUp.signal,
      }).catch(() => undefined);
    // A busy machine may refuse an upgrade. The call is then placed again, as a carrier does.
    while ((await call())?.outcome === 'refused' && !hangUp.signal.aborted) await sleep(1_000);
  });
  const ids = await until(async () => {
    await sleep(calls * 4); // the whole list of many calls is a large answer
    const ours = (await callsOf(app)).filter((call: AnyJson) =>
      plans.some((plan) => plan.callId === call.carrier_call_id),
    );
    const all =
      ours.length === calls &&
      ours.every((call: AnyJson) => call.legs.every((leg: AnyJson) => leg.ledger.received > 4_000));
    return all && ours.map((call: AnyJson) => call.id as string);
  }, 120_000);
  await new Promise((resolve) => setTimeout(resolve, 200 + ((seed * 7_919) % 1_500)));
  const known = new Map<string, number>();
  for (const id of ids) {
    const call = await ask(app, `/api/calls/${id}`);
    for (const leg of call.legs) known.set(leg.id, leg.ledger.received);
  }
  await end(app);
  report.kills++;
  hangUp.abort();
  await Promise.all(playing);

  const next = await start();
  for (const id of ids) {
    const events = await until(async () => {
      const list = (await ask(next, `/api/calls/${id}/events?limit=1000`)).items;
      return list.some(({ type }: AnyJson) => type === 'call.completed') && list;
    }, 120_000);
    const call = await ask(next, `/api/calls/${id}`);
    const plan = plans.find((one) => one.callId === call.carrier_call_id)!;
    for (const leg of call.legs) {
      report.legs++;
      const audio = leg.track === 'inbound' ? plan.inbound : plan.outbound;
      const least = (known.get(leg.id) ?? 0) - lostBytesAtMost;
      judgeLeg({ leg, audio, events, least, speech, report });
    }
    judgeEvents(id, events, report.faults);
  }
  return next;
}

/** The connection is not kept: if the server just closed it, the request would fail although the bridge is well. */
async function ask(app: App, path: string): Promise<AnyJson> {
  try {
    return await (await app.get(path, { headers: { connection: 'close' } })).json();
  } catch (cause) {
    throw new Error(`${path} was not answered; last lines:\n${app.lines.slice(-20).join('\n')}`, {
      cause,
    });
  }
}

/** Compares a leg's books, bytes and words with what the speech service heard of the played audio. */
export function judgeLeg(options: {
  leg: AnyJson;
  audio: Buffer;
  events: AnyJson[];
  /** The bytes that the service must have received. */
  least: number;
  speech: FakeSpeech;
  report: KillReport;
}): void {
  const { leg, audio, events, least, speech, report } = options;
  const { received, acknowledged, gaps, paused } = leg.ledger as Record<
    'received' | 'acknowledged' | 'gaps' | 'paused',
    number
  >;
  const fault = (text: string): number => report.faults.push(`${leg.id}: ${text}`);
  if (received !== acknowledged + gaps + paused)
    fault(`books do not balance: ${JSON.stringify(leg.ledger)}`);
  if (gaps !== 0) fault(`${gaps} bytes in gaps`);
  if (received < least) fault(`received ${received} of ${least} that it had when it was counted`);
  const heard = [...speech.sessions.values()]
    .filter((session) => (session.request['custom_metadata'] as AnyJson).leg_id === leg.id)
    .map((session) => session.bytes);
  const bytes = Buffer.concat(heard);
  report.bytes += bytes.length;
  if (!bytes.equals(audio.subarray(0, bytes.length)))
    fault(
      `the speech service heard other bytes than were sent: sessions of ${heard.map((one) => one.length).join(' + ')} bytes`,
    );
  // While the disk is slow, frames are sent before they are on disk. They are heard but not counted after a kill.
  if (bytes.length < received)
    fault(`the speech service heard ${bytes.length} of ${received} bytes`);
  report.uncounted = Math.max(report.uncounted, bytes.length - received);
  const said = events.filter(
    (event) => event.type === 'call.transcript' && event.leg.id === leg.id,
  );
  report.finals += said.length;
  const expected = heard.flatMap((session) => wordsOf(session));
  // Audio that the process heard but did not commit is read again at the end: late, at its own time.
  const got = said
    .toSorted((a, b) => Number(a.data.start) - Number(b.data.start))
    .map((event) => event.data.text as string);
  if (JSON.stringify(got) !== JSON.stringify(expected))
    fault(`${got.length} finals, expected ${expected.length}`);
}

/** The rules that every ended call's events must keep. */
export function judgeEvents(callId: string, events: AnyJson[], faults: string[]): void {
  if (events.some((event, at) => event.sequence !== at + 1))
    faults.push(`${callId}: sequence has holes`);
  for (const type of ['call.started', 'call.ended', 'call.summary', 'call.completed'])
    if (events.filter((event) => event.type === type).length !== 1)
      faults.push(`${callId}: not exactly one ${type}`);
  // A score comes when a scorecard has judged the call, some seconds later.
  const told = events.filter(({ type }) => type !== 'call.scored');
  if (told.at(-3)?.type !== 'call.ended') faults.push(`${callId}: something follows call.ended`);
}
