import { digestOf } from '../lib/digest.ts';
import { isObject } from '../lib/json.ts';
import { printable } from '../lib/printable.ts';
import { personRoles, type PersonRole } from '../protocol/rights.ts';
import { roleRule, type ProviderConfig } from './provider-config.ts';

/** Somebody as the provider describes them. */
export type ClaimedPerson = {
  /** Issuer and subject: the one name of a person that never changes. */
  subject: string;
  login: string;
  name: string;
  roles: PersonRole[];
  teams: string[];
  agentId: string | null;
};

const maxTeams = 100;
const maxTextLength = 100;
const maxAgentLength = 200;
const maxSubjectLength = 255;

type ClaimsUsed = Pick<ProviderConfig, 'rolesClaim' | 'roles' | 'teamsClaim' | 'agentClaim'>;

/** Reads a person out of the provider's claims. Pure. Who has none of our roles has an empty list. */
export function claimedPerson(
  issuer: string,
  claims: Record<string, unknown>,
  settings: ClaimsUsed,
): ClaimedPerson | { problem: string } {
  const { sub } = claims;
  if (typeof sub !== 'string' || sub === '' || sub.length > maxSubjectLength)
    return { problem: 'the provider names nobody: its claim "sub" is missing or too long' };
  const subject = `${issuer} ${sub}`;
  const teams = settings.teamsClaim === undefined ? [] : textsAt(claims, settings.teamsClaim);
  if (teams.length > maxTeams)
    return {
      problem: `the claim "${settings.teamsClaim ?? ''}" names ${teams.length} teams, and a person may be in ${maxTeams} at most`,
    };
  const long = teams.find((team) => team.length > maxTextLength);
  if (long !== undefined)
    return {
      problem: `the claim "${settings.teamsClaim ?? ''}" names a team of ${long.length} characters: ${maxTextLength} at most`,
    };
  const agentId =
    settings.agentClaim === undefined ? undefined : textsAt(claims, settings.agentClaim)[0];
  if (agentId !== undefined && agentId.length > maxAgentLength)
    return {
      problem: `the claim "${settings.agentClaim ?? ''}" has ${agentId.length} characters: ${maxAgentLength} at most`,
    };
  const login = loginOf(claims, subject);
  return {
    ...{ subject, login, teams, agentId: agentId ?? null },
    name: lineOf(claims['name']) ?? login,
    roles: rolesFrom(textsAt(claims, settings.rolesClaim), settings.roles),
  };
}

function rolesFrom(values: readonly string[], rules: readonly string[]): PersonRole[] {
  const told = new Set(values);
  const stands =
    rules.length === 0
      ? personRoles.map((role) => ({ value: role, role }))
      : rules.flatMap((rule) => roleRule(rule) ?? []);
  return personRoles.filter((role) =>
    stands.some((one) => one.role === role && told.has(one.value)),
  );
}

/** The name to sign in with is only shown, since the provider asks for it. It has the form of any other login. */
function loginOf(claims: Record<string, unknown>, subject: string): string {
  for (const claim of ['preferred_username', 'email', 'upn', 'sub']) {
    const text = lineOf(claims[claim])?.toLowerCase();
    if (text !== undefined && /^[\p{L}\p{N}][\p{L}\p{N}._@+-]{0,79}$/u.test(text)) return text;
  }
  return `person-${digestOf(subject).slice(0, 12)}`;
}

function lineOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const line = printable(value).trim().slice(0, maxTextLength);
  return line === '' ? undefined : line;
}

/** The texts of a claim, each once. A claim of one text is a list of one. */
export function textsAt(claims: Record<string, unknown>, path: string): string[] {
  const value = claimAt(claims, path);
  const list = Array.isArray(value) ? (value as unknown[]) : [value];
  const texts = list.flatMap((one) =>
    typeof one === 'string' || typeof one === 'number' ? printable(String(one)).trim() : [],
  );
  return [...new Set(texts.filter((text) => text !== ''))];
}

/** The name as a whole comes first: names such as `https://example.com/roles` have dots of their own. */
function claimAt(claims: Record<string, unknown>, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
      claims,
    );
}
