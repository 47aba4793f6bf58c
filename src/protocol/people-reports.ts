import { z } from 'zod';
import { keyScopes, personRoles } from './rights.ts';
import { textLine } from './values.ts';

/* Bodies of the routes about keys, people, sign-ins and the record of who did what. */

const distinct = <Item>(items: Item[]): Item[] => [...new Set(items)];

const Scopes = z.array(z.enum(keyScopes)).min(1).max(keyScopes.length).transform(distinct);
const Roles = z.array(z.enum(personRoles)).min(1).max(personRoles.length).transform(distinct);
const Teams = z.array(textLine(100)).max(100).transform(distinct);

const Password = z
  .string()
  .min(12, 'must have at least 12 characters: four words are easy to keep in mind')
  .max(200);

export const NewApiKey = z
  .strictObject({
    name: textLine(100),
    scopes: Scopes,
    days: z.number().int().min(1).max(3_650).optional().describe('The life; without end unless said.'), // prettier-ignore
  })
  .meta({ id: 'NewApiKey' });
export type NewApiKey = z.output<typeof NewApiKey>;

export const ApiKeyShown = z
  .object({
    id: z.string(),
    name: z.string(),
    scopes: z.array(z.enum(keyScopes)),
    state: z.enum(['good', 'expired', 'revoked']),
    made_by: z.string(),
    made_at: z.string(),
    expires_at: z.string().nullable(),
    revoked_at: z.string().nullable(),
  })
  .meta({ id: 'ApiKey' });
export type ApiKeyShown = z.infer<typeof ApiKeyShown>;

export const ApiKeyMade = ApiKeyShown.extend({
  key: z.string().describe('Shown this once.'),
}).meta({ id: 'NewApiKeyShown' });
export type ApiKeyMade = z.infer<typeof ApiKeyMade>;

export const ApiKeyList = z.object({ items: z.array(ApiKeyShown) }).meta({ id: 'ApiKeyList' });
export type ApiKeyList = z.infer<typeof ApiKeyList>;

const login = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^[\p{L}\p{N}][\p{L}\p{N}._@+-]{0,99}$/u, 'must be letters, digits and . _ @ + - alone');

export const NewPerson = z
  .strictObject({
    login: login.describe('The name to sign in with.'),
    name: textLine(100).optional().describe('The name to show; the login unless said.'),
    roles: Roles,
    teams: Teams.default([]),
    agent_id: textLine(200).optional().describe('The agent_id in the metadata of their own calls.'),
    password: Password,
  })
  .meta({ id: 'NewPerson' });
export type NewPerson = z.output<typeof NewPerson>;

export const PersonChange = z
  .strictObject({
    name: textLine(100).optional(),
    roles: Roles.optional(),
    teams: Teams.optional(),
    agent_id: textLine(200).nullable().optional(),
    password: Password.optional().describe('Ends all their sign-ins.'),
  })
  .meta({ id: 'PersonChange' });
export type PersonChange = z.output<typeof PersonChange>;

export const ApiPerson = z
  .object({
    id: z.string(),
    login: z.string(),
    name: z.string(),
    roles: z.array(z.enum(personRoles)),
    teams: z.array(z.string()),
    agent_id: z.string().nullable(),
    signs_in_by: z.enum(['password', 'provider']),
    made_at: z.string(),
  })
  .meta({ id: 'Person' });
export type ApiPerson = z.infer<typeof ApiPerson>;

export const PersonList = z.object({ items: z.array(ApiPerson) }).meta({ id: 'PersonList' });
export type PersonList = z.infer<typeof PersonList>;

const ApiSignIn = z
  .object({
    id: z.string(),
    who: z.string(),
    kind: z.enum(['person', 'key', 'setting']),
    holder: z.string().describe('The id of the person or key.'),
    address: z.string(),
    made_at: z.string(),
    expires_at: z.string(),
    this_one: z.boolean().describe('True for the sign-in that asks.'),
  })
  .meta({ id: 'SignIn' });

export const SignInList = z.object({ items: z.array(ApiSignIn) }).meta({ id: 'SignInList' });
export type SignInList = z.infer<typeof SignInList>;

export const SignInRequest = z
  .union([
    z.strictObject({ key: z.string().min(1) }),
    z.strictObject({ login: z.string().min(1).max(100), password: z.string().min(1).max(200) }),
  ])
  .meta({
    id: 'SessionRequest',
    description: 'POST /api/session: a key, or name and password of a person, for a cookie.',
  });

export const SignInState = z
  .object({
    key_needed: z.boolean(),
    signed_in: z.boolean(),
    who: z
      .object({
        name: z.string(),
        kind: z.enum(['machine', 'process', 'setting', 'key', 'person', 'token']),
        roles: z.array(z.enum(personRoles)),
        scopes: z.array(z.enum(keyScopes)),
      })
      .optional()
      .describe('Who is signed in.'),
    may: z
      .record(z.string(), z.enum(['own', 'team', 'all']))
      .describe('What they may do, and on which calls.'),
    by_password: z.boolean().describe('True if people sign in here with name and password.'),
    provider: z.string().nullable().describe('The provider that signs people in, if there is one.'),
    provider_at: z
      .string()
      .nullable()
      .describe('The address at which the way to the provider begins.'),
  })
  .meta({ id: 'SessionState' });
export type SignInState = z.infer<typeof SignInState>;

export const SignedOut = z
  .object({
    continue_at: z.string().describe('The sign-out of the provider that signed the person in.'),
  })
  .meta({ id: 'SignedOut' });
export type SignedOut = z.infer<typeof SignedOut>;

export const ProviderTrial = z
  .object({
    tried: z
      .object({
        issuer: z.string(),
        back_at: z.string().describe('The redirect address to register at the provider.'),
        problem: z.string().nullable(),
        todo: z.string().nullable(),
      })
      .nullable()
      .describe('Null where no provider signs people in.'),
  })
  .meta({ id: 'ProviderTrial' });
export type ProviderTrial = z.infer<typeof ProviderTrial>;

export const AuditLine = z
  .object({
    seq: z.number().int(),
    at: z.string(),
    actor: z.string(),
    actor_kind: z.string(),
    actor_id: z.string(),
    action: z.string(),
    call_id: z.string().nullable(),
    detail: z.string(),
    address: z.string(),
    node: z.string(),
    hash: z.string().describe('SHA-256 over this line and the hash of the line before.'),
  })
  .meta({ id: 'AuditLine' });
export type AuditLine = z.infer<typeof AuditLine>;

export const AuditPage = z
  .object({ items: z.array(AuditLine), next_cursor: z.string().nullable() })
  .meta({ id: 'AuditPage' });
export type AuditPage = z.infer<typeof AuditPage>;

export const AuditCheck = z
  .object({
    whole: z.boolean(),
    lines: z.number().int(),
    first: z.number().int().nullable(),
    last: z.number().int().nullable(),
    broken_at: z.number().int().nullable().describe('The first line that does not fit.'),
    why: z.string().nullable(),
  })
  .meta({ id: 'AuditCheck' });
export type AuditCheck = z.infer<typeof AuditCheck>;
