import { wait, type Clock } from '../../lib/clock.ts';
import {
  frameBytes,
  headerBytes,
  type RecordingSection,
  type StereoRecording,
} from '../recordings/recording-file.ts';
import { blockS, quietCut } from './quiet-cut.ts';

/** A piece of a long recording that the service has read. Its words are with the job. */
export type PieceRead = {
  startS: number;
  endS: number;
  jobId: string;
  fileId: string | null;
  service: string | null;
};

/** The pause after each second of audio. An upload is not urgent, and live audio can use the thread in the pause. */
const restMs = 2;
/** A silence is searched for in this many seconds at the end of a piece. */
const searchS = 600;
/** A piece shorter than this is not divided further: a service that refuses it would refuse everything. */
export const shortestS = 5;

export function piecesIn(row: { pieces: string | null }): PieceRead[] {
  return row.pieces === null ? [] : (JSON.parse(row.pieces) as PieceRead[]);
}

/** The number of the next or present piece, from 1. Undefined if the recording is read as a whole. */
export function pieceNumber(row: {
  pieces: string | null;
  piece_end_s: number | null;
}): number | undefined {
  const read = piecesIn(row).length;
  return read === 0 && row.piece_end_s === null ? undefined : read + 1;
}

/** Reads a file of audio slowly enough to leave time for live audio. */
export async function* slowly(
  { sampleRate, read }: RecordingSection,
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
 * Finds the end of a piece that begins at `startS`, in seconds of the recording: a silence in the last minutes of the
 * piece. Returns undefined if the rest is short enough for one piece.
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
