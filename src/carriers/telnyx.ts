import type { Carrier } from './carrier.ts';
import type { CarriersConfig } from './config.ts';
import { checkBearer } from './credentials.ts';
import { encodingOf, isForwardableRate } from './encodings.ts';
import { JsonCodec, type Dialect, type MediaHead, type ParsedStart } from './json-codec.ts';
import { objectAt, textAt, textParameters, wholeAt } from './json-frames.ts';
import { liftParameters, tracksWithRoles } from './parameters.ts';

export const telnyx: Carrier = {
  name: 'telnyx',
  // The upgrade is not documented as signed (section 2.1): a stream token, or the shared stream_auth_token.
  authenticate: (request, { config }) => checkBearer(request, config.telnyxToken),
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
  const spelt = textAt(format, 'encoding') ?? '';
  const encoding = encodingOf(spelt);
  const sampleRate = wholeAt(format, 'sample_rate') ?? 8000;
  if (encoding === undefined || !isForwardableRate(sampleRate))
    return {
      outcome: 'refused',
      closingEndsCall: false,
      reason: `set stream_codec=PCMU (or PCMA): ${spelt} at ${sampleRate} Hz cannot be transcribed`,
    };
  const { token, from, to, direction, role, rest } = liftParameters(
    textParameters(start['custom_parameters']),
  );
  return {
    outcome: 'start',
    swapBytes: encoding === 'pcm16' && byteOrder === 'big',
    start: {
      carrierCallId,
      streamId,
      encoding,
      sampleRate,
      // The start does not say which tracks will come.
      tracks: tracksWithRoles(['inbound', 'outbound'], role),
      carrierIds: idsOf(start, streamId),
      parameters: rest,
      closingEndsCall: false,
      ...optional('token', token),
      ...optional('from', textAt(start, 'from') ?? from),
      ...optional('to', textAt(start, 'to') ?? to),
      ...(direction === undefined ? {} : { direction }),
    },
  };
}

function idsOf(start: Record<string, unknown>, streamId: string): Record<string, string> {
  return {
    stream_id: streamId,
    ...optional('call_session_id', textAt(start, 'call_session_id')),
    ...optional('user_id', textAt(start, 'user_id')),
    ...optional('client_state', textAt(start, 'client_state', 4096)),
  };
}

function optional<K extends string>(
  name: K,
  value: string | undefined,
): Partial<Record<K, string>> {
  return value === undefined ? {} : ({ [name]: value } as Record<K, string>);
}
