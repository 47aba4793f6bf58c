import { WebSocket } from 'ws';
import { carriers, type CarrierName } from '../../../src/carriers/all.ts';
import type { Dialogue, PlayedCall } from '../../../src/player/dialogue.ts';
import { usualForm } from '../../support/carriers/carrier-shape.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { provenConfig } from '../../support/carriers/proven-config.ts';
import { seededAudio } from '../../support/speech/audio.ts';

const config = provenConfig();
/** A carrier that finds no door when its call ends goes on for so long: what was lost before must be told by then. */
const lastWordsMs = 10_000;

type CallerLine = { socket: WebSocket; dialogue: Dialogue; beganMs: number; isReady: boolean };

/** A phone call whose carrier comes back whenever its socket goes; it speaks in real time, come what may. */
export class Caller {
  readonly carrier: CarrierName;
  readonly callId: string;
  /** Bytes that stand for a second of one leg. */
  readonly bytesPerSecond: number;
  readonly legs: PlayedCall['legs'];
  readonly encoding: PlayedCall['encoding'];
  readonly frameMs: number;
  readonly audio: Buffer;
  redials = 0;
  /** It found no node in its last seconds. */
  endedWithoutLine = false;
  /** The caller's first and last speech. Nothing outside was reported to anybody. */
  firstMs = Infinity;
  lastMs = 0;
  /** The faults that befell it, for a report that asks why. */
  readonly story: string[] = [];
  readonly #url: string;
  readonly #call: PlayedCall;
  readonly #lengthMs: number;
  readonly #bornMs = performance.now();
  #line: CallerLine | undefined;
  #isOver = false;
  /** Milliseconds of the call that were said, or passed while there was no line. */
  #saidMs = 0;

  constructor(url: string, carrier: CarrierName, seconds: number, seed: number) {
    const form = usualForm(carrier);
    const { player } = carriers[carrier];
    this.carrier = carrier;
    this.#url = url;
    this.#lengthMs = seconds * 1_000;
    this.bytesPerSecond = form.bytesPerMs * 1_000;
    this.legs = form.legs;
    this.encoding = form.encoding;
    this.frameMs = player.frameMs;
    this.audio = seededAudio((this.#lengthMs + lastWordsMs) * form.bytesPerMs, seed);
    const { encoding, rateHz, legs } = form;
    this.#call = playedCall({ ...player.newIds(), encoding, rateHz, legs });
    this.callId = this.#call.callId;
    void this.#dial();
  }

  /** The audio of its frame of that number, in each of its legs. */
  frameAt(number: number): Buffer {
    const bytes = (this.frameMs * this.bytesPerSecond) / 1_000;
    return this.audio.subarray(number * bytes, (number + 1) * bytes);
  }

  say(untilMs: number): void {
    for (; this.#saidMs + this.frameMs <= untilMs; this.#saidMs += this.frameMs) {
      const line = this.#line;
      if (line === undefined || !isOpen(line)) continue;
      const bytes = this.frameAt(this.#saidMs / this.frameMs);
      const frames = this.legs.map((leg) => ({ leg, bytes }));
      for (const frame of line.dialogue.media(frames, this.#saidMs - line.beganMs))
        line.socket.send(frame);
      this.firstMs = Math.min(this.firstMs, this.#saidMs);
      this.lastMs = this.#saidMs + this.frameMs;
    }
  }

  /**
   * Ends the call. One that has no line just now comes back first and says a frame: only a stream that goes on shows the
   * bridge that there was a hole before it.
   */
  async hangUp(): Promise<void> {
    const beganMs = performance.now();
    const spoken = this.lastMs;
    for (;;) {
      const passedMs = performance.now() - beganMs;
      const line = this.#line;
      if (passedMs >= lastWordsMs || this.lastMs === 0) break;
      if (line !== undefined && isOpen(line) && line.beganMs < spoken && spoken === this.lastMs)
        break;
      this.say(this.#lengthMs + passedMs);
      if (this.lastMs > spoken) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    this.#isOver = true;
    const line = this.#line;
    this.#tell(line !== undefined && isOpen(line) ? 'hangs up' : 'has no line to hang up');
    this.endedWithoutLine = line?.socket.readyState !== WebSocket.OPEN;
    if (line?.socket.readyState !== WebSocket.OPEN) return;
    for (const frame of line.dialogue.closing(this.#saidMs - line.beganMs)) line.socket.send(frame);
    if (!line.dialogue.waitsForOver) line.socket.close(1000);
  }

  close(): void {
    this.#isOver = true;
    this.#line?.socket.terminate();
  }

  #tell(what: string): void {
    this.story.push(`${((performance.now() - this.#bornMs) / 1_000).toFixed(2)} ${what}`);
  }

  async #dial(): Promise<void> {
    const { player } = carriers[this.carrier];
    while (!this.#isOver) {
      const call =
        this.redials === 0 ? this.#call : { ...this.#call, streamId: player.newIds().streamId };
      const address = new URL(`${this.#url}/carriers/${this.carrier}`);
      for (const [name, value] of Object.entries(player.addressParameters?.(call) ?? {}))
        address.searchParams.set(name, value);
      const socket = new WebSocket(address, [...(player.protocols ?? [])], {
        headers: player.headers(address.href, call, carriers[this.carrier].playerSecrets(config)),
        perMessageDeflate: false,
        handshakeTimeout: 5_000,
      });
      let trouble = '';
      socket.on('error', (error) => (trouble = error.message));
      const closed = new Promise<void>((resolve) =>
        socket.once('close', (code, reason) => {
          this.#tell(`closed ${code} ${reason.toString()} ${trouble}`.trimEnd());
          resolve();
        }),
      );
      const opened = new Promise<boolean>((resolve) => {
        socket.once('open', () => resolve(true));
        void closed.then(() => resolve(false));
      });
      if (!(await opened)) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        continue;
      }
      this.#tell('open');
      this.redials++;
      const dialogue = player.newDialogue(call);
      const line: CallerLine = {
        socket,
        dialogue,
        beganMs: this.#saidMs,
        isReady: dialogue.readyAtOnce,
      };
      socket.on('message', (data: Buffer, isBinary) => {
        if (isBinary) return;
        const answer = dialogue.received(data.toString(), this.#saidMs - line.beganMs);
        for (const frame of answer.send) socket.send(frame);
        if (answer.ready === true && !line.isReady) {
          line.beganMs = this.#saidMs;
          line.isReady = true;
        }
        if (answer.over === true) socket.close();
      });
      this.#line = line;
      for (const frame of dialogue.opening()) socket.send(frame);
      await closed;
    }
  }
}

function isOpen({ isReady, socket }: CallerLine): boolean {
  return isReady && socket.readyState === WebSocket.OPEN;
}
