import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { longestPanelLifeS, PanelScope, PanelTeams } from '../../protocol/panel.ts';
import type { PanelGrant } from './panel-grant.ts';

/**
 * Tokens that a desktop signs itself with the embed secret: a JSON Web Token with HS256, and no other algorithm. Pure.
 */
export const panelAudience = 'trunkline-panel';

/** The clocks of two machines may differ by this much. */
const leewayS = 60;
/** A longer text is not looked at. */
const longestToken = 2_000;

const Header = z.object({ alg: z.literal('HS256'), typ: z.literal('JWT').optional() });

const Claims = z.object({
  aud: z.literal(panelAudience),
  scope: PanelScope,
  sub: z.string().min(1).max(100),
  teams: PanelTeams.optional(),
  exp: z.number(),
  nbf: z.number().optional(),
});

/** True for text that has the form of a signed token for the panel. Its signature may be wrong. */
export function isSignedForm(token: string): boolean {
  const parts = token.length > longestToken ? [] : token.split('.');
  const [, claims] = parts;
  return parts.length === 3 && Claims.pick({ aud: true }).safeParse(parsed(claims)).success;
}

/** The grant of a signed token, or undefined if it opens nothing. */
export function readSigned(token: string, secret: string, nowMs: number): PanelGrant | undefined {
  if (token.length > longestToken) return undefined;
  const [header = '', claims = '', signature = '', ...more] = token.split('.');
  if (more.length > 0) return undefined;
  const right = signatureOf(`${header}.${claims}`, secret);
  const shown = Buffer.from(signature, 'base64url');
  if (right.length !== shown.length || !timingSafeEqual(right, shown)) return undefined;
  const read = Claims.safeParse(parsed(claims));
  if (!Header.safeParse(parsed(header)).success || !read.success) return undefined;
  const { scope, sub, teams, exp, nbf } = read.data;
  const nowS = nowMs / 1_000;
  if (exp <= nowS || exp > nowS + longestPanelLifeS + leewayS) return undefined;
  if (nbf !== undefined && nbf > nowS + leewayS) return undefined;
  // A token that names teams and could not be bound to them opens nothing.
  if (teams !== undefined && scope !== 'supervisor' && scope !== 'qa') return undefined;
  return {
    ...(teams === undefined ? {} : { teams }),
    scope,
    agent: scope === 'agent' ? sub : undefined,
    callId: scope === 'call' ? sub : undefined,
    expiresAt: Math.floor(exp * 1_000),
    id: undefined,
  };
}

function signatureOf(text: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(text).digest();
}

function parsed(part: string | undefined): unknown {
  try {
    return JSON.parse(Buffer.from(part ?? '', 'base64url').toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}
