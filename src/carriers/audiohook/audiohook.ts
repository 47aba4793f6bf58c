import type { AuthContext, Carrier, UpgradeRequest, UpgradeVerdict } from '../carrier.ts';
import { refuseHalf } from '../credentials.ts';
import { AudiohookCodec } from './codec.ts';
import { audiohookPlayer } from './player.ts';
import { checkAudiohookSignature } from './signature.ts';
import { audiohookSetup } from './setup.ts';
import type { AudiohookConfig } from './settings.ts';

/** Genesys AudioHook, protocol version 2, as its Monitor product speaks it. */
export const audiohook: Carrier<AudiohookConfig> = {
  name: 'audiohook',
  authenticate,
  hasSecret: (config) => config.audiohookApiKey !== undefined,
  checkSettings: ({ audiohookApiKey, audiohookClientSecret }) =>
    refuseHalf({
      TRUNKLINE_AUDIOHOOK_API_KEY: audiohookApiKey,
      TRUNKLINE_AUDIOHOOK_CLIENT_SECRET: audiohookClientSecret,
    }),
  newCodec: (_config, { headers }) =>
    new AudiohookCodec({
      sessionId: headers['audiohook-session-id'],
      organizationId: headers['audiohook-organization-id'],
    }),
  pings: () => true,
  takesResults: (config) => config.audiohookResults,
  sendsBearer: false,
  closesItself: true,
  matchesUpgrade: ({ headers }) => headers['audiohook-session-id'] !== undefined,
  matchesTexts: ({ message }) => message?.['version'] === '2' && message['type'] === 'open',
  webhooks: [],
  setup: audiohookSetup,
  player: audiohookPlayer,
  playerSecrets: ({ audiohookApiKey: apiKey, audiohookClientSecret: clientSecret }) => ({
    apiKey,
    clientSecret,
  }),
};

function authenticate(
  request: UpgradeRequest,
  context: AuthContext<AudiohookConfig>,
): UpgradeVerdict {
  const check = checkAudiohookSignature(request, context);
  if (check === 'good') return { outcome: 'accepted', by: 'signature' };
  if (check === 'missing')
    return { outcome: 'refused', status: 401, reason: 'X-API-KEY is missing' };
  return { outcome: 'refused', status: 403, reason: check.bad };
}
