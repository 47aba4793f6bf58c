import { formFacts } from '../call-facts.ts';
import type { AuthContext, Carrier, UpgradeRequest, UpgradeVerdict } from '../carrier.ts';
import { JsonCodec, type Dialect, type MediaHead, type ParsedStart } from '../json/json-codec.ts';
import { objectAt, textAt } from '../json/frames.ts';
import { parametersInAddress, parsedStart } from '../json/json-start.ts';
import { ownRecord, tracksOf } from '../parameters.ts';
import { refuseBoth } from '../voice-answer.ts';
import { plivoPlayer } from './player.ts';
import { isPlivoSignature } from './signature.ts';
import { plivoWebhooks } from './webhooks.ts';
import { plivoSetup } from './setup.ts';
import type { PlivoConfig } from './settings.ts';

export const plivo: Carrier<PlivoConfig> = {
  name: 'plivo',
  authenticate,
  hasSecret: (config) => config.plivoAuthToken.length > 0,
  newCodec: (config, request) => new JsonCodec(dialect(config, request)),
  checkSettings: ({ plivoDial, plivoContinueUrl }) =>
    refuseBoth({
      TRUNKLINE_PLIVO_DIAL: plivoDial,
      TRUNKLINE_PLIVO_CONTINUE_URL: plivoContinueUrl,
    }),
  pings: () => true,
  sendsBearer: false,
  closesItself: false,
  matchesUpgrade: ({ headers }) => headers['x-plivo-signature-v3'] !== undefined,
  matchesTexts({ message }) {
    const start = message?.['event'] === 'start' ? objectAt(message, 'start') : undefined;
    return (
      start !== undefined &&
      textAt(start, 'streamId') !== undefined &&
      textAt(start, 'callId') !== undefined
    );
  },
  webhooks: plivoWebhooks,
  factsOf: formFacts,
  setup: plivoSetup,
  player: plivoPlayer,
  playerSecrets: ({ plivoAuthToken: [authToken] }) => ({ authToken }),
};

/** The signature holds no time, so a nonce is remembered for as long as a call may last. */
const nonceMs = 86_400_000;

function authenticate(
  request: UpgradeRequest,
  { config, publicUrl, nowMs, nonces }: AuthContext<PlivoConfig>,
): UpgradeVerdict {
  const signature = request.headers['x-plivo-signature-v3'];
  const nonce = request.headers['x-plivo-signature-v3-nonce'];
  if (signature === undefined) return { outcome: 'at-start' };
  if (nonce === undefined || nonce === '' || nonce.length > 256)
    return refused('X-Plivo-Signature-V3-Nonce is missing');
  if (config.plivoAuthToken.length === 0)
    return refused('a signature came, but TRUNKLINE_PLIVO_AUTH_TOKEN is not set');
  const signed = { publicUrl, kind: 'socket', target: request.target, nonce } as const;
  if (!isPlivoSignature(signature, config.plivoAuthToken, signed))
    return refused(
      'X-Plivo-Signature-V3 does not match: check TRUNKLINE_PLIVO_AUTH_TOKEN and TRUNKLINE_PUBLIC_URL',
    );
  return nonces.remember('plivo', nonce, nowMs + nonceMs)
    ? { outcome: 'accepted', by: 'signature' }
    : refused('the nonce was used before');
}

function refused(reason: string): UpgradeVerdict {
  return { outcome: 'refused', status: 403, reason };
}

const mediaPattern =
  /^\{"event":"media","sequenceNumber":\d{1,15},"streamId":"[^"\\\x00-\x1f]{1,128}","media":\{"track":"(inbound|outbound)","timestamp":"(\d{1,15})","chunk":(\d{1,15}),$/;

const tailPattern = /^"\}(?:,"extra_headers":"[^"\\\x00-\x1f]{0,2048}")?\}$/;

function mediaHead(head: string, tail: string): MediaHead | undefined {
  const match = tailPattern.test(tail) ? mediaPattern.exec(head) : null;
  return match
    ? { track: match[1] ?? '', number: Number(match[3]), timestampMs: Number(match[2]) }
    : undefined;
}

function dialect(config: PlivoConfig, request: UpgradeRequest): Dialect {
  const inAddress = parametersInAddress(request);
  return {
    mediaHead,
    numbering: 'track',
    firstNumber: 1,
    // Plivo's timestamps tell the time of day at which a frame was sent.
    hasMediaClock: false,
    sequenceField: 'sequenceNumber',
    start: (message) => parseStart(message, config.plivoByteOrder, inAddress),
    ignored: new Set(['playedStream', 'clearedAudio']),
    dtmfTrack: (dtmf) => textAt(dtmf, 'track'),
  };
}

function parseStart(
  message: Record<string, unknown>,
  byteOrder: 'big' | 'little',
  inAddress: Record<string, string>,
): ParsedStart {
  const start = objectAt(message, 'start');
  const format = start && objectAt(start, 'mediaFormat');
  const streamId = start && textAt(start, 'streamId');
  const carrierCallId = start && textAt(start, 'callId');
  if (!start || !format || streamId === undefined || carrierCallId === undefined)
    return { outcome: 'malformed' };
  return parsedStart({
    carrierCallId,
    streamId,
    format,
    byteOrder,
    tracks: tracksOf(start['tracks']),
    carrierIds: { stream_id: streamId, account_id: textAt(start, 'accountId') },
    inAddress,
    parameters: extraHeaders(textAt(message, 'extra_headers', 2048) ?? ''),
    // Without keepCallAlive the call ends with its stream, and a stream does not show whether keepCallAlive was set.
    closingEndsCall: true,
    remedy: 'set contentType of <Stream> to audio/x-mulaw;rate=8000',
  });
}

/** Reads a header such as `crmCase=C-20417;tier=gold`. */
function extraHeaders(text: string): Record<string, string> {
  return ownRecord(
    text
      .split(';')
      .map((part) => part.trim())
      .filter((part) => part.includes('='))
      .slice(0, 64)
      .map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)]),
  );
}
