import { wait, type Clock } from '../../lib/clock.ts';
import {
  frameBytes,
  headerBytes,
  type RecordingPart,
  type StereoRecording,
} from '../recordings/recording-file.ts';
import { blockS, quietCut } from './quiet-cut.ts';

/** A piece of a long recording that the service has read: its words are with the job. */
export type PieceRead = {
  startS: number;
  endS: number;
  jobId: string;
  fileId: string | null;
  service: string | null;
};

/** A rest after each second of audio: nobody waits for an upload, and live audio has the thread between. */
const restMs = 2;
/** A silence is looked for in so much of the end of a piece. */
const searchS = 600;
/** A shorter piece than this is not cut: a service that refuses it refuses everything. */
export const shortestS = 5;

export function piecesIn(row: { pieces: string | null }): PieceRead[] {
  return row.pieces === null ? [] : (JSON.parse(row.pieces) as PieceRead[]);
}

/** Which piece is next or under way, from 1; undefined where the recording is read whole. */
export function pieceNumber(row: {
  pieces: string | null;
  piece_end_s: number | null;
}): number | undefined {
  const read = piecesIn(row).length;
  return read === 0 && row.piece_end_s === null ? undefined : read + 1;
}

/** A file of audio, slowly enough for live audio beside it. */
export async function* slowly(
  { sampleRate, read }: RecordingPart,
  { from, to }: { from: number; to: number },
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): AsyncGenerator<Buffer> {
  const secondBytes = sampleRate * frameBytes;
  for (let at = from; at < to && !signal.aborted; at += secondBytes) {
    yield* read(at, Math.min(to, at + secondBytes));
    await wait(clock, restMs, signal);
  }
}

/**
 * Where a piece that begins at `startS` ends, in seconds of the recording: in a silence of its last minutes. Undefined
 * where the rest is short enough for one piece.
 */
export async function pieceEnd(
  recording: StereoRecording,
  { startS, limitS }: { startS: number; limitS: number },
  pace: { clock: Clock; signal: AbortSignal },
): Promise<number | undefined> {
  if (recording.seconds - startS <= limitS) return undefined;
  const toS = startS + limitS;
  const fromS = toS - Math.min(searchS, limitS / 4);
  const part = recording.part(fromS, toS);
  const levels: number[] = [];
  const blockFrames = Math.round(recording.sampleRate * blockS);
  let [left, right, frames] = [0, 0, 0];
  for await (const audio of slowly(part, { from: headerBytes, to: part.bytes }, pace))
    for (let at = 0; at + frameBytes <= audio.length; at += frameBytes) {
      left += Math.abs(audio.readInt16LE(at));
      right += Math.abs(audio.readInt16LE(at + 2));
      if (++frames < blockFrames) continue;
      levels.push(Math.max(left, right) / frames);
      [left, right, frames] = [0, 0, 0];
    }
  return fromS + (quietCut(levels) * blockFrames) / recording.sampleRate;
}
