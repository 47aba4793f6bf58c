import { TrunklineError } from '../lib/errors.ts';
import { mintStream, mintStreamIfOffered, type Api } from './api-client.ts';
import { builtInConversation } from './conversation.ts';
import type { CarrierPlayer, Encoding, PlayedCall, PlayerSecrets } from './dialogue.ts';
import type { Faults } from './faults.ts';
import { encodeLegs, mixedLegs, samplesOf, type LegSamples } from './leg-samples.ts';
import { play, type LegAudio, type PlayResult } from './play.ts';

export type CallPlan = {
  player: CarrierPlayer;
  /** `ws://host:port` for our own bridge. The address of another bridge includes its path. */
  to: string;
  /** The bridge's operator API. The player asks it for a stream token if the carrier has no secret. */
  api?: Api;
  /** Makes the token in this process instead of asking the API. Returns the address to stream to. */
  mint?: (carrierCallId: string) => Promise<string>;
  /** If true, the bridge may be another product without our API. No token is used then. */
  apiIsOptional?: boolean;
  secrets?: PlayerSecrets;
  /** The base address that the carrier signs, if it differs from `to`. */
  publicUrl?: string | undefined;
  legs?: LegSamples[];
  encoding?: Encoding | undefined;
  rateHz?: number | undefined;
  speed?: number;
  faults?: Faults;
  fromNumber?: string | undefined;
  toNumber?: string | undefined;
  direction?: 'inbound' | 'outbound' | undefined;
  parameters?: Record<string, string>;
  controlFormat?: 'plain-text' | 'json';
  dtmf?: { digit: string; atMs: number }[];
  callId?: string;
  signal?: AbortSignal;
  onStarted?: (ids: { callId: string; streamId: string }) => void;
};

/** Telephone numbers that are reserved for fiction. */
const fiction = { from: '+15550100123', to: '+15550100200' };

/** Plays one call as its carrier would: both legs in one stream, or each leg in its own stream. */
export async function playCall(plan: CallPlan): Promise<PlayResult[]> {
  const { player } = plan;
  const encoding = plan.encoding ?? player.encodings[0] ?? 'mulaw';
  if (!player.encodings.includes(encoding))
    throw new TrunklineError(
      'BAD_INPUT',
      `${player.name} streams ${player.encodings.join(' or ')}, not ${encoding}`,
    );
  const rateHz = plan.rateHz ?? 8000;
  const parties = plan.legs ?? (await builtInConversation()).map(samplesOf);
  const legs = player.mixesLegs ? mixedLegs(parties, rateHz) : parties;
  const audio = encodeLegs(legs, plan.faults?.wrongCodec ? otherLaw(encoding) : encoding, rateHz);
  const ids = player.newIds();
  const callId = plan.callId ?? ids.callId;
  plan.onStarted?.({ callId, streamId: ids.streamId });
  if (player.oneLegPerStream && audio.length > 1)
    return Promise.all(
      audio.map((one) =>
        playStream(
          plan,
          player,
          [one],
          { callId, streamId: player.newIds().streamId },
          { encoding, rateHz },
        ),
      ),
    );
  return playStreams(plan, player, audio, { callId, streamId: ids.streamId }, { encoding, rateHz });
}

function otherLaw(encoding: Encoding): Encoding {
  if (encoding === 'slin')
    throw new TrunklineError('BAD_INPUT', 'a wrong codec means mu-law for A-law or the reverse');
  return encoding === 'mulaw' ? 'alaw' : 'mulaw';
}

/** Plays the streams of a call. After a cut, a new stream of the same call may continue from there. */
async function playStreams(
  plan: CallPlan,
  player: CarrierPlayer,
  audio: LegAudio[],
  ids: { callId: string; streamId: string },
  form: { encoding: Encoding; rateHz: number },
): Promise<PlayResult[]> {
  const first = await playStream(plan, player, audio, ids, form);
  const { cutAtMs, reopenAfterMs, ...faults } = plan.faults ?? {};
  if (first.outcome !== 'cut' || cutAtMs === undefined || reopenAfterMs === undefined)
    return [first];
  await new Promise((resolve) => setTimeout(resolve, reopenAfterMs));
  const bytesPerMs = (form.rateHz / 1000) * (form.encoding === 'slin' ? 2 : 1);
  const rest = audio.map(({ leg, bytes }) => ({
    leg,
    bytes: bytes.subarray(Math.round(cutAtMs * bytesPerMs)),
  }));
  const again = { callId: ids.callId, streamId: player.newIds().streamId };
  return [first, await playStream({ ...plan, faults }, player, rest, again, form)];
}

async function playStream(
  plan: CallPlan,
  player: CarrierPlayer,
  audio: LegAudio[],
  ids: { callId: string; streamId: string },
  form: { encoding: Encoding; rateHz: number },
): Promise<PlayResult> {
  const legs = audio.map(({ leg }) => leg);
  const call: PlayedCall = {
    ...ids,
    ...form,
    legs,
    from: plan.fromNumber ?? fiction.from,
    to: plan.toNumber ?? fiction.to,
    direction: plan.direction ?? 'inbound',
    parameters: plan.parameters ?? {},
    controlFormat: plan.controlFormat ?? 'plain-text',
  };
  const base = baseUrl(plan.to, player.name);
  const target = await withToken(plan, player, call, base);
  const signedUrl =
    plan.publicUrl === undefined ? undefined : signedAddress(plan.publicUrl, target);
  return play({
    to: target,
    player,
    call,
    audio,
    ...withoutUndefined({
      signedUrl,
      secrets: plan.secrets,
      speed: plan.speed,
      faults: plan.faults,
      dtmf: plan.dtmf,
      signal: plan.signal,
    }),
  });
}

/** Returns the address to stream to. If `to` has no path, the path of our own carriers is added. */
function baseUrl(to: string, carrier: string): string {
  const url = new URL(to.replace(/^http/, 'ws'));
  if (url.pathname === '/') url.pathname = `/carriers/${carrier}`;
  return url.href;
}

async function withToken(
  plan: CallPlan,
  player: CarrierPlayer,
  call: PlayedCall,
  base: string,
): Promise<string> {
  const url = new URL(base);
  for (const [name, value] of Object.entries(player.addressParameters?.(call) ?? {}))
    url.searchParams.set(name, value);
  if (plan.mint !== undefined) {
    url.pathname = tokenPath(await plan.mint(call.callId));
    return url.href;
  }
  if (plan.api === undefined || hasToken(url) || player.canProve(plan.secrets ?? {}))
    return url.href;
  const ask = plan.apiIsOptional ? mintStreamIfOffered : mintStream;
  const minted = await ask(plan.api, { carrier: player.name, call_id: call.callId });
  if (minted) url.pathname = tokenPath(minted.url);
  return url.href;
}

/**
 * Returns the path with the token at the requested address. The public address may lead through a proxy that removes a
 * prefix.
 */
function tokenPath(mintedUrl: string): string {
  const { pathname } = new URL(mintedUrl);
  return pathname.slice(Math.max(0, pathname.indexOf('/carriers/')));
}

/** True if the address came from `POST /api/streams`, which is proof enough. */
function hasToken(url: URL): boolean {
  return url.searchParams.has('token') || /^\/carriers\/[a-z]+\/./.test(url.pathname);
}

function signedAddress(publicUrl: string, target: string): string {
  const { pathname, search } = new URL(target);
  return `${publicUrl.replace(/\/+$/, '').replace(/^http/, 'ws')}${pathname}${search}`;
}

/** Removes undefined fields, because optional fields must be absent. */
function withoutUndefined<T extends object>(
  value: T,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
