import { z } from 'zod';
import { isLoopback } from '../port/addresses.ts';
import { personRoles, type PersonRole } from '../protocol/rights.ts';

/** A claim by its name, or by the names on the way to it, as in `realm_access.roles`. */
const ClaimPath = z.string().regex(/^\S{1,200}$/, 'must be the name of a claim, without spaces');

const RoleRule = z
  .string()
  .max(300)
  .refine(
    (rule) => roleRule(rule) !== undefined,
    `must be VALUE=ROLE, where ROLE is ${personRoles.join(', ')}`,
  );

/** Settings of the OpenID Connect provider that signs people in. */
export const ProviderConfig = z.strictObject({
  issuer: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      env: 'TRUNKLINE_OIDC_ISSUER',
      description:
        'Address of an OpenID Connect provider that signs people in, as its discovery document names it.',
    }),
  clientId: z.string().min(1).max(300).optional().meta({
    env: 'TRUNKLINE_OIDC_CLIENT_ID',
    description: 'The id under which the provider knows this installation.',
  }),
  clientSecret: z.string().min(1).max(1_000).optional().meta({
    env: 'TRUNKLINE_OIDC_CLIENT_SECRET',
    secret: true,
    description: 'The secret that belongs to the id; none for a public client.',
  }),
  name: z.string().min(1).max(60).default('single sign-on').meta({
    env: 'TRUNKLINE_OIDC_NAME',
    description: 'The name of the provider on the button of the page.',
  }),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, 'must be a scope without spaces'))
    .max(50)
    .default(['openid', 'profile', 'email'])
    .meta({
      env: 'TRUNKLINE_OIDC_SCOPES',
      description: 'The scopes that the provider is asked for; `openid` is always one of them.',
    }),
  rolesClaim: ClaimPath.default('roles').meta({
    env: 'TRUNKLINE_OIDC_ROLES_CLAIM',
    description: 'The claim that names the roles of a person; dots lead into it.',
  }),
  roles: z.array(RoleRule).max(200).default([]).meta({
    env: 'TRUNKLINE_OIDC_ROLES',
    description:
      'The roles that values of that claim stand for, as VALUE=ROLE; unset: values are the names of our roles.',
  }),
  teamsClaim: ClaimPath.optional().meta({
    env: 'TRUNKLINE_OIDC_TEAMS_CLAIM',
    description: 'The claim that names the teams of a person.',
  }),
  agentClaim: ClaimPath.optional().meta({
    env: 'TRUNKLINE_OIDC_AGENT_CLAIM',
    description: 'The claim that names the agent whose calls are those of the person.',
  }),
});
export type ProviderConfig = z.infer<typeof ProviderConfig>;

/** The value of the claim, and the role that it stands for. The value may have equals signs of its own. */
export function roleRule(rule: string): { value: string; role: PersonRole } | undefined {
  const at = rule.lastIndexOf('=');
  const role = personRoles.find((one) => one === rule.slice(at + 1).trim());
  const value = rule.slice(0, Math.max(0, at)).trim();
  return role === undefined || value === '' ? undefined : { value, role };
}

/** Settings that are set without another setting that they need. */
export function providerProblems({ issuer, ...rest }: ProviderConfig): string[] {
  const { clientId, clientSecret, teamsClaim, agentClaim, roles } = rest;
  const isAsked = [clientId, clientSecret, teamsClaim, agentClaim, roles[0]].some(
    (one) => one !== undefined,
  );
  if (issuer === undefined)
    return isAsked
      ? ['people.provider: the settings of a provider are of use with TRUNKLINE_OIDC_ISSUER alone']
      : [];
  if (clientId === undefined)
    return ['people.provider.clientId: TRUNKLINE_OIDC_ISSUER needs TRUNKLINE_OIDC_CLIENT_ID'];
  if (issuer.startsWith('http:') && !isLoopback(new URL(issuer).hostname))
    return [
      'people.provider.issuer: TRUNKLINE_OIDC_ISSUER must be https: only a provider on this machine is asked without TLS',
    ];
  return [];
}
