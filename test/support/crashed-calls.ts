import { randomBytes } from 'node:crypto';
import { isBalanced } from '../../src/bridge/call-ended.ts';
import { voices } from '../../src/player/carriers/all.ts';
import { mintStream } from '../../src/player/api-client.ts';
import { playedCarriers, type PlayedCarrier } from '../../src/player/dialogue.ts';
import { play, type PlayResult } from '../../src/player/play.ts';
import { startApp, type App } from './app.ts';
import type { Json } from './bridge.ts';
import { ScriptedSpeech, seededAudio } from './scripted-speech.ts';
import { temporaryFolder } from './store.ts';
import { until } from './until.ts';

/** What would move or end the phone call if it came from us: a close of our own, or words that say so. */
const endings = /"type":"(disconnect|closed)"|HANGUP|"event":"(stop|clear)"/;

export type CrashReport = {
  calls: number;
  /** Calls that heard from us, before our process was gone, that they are over. */
  endedByUs: string[];
  /** Calls that the next process did not end with even books. */
  lost: string[];
};

/**
 * Calls of every carrier, and `kill -9` of the bridge under them (F90): the carrier sees a socket that breaks,
 * never an ending of ours; the next process ends the records of the calls whose streams stay away.
 */
export async function crashUnderCalls(calls: number): Promise<CrashReport> {
  await using speech = await ScriptedSpeech.start();
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
  const endedByUs: string[] = [];
  const lost = new Set<string>();
  const played: { callId: string; result: Promise<PlayResult> }[] = [];
  {
    await using app = await start();
    for (let at = 0; at < calls; at++) {
      const carrier = playedCarriers[at % playedCarriers.length]!;
      const callId = `${carrier}-${randomBytes(6).toString('hex')}`;
      const heard = (text: string): void => {
        if (endings.test(text)) endedByUs.push(`${callId}: ${text}`);
      };
      const result = playOne(app.url, carrier, callId, at, heard);
      result.catch(() => undefined); // told below, once all are there
      played.push({ callId, result });
      // Calls come one after the other, not all in one millisecond.
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // Each carrier names its calls in its own way; the folder has no others.
    await until(async () => {
      const ours = await callsOf(app);
      for (const { id } of ours) lost.add(id as string);
      const isHeard = (call: Json): boolean =>
        call.legs.some((leg: Json) => leg.ledger.received > 0);
      return ours.length === calls && ours.every(isHeard);
    }, 240_000);
    await app.end('SIGKILL');
  }
  for (const { callId, result } of played) {
    const { outcome, detail } = await result;
    // 1006: the socket broke, with no closing frame of ours.
    if (!/^1006\b/.test(detail)) endedByUs.push(`${callId}: ${outcome} ${detail}`);
  }
  await using next = await start();
  await until(async () => {
    for (const call of await callsOf(next))
      if (call.state === 'ended' && call.legs.every((leg: Json) => isBalanced(leg.ledger)))
        lost.delete(call.id as string);
    return lost.size === 0;
  }, 120_000).catch(() => undefined);
  return { calls, endedByUs, lost: [...lost] };
}

async function callsOf(app: App): Promise<Json[]> {
  const calls: Json[] = [];
  for (let cursor = ''; ;) {
    const page = (await (await app.get(`/api/calls?limit=100${cursor}`)).json()) as Json;
    calls.push(...page.items);
    if (page.next_cursor === null) return calls;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
}

async function playOne(
  base: string,
  carrier: PlayedCarrier,
  callId: string,
  seed: number,
  onMessage: (text: string) => void,
): Promise<PlayResult> {
  // A busy machine may refuse an upgrade for now, readably; a carrier's call is then placed again.
  for (;;) {
    const { url } = await mintStream({ url: base }, { carrier });
    const result = await playAt(url, carrier, callId, seed, onMessage);
    if (result.outcome !== 'refused' || !result.detail.startsWith('503')) return result;
  }
}

function playAt(
  url: string,
  carrier: PlayedCarrier,
  callId: string,
  seed: number,
  onMessage: (text: string) => void,
): Promise<PlayResult> {
  const bytes = seededAudio(8_000 * 300, seed);
  return play({
    to: url,
    voice: voices[carrier],
    call: {
      ...voices[carrier].newIds(),
      callId,
      legs: ['customer'],
      encoding: 'mulaw',
      rateHz: 8_000,
      from: '+15550100123',
      to: '+15550100200',
      direction: 'inbound',
      parameters: {},
      controlFormat: 'plain-text',
    },
    audio: [{ leg: 'customer', bytes }],
    speed: 1,
    onMessage,
  });
}
