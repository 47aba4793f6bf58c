import { Router, type Request, type Response } from 'express';
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { sealed, unsealed } from '../lib/sealed.ts';
import { isOverTls, type PublicUrl } from '../port/addresses.ts';
import type { Door } from '../port/http.ts';
import { Problem } from '../port/problem.ts';
import type { ProviderTrial } from '../protocol/people-reports.ts';
import { parseJson } from '../lib/json.ts';
import type { Accounts } from './accounts.ts';
import { actorOf, type Audit } from './audit.ts';
import { claimedPerson } from './claimed-person.ts';
import type { ProviderConfig } from './provider-config.ts';
import { providerPath } from './provider-path.ts';
import { ProviderError, type SignInProvider } from './sign-in-provider.ts';
import { cookieFor } from './session-api.ts';
import { signInCookie, type Holders } from './holders.ts';
import type { SignIns } from './sign-ins.ts';

/** Binds a sign-in to the browser that began it. */
const begunCookie = 'trunkline_begun';
/** A person has this long to sign in at the provider. */
const begunForMs = 600_000;
const backPath = `${providerPath}/back`;

const KeptSignIn = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  to: z.string(),
  untilMs: z.number(),
});

type ProviderApiOptions = {
  provider: SignInProvider | undefined;
  config: ProviderConfig;
  /** Seals what the browser keeps; the same at all nodes. */
  key: Buffer;
  door: Door;
  known: Holders;
  accounts: Accounts;
  signIns: SignIns;
  audit: Audit;
  publicUrl: PublicUrl;
  clock: Clock;
  log: Logger;
};

/** The address to which the provider sends people back. The request's own host has no say in it. */
export function providerBackAt(publicUrl: PublicUrl): string {
  return `${publicUrl()}${backPath}`;
}

/** Serves the way to the provider and back. */
export function providerApi(options: ProviderApiOptions): Router {
  const { provider, publicUrl, clock, log, door, audit } = options;
  const router = Router();

  router.get(providerPath, async (request, response) => {
    if (provider === undefined) throw new Problem(404, 'no provider signs people in here');
    response.setHeader('cache-control', 'no-store');
    const to = pageAddress(request.query['to']);
    try {
      const { url, begun } = await provider.begin();
      const kept = JSON.stringify({ ...begun, to, untilMs: clock.now() + begunForMs });
      response
        .cookie(
          begunCookie,
          Buffer.from(sealed(kept, options.key), 'base64').toString('base64url'),
          begunCookieFor(request, publicUrl),
        )
        .redirect(303, url);
    } catch (error) {
      response.redirect(303, explained(options, error, to));
    }
  });

  router.get(backPath, async (request, response) => {
    if (provider === undefined) throw new Problem(404, 'no provider signs people in here');
    response.setHeader('cache-control', 'no-store');
    // The secrets of a sign-in serve once.
    response.clearCookie(begunCookie, begunCookieFor(request, publicUrl));
    const begun = begunOf(request, options);
    try {
      if (begun === undefined) throw new SignInRefused('begun-elsewhere', 'the browser did not begin it, or too long ago'); // prettier-ignore
      await finish({ ...options, provider }, begun, request, response);
      response.redirect(303, `${publicUrl()}/${begun.to}`);
    } catch (error) {
      audit.failed(door.clientOf(request));
      response.redirect(303, explained({ publicUrl, log }, error, begun?.to ?? ''));
    }
  });
  return router;
}

/** Serves the trial of the provider, for those who run the installation. */
export function providerTrialApi({
  provider,
  config,
  publicUrl,
}: Pick<ProviderApiOptions, 'provider' | 'config' | 'publicUrl'>): Router {
  const router = Router();
  router.post('/api/provider/trial', async (_request, response) => {
    response.json({
      tried: await triedProvider(provider, config, publicUrl),
    } satisfies ProviderTrial);
  });
  return router;
}

async function triedProvider(
  provider: SignInProvider | undefined,
  { issuer = '' }: ProviderConfig,
  publicUrl: PublicUrl,
): Promise<ProviderTrial['tried']> {
  if (provider === undefined) return null;
  const about = { issuer, back_at: providerBackAt(publicUrl) };
  try {
    await provider.trial();
    return { ...about, problem: null, todo: null };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const todo =
      error.trouble === 'away'
        ? 'start the provider, or correct TRUNKLINE_OIDC_ISSUER; people with a password and keys sign in meanwhile'
        : 'compare TRUNKLINE_OIDC_ISSUER with "issuer" in the provider\'s /.well-known/openid-configuration';
    return { ...about, problem: error.message, todo };
  }
}

/** Somebody is not signed in, for a reason that is not the provider's. */
class SignInRefused extends Error {
  readonly reason: string;

  constructor(reason: 'begun-elsewhere' | 'no-role' | 'unclear', message: string) {
    super(message);
    this.reason = reason;
  }
}

type BackFromProvider = ProviderApiOptions & { provider: SignInProvider };

async function finish(
  { provider, config, accounts, known, signIns, audit, door, publicUrl }: BackFromProvider,
  begun: z.infer<typeof KeptSignIn>,
  request: Request,
  response: Response,
): Promise<void> {
  const query = new URL(request.originalUrl, 'http://host').searchParams;
  if (query.get('state') !== begun.state)
    throw new SignInRefused('begun-elsewhere', 'the answer belongs to another sign-in');
  const claims = await provider.finish(`?${query.toString()}`, begun);
  const claimed = claimedPerson(config.issuer ?? '', claims, config);
  if ('problem' in claimed) throw new SignInRefused('unclear', claimed.problem);
  const person = await accounts.fromProvider(claimed);
  if (person === undefined)
    throw new SignInRefused('no-role', `none of our roles is in the claim "${config.rolesClaim}"`);
  const address = door.clientOf(request);
  const actor = actorOf(known.principalOfPerson(person));
  await audit.add({ ...actor, action: 'signed in', detail: 'by the provider', address });
  const cookie = await signIns.open({ kind: 'person', holder: person.id }, address);
  response.cookie(signInCookie, cookie, cookieFor(request, publicUrl));
}

/** The browser sends this cookie when the provider sends it back, which a stricter one would not survive. */
function begunCookieFor(request: Request, publicUrl: PublicUrl) {
  const secure = isOverTls(request, publicUrl);
  return {
    httpOnly: true,
    sameSite: 'lax',
    path: providerPath,
    secure,
    maxAge: begunForMs,
  } as const;
}

function begunOf(
  request: Request,
  { key, clock }: Pick<ProviderApiOptions, 'key' | 'clock'>,
): z.infer<typeof KeptSignIn> | undefined {
  for (const pair of request.headers.cookie?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2);
    if (name !== begunCookie || !/^[\w-]{40,4000}$/.test(value ?? '')) continue;
    const text = unsealed(value ?? '', key);
    const begun = text === undefined ? undefined : KeptSignIn.safeParse(parseJson(text)).data;
    if (begun !== undefined && begun.untilMs > clock.now()) return begun;
  }
  return undefined;
}

/** Only a place within our page: the part after the # of an address. Anything else leads to the first view. */
function pageAddress(given: unknown): string {
  return typeof given === 'string' && /^#\/[\w\-/?=&%.~+:,*()!']{0,1000}$/.test(given) ? given : '';
}

/** Logs why nobody was signed in, and returns the page's address that says so to the person. */
function explained(
  { publicUrl, log }: Pick<ProviderApiOptions, 'publicUrl' | 'log'>,
  error: unknown,
  to: string,
): string {
  const isExpected = error instanceof ProviderError || error instanceof SignInRefused;
  const reason = error instanceof ProviderError ? error.trouble : error instanceof SignInRefused ? error.reason : 'failed'; // prettier-ignore
  if (isExpected) log.warn({ reason: error.message }, 'a sign-in by the provider failed');
  else log.error({ err: error }, 'a sign-in by the provider failed');
  return `${publicUrl()}/?sign-in=${reason}${to}`;
}
