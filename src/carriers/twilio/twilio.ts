import { formFacts } from '../call-facts.ts';
import type { AuthContext, Carrier, UpgradeRequest, UpgradeVerdict } from '../carrier.ts';
import { callDialect, callStreamSid } from '../json/call-dialect.ts';
import { JsonCodec } from '../json/json-codec.ts';
import { isUrlSignature } from '../url-signature.ts';
import { refuseBoth } from '../voice-answer.ts';
import { twilioPlayer } from './player.ts';
import { twilioWebhooks } from './webhooks.ts';
import { twilioSetup } from './setup.ts';
import type { TwilioConfig } from './settings.ts';

/** All streams share one dialect, because it holds no state. */
const dialect = callDialect({ byteOrder: 'little', otherCodec: 'Twilio streams mu-law only' });

export const twilio: Carrier<TwilioConfig> = {
  name: 'twilio',
  authenticate,
  hasSecret: (config) => config.twilioAuthToken.length > 0,
  checkSettings: ({ twilioDial, twilioContinueUrl }) =>
    refuseBoth({
      TRUNKLINE_TWILIO_DIAL: twilioDial,
      TRUNKLINE_TWILIO_CONTINUE_URL: twilioContinueUrl,
    }),
  newCodec: () => new JsonCodec(dialect),
  pings: () => true,
  sendsBearer: false,
  closesItself: false,
  matchesUpgrade: ({ headers }) => headers['x-twilio-signature'] !== undefined,
  // The form of the ids decides and not the version, because early Twilio streams announced 0.x too.
  matchesTexts: (first, second) => callStreamSid(first, second, (sid) => sid === 'lettered'),
  webhooks: twilioWebhooks,
  factsOf: formFacts,
  setup: twilioSetup,
  player: twilioPlayer,
  playerSecrets: ({ twilioAuthToken: [authToken] }) => ({ authToken }),
};

function authenticate(
  request: UpgradeRequest,
  { config, publicUrl }: AuthContext<TwilioConfig>,
): UpgradeVerdict {
  const signature = request.headers['x-twilio-signature'];
  if (signature === undefined) return { outcome: 'at-start' };
  if (config.twilioAuthToken.length === 0)
    return {
      outcome: 'refused',
      status: 403,
      reason: 'a signature came, but TRUNKLINE_TWILIO_AUTH_TOKEN is not set',
    };
  return isUrlSignature(signature, config.twilioAuthToken, {
    publicUrl,
    kind: 'socket',
    target: request.target,
  })
    ? { outcome: 'accepted', by: 'signature' }
    : {
        outcome: 'refused',
        status: 403,
        reason:
          'X-Twilio-Signature does not match: check TRUNKLINE_TWILIO_AUTH_TOKEN and TRUNKLINE_PUBLIC_URL',
      };
}
