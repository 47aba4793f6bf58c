import express, { Router } from 'express';
import type { IncomingMessage } from 'node:http';
import { digestOf } from '../lib/digest.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { isOverTls, type PublicUrl } from '../port/addresses.ts';
import type { Door } from '../port/http.ts';
import { refusalOf, type KeyVerdict } from '../port/keys.ts';
import type { Principal } from '../port/principal.ts';
import { Problem } from '../port/problem.ts';
import type { SecretJudge } from '../port/secrets.ts';
import { SignInRequest, type SignedOut, type SignInState } from '../protocol/people-reports.ts';
import { actionsOf } from '../protocol/rights.ts';
import { check } from '../protocol/validation.ts';
import type { Accounts } from './accounts.ts';
import { actorOf, type Audit } from './audit.ts';
import { markOf, signInCookie, type Holders } from './holders.ts';
import { providerPath } from './provider-path.ts';
import type { SignInProvider } from './sign-in-provider.ts';
import type { SignIns } from './sign-ins.ts';

/** People and keys have counts of their own: who mistypes a password makes no program wait. */
const peopleDoor = 'people';

export type SignInOptions = {
  door: Door;
  secrets: SecretJudge;
  known: Holders;
  accounts: Accounts;
  signIns: SignIns;
  audit: Audit;
  publicUrl: PublicUrl;
  provider: SignInProvider | undefined;
  log: Logger;
};

export function cookieFor(request: IncomingMessage, publicUrl: PublicUrl) {
  // Over TLS, the browser then never sends the cookie without TLS.
  const secure = isOverTls(request, publicUrl);
  return { httpOnly: true, sameSite: 'strict', path: '/', secure } as const;
}

/** Serves /api/session: takes a key or a password, and returns a cookie that no script can read and no other site can send. */
export function sessionApi(options: SignInOptions): Router {
  const { door, known, signIns, audit, publicUrl, provider } = options;
  options.secrets.open(peopleDoor);
  const router = Router();

  // The page asks this first. It learns from the answer whether a key is needed, and no 401 shows up in the browser.
  router.get('/api/session', async (request, response) => {
    const isKnown = !door.required || request.headers.cookie !== undefined;
    const found = isKnown ? await identified(door, request) : undefined;
    const state: SignInState = {
      key_needed: door.required,
      signed_in: found !== undefined,
      ...(found === undefined ? {} : { who: whoIs(found) }),
      may: found === undefined ? {} : actionsOf(found),
      by_password: known.people.some(({ password }) => password !== null),
      provider: provider?.name ?? null,
      provider_at: provider === undefined ? null : `${publicUrl()}${providerPath}`,
    };
    response.json(state);
  });

  router.post('/api/session', express.json({ limit: 4_096 }), async (request, response) => {
    const parsed = check(SignInRequest, request.body);
    if (!parsed.ok)
      throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
    const cookie =
      'key' in parsed.value
        ? await withKey(options, request, parsed.value.key)
        : await withPassword(options, request, parsed.value);
    if (cookie !== undefined) response.cookie(signInCookie, cookie, cookieFor(request, publicUrl));
    response.status(204).end();
  });

  router.delete('/api/session', async (request, response) => {
    const found = await identified(door, request);
    await signIns.close(request);
    if (found !== undefined && found.kind !== 'machine')
      await audit.add({ ...actorOf(found), action: 'signed out', address: door.clientOf(request) });
    response.clearCookie(signInCookie, cookieFor(request, publicUrl));
    const leaveAt = found === undefined ? undefined : await providerLeaveAt(options, found);
    if (leaveAt === undefined) response.status(204).end();
    else response.json({ continue_at: leaveAt } satisfies SignedOut);
  });
  return router;
}

/** The provider's own sign-out, for somebody who came from there: at a shared desk the next person is not them. */
async function providerLeaveAt(
  { provider, known, publicUrl, log }: SignInOptions,
  { kind, id }: Principal,
): Promise<string | undefined> {
  if (provider === undefined || kind !== 'person') return undefined;
  if (known.people.find((person) => person.id === id)?.subject == null) return undefined;
  try {
    return await provider.leaveAt(`${publicUrl()}/`);
  } catch (error) {
    // The sign-in here has ended all the same.
    log.warn({ reason: reasonOf(error) }, 'the provider could not be asked for its sign-out');
    return undefined;
  }
}

/** Finds who is signed in. A key in a header counts no more than on any other route. */
async function identified(door: Door, request: IncomingMessage): Promise<Principal | undefined> {
  const found = await door.identify(request);
  return found.is === 'right' ? found.principal : undefined;
}

function whoIs({ name, kind, roles, scopes }: Principal): NonNullable<SignInState['who']> {
  return { name, kind, roles: [...roles], scopes: [...scopes] };
}

async function withKey(
  { door, signIns, audit }: SignInOptions,
  request: IncomingMessage,
  key: string,
): Promise<string | undefined> {
  const { verdict, principal } = await door.judgeSignIn(request, key);
  const refusal = refusalOf(verdict, request);
  if (refusal !== undefined) throw refusal;
  if (principal === undefined || principal.kind === 'machine') return undefined;
  const address = door.clientOf(request);
  await audit.add({ ...actorOf(principal), action: 'signed in', address });
  return signIns.open(
    principal.kind === 'setting'
      ? { kind: 'setting', holder: markOf(key) }
      : { kind: 'key', holder: principal.id },
    address,
  );
}

async function withPassword(
  { door, secrets, known, accounts, signIns, audit }: SignInOptions,
  request: IncomingMessage,
  { login, password }: { login: string; password: string },
): Promise<string> {
  const client = door.clientOf(request);
  const name = login.trim().toLowerCase();
  const person = await accounts.withPassword(name, password);
  const isRight = person !== undefined;
  // The name belongs to the secret, so that a password that was right for one name is not known for another.
  const secret = digestOf(`${name}\n${password}`).slice(0, judgedLength);
  const verdict: KeyVerdict = secrets.judge({ door: peopleDoor, client, secret, isRight });
  if (verdict.is === 'wait')
    throw new Problem(429, 'too many wrong passwords', {
      headers: { 'retry-after': String(verdict.waitS) },
    });
  if (person === undefined || verdict.is !== 'right') {
    audit.failed(client, known.personNamed(name) === undefined ? '' : name);
    throw new Problem(401, 'the name or the password is wrong');
  }
  await audit.add({ ...actorOf(known.principalOfPerson(person)), action: 'signed in', address: client }); // prettier-ignore
  secrets.note(client, 'a browser signed in');
  return signIns.open({ kind: 'person', holder: person.id }, client);
}

/** The judge lets a secret of 24 characters pass in a wait. No password of a person is as random as that. */
const judgedLength = 20;
