import type { Carrier } from '../carrier.ts';
import type { CarriersConfig } from '../config.ts';
import { checkBearer } from '../credentials.ts';
import { JsonCodec, type Dialect, type MediaHead, type ParsedStart } from '../json/codec.ts';
import { objectAt, textAt, textParameters } from '../json/frames.ts';
import { parsedStart } from '../json/start.ts';

export const telnyx: Carrier = {
  name: 'telnyx',
  // The upgrade is not documented as signed (section 2.1): a stream token, or the shared stream_auth_token.
  authenticate: (request, { config }) => checkBearer(request, config.telnyxToken),
  hasSecret: (config) => config.telnyxToken.length > 0,
  newCodec: (config) => new JsonCodec(dialect(config)),
  pings: () => true,
  sendsBearer: true,
  closesItself: false,
};

const mediaPattern =
  /^\{"event":"media","sequence_number":"\d{1,15}","stream_id":"[^"\\\x00-\x1f]{1,128}","media":\{"track":"(inbound|outbound)","chunk":"(\d{1,15})","timestamp":"(\d{1,15})",$/;

function mediaHead(head: string, tail: string): MediaHead | undefined {
  const match = tail === '"}}' ? mediaPattern.exec(head) : null;
  return match
    ? { track: match[1] ?? '', number: Number(match[2]), timestampMs: Number(match[3]) }
    : undefined;
}

function dialect(config: CarriersConfig): Dialect {
  return {
    mediaHead,
    // Section 2.4: the order of messages is not promised, the chunk numbers of a track restore it.
    numbering: 'track',
    firstNumber: 1,
    sequenceField: 'sequence_number',
    start: (message) => parseStart(message, config.telnyxByteOrder),
    ignored: new Set(['connected', 'mark', 'error']),
    dtmfTrack: () => undefined,
  };
}

function parseStart(message: Record<string, unknown>, byteOrder: 'big' | 'little'): ParsedStart {
  const start = objectAt(message, 'start');
  const format = start && objectAt(start, 'media_format');
  const streamId = textAt(message, 'stream_id') ?? (start && textAt(start, 'stream_id'));
  const carrierCallId = start && textAt(start, 'call_control_id');
  if (!start || !format || streamId === undefined || carrierCallId === undefined)
    return { outcome: 'malformed' };
  return parsedStart({
    carrierCallId,
    streamId,
    format,
    rateField: 'sample_rate',
    byteOrder,
    // The start does not say which tracks will come.
    tracks: ['inbound', 'outbound'],
    carrierIds: {
      stream_id: streamId,
      call_session_id: textAt(start, 'call_session_id'),
      user_id: textAt(start, 'user_id'),
      client_state: textAt(start, 'client_state', 4096),
    },
    from: textAt(start, 'from'),
    to: textAt(start, 'to'),
    parameters: textParameters(start['custom_parameters']),
    closingEndsCall: false,
    remedy: 'set stream_codec=PCMU (or PCMA)',
  });
}
