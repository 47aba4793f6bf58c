import { callFacts, formFacts } from '../call-facts.ts';
import type { Carrier, UpgradeRequest } from '../carrier.ts';
import { checkBearer } from '../credentials.ts';
import { JsonCodec, type Dialect, type MediaHead, type ParsedStart } from '../json/json-codec.ts';
import { objectAt, textAt, textParameters } from '../json/frames.ts';
import { parametersInAddress, parsedStart } from '../json/json-start.ts';
import { refuseBoth } from '../voice-answer.ts';
import { telnyxPlayer } from './player.ts';
import { telnyxWebhooks } from './webhooks.ts';
import { telnyxSetup } from './setup.ts';
import type { TelnyxConfig } from './settings.ts';

export const telnyx: Carrier<TelnyxConfig> = {
  name: 'telnyx',
  // Telnyx does not sign the upgrade. The proof is a stream token, or the stream_auth_token that we share with it.
  authenticate: (request, { config, judgeSecret }) =>
    checkBearer(request, config.telnyxToken, judgeSecret),
  hasSecret: (config) => config.telnyxToken.length > 0,
  newCodec: (config, request) => new JsonCodec(dialect(config, request)),
  checkSettings: ({ telnyxDial, telnyxContinueUrl }) =>
    refuseBoth({
      TRUNKLINE_TELNYX_DIAL: telnyxDial,
      TRUNKLINE_TELNYX_CONTINUE_URL: telnyxContinueUrl,
    }),
  pings: () => true,
  sendsBearer: true,
  closesItself: false,
  matchesTexts({ message: connected }, second) {
    if (connected?.['event'] !== 'connected' || connected['protocol'] === 'Call') return false;
    if (second === undefined) return 'more';
    const start = second.message && objectAt(second.message, 'start');
    return start !== undefined && textAt(start, 'call_control_id') !== undefined;
  },
  webhooks: telnyxWebhooks,
  factsOf: (status) =>
    status['event_type'] === undefined
      ? formFacts(status)
      : callFacts({ ...status, status: status['event_type'] === 'call.hangup' }),
  setup: telnyxSetup,
  player: telnyxPlayer,
  playerSecrets: ({ telnyxToken: [bearer] }) => ({ bearer }),
};

const mediaPattern =
  /^\{"event":"media","sequence_number":"\d{1,15}","stream_id":"[^"\\\x00-\x1f]{1,128}","media":\{"track":"(inbound|outbound)","chunk":"(\d{1,15})","timestamp":"(\d{1,15})",$/;

function mediaHead(head: string, tail: string): MediaHead | undefined {
  const match = tail === '"}}' ? mediaPattern.exec(head) : null;
  return match
    ? { track: match[1] ?? '', number: Number(match[2]), timestampMs: Number(match[3]) }
    : undefined;
}

function dialect(config: TelnyxConfig, request: UpgradeRequest): Dialect {
  const inAddress = parametersInAddress(request);
  return {
    mediaHead,
    // Telnyx does not promise the order of its messages; the chunk numbers of a track restore it.
    numbering: 'track',
    firstNumber: 1,
    hasMediaClock: true,
    sequenceField: 'sequence_number',
    start: (message) => parseStart(message, config.telnyxByteOrder, inAddress),
    ignored: new Set(['connected', 'mark', 'error']),
    dtmfTrack: () => undefined,
  };
}

function parseStart(
  message: Record<string, unknown>,
  byteOrder: 'big' | 'little',
  inAddress: Record<string, string>,
): ParsedStart {
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
    // The start message does not say which tracks will come.
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
    inAddress,
    closingEndsCall: false,
    remedy: 'set stream_codec=PCMU (or PCMA)',
  });
}
