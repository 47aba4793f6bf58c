import type { Bridge } from '../bridge/seam.ts';
import type { AuthContext, Carrier, UpgradeRequest } from './carrier.ts';
import { bearerOf } from './credentials.ts';
import type { Proof } from './socket.ts';

export type Admission =
  { outcome: 'admitted'; proof: Proof } | { outcome: 'refused'; status: 401 | 403; reason: string };

/**
 * Whether an upgrade may become a stream of this carrier. Closed by default: the carrier's own proof, or a
 * stream token that we minted; a carrier that can send parameters may bring the token in its first message.
 */
export async function admit(
  carrier: Carrier,
  request: UpgradeRequest,
  urlToken: string | undefined,
  options: { bridge: Bridge; auth: AuthContext; insecure: boolean },
): Promise<Admission> {
  const verdict = carrier.authenticate(request, options.auth);
  const mayBeBearer = carrier.sendsBearer && verdict.outcome !== 'accepted';
  const token = urlToken ?? (mayBeBearer ? bearerOf(request) : undefined);
  if (token !== undefined) {
    const claim = await options.bridge.claimToken(token, carrier.name);
    if (claim.outcome === 'accepted') {
      const { metadata, carrierCallId: bound } = claim;
      return admitted({
        state: 'proven',
        metadata,
        ...(bound === undefined ? {} : { boundCallId: bound }),
      });
    }
    if (!options.insecure && urlToken !== undefined)
      return { outcome: 'refused', status: 403, reason: `stream token ${claim.reason}` };
  }
  if (verdict.outcome === 'accepted' || options.insecure)
    return admitted({ state: 'proven', metadata: {} });
  if (verdict.outcome === 'at-start') return admitted({ state: 'at-start' });
  return verdict;
}

function admitted(proof: Proof): Admission {
  return { outcome: 'admitted', proof };
}
