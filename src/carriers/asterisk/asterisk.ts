import type { StreamEncoding } from '../../bridge/seam.ts';
import type { Role } from '../../protocol/events.ts';
import type {
  Carrier,
  CarrierEvent,
  CarrierStart,
  Codec,
  StreamClaim,
  UpgradeRequest,
  UpgradeVerdict,
} from '../carrier.ts';
import { checkBasic, refuseHalf } from '../credentials.ts';
import { isObject } from '../../lib/json.ts';
import { parseObject, textParameters } from '../json/frames.ts';
import { liftParameters, ownRecord, type LiftedParameters } from '../parameters.ts';
import { asteriskPlayer } from './player.ts';
import type { AsteriskConfig } from './settings.ts';

/** Asterisk's chan_websocket: bare audio in binary frames, control in text of one of two formats. */
export const asterisk: Carrier<AsteriskConfig> = {
  name: 'asterisk',
  authenticate(request, { config }): UpgradeVerdict {
    const { asteriskUsername: username, asteriskPassword: password } = config;
    const verdict = checkBasic(request, { username, password });
    // v(token=...) puts a token into the address; without one nothing later could prove this caller.
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
  newCodec: (_config, request) => new AsteriskCodec(request),
  // Before 20.18, 22.8 and 23.2 a ping hangs up the call.
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
  slin16: { encoding: 'pcm16', rateHz: 16_000 },
  slin32: { encoding: 'pcm16', rateHz: 32_000 },
  slin44: { encoding: 'pcm16', rateHz: 44_100 },
  slin48: { encoding: 'pcm16', rateHz: 48_000 },
};

/** Audio ahead of MEDIA_START is reported from the field; a second of it is more than was ever seen. */
export const maxBytesAheadOfStart = 16_000;

/** One channel is one leg; that of the agent is what the customer's phone would call outbound. */
function trackOf(role: Role | undefined): string {
  return role === 'agent' ? 'outbound' : 'inbound';
}

class AsteriskCodec implements Codec {
  readonly #request: UpgradeRequest;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #track = trackOf(undefined);
  #format: { encoding: StreamEncoding; rateHz: number } | 'waiting' | 'refused' = 'waiting';

  constructor(request: UpgradeRequest) {
    this.#request = request;
  }

  decode(data: Buffer, isBinary: boolean): CarrierEvent[] {
    if (isBinary) return this.#audio(data);
    const control = parseControl(data.toString('utf8'));
    if (!control) return [{ type: 'count', what: 'malformed' }];
    switch (control.fields['event']) {
      case 'MEDIA_START':
        return this.#start(control);
      case 'DTMF_END': {
        const digit = control.fields['digit'];
        return [
          digit?.length === 1
            ? { type: 'dtmf', digit, track: this.#track }
            : { type: 'count', what: 'malformed' },
        ];
      }
      case 'MEDIA_XOFF':
      case 'MEDIA_XON':
      case 'QUEUE_DRAINED':
      case 'MEDIA_BUFFERING_COMPLETED':
      case 'MEDIA_MARK_PROCESSED':
      case 'STATUS':
      case 'ERROR':
        return [];
      default:
        return [{ type: 'count', what: 'unknown' }];
    }
  }

  #audio(data: Buffer): CarrierEvent[] {
    if (this.#format === 'refused') return [];
    if (this.#format === 'waiting') return this.#hold(data);
    // The dialplan may end with an empty message; it carries nothing.
    if (data.length === 0) return [];
    if (this.#format.encoding === 'pcm16' && data.length % 2 !== 0)
      return [{ type: 'count', what: 'malformed', track: this.#track }];
    return [{ type: 'audio', track: this.#track, payload: data }];
  }

  /** Audio ahead of the start waits up to a bound in bytes; further audio is counted as malformed and left out. */
  #hold(data: Buffer): CarrierEvent[] {
    if (this.#heldBytes + data.length > maxBytesAheadOfStart)
      return [{ type: 'count', what: 'malformed', track: this.#track }];
    this.#heldBytes += data.length;
    this.#held.push(Buffer.from(data));
    return [];
  }

  #start({ fields, variables }: ControlMessage): CarrierEvent[] {
    if (this.#format !== 'waiting') return [{ type: 'count', what: 'duplicate' }];
    const id = fields['channel_id'] ?? fields['channel'];
    const spelt = fields['format'];
    if (id === undefined || spelt === undefined) return [{ type: 'count', what: 'malformed' }];
    const format = Object.hasOwn(formats, spelt) ? formats[spelt] : undefined;
    if (!format) {
      this.#format = 'refused';
      return [
        {
          type: 'refused',
          closingEndsCall: true,
          ...this.#named(id, variables).claim,
          reason: `set c(ulaw) in the dial string (or format=ulaw): ${spelt.slice(0, 32)} cannot be transcribed`,
        },
      ];
    }
    this.#format = format;
    const held = this.#held;
    this.#held = [];
    const start = this.#startOf(id, fields, variables, format);
    return [{ type: 'start', start }, ...held.flatMap((data) => this.#audio(data))];
  }

  #startOf(
    id: string,
    fields: Record<string, string>,
    variables: Record<string, string>,
    format: { encoding: StreamEncoding; rateHz: number },
  ): CarrierStart {
    const { claim, parameters, role, from, to, direction } = this.#named(id, variables);
    this.#track = trackOf(role);
    return {
      ...claim,
      streamId: id,
      encoding: format.encoding,
      sampleRate: format.rateHz,
      tracks: [{ name: this.#track, ...(role === undefined ? {} : { role }) }],
      carrierIds: {
        channel_id: id,
        ...(fields['connection_id'] ? { connection_id: fields['connection_id'] } : {}),
      },
      parameters,
      closingEndsCall: true,
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
      ...(direction === undefined ? {} : { direction }),
    };
  }

  /** What v(...) put into the address and what the channel's variables say. */
  #named(
    id: string,
    variables: Record<string, string>,
  ): Omit<LiftedParameters, 'token' | 'rest'> & {
    claim: StreamClaim;
    parameters: Record<string, string>;
  } {
    const query = textParameters(ownRecord(new URLSearchParams(this.#request.query)));
    const { token: _inUrl, rest: fromQuery, ...lifted } = liftParameters(query);
    const { rest: fromVariables, token, ...more } = liftParameters(variables);
    const { call_id: callId, ...parameters } = { ...fromQuery, ...fromVariables };
    return {
      ...lifted,
      ...more,
      parameters,
      // Two legs of one call are two channels: v(call_id=...) says that they belong together.
      claim: { carrierCallId: callId ?? id, ...(token === undefined ? {} : { token }) },
    };
  }
}

type ControlMessage = { fields: Record<string, string>; variables: Record<string, string> };

/** `EVENT key:value key:value`, or one JSON object. Old versions send fewer fields. */
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
