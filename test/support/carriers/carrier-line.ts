import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { CarrierName } from '../../../src/carriers/all.ts';
import { carriers } from '../../../src/carriers/all.ts';
import type { Dialogue, Frame, PlayedCall } from '../../../src/player/dialogue.ts';
import { CarrierClient } from './carrier-client.ts';
import { endsBy, trackOf, usualForm } from './carrier-shape.ts';
import type { RecordedStream } from './recording-bridge.ts';

/** A call of one carrier in its own protocol. Any other bytes can be sent between its frames. */
export class CarrierLine implements AsyncDisposable {
  readonly client: CarrierClient;
  readonly carrier: CarrierName;
  readonly #call: PlayedCall;
  readonly #frameBytes: number;
  readonly #dialogue: Dialogue;
  readonly #sent = new Map<string, Buffer[]>();
  #atMs = 0;
  /** Messages of ours that the dialogue does not count but whose numbers count. */
  #extra = 0;

  private constructor(client: CarrierClient, carrier: CarrierName, parameters = {}) {
    this.client = client;
    this.carrier = carrier;
    const player = carriers[carrier].player;
    const { bytesPerMs, ...form } = usualForm(carrier);
    this.#frameBytes = player.frameMs * bytesPerMs;
    this.#call = {
      ...player.newIds(),
      ...form,
      from: '+15550100123',
      to: '+15550100200',
      direction: 'inbound',
      parameters,
      controlFormat: 'plain-text',
    };
    this.#dialogue = player.newDialogue(this.#call);
    client.socket.on('message', (data) => {
      const { send } = this.#dialogue.received((data as Buffer).toString(), this.#atMs);
      this.#say(send);
    });
  }

  static async connect(
    server: { url: string },
    carrier: CarrierName,
    parameters: Record<string, string> = {},
  ): Promise<CarrierLine> {
    const base = server.url.replace(/^http/, 'ws');
    const client = await CarrierClient.open(`${base}/carriers/${carrier}`);
    return new CarrierLine(client, carrier, parameters);
  }

  get callId(): string {
    return this.#call.callId;
  }

  get streamId(): string {
    return this.#call.streamId;
  }

  sentBytes(leg: 'customer' | 'agent'): number {
    return (this.#sent.get(leg) ?? []).reduce((sum, { length }) => sum + length, 0);
  }

  opening(): Frame[] {
    return this.#dialogue.opening();
  }

  async open(): Promise<void> {
    this.client.send(...this.opening());
    // AudioHook sends only after an answer.
    await this.client.ping();
    await this.client.ping();
  }

  speak(frames: number): void {
    for (let at = 0; at < frames; at++) this.#say(this.frame());
  }

  #say(frames: readonly Frame[]): void {
    for (const frame of frames) {
      const isShifted = this.#extra > 0 && typeof frame === 'string';
      const message = isShifted ? (JSON.parse(frame) as { seq: number }) : undefined;
      this.client.send(message ? { ...message, seq: message.seq + this.#extra } : frame);
    }
  }

  /** The next audio frame of every leg. */
  frame(): Frame[] {
    const { frameMs } = carriers[this.carrier].player;
    const parts = this.#call.legs.map((leg) => ({ leg, bytes: randomBytes(this.#frameBytes) }));
    const frames = this.#dialogue.media(parts, (this.#atMs += frameMs));
    if (frames.length > 0)
      for (const { leg, bytes } of parts)
        this.#sent.set(leg, [...(this.#sent.get(leg) ?? []), bytes]);
    return frames;
  }

  /** Sends a frame that is not part of the call. `numbered` messages take the next number of an AudioHook client. */
  slip(frame: Frame, numbered = 0): void {
    this.#extra += numbered;
    this.client.send(frame);
  }

  async finish(): Promise<void> {
    // AudioHook's replies to our answers have lower numbers than its close.
    await this.client.ping();
    this.#say(this.#dialogue.closing(this.#atMs));
    await this.client.ping();
    await this.client.close(1000);
  }

  /**
   * Expects the received audio to equal the sent audio from its first byte to the break of the line, and the stream to
   * end once.
   */
  expectBeginning(stream: RecordedStream, framesAtLeast: number): void {
    for (const [leg, sent] of this.#sent) {
      const came = stream.bytes(trackOf(this.carrier, leg));
      expect(came.length, `${this.carrier} ${leg}`).toBeGreaterThanOrEqual(
        framesAtLeast * this.#frameBytes,
      );
      const same = Buffer.concat(sent).subarray(0, came.length).equals(came);
      expect(same, `${this.carrier} ${leg}`).toBe(true);
    }
    expect(stream.ends.length).toBe(1);
  }

  /** Expects every sent byte to be there in order, and the stream to end once. */
  expectWhole(stream: RecordedStream): void {
    for (const [leg, sent] of this.#sent) {
      const isWhole = stream.bytes(trackOf(this.carrier, leg)).equals(Buffer.concat(sent));
      expect(isWhole, `${this.carrier} ${leg}`).toBe(true);
    }
    expect(stream.ends.map(({ reason }) => reason)).toEqual([endsBy(this.carrier)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client[Symbol.asyncDispose]();
  }
}
