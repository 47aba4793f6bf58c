/** `byte_range` of a positive audio ack. */
export type AckRange = { start: number; end: number };

const marker = Buffer.from(
  '"type":"audio_chunk","acknowledged":true,"error":null,"data":{"byte_range":[',
);
const timeRange = Buffer.from('],"time_range":[');
const closing = Buffer.from(']}}');
const firstByte = marker[0] ?? 0;
const comma = 0x2c;

/** `{"session_id":"<36>","created_at":"<24>",` comes first where the service writes like ours. */
const usualOffset = '{"session_id":"","created_at":"",'.length + 36 + 24;

/**
 * Reads an ack without parsing it. Acks come one a frame, and a full JSON.parse of each costs about half
 * of what forwarding the frame costs. Only the exact form is taken, digit by digit; whatever differs in
 * one byte answers undefined and is read in full by the caller.
 */
export function scanAck(message: Buffer, range: AckRange): boolean {
  const at = usualOffset;
  if (message.length < at + marker.length || message[at] !== firstByte) return false;
  if (message[0] !== 0x7b) return false;
  if (marker.compare(message, at, at + marker.length) !== 0) return false;
  let index = at + marker.length;
  let start = 0;
  let digits = 0;
  for (; digits < 16; digits++) {
    const digit = (message[index] ?? 0) - 48;
    if (digit < 0 || digit > 9) break;
    start = start * 10 + digit;
    index++;
  }
  if (digits === 0 || digits > 15 || message[index] !== comma) return false;
  index++;
  let end = 0;
  for (digits = 0; digits < 16; digits++) {
    const digit = (message[index] ?? 0) - 48;
    if (digit < 0 || digit > 9) break;
    end = end * 10 + digit;
    index++;
  }
  if (digits === 0 || digits > 15) return false;
  if (timeRange.compare(message, index, index + timeRange.length) !== 0) return false;
  if (closing.compare(message, message.length - closing.length, message.length) !== 0) return false;
  range.start = start;
  range.end = end;
  return true;
}
