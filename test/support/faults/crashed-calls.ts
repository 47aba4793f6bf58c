import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isBalanced } from '../../../src/bridge/call/call-ending.ts';
import { reasonOf } from '../../../src/lib/errors.ts';
import { carrierNames, carriers, type CarrierName } from '../../../src/carriers/all.ts';
import { mintStream } from '../../../src/player/api-client.ts';
import { play, type PlayResult } from '../../../src/player/play.ts';
import { startApp, type App } from '../process/app.ts';
import type { AnyJson } from '../bridge/test-bridge.ts';
import { usualForm } from '../carriers/carrier-shape.ts';
import { playedCall } from '../carriers/played-call.ts';
import { seededAudio } from '../speech/audio.ts';
import { FakeSpeech } from '../speech/fake-speech.ts';
import { temporaryFolder } from '../store/store.ts';
import { until } from '../process/until.ts';

/** Messages of ours that would move or end the phone call: a close, or commands with that meaning. */
const endings = /"type":"(disconnect|closed)"|HANGUP|"event":"(stop|clear)"/;

/**
 * Each frame has a fifth of a second. The test is about the crash, and with 20 ms frames 200 calls would be 10,000
 * frames per second through one program that plays all carriers and the speech service.
 */
const frameMs = 200;

/** Longer than any machine needs to place the calls. All calls play the same audio. */
const audioSeconds = 600;

export type CrashReport = {
  calls: number;
  /** Calls that we ended before the process was killed. */
  endedByUs: string[];
  /** Calls that the next process did not end with balanced books. */
  lost: string[];
  /** The seconds from the first call to the crash, and from there until every record had ended. */
  seconds: { untilCrash: number; untilEnded: number };
};

/**
 * Starts calls of every carrier and kills the bridge with SIGKILL. Carriers must see a broken socket, never an ending
 * of ours. The next process must end the records of calls whose streams do not return.
 */
export async function crashUnderCalls(calls: number): Promise<CrashReport> {
  await using speech = await FakeSpeech.start();
  await using folder = await temporaryFolder();
  const start = () =>
    startApp({
      dataDir: `${folder.path}/data`,
      env: {
        TRUNKLINE_SPEECH_URL: speech.url,
        TRUNKLINE_ROLES: 'bridge',
        TRUNKLINE_REJOIN_WAIT_MS: '500',
        TRUNKLINE_QUIET_FILL_MS: '0',
      },
    });
  const audio = seededAudio(8_000 * audioSeconds, calls);
  const startedMs = performance.now();
  let crashedMs = 0;
  const endedByUs: string[] = [];
  const broken: string[] = [];
  const lost = new Set<string>();
  const played: { callId: string; result: Promise<PlayResult> }[] = [];
  {
    await using app = await start();
    for (let at = 0; at < calls; at++) {
      const carrier = carrierNames[at % carrierNames.length]!;
      const callId = `${carrier}-${randomBytes(6).toString('hex')}`;
      const heard = (text: string): void => {
        if (endings.test(text)) endedByUs.push(`${callId}: ${text}`);
      };
      const result = playOne(app.url, carrier, callId, audio, heard);
      // Reported at once, because the test must not wait for a call that never starts.
      result.catch((error: unknown) => broken.push(reasonOf(error)));
      played.push({ callId, result });
      // Calls start one after the other, not in the same millisecond.
      await sleep(100);
    }
    // Each carrier names its calls differently. The folder has no other calls.
    await until(async () => {
      await sleep(1_000); // the whole list is a large answer
      if (broken.length > 0) throw new Error(`a call could not be placed: ${broken[0]}`);
      const ours = await callsOf(app);
      for (const { id } of ours) lost.add(id as string);
      const isHeard = (call: AnyJson): boolean =>
        call.legs.some((leg: AnyJson) => leg.ledger.received > 0);
      return ours.filter(isHeard).length >= calls;
    }, 180_000);
    crashedMs = performance.now();
    await app.end('SIGKILL');
  }
  for (const { callId, result } of played) {
    // A call that was just being placed again has received nothing.
    const { outcome, detail } = await result.catch(() => notPlaced);
    // 1006 means that the socket broke without our closing frame.
    if (!/^1006\b/.test(detail)) endedByUs.push(`${callId}: ${outcome} ${detail}`);
  }
  await using next = await start();
  await until(async () => {
    await sleep(500);
    for (const call of await callsOf(next))
      if (call.state === 'ended' && call.legs.every((leg: AnyJson) => isBalanced(leg.ledger)))
        lost.delete(call.id as string);
    return lost.size === 0;
  }, 120_000).catch(() => undefined);
  const seconds = {
    untilCrash: (crashedMs - startedMs) / 1_000,
    untilEnded: (performance.now() - crashedMs) / 1_000,
  };
  return { calls, endedByUs, lost: [...lost], seconds };
}

const notPlaced: Pick<PlayResult, 'outcome' | 'detail'> = { outcome: 'refused', detail: '1006' };

/** All calls, page by page. */
export async function callsOf(app: App): Promise<AnyJson[]> {
  const calls: AnyJson[] = [];
  for (let cursor = ''; ;) {
    // The server may close a kept connection just as it is used.
    const close = { headers: { connection: 'close' } };
    const page = (await (await app.get(`/api/calls?limit=100${cursor}`, close)).json()) as AnyJson;
    calls.push(...page.items);
    if (page.next_cursor === null) return calls;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
}

async function playOne(
  base: string,
  carrier: CarrierName,
  callId: string,
  audio: Buffer,
  onMessage: (text: string) => void,
): Promise<PlayResult> {
  // A busy machine may refuse an upgrade or answer too late. The call is then placed again, as a carrier does.
  for (;;) {
    const { url } = await mintStream({ url: base }, { carrier });
    const result = await playAt(url, carrier, callId, audio, onMessage);
    if (result.outcome !== 'refused') return result;
    if (/^4\d\d/.test(result.detail)) throw new Error(`${carrier}: ${result.detail}`);
    await sleep(1_000);
  }
}

function playAt(
  url: string,
  carrier: CarrierName,
  callId: string,
  audio: Buffer,
  onMessage: (text: string) => void,
): Promise<PlayResult> {
  return play({
    to: url,
    player: carriers[carrier].player,
    call: playedCall({
      ...carriers[carrier].player.newIds(),
      callId,
      encoding: usualForm(carrier).encoding,
    }),
    audio: [{ leg: 'customer', bytes: audio }],
    frameMs,
    speed: 1,
    onMessage,
  });
}
