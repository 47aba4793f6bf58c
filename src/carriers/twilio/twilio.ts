import type { AuthContext, Carrier, UpgradeRequest, Verdict } from '../carrier.ts';
import { JsonCodec, type Dialect, type MediaHead, type ParsedStart } from '../json/codec.ts';
import { objectAt, textAt, textParameters } from '../json/frames.ts';
import { parsedStart } from '../json/start.ts';
import { tracksOf } from '../parameters.ts';
import { isTwilioSignature } from './signature.ts';

export const twilio: Carrier = {
  name: 'twilio',
  authenticate,
  hasSecret: (config) => config.twilioAuthToken.length > 0,
  newCodec: () => new JsonCodec(dialect),
  pings: () => true,
  sendsBearer: false,
  closesItself: false,
};

function authenticate(request: UpgradeRequest, { config, publicUrl }: AuthContext): Verdict {
  const signature = request.headers['x-twilio-signature'];
  if (signature === undefined) return { outcome: 'at-start' };
  if (config.twilioAuthToken.length === 0)
    return {
      outcome: 'refused',
      status: 403,
      reason: 'a signature came, but TRUNKLINE_TWILIO_AUTH_TOKEN is not set',
    };
  return isTwilioSignature(signature, config.twilioAuthToken, {
    publicUrl,
    kind: 'socket',
    target: request.target,
  })
    ? { outcome: 'accepted', by: 'signature' }
    : {
        outcome: 'refused',
        status: 403,
        reason:
          'X-Twilio-Signature does not match: check TRUNKLINE_TWILIO_AUTH_TOKEN and TRUNKLINE_PUBLIC_URL',
      };
}

const mediaPattern =
  /^\{"event":"media","sequenceNumber":"(\d{1,15})",(?:"streamSid":"[^"\\\x00-\x1f]{1,128}",)?"media":\{"track":"(inbound|outbound)","chunk":"\d{1,15}","timestamp":"(\d{1,15})",$/;

function mediaHead(head: string, tail: string): MediaHead | undefined {
  const match = tail === '"}}' ? mediaPattern.exec(head) : null;
  return match
    ? { track: match[2] ?? '', number: Number(match[1]), timestampMs: Number(match[3]) }
    : undefined;
}

/** One for all streams: it keeps nothing of any of them. */
const dialect = twilioDialect({ byteOrder: 'little', otherCodec: 'Twilio streams mu-law only' });

/** What SignalWire's dialect changes: other codecs, and so a byte order. */
export type TwilioDialectOptions = { byteOrder: 'big' | 'little'; otherCodec: string };

export function twilioDialect(options: TwilioDialectOptions): Dialect {
  return {
    mediaHead,
    numbering: 'stream',
    firstNumber: 2,
    sequenceField: 'sequenceNumber',
    start: (message) => parseStart(message, options),
    ignored: new Set(['connected', 'mark']),
    // Section 1.3: a key press names its track `inbound_track`.
    dtmfTrack: (dtmf) => textAt(dtmf, 'track')?.replace(/_track$/, ''),
  };
}

function parseStart(
  message: Record<string, unknown>,
  { byteOrder, otherCodec }: TwilioDialectOptions,
): ParsedStart {
  const start = objectAt(message, 'start');
  const format = start && objectAt(start, 'mediaFormat');
  const streamId = start && (textAt(start, 'streamSid') ?? textAt(message, 'streamSid'));
  const carrierCallId = start && textAt(start, 'callSid');
  if (!start || !format || streamId === undefined || carrierCallId === undefined)
    return { outcome: 'malformed' };
  const names = tracksOf(start['tracks']);
  // Only a fork hears the outbound track; a stream with the inbound alone may hold the call (section 1.1).
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
