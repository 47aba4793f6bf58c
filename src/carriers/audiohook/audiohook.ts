import { AudiohookCodec } from './codec.ts';
import { checkAudiohookSignature } from './signature.ts';
import type { AuthContext, Carrier, UpgradeRequest, Verdict } from '../carrier.ts';

/** Genesys AudioHook, protocol version 2, as its Monitor product speaks it. */
export const audiohook: Carrier = {
  name: 'audiohook',
  authenticate,
  hasSecret: (config) => config.audiohookApiKey !== undefined,
  newCodec: (_config, { headers }) =>
    new AudiohookCodec({
      sessionId: headers['audiohook-session-id'],
      organizationId: headers['audiohook-organization-id'],
    }),
  pings: () => true,
  sendsBearer: false,
  closesItself: true,
};

function authenticate(request: UpgradeRequest, context: AuthContext): Verdict {
  const check = checkAudiohookSignature(request, context);
  if (check === 'good') return { outcome: 'accepted', by: 'signature' };
  if (check === 'missing')
    return { outcome: 'refused', status: 401, reason: 'X-API-KEY is missing' };
  return { outcome: 'refused', status: 403, reason: check.bad };
}
