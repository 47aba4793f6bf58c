import type { Request, Response } from 'express';
import type { Kysely } from 'kysely';
import { alawToLinear, mulawToLinear } from '../../audio/g711.ts';
import { Problem } from '../../port/problem.ts';
import { sendRange } from '../../port/range.ts';
import type { Role } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import { gapsOf, hiddenOf, legRecordFrom, legsOf } from '../events/call-rows.ts';
import { isInRecording } from '../records/incomplete.ts';
import type { Recordings } from './recordings.ts';
import { recordingRoles } from '../roles.ts';
import type { StreamEncoding } from '../streams.ts';
import { framesOf, toneAt, type HiddenSpan } from './tone.ts';

/** The kept audio of one leg, with its place in the call. */
export type RecordedLeg = {
  role: Role;
  channelRoles: readonly [Role, Role];
  encoding: StreamEncoding;
  sampleRate: number;
  channels: 1 | 2;
  offsetS: number;
  bytes: number;
  read(from: number, to: number): AsyncIterable<Buffer>;
};

export const headerBytes = 44;
export const frameBytes = 4;
const maxDataBytes = 0xffff_ffff - headerBytes;
const blockS = 10;
type FrameSpan = { firstFrame: number; frames: number };
/** A stretch of a recording, as a WAV file. */
export type RecordingSection = {
  sampleRate: number;
  bytes: number;
  read: (from: number, to: number) => AsyncGenerator<Buffer>;
};

/**
 * The call as a stereo WAV, 16 bit: the customer on the left, the agent on the right, a mixed leg on both sides. The
 * file is computed for the requested bytes. Nothing is stored twice, and every range is equally fast.
 */
export class StereoRecording {
  readonly sampleRate: number;
  readonly bytes: number;
  readonly #legs: readonly RecordedLeg[];
  /** The roles of the left and the right channel. */
  readonly #roles: readonly [Role, Role];
  readonly #frames: number;
  readonly #hidden: readonly HiddenSpan[];

  /** `hidden`: the times of redacted words, in seconds of the call. Both channels have a tone there. */
  constructor(legs: readonly RecordedLeg[], hidden: readonly HiddenSpan[] = []) {
    this.#legs = legs;
    this.#hidden = hidden;
    this.#roles = recordingRoles(legs.map((leg) => leg.role));
    this.sampleRate = Math.max(8_000, ...legs.map((leg) => leg.sampleRate));
    this.#frames = Math.max(
      0,
      ...legs.map((leg) => Math.ceil((leg.offsetS + secondsOf(leg)) * this.sampleRate)),
    );
    this.bytes = headerBytes + this.#frames * frameBytes;
  }

  get seconds(): number {
    return this.#frames / this.sampleRate;
  }

  /** Reads the bytes of the file from `from` up to but not including `to`. */
  read(from: number, to: number): AsyncGenerator<Buffer> {
    return this.#read({ firstFrame: 0, frames: this.#frames }, from, to);
  }

  /** Makes a file of its own from the seconds from `fromS` up to but not including `toS`. */
  part(fromS: number, toS = this.seconds): RecordingSection {
    const frameAt = (seconds: number): number =>
      Math.min(this.#frames, Math.max(0, Math.round(seconds * this.sampleRate)));
    const firstFrame = frameAt(fromS);
    const span = { firstFrame, frames: Math.max(0, frameAt(toS) - firstFrame) };
    return {
      sampleRate: this.sampleRate,
      bytes: headerBytes + span.frames * frameBytes,
      read: (from, to) => this.#read(span, from, to),
    };
  }

  async *#read(span: FrameSpan, from: number, to: number): AsyncGenerator<Buffer> {
    if (from < headerBytes)
      yield this.#header(span.frames).subarray(from, Math.min(to, headerBytes));
    const before = span.firstFrame * frameBytes;
    const dataFrom = before + Math.max(0, from - headerBytes);
    const dataTo = before + Math.max(0, to - headerBytes);
    const lastFrame = Math.ceil(dataTo / frameBytes);
    for (let frame = Math.floor(dataFrom / frameBytes); frame < lastFrame;) {
      const next = Math.min(lastFrame, frame + blockS * this.sampleRate);
      const block = await this.#block(frame, next);
      const start = Math.max(0, dataFrom - frame * frameBytes);
      yield block.subarray(start, Math.min(block.length, dataTo - frame * frameBytes));
      frame = next;
    }
  }

  async #block(fromFrame: number, toFrame: number): Promise<Buffer> {
    const block = Buffer.alloc((toFrame - fromFrame) * frameBytes);
    for (const leg of this.#legs) await this.#lay(leg, fromFrame, toFrame, block);
    this.#coverHidden(fromFrame, toFrame, block);
    return block;
  }

  /** Both channels are covered: each party hears the other, so the words may be audible in both. */
  #coverHidden(fromFrame: number, toFrame: number, block: Buffer): void {
    for (const span of this.#hidden) {
      const [from, to] = framesOf(span, this.sampleRate);
      for (let frame = Math.max(fromFrame, from); frame < Math.min(toFrame, to); frame++) {
        const value = toneAt(frame, this.sampleRate);
        const at = (frame - fromFrame) * frameBytes;
        block.writeInt16LE(value, at);
        block.writeInt16LE(value, at + 2);
      }
    }
  }

  /** Writes the leg's audio in these frames into the block. Legs of one role follow each other. */
  async #lay(leg: RecordedLeg, fromFrame: number, toFrame: number, block: Buffer): Promise<void> {
    const perSample = bytesPerSample(leg.encoding) * leg.channels;
    const offsetFrames = Math.round(leg.offsetS * this.sampleRate);
    const ratio = leg.sampleRate / this.sampleRate;
    const firstSample = Math.max(0, Math.floor((fromFrame - offsetFrames) * ratio));
    const endSample = Math.min(
      Math.floor(leg.bytes / perSample),
      Math.ceil((toFrame - offsetFrames) * ratio),
    );
    if (endSample <= firstSample) return;
    const parts: Buffer[] = [];
    for await (const part of leg.read(firstSample * perSample, endSample * perSample))
      parts.push(part);
    const audio = Buffer.concat(parts);
    const have = Math.floor(audio.length / perSample);
    for (let frame = Math.max(fromFrame, offsetFrames); frame < toFrame; frame++) {
      const sample = Math.floor((frame - offsetFrames) * ratio) - firstSample;
      if (sample < 0 || sample >= have) continue;
      for (let channel = 0; channel < leg.channels; channel++) {
        const role = leg.channels === 1 ? leg.role : leg.channelRoles[channel === 1 ? 1 : 0];
        const value = decode(audio, sample * leg.channels + channel, leg.encoding);
        const at = (frame - fromFrame) * frameBytes;
        if (role !== 'agent') block.writeInt16LE(value, at);
        if (role === this.#roles[1]) block.writeInt16LE(value, at + 2);
      }
    }
  }

  #header(frames: number): Buffer {
    // If a file is too long for the length field of its header, players read on to the end.
    const dataBytes = Math.min(frames * frameBytes, maxDataBytes);
    const header = Buffer.alloc(headerBytes);
    header.write('RIFF', 0, 'latin1');
    header.writeUInt32LE(headerBytes - 8 + dataBytes, 4);
    header.write('WAVEfmt ', 8, 'latin1');
    header.writeUInt32LE(16, 16);
    header.writeUInt16LE(1, 20);
    header.writeUInt16LE(2, 22);
    header.writeUInt32LE(this.sampleRate, 24);
    header.writeUInt32LE(this.sampleRate * frameBytes, 28);
    header.writeUInt16LE(frameBytes, 32);
    header.writeUInt16LE(16, 34);
    header.write('data', 36, 'latin1');
    header.writeUInt32LE(dataBytes, 40);
    return header;
  }
}

function bytesPerSample(encoding: StreamEncoding): 1 | 2 {
  return encoding === 'pcm16' ? 2 : 1;
}

function secondsOf(leg: RecordedLeg): number {
  return leg.bytes / (leg.sampleRate * leg.channels * bytesPerSample(leg.encoding));
}

function decode(audio: Buffer, index: number, encoding: StreamEncoding): number {
  switch (encoding) {
    case 'mulaw':
      return mulawToLinear[audio[index] ?? 0xff] ?? 0;
    case 'alaw':
      return alawToLinear[audio[index] ?? 0xd5] ?? 0;
    case 'pcm8':
      return ((audio[index] ?? 128) - 128) * 256;
    case 'pcm16':
      return audio.readInt16LE(index * 2);
  }
}

type RecordingPlace = {
  db: Kysely<Database>;
  recordings: Recordings;
  stereoRoles: readonly [Role, Role];
  callId: string;
};

type RecordingRequest = RecordingPlace & {
  /**
   * If true, calls in progress are refused, because words that are said now are not redacted yet, and speech that no
   * service heard has a tone: nobody knows what it reveals.
   */
  isRedacted?: boolean;
  request: Request<{ id: string }>;
  response: Response;
};

/** Answers `GET /api/calls/{id}/recording`: a stereo WAV, or any range of it. */
export async function sendRecording(options: RecordingRequest): Promise<void> {
  const { db, callId, isRedacted = false, request, response } = options;
  const call = await db
    .selectFrom('calls')
    .select(['id', 'state'])
    .where('id', '=', callId)
    .executeTakeFirst();
  if (call === undefined) throw new Problem(404, 'call not found');
  if (isRedacted && call.state !== 'ended')
    throw new Problem(409, 'the call is redacted: ask for its recording when it has ended');
  const recording = await recordingOf(options, isRedacted ? await unheardOf(db, callId) : []);
  if (recording === undefined) throw new Problem(404, 'the call has no recording');
  await sendRange(request, response, {
    bytes: recording.bytes,
    headers: { 'content-type': 'audio/wav' },
    read: (from, to) => recording.read(from, to),
  });
}

/** The audio of a call that this node can read. Undefined if there is none. */
export async function recordingOf(
  { db, recordings, callId, stereoRoles }: RecordingPlace,
  unheard: readonly HiddenSpan[] = [],
): Promise<StereoRecording | undefined> {
  const legs: RecordedLeg[] = [];
  for (const row of await legsOf(db, callId)) {
    const recording = await recordings.of(row.id);
    if (recording === undefined) continue;
    legs.push({
      ...legRecordFrom(row, stereoRoles),
      offsetS: (row.offset_ms ?? 0) / 1_000,
      bytes: recording.bytes,
      read: (from, to) => recording.read(from, to),
    });
  }
  if (legs.length === 0) return undefined;
  return new StereoRecording(legs, [...(await hiddenOf(db, callId)), ...unheard]);
}

/** The seconds of the recording that no service heard. */
async function unheardOf(db: Kysely<Database>, callId: string): Promise<HiddenSpan[]> {
  return (await gapsOf(db, callId)).filter(({ cause }) => isInRecording(cause));
}
