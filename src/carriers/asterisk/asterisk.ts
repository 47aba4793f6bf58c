import type { StreamEncoding } from '../../bridge/streams.ts';
import { BinaryCodec, type BinaryDialect, type BinaryMessage } from '../binary/binary-codec.ts';
import { binaryStart, saidBy } from '../binary/binary-start.ts';
import type { Carrier, UpgradeRequest, UpgradeVerdict } from '../carrier.ts';
import { checkBasic, refuseHalf } from '../credentials.ts';
import { isObject } from '../../lib/json.ts';
import { parseObject, textParameters } from '../json/frames.ts';
import { ownRecord } from '../parameters.ts';
import { asteriskPlayer } from './player.ts';
import { asteriskSetup } from './setup.ts';
import type { AsteriskConfig } from './settings.ts';

/** Asterisk's chan_websocket: bare audio in binary frames, control in text of one of two formats. */
export const asterisk: Carrier<AsteriskConfig> = {
  name: 'asterisk',
  authenticate(request, { config, judgeSecret }): UpgradeVerdict {
    const { asteriskUsername: username, asteriskPassword: password } = config;
    const verdict = checkBasic(request, { username, password }, judgeSecret);
    // The dial string adds a token to the address with v(token=...). Asterisk cannot prove itself later, so an upgrade
    // without a token is refused.
    return verdict.outcome === 'at-start'
      ? {
          outcome: 'refused',
          status: 401,
          reason: 'no user name and password, and no stream token in the address',
        }
      : verdict;
  },
  hasSecret: (config) => config.asteriskUsername !== undefined,
  checkSettings: ({ asteriskUsername, asteriskPassword }) =>
    refuseHalf({
      TRUNKLINE_ASTERISK_USERNAME: asteriskUsername,
      TRUNKLINE_ASTERISK_PASSWORD: asteriskPassword,
    }),
  newCodec: (_config, request) => new BinaryCodec(new AsteriskDialect(request)),
  // In Asterisk before 20.18, 22.8 and 23.2, a WebSocket ping hangs up the call.
  pings: (config) => config.asteriskPings,
  sendsBearer: false,
  closesItself: false,
  matchesUpgrade: ({ headers }) =>
    (headers['sec-websocket-protocol'] ?? '')
      .split(',')
      .some((protocol) => protocol.trim() === 'media'),
  matchesTexts: ({ text, message }) =>
    text.startsWith('MEDIA_START') || message?.['event'] === 'MEDIA_START',
  webhooks: [],
  setup: asteriskSetup,
  player: asteriskPlayer,
  playerSecrets: ({ asteriskUsername: username, asteriskPassword: password }) => ({
    username,
    password,
  }),
};

const formats: Record<string, { encoding: StreamEncoding; rateHz: number }> = {
  ulaw: { encoding: 'mulaw', rateHz: 8000 },
  alaw: { encoding: 'alaw', rateHz: 8000 },
  slin: { encoding: 'pcm16', rateHz: 8000 },
  slin12: { encoding: 'pcm16', rateHz: 12_000 },
  slin16: { encoding: 'pcm16', rateHz: 16_000 },
  slin24: { encoding: 'pcm16', rateHz: 24_000 },
  slin32: { encoding: 'pcm16', rateHz: 32_000 },
  slin44: { encoding: 'pcm16', rateHz: 44_100 },
  slin48: { encoding: 'pcm16', rateHz: 48_000 },
  slin96: { encoding: 'pcm16', rateHz: 96_000 },
  slin192: { encoding: 'pcm16', rateHz: 192_000 },
};

/** Each Asterisk channel has a stream of its own, which carries one leg of a call. */
class AsteriskDialect implements BinaryDialect {
  /** The dialplan may send an empty message when it ends. That message has no meaning. */
  readonly emptyEnds = false;
  readonly #request: UpgradeRequest;

  constructor(request: UpgradeRequest) {
    this.#request = request;
  }

  text(text: string): BinaryMessage {
    const control = parseControl(text);
    if (!control) return { is: 'malformed' };
    switch (control.fields['event']) {
      case 'MEDIA_START':
        return this.#start(control);
      case 'DTMF_END': {
        const digit = control.fields['digit'];
        return digit?.length === 1 ? { is: 'dtmf', digit } : { is: 'malformed' };
      }
      case 'MEDIA_XOFF':
      case 'MEDIA_XON':
      case 'QUEUE_DRAINED':
      case 'MEDIA_BUFFERING_COMPLETED':
      case 'MEDIA_MARK_PROCESSED':
      case 'STATUS':
      case 'ERROR':
        return { is: 'known' };
      default:
        return { is: 'unknown' };
    }
  }

  #start({ fields, variables }: ControlMessage): BinaryMessage {
    const id = fields['channel_id'] ?? fields['channel'];
    const spelt = fields['format'];
    if (id === undefined || spelt === undefined) return { is: 'malformed' };
    const said = saidBy(this.#request, variables);
    const { call_id: callId, ...parameters } = said.rest;
    const format = Object.hasOwn(formats, spelt) ? formats[spelt] : undefined;
    return binaryStart({
      said: { ...said, rest: parameters },
      // Two legs of one call are two channels: v(call_id=...) says that they belong together.
      carrierCallId: callId ?? id,
      streamId: id,
      format,
      formatSaid: spelt,
      channels: 'one',
      carrierIds: { channel_id: id, connection_id: fields['connection_id'] },
      closingEndsCall: true,
      remedy: 'set c(ulaw) in the dial string (or format=ulaw)',
    });
  }
}

type ControlMessage = { fields: Record<string, string>; variables: Record<string, string> };

/** Control messages are either `EVENT key:value key:value` or one JSON object. Old versions send fewer fields. */
function parseControl(text: string): ControlMessage | undefined {
  if (text.startsWith('{')) {
    const message = parseObject(text);
    if (!message) return undefined;
    const variables = isObject(message['channel_variables'])
      ? textParameters(message['channel_variables'])
      : {};
    return { fields: textParameters(message), variables };
  }
  const [event = '', ...pairs] = text.trim().split(' ');
  if (!/^[A-Z_]{1,64}$/.test(event)) return undefined;
  const fields = pairs
    .filter((pair) => pair.includes(':'))
    .map((pair): [string, string] => [
      pair.slice(0, pair.indexOf(':')),
      pair.slice(pair.indexOf(':') + 1),
    ]);
  return { fields: { ...textParameters(ownRecord(fields)), event }, variables: {} };
}
