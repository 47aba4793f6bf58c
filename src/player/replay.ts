import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { TrunklineError } from '../lib/errors.ts';
import { mintStreamIfOffered, type Api } from './api-client.ts';
import type { CarrierPlayer, PlayedCall, PlayerSecrets } from './dialogue.ts';
import { idsOf, type RecordedFrame, type RecordedIds } from './fixture.ts';

type ReplayOptions = {
  to: string;
  frames: RecordedFrame[];
  /** The carriers among which the recording's own is found. */
  players: readonly CarrierPlayer[];
  /** The carrier's name, needed if the recording does not show it. */
  carrier?: string;
  api?: Api;
  secrets?: PlayerSecrets;
  publicUrl?: string | undefined;
  speed?: number;
  /** If true, the recorded ids are used again. Otherwise each replay is a new call. */
  keepIds?: boolean;
  signal?: AbortSignal;
  onStarted?: (ids: RecordedIds) => void;
};

type ReplayResult = { callId: string; sent: number; answers: string[]; closed: string };

const answerWithinMs = 10_000;
const closeWithinMs = 5_000;

/**
 * Sends a recorded conversation again at its own pace. At each recorded message of the bridge, the replay waits for a
 * message of the bridge.
 */
export async function replay(options: ReplayOptions): Promise<ReplayResult> {
  const recorded = idsOf(options.frames, options.players);
  const name = options.carrier ?? recorded?.carrier;
  const player = options.players.find((one) => one.name === name);
  if (recorded === undefined || player === undefined)
    throw new TrunklineError(
      'BAD_INPUT',
      'the recording does not say which carrier it is: name it with --carrier',
    );
  const ids: RecordedIds = options.keepIds
    ? recorded
    : { carrier: player.name, ...freshIds(recorded, player.newIds()) };
  options.onStarted?.(ids);
  const call: PlayedCall = {
    ...ids,
    legs: ['customer', 'agent'],
    encoding: 'mulaw',
    rateHz: 8000,
    from: '',
    to: '',
    direction: 'inbound',
    parameters: {},
    controlFormat: 'plain-text',
  };
  const url = await address(options, player, call);
  const signedUrl =
    options.publicUrl === undefined
      ? url.href
      : `${options.publicUrl.replace(/\/+$/, '').replace(/^http/, 'ws')}${url.pathname}${url.search}`;
  const headers = {
    ...player.headers(signedUrl, call, options.secrets ?? {}),
    ...player.recordedHeaders?.(
      options.frames.flatMap((frame) => ('text' in frame ? frame.text : [])),
    ),
  };
  const socket = new WebSocket(url, [...(player.protocols ?? [])], {
    headers,
    perMessageDeflate: false,
    handshakeTimeout: 10_000,
  });
  try {
    return await run(socket, options, player, recorded, ids);
  } finally {
    socket.terminate();
  }
}

/** Makes new ids. If the carrier uses one id for call and stream, the new ids are equal too. */
function freshIds(
  recorded: RecordedIds,
  fresh: { callId: string; streamId: string },
): { callId: string; streamId: string } {
  return recorded.callId === recorded.streamId
    ? { callId: fresh.streamId, streamId: fresh.streamId }
    : fresh;
}

async function address(
  { to, api, secrets = {} }: ReplayOptions,
  player: CarrierPlayer,
  call: PlayedCall,
): Promise<URL> {
  const url = new URL(to.replace(/^http/, 'ws'));
  if (url.pathname === '/') url.pathname = `/carriers/${player.name}`;
  const hasSecret = Object.values(secrets).some((secret) => secret !== undefined);
  if (api === undefined || hasSecret) return url;
  const minted = await mintStreamIfOffered(api, { carrier: player.name, call_id: call.callId });
  if (minted) url.pathname = new URL(minted.url).pathname;
  return url;
}

async function run(
  socket: WebSocket,
  options: ReplayOptions,
  player: CarrierPlayer,
  recorded: RecordedIds,
  ids: RecordedIds,
): Promise<ReplayResult> {
  const { frames, speed = 1, signal } = options;
  const answers: string[] = [];
  let closed = '';
  let lastSeq = 0;
  socket.on('message', (data) => {
    const text = (data as Buffer).toString('utf8');
    answers.push(text);
    lastSeq = Number(/"seq":(\d+)/.exec(text)?.[1] ?? lastSeq);
  });
  socket.on('close', (code, reason) => (closed = `${code} ${reason.toString('utf8')}`.trim()));
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.on('error', (cause) =>
      reject(
        new TrunklineError('UNREACHABLE', `the bridge refused the stream: ${cause.message}`, {
          cause,
        }),
      ),
    );
  });
  signal?.addEventListener('abort', () => socket.terminate(), { once: true });
  const isOver = (): boolean => closed !== '' || (signal?.aborted ?? false);
  const startedMs = performance.now();
  let sent = 0;
  let expected = 0;
  for (const frame of frames) {
    if (isOver()) break;
    if (frame.from === 'bridge') {
      expected++;
      await until(() => answers.length >= expected || isOver(), answerWithinMs);
      continue;
    }
    const waitMs = startedMs + frame.atMs / speed - performance.now();
    if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    socket.send(
      'text' in frame
        ? adapted(frame.text, recorded, ids, player, lastSeq)
        : Buffer.from(frame.base64, 'base64'),
    );
    sent++;
  }
  if (closed === '') socket.close(1000);
  await until(() => closed !== '', closeWithinMs);
  return { callId: ids.callId, sent, answers, closed };
}

/** Replaces the recorded ids by new ones, and recorded sequence numbers of the bridge by those of this run. */
function adapted(
  text: string,
  from: RecordedIds,
  to: RecordedIds,
  player: CarrierPlayer,
  lastSeq: number,
): string {
  const renamed = text.replaceAll(from.callId, to.callId).replaceAll(from.streamId, to.streamId);
  return player.retold?.(renamed, lastSeq) ?? renamed;
}

async function until(done: () => boolean, withinMs: number): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (!done() && performance.now() < untilMs) await sleep(5);
}
