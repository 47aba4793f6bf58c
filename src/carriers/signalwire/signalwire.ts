import { formFacts } from '../call-facts.ts';
import type { Carrier } from '../carrier.ts';
import { checkBearer } from '../credentials.ts';
import { callDialect, callStreamSid } from '../json/call-dialect.ts';
import { JsonCodec } from '../json/json-codec.ts';
import { refuseBoth } from '../voice-answer.ts';
import { signalwirePlayer } from './player.ts';
import { signalwireSetup } from './setup.ts';
import type { SignalwireConfig } from './settings.ts';
import { signalwireWebhooks } from './webhooks.ts';

export const signalwire: Carrier<SignalwireConfig> = {
  name: 'signalwire',
  authenticate: (request, { config, judgeSecret }) =>
    checkBearer(request, config.signalwireToken, judgeSecret),
  hasSecret: (config) => config.signalwireToken.length > 0,
  newCodec: (config) =>
    new JsonCodec(
      callDialect({
        byteOrder: config.signalwireByteOrder,
        otherCodec: 'set the attribute codec of <Stream> to PCMU@8000h or L16@16000h',
      }),
    ),
  checkSettings: ({ signalwireDial, signalwireContinueUrl }) =>
    refuseBoth({
      TRUNKLINE_SIGNALWIRE_DIAL: signalwireDial,
      TRUNKLINE_SIGNALWIRE_CONTINUE_URL: signalwireContinueUrl,
    }),
  pings: () => true,
  sendsBearer: true,
  closesItself: false,
  matchesTexts: (first, second) => callStreamSid(first, second, (sid) => sid === 'uuid'),
  webhooks: signalwireWebhooks,
  factsOf: formFacts,
  setup: signalwireSetup,
  player: signalwirePlayer,
  playerSecrets: ({ signalwireToken: [bearer] }) => ({ bearer }),
};
