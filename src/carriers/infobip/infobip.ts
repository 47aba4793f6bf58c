import { randomUUID } from 'node:crypto';
import { BinaryCodec, type BinaryDialect, type BinaryMessage } from '../binary/binary-codec.ts';
import { binaryStart, saidBy } from '../binary/binary-start.ts';
import type { Carrier, UpgradeRequest } from '../carrier.ts';
import { checkBasic, refuseHalf } from '../credentials.ts';
import { objectAt, parseObject, textAt, textParameters, wholeAt } from '../json/frames.ts';
import { ownRecord, withoutNames } from '../parameters.ts';
import { infobipPlayer } from './player.ts';
import { infobipSetup } from './setup.ts';
import type { InfobipConfig } from './settings.ts';

/** Media streaming of the Infobip Calls API: one mixed channel of bare audio. */
export const infobip: Carrier<InfobipConfig> = {
  name: 'infobip',
  authenticate: (request, { config: { infobipUsername, infobipPassword }, judgeSecret }) =>
    checkBasic(request, { username: infobipUsername, password: infobipPassword }, judgeSecret),
  hasSecret: (config) => config.infobipUsername !== undefined,
  checkSettings: ({ infobipUsername, infobipPassword }) =>
    refuseHalf({
      TRUNKLINE_INFOBIP_USERNAME: infobipUsername,
      TRUNKLINE_INFOBIP_PASSWORD: infobipPassword,
    }),
  newCodec: (_config, request) => new BinaryCodec(new InfobipDialect(request)),
  pings: () => true,
  sendsBearer: false,
  closesItself: false,
  matchesTexts: ({ message }) =>
    message !== undefined &&
    !['event', 'type', 'eventType'].some((name) => Object.hasOwn(message, name)) &&
    textAt(message, 'callId') !== undefined &&
    wholeAt(message, 'sampleRate') !== undefined &&
    wholeAt(message, 'packetizationTime') !== undefined,
  webhooks: [],
  setup: infobipSetup,
  player: infobipPlayer,
  playerSecrets: ({ infobipUsername: username, infobipPassword: password }) => ({
    username,
    password,
  }),
};

const ownFields = ['callId', 'sampleRate', 'packetizationTime', 'customData'];

class InfobipDialect implements BinaryDialect {
  readonly emptyEnds = true;
  readonly #request: UpgradeRequest;
  readonly #streamId = randomUUID();

  constructor(request: UpgradeRequest) {
    this.#request = request;
  }

  text(text: string): BinaryMessage {
    const message = parseObject(text);
    if (!message) return { is: 'malformed' };
    if (!Object.hasOwn(message, 'sampleRate')) return { is: 'unknown' };
    const callId = textAt(message, 'callId');
    const rateHz = wholeAt(message, 'sampleRate');
    if (callId === undefined || rateHz === undefined) return { is: 'malformed' };
    const custom = textParameters(objectAt(message, 'customData'));
    const fields = withoutNames(textParameters(message), ownFields);
    const said = saidBy(
      this.#request,
      ownRecord([...Object.entries(fields), ...Object.entries(custom)]),
    );
    const { call_id: joined, ...parameters } = said.rest;
    return binaryStart({
      said: { ...said, rest: parameters },
      // At Infobip each party of a dialog is a call of its own. The operator's id says which parties belong
      // together.
      carrierCallId: joined ?? callId,
      streamId: this.#streamId,
      format: { encoding: 'pcm16', rateHz },
      formatSaid: `${rateHz} Hz`,
      channels: 'mixed',
      carrierIds: { infobip_call_id: callId },
      closingEndsCall: false,
      remedy: 'set the sample rate of the media stream to 8000, 16000, 32000 or 48000',
    });
  }
}
