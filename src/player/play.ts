import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket, type RawData } from 'ws';
import type { CarrierPlayer, Dialogue, Frame, PlayedCall, PlayerSecrets } from './dialogue.ts';
import { BadLine, type Faults } from './faults.ts';

export type LegAudio = { leg: 'customer' | 'agent'; bytes: Buffer };

type PlayOptions = {
  /** The address to which the carrier was told to stream. */
  to: string;
  /** The address that the carrier signs, if it differs from `to`. */
  signedUrl?: string;
  player: CarrierPlayer;
  call: PlayedCall;
  audio: LegAudio[];
  secrets?: PlayerSecrets;
  /** The speed of playing: 1 is real time, Infinity is as fast as the socket takes the audio. */
  speed?: number;
  faults?: Faults;
  frameMs?: number;
  /** Keys that are pressed during the call. */
  dtmf?: { digit: string; atMs: number }[];
  signal?: AbortSignal;
  onMessage?: (text: string) => void;
};

export type PlayResult = {
  outcome: 'played' | 'refused' | 'cut' | 'closed-by-bridge' | 'failed';
  callId: string;
  streamId: string;
  /** The bytes that were sent, by leg. */
  sentBytes: Record<string, number>;
  framesDropped: number;
  framesReordered: number;
  /** The status and first line of a refusal, or the code and reason of a close. */
  detail: string;
};

const connectMs = 10_000;
const readyMs = 10_000;
const overMs = 15_000;
/**
 * At most this many bytes wait to be sent. If playing is faster than real time, the socket limits the speed and not our
 * memory.
 */
export const maxUnsentBytes = 1_048_576;

/**
 * Plays one call as its carrier would, from the upgrade to the close. It never throws because of the bridge's
 * behaviour.
 */
export async function play(options: PlayOptions): Promise<PlayResult> {
  const stream = new PlayedStream(options);
  try {
    return await stream.run();
  } finally {
    stream.close();
  }
}

class PlayedStream {
  readonly #options: PlayOptions;
  readonly #dialogue: Dialogue;
  readonly #line: BadLine;
  readonly #sentBytes: Record<string, number> = {};
  #socket: WebSocket | undefined;
  #ready = false;
  #paused = false;
  #over = false;
  #closed: { code: number; reason: string } | undefined;
  #wake: () => void = () => undefined;
  #atMs = 0;

  constructor(options: PlayOptions) {
    this.#options = options;
    this.#dialogue = options.player.newDialogue(options.call);
    this.#line = new BadLine(options.faults ?? {});
    this.#ready = this.#dialogue.readyAtOnce;
  }

  async run(): Promise<PlayResult> {
    const refusal = await this.#connect();
    if (refusal !== undefined) return this.#result('refused', refusal);
    for (const frame of this.#dialogue.opening()) this.#send(frame);
    if (!this.#ready) await this.#wait(() => this.#ready, readyMs);
    if (!this.#ready)
      return this.#closed
        ? this.#result('closed-by-bridge', this.#closeText())
        : this.#result('failed', 'no answer to the opening');
    const cut = await this.#stream();
    if (cut) return this.#result('cut', `at ${this.#atMs} ms`);
    if (this.#closed) return this.#result('closed-by-bridge', this.#closeText());
    return this.#finish();
  }

  close(): void {
    this.#socket?.terminate();
  }

  /** Opens the socket. Returns undefined once it is open, or the reason why it did not open. */
  async #connect(): Promise<string | undefined> {
    const { to, signedUrl, player, call, secrets = {}, signal } = this.#options;
    const socket = new WebSocket(to, [...(player.protocols ?? [])], {
      headers: player.headers(signedUrl ?? to, call, secrets),
      perMessageDeflate: false,
      handshakeTimeout: connectMs,
    });
    this.#socket = socket;
    socket.on('message', (data, isBinary) => this.#received(data, isBinary));
    socket.on('close', (code, reason) => {
      this.#closed = { code, reason: reason.toString('utf8') };
      this.#wake();
    });
    signal?.addEventListener('abort', () => socket.terminate(), { once: true });
    return new Promise((resolve) => {
      socket.once('open', () => resolve(undefined));
      socket.on('error', (error) => resolve(error.message));
      socket.once('unexpected-response', (_request, response) => {
        void firstLine(response).then((line) => {
          resolve(`${response.statusCode ?? 0} ${line}`);
          socket.terminate();
        });
      });
    });
  }

  #received(data: RawData, isBinary: boolean): void {
    if (isBinary) return;
    const text = Array.isArray(data)
      ? Buffer.concat(data).toString('utf8')
      : Buffer.from(data as Buffer).toString('utf8');
    this.#options.onMessage?.(text);
    const answer = this.#dialogue.received(text, this.#atMs);
    for (const frame of answer.send) this.#send(frame);
    if (answer.ready) this.#ready = true;
    if (answer.paused !== undefined) this.#paused = answer.paused;
    if (answer.over) this.#over = true;
    this.#wake();
  }

  /** Sends frame after frame on a fixed timetable. Returns true if the line was cut. */
  async #stream(): Promise<boolean> {
    const { audio, call, speed = 1, faults = {}, signal, dtmf = [] } = this.#options;
    const frameMs = this.#options.frameMs ?? this.#options.player.frameMs;
    const frameBytes = Math.round(
      (frameMs / 1000) * call.rateHz * (call.encoding === 'slin' ? 2 : 1),
    );
    const frames = Math.ceil(Math.max(0, ...audio.map(({ bytes }) => bytes.length)) / frameBytes);
    const startedMs = performance.now();
    const keys = [...dtmf];
    for (let at = 0; at < frames; at++) {
      this.#atMs = at * frameMs;
      if (this.#closed || signal?.aborted) return false;
      if (faults.cutAtMs !== undefined && this.#atMs >= faults.cutAtMs) {
        this.#socket?.terminate();
        return true;
      }
      while (keys[0] && keys[0].atMs <= this.#atMs) {
        const key = keys.shift();
        for (const frame of (key && this.#dialogue.dtmf?.(key.digit, this.#atMs)) ?? [])
          this.#send(frame);
      }
      if (!this.#paused) this.#sendAudio(at * frameBytes, frameBytes);
      await this.#pace(startedMs + (this.#atMs + frameMs) / speed);
    }
    this.#atMs = frames * frameMs;
    for (const frame of this.#line.flush()) this.#send(frame);
    return false;
  }

  #sendAudio(from: number, frameBytes: number): void {
    const frames = this.#options.audio
      .map(({ leg, bytes }) => ({ leg, bytes: bytes.subarray(from, from + frameBytes) }))
      .filter(({ bytes }) => bytes.length > 0);
    for (const { leg, bytes } of frames)
      this.#sentBytes[leg] = (this.#sentBytes[leg] ?? 0) + bytes.length;
    for (const frame of this.#line.pass(this.#dialogue.media(frames, this.#atMs)))
      this.#send(frame);
  }

  async #pace(dueMs: number): Promise<void> {
    const waitMs = dueMs - performance.now();
    // Timers have a resolution of a millisecond, so shorter waits are skipped.
    if (waitMs >= 1)
      await sleep(waitMs, undefined, { signal: this.#options.signal }).catch(() => undefined);
    while (!this.#closed && (this.#socket?.bufferedAmount ?? 0) > maxUnsentBytes) await sleep(5);
  }

  async #finish(): Promise<PlayResult> {
    const socket = this.#socket;
    if (!this.#options.faults?.noStop)
      for (const frame of this.#dialogue.closing(this.#atMs)) this.#send(frame);
    if (this.#dialogue.waitsForOver && !this.#options.faults?.noStop)
      await this.#wait(() => this.#over, overMs);
    if (socket && socket.readyState !== WebSocket.CLOSED) {
      const closed = once(socket, 'close');
      socket.close(this.#dialogue.waitsForOver ? undefined : 1000);
      await Promise.race([closed, sleep(5_000, undefined, { ref: false })]);
    }
    return this.#result(
      'played',
      this.#dialogue.waitsForOver && !this.#over ? 'the bridge did not answer the end' : '',
    );
  }

  async #wait(done: () => boolean, deadlineMs: number): Promise<void> {
    const untilMs = performance.now() + deadlineMs;
    while (
      !done() &&
      !this.#closed &&
      performance.now() < untilMs &&
      !this.#options.signal?.aborted
    )
      await Promise.race([
        new Promise<void>((resolve) => (this.#wake = resolve)),
        sleep(250, undefined, { ref: false }),
      ]);
  }

  #send(frame: Frame): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(frame);
  }

  #closeText(): string {
    return this.#closed ? `${this.#closed.code} ${this.#closed.reason}`.trim() : '';
  }

  #result(outcome: PlayResult['outcome'], detail: string): PlayResult {
    const { callId, streamId } = this.#options.call;
    return {
      outcome,
      callId,
      streamId,
      sentBytes: this.#sentBytes,
      framesDropped: this.#line.dropped,
      framesReordered: this.#line.reordered,
      detail,
    };
  }
}

async function firstLine(response: IncomingMessage): Promise<string> {
  let text = '';
  response.setEncoding('utf8');
  for await (const chunk of response) {
    text += String(chunk);
    if (text.length > 512) break;
  }
  return text.split('\n')[0]?.slice(0, 200) ?? '';
}
