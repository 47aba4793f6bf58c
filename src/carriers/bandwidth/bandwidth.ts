import { isObject } from '../../lib/json.ts';
import { callFacts } from '../call-facts.ts';
import type { Carrier, UpgradeRequest } from '../carrier.ts';
import { checkBasic, refuseHalf } from '../credentials.ts';
import { JsonCodec, type Dialect, type MediaHead, type ParsedStart } from '../json/json-codec.ts';
import { objectAt, textAt, textParameters } from '../json/frames.ts';
import { parametersInAddress, parsedStart } from '../json/json-start.ts';
import { liftParameters, tracksOf } from '../parameters.ts';
import { refuseBoth } from '../voice-answer.ts';
import { bandwidthPlayer } from './player.ts';
import { bandwidthWebhooks } from './webhooks.ts';
import { bandwidthSetup } from './setup.ts';
import type { BandwidthConfig } from './settings.ts';

export const bandwidth: Carrier<BandwidthConfig> = {
  name: 'bandwidth',
  // Bandwidth signs nothing. Its proof is a stream token, or the user name and password that we share with it.
  authenticate: (request, { config, judgeSecret }) =>
    checkBasic(
      request,
      { username: config.bandwidthUsername, password: config.bandwidthPassword },
      judgeSecret,
    ),
  hasSecret: (config) => config.bandwidthPassword !== undefined,
  checkSettings({ bandwidthUsername, bandwidthPassword, bandwidthDial, bandwidthContinueUrl }) {
    refuseHalf({
      TRUNKLINE_BANDWIDTH_USERNAME: bandwidthUsername,
      TRUNKLINE_BANDWIDTH_PASSWORD: bandwidthPassword,
    });
    refuseBoth({
      TRUNKLINE_BANDWIDTH_DIAL: bandwidthDial,
      TRUNKLINE_BANDWIDTH_CONTINUE_URL: bandwidthContinueUrl,
    });
  },
  newCodec: (_config, request) => new JsonCodec(dialect(request)),
  pings: () => true,
  sendsBearer: false,
  closesItself: false,
  matchesTexts({ message }) {
    const metadata = message?.['eventType'] === 'start' ? objectAt(message, 'metadata') : undefined;
    return metadata !== undefined && (isTranscription(metadata) || formatsOf(metadata).length > 0);
  },
  webhooks: bandwidthWebhooks,
  factsOf: (event) => callFacts({ ...event, status: event['eventType'] === 'disconnect' }),
  setup: bandwidthSetup,
  player: bandwidthPlayer,
  playerSecrets: ({ bandwidthUsername: username, bandwidthPassword: password }) => ({
    username,
    password,
  }),
};

const sequence = '(?:"sequenceNumber":"?\\d{1,15}"?,)?';
const mediaPattern = new RegExp(
  `^\\{"eventType":"media",${sequence}"track":"(inbound|outbound)",${sequence}$`,
);
const tailPattern = /^"(?:,"sequenceNumber":"?\d{1,15}"?)?\}$/;

/**
 * Bandwidth does not document whether both tracks of a newer stream share its frame numbers. A wrong guess would
 * declare losses that never happened, so the frames keep the order in which the socket brings them.
 */
function mediaHead(head: string, tail: string): MediaHead | undefined {
  const match = tailPattern.test(tail) ? mediaPattern.exec(head) : null;
  return match ? { track: match[1] ?? '', number: undefined, timestampMs: undefined } : undefined;
}

function dialect(request: UpgradeRequest): Dialect {
  const inAddress = parametersInAddress(request);
  return {
    mediaHead,
    inFamilyShape: ({ eventType, track, payload, sequenceNumber: _unknown, ...rest }) => ({
      ...rest,
      event: eventType,
      media: { track, payload },
    }),
    numbering: 'track',
    firstNumber: 1,
    hasMediaClock: false,
    sequenceField: 'sequenceNumber',
    start: (message) => parseStart(message, inAddress),
    ignored: new Set(),
    dtmfTrack: () => undefined,
  };
}

function isTranscription(metadata: Record<string, unknown>): boolean {
  return textAt(metadata, 'realTimeTranscriptionId') !== undefined;
}

type TrackFormat = { name: unknown; format: Record<string, unknown> };

function formatsOf(metadata: Record<string, unknown>): TrackFormat[] {
  const { tracks } = metadata;
  if (!Array.isArray(tracks)) return [];
  return tracks.slice(0, 4).flatMap((track: unknown) => {
    const format = isObject(track) ? objectAt(track, 'mediaFormat') : undefined;
    return isObject(track) && format ? [{ name: track['name'], format }] : [];
  });
}

const remedy = 'start the stream by <StartStream tracks="both">, which sends PCMU at 8000 Hz';

function parseStart(
  message: Record<string, unknown>,
  inAddress: Record<string, string>,
): ParsedStart {
  const metadata = objectAt(message, 'metadata');
  const carrierCallId = metadata && textAt(metadata, 'callId');
  if (!metadata || carrierCallId === undefined) return { outcome: 'malformed' };
  if (isTranscription(metadata)) return transcriptionRefused(message, carrierCallId);
  const streamId = textAt(metadata, 'streamId');
  const formats = formatsOf(metadata);
  const [first, ...others] = formats;
  if (streamId === undefined || !first) return { outcome: 'malformed' };
  // Both tracks of a stream should have one format. If their formats differ, nothing shows which track has which
  // format.
  const differing = others.find(
    ({ format }) =>
      format['encoding'] !== first.format['encoding'] ||
      format['sampleRate'] !== first.format['sampleRate'],
  );
  return parsedStart({
    carrierCallId,
    streamId,
    format: differing ? { encoding: 'tracks of different encodings' } : first.format,
    byteOrder: 'little',
    tracks: tracksOf(formats.map(({ name }) => name)),
    carrierIds: {
      stream_id: streamId,
      account_id: textAt(metadata, 'accountId'),
      stream_name: textAt(metadata, 'streamName'),
    },
    parameters: textParameters(message['streamParams']),
    inAddress,
    closingEndsCall: false,
    remedy,
  });
}

/** Refuses a stream of Bandwidth's own transcription, which sends text over the same kind of socket. */
function transcriptionRefused(
  message: Record<string, unknown>,
  carrierCallId: string,
): ParsedStart {
  const { token } = liftParameters(textParameters(message['customParams']));
  return {
    outcome: 'refused',
    closingEndsCall: false,
    carrierCallId,
    token,
    reason: `${remedy}: <StartTranscription> sends text and no audio`,
  };
}
