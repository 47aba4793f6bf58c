import { SessionHint } from '../../../protocol/session-hints.ts';

type ClientCommand =
  | { type: 'audio'; bytes: Buffer; messageId: string | undefined }
  | { type: 'bad-audio'; reason: string; messageId: string | undefined }
  | { type: 'stop'; messageId: string | undefined }
  | { type: 'hint'; hint: SessionHint }
  | { type: 'unknown'; reason: string };

/** A longer frame is parsed only if its beginning or end names an audio chunk. No other command is that long. */
const longestCommand = 65_536;
const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/** Reads a text frame. Never throws, because a session survives any message of its client. */
export function readCommand(frame: Buffer): ClientCommand {
  if (frame.length > longestCommand) {
    const ends = frame.toString('latin1', 0, 256) + frame.toString('latin1', frame.length - 256);
    if (!ends.includes('"audio_chunk"'))
      return { type: 'unknown', reason: 'too long for a command' };
  }
  const message = parse(frame);
  if (message === undefined) return { type: 'unknown', reason: 'not a JSON object' };
  const id = message['message_id'];
  const messageId = typeof id === 'string' && id.length <= 256 ? id : undefined;
  switch (message['type']) {
    case 'stop_recording':
      return { type: 'stop', messageId };
    case 'audio_chunk':
      return chunkOf(message['data'], messageId);
    case 'hint':
      return hintOf(message['data']);
    default:
      return { type: 'unknown', reason: 'unknown message type' };
  }
}

function parse(frame: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(frame.toString('utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // The command is undefined, and the caller reports it.
  }
  return undefined;
}

function hintOf(data: unknown): ClientCommand {
  const { success, data: hint } = SessionHint.safeParse(data);
  return success ? { type: 'hint', hint } : { type: 'unknown', reason: 'not a hint' };
}

function chunkOf(data: unknown, messageId: string | undefined): ClientCommand {
  const chunk: unknown =
    typeof data === 'object' && data !== null ? (data as { chunk?: unknown }).chunk : undefined;
  if (typeof chunk !== 'string')
    return { type: 'bad-audio', reason: 'data.chunk is required', messageId };
  // `Buffer.from` silently skips characters that are not base64. The audio would then have holes.
  if (!isBase64(chunk))
    return { type: 'bad-audio', reason: 'data.chunk must be base64 text', messageId };
  return { type: 'audio', bytes: Buffer.from(chunk, 'base64'), messageId };
}

/** Checks base64. Padding may be missing, but a single extra character is an error, since it holds no whole byte. */
function isBase64(text: string): boolean {
  if (!base64.test(text)) return false;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return (text.length - padding) % 4 !== 1 && (padding === 0 || text.length % 4 === 0);
}
