import { randomUUID } from 'node:crypto';
import { TrunklineError } from '../../lib/errors.ts';
import { BinaryCodec, type BinaryDialect, type BinaryMessage } from '../binary/binary-codec.ts';
import { binaryStart, saidBy } from '../binary/binary-start.ts';
import { callFacts } from '../call-facts.ts';
import type { AuthContext, Carrier, UpgradeRequest, UpgradeVerdict } from '../carrier.ts';
import { bearerOf } from '../credentials.ts';
import { encodingOf, rateIn } from '../encodings.ts';
import { objectAt, parseObject, textAt, textParameters } from '../json/frames.ts';
import { withoutNames } from '../parameters.ts';
import { refuseBoth } from '../voice-answer.ts';
import { vonagePlayer } from './player.ts';
import { checkVonageJwt } from './signature.ts';
import { vonageSetup } from './setup.ts';
import type { VonageConfig } from './settings.ts';
import { vonageWebhooks } from './webhooks.ts';

/**
 * Serves a WebSocket endpoint of the Vonage Voice API. The endpoint joins the call and hears everybody else in one
 * channel.
 */
export const vonage: Carrier<VonageConfig> = {
  name: 'vonage',
  authenticate,
  hasSecret: (config) => config.vonageSignatureSecret.length > 0,
  checkSettings(config) {
    const { vonageSignatureSecret: secrets, vonageApiKey: apiKey } = config;
    refuseBoth({
      TRUNKLINE_VONAGE_DIAL: config.vonageDial,
      TRUNKLINE_VONAGE_CONTINUE_URL: config.vonageContinueUrl,
    });
    if (secrets.length > 0 === (apiKey !== undefined)) return;
    throw new TrunklineError(
      'CONFIG_INVALID',
      'TRUNKLINE_VONAGE_SIGNATURE_SECRET and TRUNKLINE_VONAGE_API_KEY belong together: set both or neither',
    );
  },
  newCodec: (_config, request) => new BinaryCodec(new VonageDialect(request)),
  pings: () => true,
  // The `authorization` of the endpoint may be a text of the operator's own.
  sendsBearer: true,
  closesItself: false,
  matchesTexts: ({ message }) => message?.['event'] === 'websocket:connected',
  webhooks: vonageWebhooks,
  // Other parties of the conversation have events of their own, which are not about the call that rang here.
  factsOf: (event, callId) => (event['uuid'] === callId ? callFacts(event) : {}),
  setup: vonageSetup,
  player: vonagePlayer,
  playerSecrets: ({ vonageSignatureSecret: [authToken], vonageApiKey, vonageApplicationId }) => ({
    authToken,
    apiKey: vonageApiKey,
    username: vonageApplicationId,
  }),
};

function authenticate(
  request: UpgradeRequest,
  { config, nowMs, nonces }: AuthContext<VonageConfig>,
): UpgradeVerdict {
  if (request.headers['authorization'] === undefined) return { outcome: 'at-start' };
  const token = bearerOf(request);
  if (token === undefined)
    return { outcome: 'refused', status: 403, reason: 'Authorization is not a bearer token' };
  const check = checkVonageJwt(token, {
    secrets: config.vonageSignatureSecret,
    apiKey: config.vonageApiKey,
    applicationId: config.vonageApplicationId,
    nowMs,
    nonces,
  });
  return check === 'good'
    ? { outcome: 'accepted', by: 'signature' }
    : { outcome: 'refused', status: 403, reason: check.bad };
}

/** An operator may have written the id of the call into `headers` under one of these names. */
const callIdNames = ['call_id', 'call_uuid', 'callUuid', 'uuid'];

class VonageDialect implements BinaryDialect {
  readonly emptyEnds = true;
  readonly #request: UpgradeRequest;
  readonly #streamId = randomUUID();

  constructor(request: UpgradeRequest) {
    this.#request = request;
  }

  text(text: string): BinaryMessage {
    const message = parseObject(text);
    if (!message) return { is: 'malformed' };
    switch (message['event']) {
      case 'websocket:connected':
        return this.#start(message);
      case 'websocket:dtmf': {
        const digit = textAt(message, 'digit') ?? textAt(objectAt(message, 'dtmf') ?? {}, 'digit');
        return digit?.length === 1 ? { is: 'dtmf', digit } : { is: 'malformed' };
      }
      case 'websocket:cleared':
      case 'websocket:notify':
        return { is: 'known' };
      default:
        return { is: 'unknown' };
    }
  }

  #start(message: Record<string, unknown>): BinaryMessage {
    const spelt = textAt(message, 'content-type');
    if (spelt === undefined) return { is: 'malformed' };
    // `headers` of the endpoint stand among the fields of the message itself.
    const { event: _event, 'content-type': _type, ...headers } = textParameters(message);
    const said = saidBy(this.#request, headers);
    const callId = callIdNames.map((name) => said.rest[name]).find(Boolean);
    const encoding = encodingOf(spelt);
    return binaryStart({
      said: { ...said, rest: withoutNames(said.rest, callIdNames) },
      // Without an id in `headers` the stream is a call of its own.
      carrierCallId: callId ?? this.#streamId,
      streamId: this.#streamId,
      format: encoding && { encoding, rateHz: rateIn(spelt) ?? 16_000 },
      formatSaid: spelt,
      channels: 'mixed',
      carrierIds: { call_uuid: callId },
      // Closing the socket removes its leg from the conversation. The NCCO then continues or ends.
      closingEndsCall: true,
      remedy: 'set content-type of the endpoint to audio/l16;rate=16000 or rate=8000',
    });
  }
}
