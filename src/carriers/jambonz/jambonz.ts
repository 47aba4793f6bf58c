import { randomUUID } from 'node:crypto';
import { BinaryCodec, type BinaryDialect, type BinaryMessage } from '../binary/binary-codec.ts';
import { binaryStart, saidBy } from '../binary/binary-start.ts';
import { callFacts } from '../call-facts.ts';
import type { Carrier, UpgradeRequest } from '../carrier.ts';
import { checkBasic, refuseHalf } from '../credentials.ts';
import { parseObject, textAt, textParameters, wholeAt } from '../json/frames.ts';
import { withoutNames } from '../parameters.ts';
import { refuseBoth } from '../voice-answer.ts';
import { jambonzPlayer } from './player.ts';
import { jambonzSetup } from './setup.ts';
import type { JambonzConfig } from './settings.ts';
import { jambonzWebhooks } from './webhooks.ts';

const protocols = ['audio.jambonz.org', 'audio.drachtio.org'];

/** Serves the verb `listen` (or `stream`) of jambonz: bare audio of one or both parties. */
export const jambonz: Carrier<JambonzConfig> = {
  name: 'jambonz',
  authenticate: (request, { config: { jambonzUsername, jambonzPassword }, judgeSecret }) =>
    checkBasic(request, { username: jambonzUsername, password: jambonzPassword }, judgeSecret),
  hasSecret: (config) => config.jambonzUsername !== undefined,
  checkSettings({ jambonzUsername, jambonzPassword, jambonzDial, jambonzContinueUrl }) {
    refuseHalf({
      TRUNKLINE_JAMBONZ_USERNAME: jambonzUsername,
      TRUNKLINE_JAMBONZ_PASSWORD: jambonzPassword,
    });
    refuseBoth({
      TRUNKLINE_JAMBONZ_DIAL: jambonzDial,
      TRUNKLINE_JAMBONZ_CONTINUE_URL: jambonzContinueUrl,
    });
  },
  newCodec: (_config, request) => new BinaryCodec(new JambonzDialect(request)),
  pings: () => true,
  sendsBearer: false,
  closesItself: false,
  matchesUpgrade: ({ headers }) =>
    (headers['sec-websocket-protocol'] ?? '')
      .split(',')
      .some((protocol) => protocols.includes(protocol.trim())),
  matchesTexts: ({ message }) =>
    message !== undefined &&
    !['event', 'type', 'eventType'].some((name) => Object.hasOwn(message, name)) &&
    textAt(message, 'callSid') !== undefined &&
    textAt(message, 'mixType') !== undefined &&
    wholeAt(message, 'sampleRate') !== undefined,
  webhooks: jambonzWebhooks,
  factsOf: (told) => callFacts({ ...told, status: told['call_status'] }),
  setup: jambonzSetup,
  player: jambonzPlayer,
  playerSecrets: ({ jambonzUsername: username, jambonzPassword: password }) => ({
    username,
    password,
  }),
};

/** Fields that jambonz fills in by itself. The other fields are the operator's metadata. */
const ownFields = [
  'callSid', 'accountSid', 'applicationSid', 'parentCallSid', 'callId', 'sbcCallid', 'traceId', 'sampleRate', 'mixType',
  'sipStatus', 'sipReason', 'callStatus', 'callerId', 'callerName', 'fsSipAddress', 'fsPublicIp', 'localSipAddress',
  'publicIp', 'originatingSipIp', 'originatingSipTrunkName', 'apiBaseUrl', 'serviceProviderSid', 'callTerminationBy',
]; // prettier-ignore

const channelsOf = { mono: 'one', mixed: 'mixed', stereo: 'both' } as const;

class JambonzDialect implements BinaryDialect {
  /** jambonz sends an empty message when its server is stopped in an orderly way. */
  readonly emptyEnds = true;
  readonly #request: UpgradeRequest;
  /** A stream has no id of its own, and a call can have several. */
  readonly #streamId = randomUUID();

  constructor(request: UpgradeRequest) {
    this.#request = request;
  }

  text(text: string): BinaryMessage {
    const message = parseObject(text);
    if (!message) return { is: 'malformed' };
    if (message['event'] === 'dtmf') {
      const digit = textAt(message, 'dtmf');
      return digit?.length === 1 ? { is: 'dtmf', digit } : { is: 'malformed' };
    }
    // jambonz sends these as answers to commands that we never give.
    if (message['type'] === 'playDone' || message['type'] === 'mark') return { is: 'known' };
    return Object.hasOwn(message, 'mixType') ? this.#start(message) : { is: 'unknown' };
  }

  #start(message: Record<string, unknown>): BinaryMessage {
    const carrierCallId = textAt(message, 'callSid');
    const mixType = textAt(message, 'mixType') ?? '';
    const rateHz = wholeAt(message, 'sampleRate');
    const channels = Object.hasOwn(channelsOf, mixType)
      ? channelsOf[mixType as keyof typeof channelsOf]
      : undefined;
    if (carrierCallId === undefined || rateHz === undefined || channels === undefined)
      return { is: 'malformed' };
    const said = saidBy(this.#request, textParameters(message));
    return binaryStart({
      said: { ...said, rest: withoutNames(said.rest, ownFields) },
      carrierCallId,
      streamId: this.#streamId,
      format: { encoding: 'pcm16', rateHz },
      formatSaid: `${rateHz} Hz`,
      channels,
      carrierIds: {
        call_sid: carrierCallId,
        account_sid: textAt(message, 'accountSid'),
        application_sid: textAt(message, 'applicationSid'),
        parent_call_sid: textAt(message, 'parentCallSid'),
        sip_call_id: textAt(message, 'callId'),
      },
      // Closing the socket ends the verb. The call then does what its actionHook answers.
      closingEndsCall: true,
      remedy: 'set sampleRate of listen to 8000 or 16000',
    });
  }
}
