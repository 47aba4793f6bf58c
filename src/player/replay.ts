import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { TrunklineError } from '../lib/errors.ts';
import { mintStreamIfOffered, type Api } from './api-client.ts';
import { voices } from './carriers/all.ts';
import type { PlayedCall, PlayedCarrier, PlayerSecrets } from './dialogue.ts';
import { idsOf, type RecordedFrame, type RecordedIds } from './fixture.ts';

export type ReplayOptions = {
  to: string;
  frames: RecordedFrame[];
  carrier?: PlayedCarrier;
  api?: Api;
  secrets?: PlayerSecrets;
  publicUrl?: string;
  speed?: number;
  /** Replay under the recorded ids; otherwise each replay is a new call. */
  keepIds?: boolean;
  signal?: AbortSignal;
  onStarted?: (ids: RecordedIds) => void;
};

export type ReplayResult = { callId: string; sent: number; answers: string[]; closed: string };

const answerWithinMs = 10_000;
const closeWithinMs = 5_000;

/** Sends a recorded conversation again, at its own pace; where the bridge spoke, it waits for the bridge to speak. */
export async function replay(options: ReplayOptions): Promise<ReplayResult> {
  const recorded = idsOf(options.frames);
  const name = options.carrier ?? recorded?.carrier;
  if (recorded === undefined || name === undefined)
    throw new TrunklineError(
      'BAD_INPUT',
      'the recording does not say which carrier it is: name it with --carrier',
    );
  const voice = voices[name];
  const ids: RecordedIds = options.keepIds
    ? recorded
    : { carrier: name, ...freshIds(recorded, voice.newIds()) };
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
  const url = await address(options, name, call);
  const signedUrl =
    options.publicUrl === undefined
      ? url.href
      : `${options.publicUrl.replace(/\/+$/, '').replace(/^http/, 'ws')}${url.pathname}${url.search}`;
  const headers = {
    ...voice.headers(signedUrl, call, options.secrets ?? {}),
    ...organization(options.frames),
  };
  const socket = new WebSocket(url, [...(voice.protocols ?? [])], {
    headers,
    perMessageDeflate: false,
    handshakeTimeout: 10_000,
  });
  try {
    return await run(socket, options, recorded, ids);
  } finally {
    socket.terminate();
  }
}

/** Where a carrier has one id for both, the fresh ones must agree as well. */
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
  carrier: PlayedCarrier,
  call: PlayedCall,
): Promise<URL> {
  const url = new URL(to.replace(/^http/, 'ws'));
  if (url.pathname === '/') url.pathname = `/carriers/${carrier}`;
  const hasSecret = Object.values(secrets).some((secret) => secret !== undefined);
  if (api === undefined || hasSecret) return url;
  const minted = await mintStreamIfOffered(api, { carrier, call_id: call.callId });
  if (minted) url.pathname = new URL(minted.url).pathname;
  return url;
}

/** The organization of the recorded `open` must be that of the upgrade. */
function organization(frames: readonly RecordedFrame[]): Record<string, string> {
  for (const frame of frames) {
    const found = 'text' in frame ? /"organizationId":"([^"]+)"/.exec(frame.text)?.[1] : undefined;
    if (found !== undefined) return { 'audiohook-organization-id': found };
  }
  return {};
}

async function run(
  socket: WebSocket,
  options: ReplayOptions,
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
        ? adapted(frame.text, recorded, ids, lastSeq)
        : Buffer.from(frame.base64, 'base64'),
    );
    sent++;
  }
  if (closed === '') socket.close(1000);
  await until(() => closed !== '', closeWithinMs);
  return { callId: ids.callId, sent, answers, closed };
}

/** Fresh ids for the recorded ones; and what AudioHook says it has heard is what it heard this time. */
function adapted(text: string, from: RecordedIds, to: RecordedIds, lastSeq: number): string {
  const renamed = text.replaceAll(from.callId, to.callId).replaceAll(from.streamId, to.streamId);
  return from.carrier === 'audiohook'
    ? renamed.replace(/"serverseq":\d+/, `"serverseq":${lastSeq}`)
    : renamed;
}

async function until(done: () => boolean, withinMs: number): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (!done() && performance.now() < untilMs) await sleep(5);
}
