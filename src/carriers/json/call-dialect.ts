import type { FirstText } from '../carrier.ts';
import { tracksOf } from '../parameters.ts';
import type { Dialect, MediaHead, ParsedStart } from './json-codec.ts';
import { objectAt, textAt, textParameters } from './frames.ts';
import { parsedStart } from './json-start.ts';

/** The carriers that announce `"protocol":"Call"` differ in their codecs and so in the byte order of their samples. */
type CallDialectOptions = { byteOrder: 'big' | 'little'; otherCodec: string };

const mediaPattern =
  /^\{"event":"media","sequenceNumber":"(\d{1,15})",(?:"streamSid":"[^"\\\x00-\x1f]{1,128}",)?"media":\{"track":"(inbound|outbound)","chunk":"\d{1,15}","timestamp":"(\d{1,15})",$/;

function mediaHead(head: string, tail: string): MediaHead | undefined {
  const match = tail === '"}}' ? mediaPattern.exec(head) : null;
  return match
    ? { track: match[2] ?? '', number: Number(match[1]), timestampMs: Number(match[3]) }
    : undefined;
}

/**
 * Makes the dialect of `connected`, `start`, `media`, `dtmf` and `stop`, with one numbering over the whole stream.
 */
export function callDialect(options: CallDialectOptions): Dialect {
  return {
    mediaHead,
    numbering: 'stream',
    firstNumber: 2,
    hasMediaClock: true,
    sequenceField: 'sequenceNumber',
    start: (message) => parseStart(message, options),
    ignored: new Set(['connected', 'mark']),
    // A key press names its track `inbound_track`; audio names the same track `inbound`.
    dtmfTrack: (dtmf) => textAt(dtmf, 'track')?.replace(/_track$/, ''),
  };
}

function parseStart(
  message: Record<string, unknown>,
  { byteOrder, otherCodec }: CallDialectOptions,
): ParsedStart {
  const start = objectAt(message, 'start');
  const format = start && objectAt(start, 'mediaFormat');
  const streamId = start && (textAt(start, 'streamSid') ?? textAt(message, 'streamSid'));
  const carrierCallId = start && textAt(start, 'callSid');
  if (!start || !format || streamId === undefined || carrierCallId === undefined)
    return { outcome: 'malformed' };
  const names = tracksOf(start['tracks']);
  // Only a stream beside the call carries the outbound track. A stream with the inbound track alone may be the verb in
  // which the call waits, and closing it could end the call.
  const closingEndsCall = !names.includes('outbound');
  return parsedStart({
    carrierCallId,
    streamId,
    format,
    byteOrder,
    tracks: names,
    carrierIds: { stream_sid: streamId, account_sid: textAt(start, 'accountSid') },
    parameters: textParameters(start['customParameters']),
    closingEndsCall,
    remedy: otherCodec,
  });
}

/** Ids of this form begin with two letters that show their kind. */
const lettered = /^[A-Z]{2}/;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * For paths that do not name the carrier: a `connected` of this protocol, followed by a start whose stream id has the
 * expected form.
 */
export function callStreamSid(
  { message: connected }: FirstText,
  second: FirstText | undefined,
  isOurs: (form: 'uuid' | 'lettered' | 'other') => boolean,
): boolean | 'more' {
  if (connected?.['event'] !== 'connected' || connected['protocol'] !== 'Call') return false;
  if (second === undefined) return 'more';
  const start = second.message && objectAt(second.message, 'start');
  const sid = (start && textAt(start, 'streamSid')) ?? '';
  return (
    start !== undefined &&
    isOurs(uuid.test(sid) ? 'uuid' : lettered.test(sid) ? 'lettered' : 'other')
  );
}
