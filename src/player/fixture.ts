import { reasonOf, TrunklineError } from '../lib/errors.ts';
import type { CarrierPlayer } from './dialogue.ts';

/** One frame of a recorded conversation. A file holds one frame per line, as JSON. */
export type RecordedFrame = { atMs: number; from: 'carrier' | 'bridge' } & (
  { text: string } | { base64: string }
);

export function fixtureLine(frame: RecordedFrame): string {
  return `${JSON.stringify(frame)}\n`;
}

export function readFixtureLines(content: string): RecordedFrame[] {
  return content
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, at) => {
      const frame = parsed(line, at + 1);
      const isFrame =
        typeof frame['atMs'] === 'number' &&
        (frame['from'] === 'carrier' || frame['from'] === 'bridge') &&
        (typeof frame['text'] === 'string' || typeof frame['base64'] === 'string');
      if (!isFrame)
        throw new TrunklineError(
          'BAD_INPUT',
          `line ${at + 1} is no recorded frame: atMs, from, and text or base64`,
        );
      return frame as RecordedFrame;
    });
}

function parsed(line: string, number: number): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch (cause) {
    throw new TrunklineError('BAD_INPUT', `line ${number} is not JSON: ${reasonOf(cause)}`, {
      cause,
    });
  }
}

export type RecordedIds = { carrier: string; callId: string; streamId: string };

/** Finds the carrier and the ids of a recorded conversation. Undefined if its first texts do not show them. */
export function idsOf(
  frames: readonly RecordedFrame[],
  players: readonly CarrierPlayer[],
): RecordedIds | undefined {
  for (const frame of frames.filter(({ from }) => from === 'carrier').slice(0, 8)) {
    if (!('text' in frame)) continue;
    const message = asObject(safeParse(frame.text));
    for (const player of players) {
      const found = player.recordedIds(frame.text, message);
      if (found) return { carrier: player.name, ...found };
    }
  }
  return undefined;
}

function safeParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The text is a plain-text control message.
    return undefined;
  }
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
