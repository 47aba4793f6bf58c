import { randomUUID } from 'node:crypto';
import { BinaryCodec, type BinaryDialect, type BinaryMessage } from '../binary/binary-codec.ts';
import { binaryStart, saidBy } from '../binary/binary-start.ts';
import type { AuthContext, Carrier, UpgradeRequest, UpgradeVerdict } from '../carrier.ts';
import { checkBasic, checkBearer, refuseHalf } from '../credentials.ts';
import { parseObject, textAt, textParameters } from '../json/frames.ts';
import { withoutNames } from '../parameters.ts';
import { freeswitchPlayer } from './player.ts';
import { freeswitchSetup } from './setup.ts';
import type { FreeswitchConfig } from './settings.ts';

/** Serves mod_audio_stream and mod_audio_fork: bare audio, and text that the operator chose. */
export const freeswitch: Carrier<FreeswitchConfig> = {
  name: 'freeswitch',
  authenticate,
  hasSecret: (config) =>
    config.freeswitchUsername !== undefined || config.freeswitchToken.length > 0,
  checkSettings: ({ freeswitchUsername, freeswitchPassword }) =>
    refuseHalf({
      TRUNKLINE_FREESWITCH_USERNAME: freeswitchUsername,
      TRUNKLINE_FREESWITCH_PASSWORD: freeswitchPassword,
    }),
  newCodec: (_config, request) => new BinaryCodec(new FreeswitchDialect(request)),
  pings: () => true,
  sendsBearer: true,
  closesItself: false,
  // The operator chooses what FreeSWITCH sends, so only the path identifies this carrier.
  matchesTexts: () => false,
  webhooks: [],
  setup: freeswitchSetup,
  player: freeswitchPlayer,
  playerSecrets: ({ freeswitchToken: [bearer], freeswitchUsername, freeswitchPassword }) => ({
    bearer,
    username: freeswitchUsername,
    password: freeswitchPassword,
  }),
};

function authenticate(
  request: UpgradeRequest,
  { config, judgeSecret }: AuthContext<FreeswitchConfig>,
): UpgradeVerdict {
  const { freeswitchUsername: username, freeswitchPassword: password } = config;
  const verdict = /^basic /i.test(request.headers['authorization'] ?? '')
    ? checkBasic(request, { username, password }, judgeSecret)
    : checkBearer(request, config.freeswitchToken, judgeSecret);
  // The first message may be audio, which proves nothing. The proof must therefore come with the upgrade.
  return verdict.outcome === 'at-start'
    ? {
        outcome: 'refused',
        status: 401,
        reason: 'no bearer token, no user name and password, and no stream token in the address',
      }
    : verdict;
}

const callIdNames = ['call_id', 'callId', 'uuid'];
const rateNames = ['rate', 'sampleRate', 'sample_rate'];
const formatNames = [...rateNames, 'mix', 'mixType', 'channels', 'format'];
const ownNames = [...callIdNames, ...formatNames];

const channelsByName: Record<string, 'one' | 'mixed' | 'both'> = {
  mono: 'one',
  '1': 'one',
  mixed: 'mixed',
  stereo: 'both',
  '2': 'both',
};

class FreeswitchDialect implements BinaryDialect {
  readonly emptyEnds = true;
  readonly #request: UpgradeRequest;
  readonly #streamId = randomUUID();
  #hasStarted = false;

  constructor(request: UpgradeRequest) {
    this.#request = request;
  }

  text(text: string): BinaryMessage {
    const message = parseObject(text);
    if (!message) return { is: text.trimStart().startsWith('{') ? 'malformed' : 'unknown' };
    if (message['event'] === 'dtmf') {
      const digit = textAt(message, 'dtmf') ?? textAt(message, 'digit');
      return digit?.length === 1 ? { is: 'dtmf', digit } : { is: 'malformed' };
    }
    const values = textParameters(message);
    const saysFormat = rateNames.some((name) => values[name] !== undefined);
    // A text after the start was sent by the operator with `send_text`. It may repeat the format.
    if (this.#hasStarted && !saysFormat) return { is: 'unknown' };
    return this.#start(values) ?? { is: 'unknown' };
  }

  /** If the operator set no metadata, the first message is audio and only the address describes the stream. */
  withoutText(): BinaryMessage | undefined {
    return this.#start({});
  }

  /**
   * Returns undefined until the address or a text has named the format. A wrong assumption would turn words into noise.
   */
  #start(values: Record<string, string>): BinaryMessage | undefined {
    const said = saidBy(this.#request, values);
    const rate = rateNames.map((name) => said.rest[name]).find(Boolean);
    const mix = said.rest['mix'] ?? said.rest['mixType'] ?? said.rest['channels'] ?? 'mono';
    const channels = Object.hasOwn(channelsByName, mix) ? channelsByName[mix] : undefined;
    if (rate === undefined) return undefined;
    const rateHz = rateOf(rate);
    const callId = callIdNames.map((name) => said.rest[name]).find(Boolean);
    this.#hasStarted = true;
    return binaryStart({
      said: { ...said, rest: withoutNames(said.rest, ownNames) },
      carrierCallId: callId ?? this.#streamId,
      streamId: this.#streamId,
      format:
        rateHz === undefined || channels === undefined ? undefined : { encoding: 'pcm16', rateHz },
      formatSaid: `${mix.slice(0, 12)} ${rate}`,
      channels: channels ?? 'one',
      carrierIds: { uuid: callId },
      // The call goes on without the stream.
      closingEndsCall: false,
      remedy: 'stream mono, mixed or stereo at 8k or 16k, and say the same in the address',
    });
  }
}

/** Reads a rate as the command spells it (`8k`), or in hertz. */
function rateOf(text: string): number | undefined {
  const match = /^(\d{1,6})(k?)$/i.exec(text);
  return match ? Number(match[1]) * (match[2] === '' ? 1 : 1000) : undefined;
}
