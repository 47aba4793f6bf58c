import { callFacts } from '../call-facts.ts';
import type { Carrier, UpgradeRequest } from '../carrier.ts';
import { checkBasic, refuseHalf } from '../credentials.ts';
import { JsonCodec, type Dialect, type ParsedStart } from '../json/json-codec.ts';
import { objectAt, textAt, textParameters, wholeAt } from '../json/frames.ts';
import { parametersInAddress, parsedStart } from '../json/json-start.ts';
import { ownRecord } from '../parameters.ts';
import { exotelPlayer } from './player.ts';
import { exotelSetup } from './setup.ts';
import type { ExotelConfig } from './settings.ts';
import { exotelWebhooks } from './webhooks.ts';
import { withoutUndefined } from '../../lib/without-undefined.ts';

export const exotel: Carrier<ExotelConfig> = {
  name: 'exotel',
  // Exotel signs nothing. Its proof is a stream token, or the user name and password in the address of its applet.
  authenticate: (request, { config, judgeSecret }) =>
    checkBasic(
      request,
      { username: config.exotelUsername, password: config.exotelPassword },
      judgeSecret,
    ),
  hasSecret: (config) => config.exotelPassword !== undefined,
  checkSettings: ({ exotelUsername, exotelPassword }) =>
    refuseHalf({
      TRUNKLINE_EXOTEL_USERNAME: exotelUsername,
      TRUNKLINE_EXOTEL_PASSWORD: exotelPassword,
    }),
  newCodec: (_config, request) => new JsonCodec(dialect(request)),
  pings: () => true,
  sendsBearer: false,
  closesItself: false,
  matchesTexts({ message: connected }, second) {
    // No other carrier sends a `connected` message without further fields.
    if (connected?.['event'] !== 'connected' || Object.keys(connected).length > 1) return false;
    if (second === undefined) return 'more';
    const message = second.message && inSnakeCase(second.message);
    return message?.['event'] === 'start' && idsOf(message) !== undefined;
  },
  webhooks: exotelWebhooks,
  factsOf: (form) =>
    callFacts({
      from: form['From'] ?? form['CallFrom'],
      to: form['To'] ?? form['CallTo'],
      direction: form['Direction'],
      status: form['Status'] ?? form['CallStatus'],
    }),
  setup: exotelSetup,
  player: exotelPlayer,
  playerSecrets: ({ exotelUsername: username, exotelPassword: password }) => ({
    username,
    password,
  }),
};

/**
 * Each stream carries one party. As seen from the caller's phone, the caller is the inbound track and the agent the
 * outbound track.
 */
function dialect(request: UpgradeRequest): Dialect {
  const { 'sample-rate': rateHz, ...inAddress } = parametersInAddress(request);
  let track = 'inbound';
  return {
    // About ten messages come a second. Each is parsed in full, so that both spellings are read by the same code.
    mediaHead: () => undefined,
    inFamilyShape(said) {
      const message = inSnakeCase(said);
      const media = objectAt(message, 'media');
      return media ? { ...message, media: { ...media, track } } : message;
    },
    numbering: 'track',
    firstNumber: 1,
    // Exotel does not say whether its timestamps count the audio or tell when a frame was sent.
    hasMediaClock: false,
    sequenceField: 'sequence_number',
    start(message) {
      const parsed = parseStart(message, inAddress, rateHz);
      if (parsed.outcome === 'start') track = parsed.start.tracks[0]?.name ?? track;
      return parsed;
    },
    ignored: new Set(['connected', 'mark', 'clear']),
    dtmfTrack: () => track,
  };
}

/** Exotel spells fields `stream_sid` or `streamSid`, depending on how the stream was started. */
function inSnakeCase(message: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(message).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}

type ExotelIds = { start: Record<string, unknown>; streamId: string; callId: string };

function idsOf(message: Record<string, unknown>): ExotelIds | undefined {
  const said = objectAt(message, 'start');
  const start = said && inSnakeCase(said);
  const streamId = start && (textAt(start, 'stream_sid') ?? textAt(message, 'stream_sid'));
  const callId = start && textAt(start, 'call_sid');
  return start && streamId !== undefined && callId !== undefined
    ? { start, streamId, callId }
    : undefined;
}

/** Exotel calls samples of 16 bits `audio/x-raw`. Older streams name the transport instead. */
function formatOf(
  start: Record<string, unknown>,
  rateInAddress: string | undefined,
): Record<string, unknown> {
  const said = objectAt(start, 'media_format') ?? {};
  const format = inSnakeCase(said);
  const encoding = Object.hasOwn(format, 'encoding') ? textAt(format, 'encoding') : 'raw';
  const rateHz = wholeAt(format, 'sample_rate') ?? rateInAddress;
  return {
    ...format,
    encoding: encoding === 'base64' ? 'raw' : encoding,
    ...withoutUndefined({ sample_rate: rateHz }),
  };
}

function parseStart(
  message: Record<string, unknown>,
  inAddress: Record<string, string>,
  rateInAddress: string | undefined,
): ParsedStart {
  const ids = idsOf(message);
  if (!ids) return { outcome: 'malformed' };
  const { start, streamId, callId } = ids;
  const parameters = ownRecord([
    ...Object.entries(inAddress),
    ...Object.entries(textParameters(start['custom_parameters'])),
  ]);
  return parsedStart({
    carrierCallId: callId,
    streamId,
    format: formatOf(start, rateInAddress),
    rateField: 'sample_rate',
    byteOrder: 'little',
    tracks: [parameters['role'] === 'agent' ? 'outbound' : 'inbound'],
    carrierIds: { stream_sid: streamId, account_sid: textAt(start, 'account_sid') },
    from: textAt(start, 'from'),
    to: textAt(start, 'to'),
    parameters,
    // A Voicebot applet ends the call with its stream, and a stream does not show which applet started it.
    closingEndsCall: true,
    remedy: 'put ?sample-rate=8000 or ?sample-rate=16000 behind the address in the applet',
  });
}
