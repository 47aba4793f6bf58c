import { reasonOf, TrunklineError } from '../lib/errors.ts';
import type { PlayedCarrier } from './dialogue.ts';

/** One frame of a recorded conversation; a file holds one JSON line for each. */
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

export type RecordedIds = { carrier: PlayedCarrier; callId: string; streamId: string };

/** Whose conversation it is, and the ids that stand in it; undefined when the first texts do not say. */
export function idsOf(frames: readonly RecordedFrame[]): RecordedIds | undefined {
  for (const frame of frames.filter(({ from }) => from === 'carrier').slice(0, 8)) {
    const found = 'text' in frame ? idsOfText(frame.text) : undefined;
    if (found) return found;
  }
  return undefined;
}

function idsOfText(text: string): RecordedIds | undefined {
  const plain =
    /^MEDIA_START .*?\bchannel_id:(\S+)/.exec(text)?.[1] ??
    /^MEDIA_START .*?\bchannel:(\S+)/.exec(text)?.[1];
  if (plain !== undefined) return { carrier: 'asterisk', callId: plain, streamId: plain };
  const message = asObject(safeParse(text));
  const start = asObject(message['start']);
  const parameters = asObject(message['parameters']);
  const ids = (
    carrier: PlayedCarrier,
    callId: unknown,
    streamId: unknown,
  ): RecordedIds | undefined =>
    typeof callId === 'string' && typeof streamId === 'string'
      ? { carrier, callId, streamId }
      : undefined;
  if (message['event'] === 'MEDIA_START') {
    const id = message['channel_id'] ?? message['channel'];
    return ids('asterisk', id, id);
  }
  if (message['type'] === 'open')
    return ids('audiohook', parameters['conversationId'], message['id']);
  if (message['event'] !== 'start') return undefined;
  if ('call_control_id' in start)
    return ids('telnyx', start['call_control_id'], message['stream_id']);
  if ('callId' in start) return ids('plivo', start['callId'], start['streamId']);
  const streamSid = start['streamSid'];
  return ids(
    typeof streamSid === 'string' && streamSid.startsWith('MZ') ? 'twilio' : 'signalwire',
    start['callSid'],
    streamSid,
  );
}

function safeParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A plain-text control message.
    return undefined;
  }
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
