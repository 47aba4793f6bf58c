import type { CarrierEvent } from '../carrier.ts';

/**
 * Splits audio of two channels, whose samples alternate in the order of the tracks. Audio of one channel stays as it
 * is.
 */
export function splitChannels(
  data: Buffer,
  width: 1 | 2,
  tracks: readonly string[],
): CarrierEvent[] {
  const [first = 'inbound', second] = tracks;
  if (data.length === 0 || data.length % (width * tracks.length) !== 0)
    return [{ type: 'count', what: 'malformed' }];
  if (second === undefined) return [{ type: 'audio', track: first, payload: data }];
  const half = data.length / 2;
  const left = Buffer.allocUnsafe(half);
  const right = Buffer.allocUnsafe(half);
  for (let to = 0, from = 0; to < half; to += width, from += 2 * width)
    for (let byte = 0; byte < width; byte++) {
      left[to + byte] = data[from + byte] ?? 0;
      right[to + byte] = data[from + width + byte] ?? 0;
    }
  return [
    { type: 'audio', track: first, payload: left },
    { type: 'audio', track: second, payload: right },
  ];
}

/**
 * Reverses the split, for the player. A party that sends nothing counts as silence, so that the channels stay side by
 * side.
 */
export function interleave(parts: readonly Buffer[], width: 1 | 2, silence: number): Buffer {
  const length = Math.max(...parts.map((part) => part.length));
  const mixed = Buffer.alloc(length * parts.length, silence);
  for (const [channel, part] of parts.entries())
    for (let from = 0; from + width <= part.length; from += width)
      part.copy(mixed, from * parts.length + channel * width, from, from + width);
  return mixed;
}
