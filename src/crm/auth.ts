import { z } from 'zod';

const Secret = z.string().min(1).max(8_192).meta({ secret: true });
const Text = z.string().min(1).max(2_048);
/** An address, or a path of the endpoint's own address. */
const tokenUrl = z
  .union([z.url({ protocol: /^https?$/ }), z.string().startsWith('/')])
  .optional()
  .describe('The address that gives tokens; a preset knows it.');

/** The proof of an endpoint, beside the fixed headers. */
export const AuthSetting = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('bearer'), token: Secret }),
  z.strictObject({ kind: z.literal('basic'), user: Text, password: Secret }),
  z.strictObject({
    kind: z.literal('header'),
    name: z.string().regex(/^[A-Za-z0-9-]{1,64}$/),
    value: Secret,
  }),
  z.strictObject({
    kind: z.literal('oauth_refresh'),
    tokenUrl,
    clientId: Text,
    clientSecret: Secret,
    refreshToken: Secret,
  }),
  z.strictObject({
    kind: z.literal('client_credentials'),
    tokenUrl,
    clientId: Text,
    clientSecret: Secret,
    scope: Text.optional(),
  }),
  z.strictObject({
    kind: z.literal('jwt_bearer'),
    tokenUrl,
    issuer: Text,
    subject: Text,
    audience: Text,
    key: Secret.describe('The private key, as PEM. It signs with RS256.'),
  }),
  z.strictObject({
    kind: z.literal('tryton_session'),
    user: Text,
    password: Secret,
  }),
]);
export type AuthSetting = z.infer<typeof AuthSetting>;

/** Kinds whose proof is fetched, lives for a while and is fetched anew. */
export type FetchedAuth = Extract<
  AuthSetting,
  { kind: 'oauth_refresh' | 'client_credentials' | 'jwt_bearer' | 'tryton_session' }
>;

/** The headers of a proof that never changes; undefined for one that is fetched. */
export function fixedHeaders(auth: AuthSetting): Record<string, string> | undefined {
  if (auth.kind === 'bearer') return { authorization: `Bearer ${auth.token}` };
  if (auth.kind === 'header') return { [auth.name.toLowerCase()]: auth.value };
  if (auth.kind === 'basic')
    return {
      authorization: `Basic ${Buffer.from(`${auth.user}:${auth.password}`).toString('base64')}`,
    };
  return undefined;
}
