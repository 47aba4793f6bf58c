import type { Role } from '../../protocol/events.ts';
import type { Carrier, JudgeSecret, UpgradeRequest, UpgradeVerdict } from '../carrier.ts';
import { bearerOf, isOneOf, verdictOn } from '../credentials.ts';
import { JsonCodec, type Dialect, type ParsedStart } from '../json/json-codec.ts';
import { objectAt, textParameters, wholeAt } from '../json/frames.ts';
import { parametersInAddress, parsedStart } from '../json/json-start.ts';
import { fieldIn, ownRecord } from '../parameters.ts';
import { ringcxPlayer } from './player.ts';
import { ringcxSetup } from './setup.ts';
import type { RingcxConfig } from './settings.ts';

export const ringcx: Carrier<RingcxConfig> = {
  name: 'ringcx',
  authenticate: (request, { config, judgeSecret }) =>
    checkSecret(request, config.ringcxSecret, judgeSecret),
  hasSecret: (config) => config.ringcxSecret.length > 0,
  newCodec: (config, request) => new JsonCodec(dialect(config, request)),
  pings: () => true,
  sendsBearer: false,
  closesItself: false,
  matchesTexts: ({ message }) =>
    message?.['event'] === 'Connected' && message['protocol'] === 'AgentSession',
  webhooks: [],
  setup: ringcxSetup,
  player: ringcxPlayer,
  playerSecrets: ({ ringcxSecret: [bearer] }) => ({ bearer }),
};

/** No message of its stream could bring a token, so a stream without proof is refused before its upgrade. */
function checkSecret(
  request: UpgradeRequest,
  secrets: readonly string[],
  judge: JudgeSecret,
): UpgradeVerdict {
  const given = fieldIn(request.query, 'secret') ?? bearerOf(request);
  const wrong = 'the secret is not the configured one: check TRUNKLINE_RINGCX_SECRET';
  if (given !== undefined)
    return verdictOn(judge(given, isOneOf(given, secrets)), { by: 'secret', wrong });
  return request.headers['authorization'] === undefined
    ? { outcome: 'refused', status: 401, reason: 'put ?secret=... behind the streaming address' }
    : { outcome: 'refused', status: 403, reason: wrong };
}

function dialect(config: RingcxConfig, request: UpgradeRequest): Dialect {
  return {
    // RingCX calls the payload by another name, so every message is parsed in full.
    mediaHead: () => undefined,
    inFamilyShape: ({ event, perspective, sequenceId, media, ...rest }) => ({
      ...rest,
      event: typeof event === 'string' ? event.toLowerCase() : event,
      media: { track: perspective, payload: media, chunk: sequenceId },
    }),
    // RingCX does not say whether the perspectives share their numbers. The numbers of one perspective increase.
    numbering: 'rising',
    firstNumber: 1,
    hasMediaClock: false,
    sequenceField: 'sequenceNumber',
    stops: 'each-track',
    start: (message) => parseStart(message, config, request),
    ignored: new Set(['connected']),
    dtmfTrack: () => undefined,
  };
}

function parseStart(
  message: Record<string, unknown>,
  { ringcxAgentPerspective }: RingcxConfig,
  request: UpgradeRequest,
): ParsedStart {
  const metadata = objectAt(message, 'metadata');
  const said = textParameters(metadata);
  const { callId: carrierCallId, sessionId: streamId } = said;
  if (!metadata || !carrierCallId || !streamId) return { outcome: 'malformed' };
  const { secret: _shown, ...inAddress } = parametersInAddress(request);
  const parsed = parsedStart({
    carrierCallId,
    streamId,
    format: {
      encoding: said['contentType'],
      ...(wholeAt(metadata, 'sampleRateHertz') === undefined
        ? {}
        : { sampleRate: wholeAt(metadata, 'sampleRateHertz') }),
    },
    byteOrder: 'little',
    tracks: ['Conference', 'Participant'],
    carrierIds: {
      session_id: streamId,
      account_id: said['accountId'],
      subaccount_id: said['subaccountId'],
      rc_account_id: said['rcAccountId'],
      agent_id: said['agentId'],
      product_type: said['productType'],
      product_id: said['productId'],
    },
    from: said['ani'],
    to: said['dnis'],
    parameters: ownRecord([
      ...Object.entries(inAddress),
      ...(/^queue$/i.test(said['productType'] ?? '') ? [['direction', 'inbound'] as const] : []),
    ]),
    closingEndsCall: false,
    remedy: 'RingCX streams audio/x-mulaw at 8000 Hz',
  });
  if (parsed.outcome !== 'start') return parsed;
  const roleOf = (name: string): Role => (name === ringcxAgentPerspective ? 'agent' : 'customer');
  const tracks = parsed.start.tracks.map(({ name }) => ({ name, role: roleOf(name) }));
  return { ...parsed, start: { ...parsed.start, tracks } };
}
