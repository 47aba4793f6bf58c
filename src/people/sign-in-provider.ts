import type * as OpenId from 'openid-client';
import type { Clock } from '../lib/clock.ts';
import { GuardedClient } from '../lib/guarded-fetch.ts';
import { isObject } from '../lib/json.ts';
import type { ProviderConfig } from './provider-config.ts';
import { textsAt } from './claimed-person.ts';

/** The provider has this long for each answer. A person waits before a blank page meanwhile. */
const answerWithinMs = 5_000;
/** A token with thousands of roles fits; what is larger is refused. */
const maxAnswerBytes = 1_048_576;
/** The provider's addresses and keys are asked for again after this time. */
const knownForMs = 3_600_000;
/** After a failure the provider is left alone for this time, so that a crowd asks it once. */
const pauseAfterFailureMs = 2_000;
/** At most this many sign-ins are finished at once: strangers can begin as many as they like. */
export const maxFinishingAtOnce = 32;
/** Clocks of two machines may differ by this much. */
const clockToleranceS = 30;

/**
 * `away`: no answer, or one that says the provider is in trouble; `refused`: the provider signed nobody in; `busy`: too
 * many sign-ins at once; `wrong`: an answer that cannot be believed.
 */
type ProviderTrouble = 'away' | 'refused' | 'busy' | 'wrong';

/** The provider did not sign somebody in. The message may be logged: no secret and no word of an answer is in it. */
export class ProviderError extends Error {
  readonly trouble: ProviderTrouble;

  constructor(trouble: ProviderTrouble, message: string) {
    super(message);
    this.name = 'ProviderError';
    this.trouble = trouble;
  }
}

/** The secrets of one sign-in, which its browser keeps until it comes back. */
export type BegunSignIn = { state: string; nonce: string; verifier: string };

type DiscoveredProvider = {
  library: typeof OpenId;
  provider: OpenId.Configuration;
  untilMs: number;
};

type ProviderOptions = {
  config: ProviderConfig & { issuer: string; clientId: string };
  clock: Clock;
  /** The one address to which the provider may send people back. */
  backAt: () => string;
};

/** An OpenID Connect provider: authorisation code with PKCE, state and nonce. */
export class SignInProvider implements AsyncDisposable {
  readonly #options: ProviderOptions;
  readonly #client = new GuardedClient({ trust: 'as-written', connections: 8 });
  #known: Promise<DiscoveredProvider> | undefined;
  #failed: { error: unknown; untilMs: number } | undefined;
  #finishing = 0;

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.config.name;
  }

  /** The address at the provider where a person signs in. */
  async begin(): Promise<{ url: string; begun: BegunSignIn }> {
    const { library, provider } = await this.#discovered();
    const begun = {
      state: library.randomState(),
      nonce: library.randomNonce(),
      verifier: library.randomPKCECodeVerifier(),
    };
    const url = library.buildAuthorizationUrl(provider, {
      redirect_uri: this.#options.backAt(),
      scope: [...new Set(['openid', ...this.#options.config.scopes])].join(' '),
      state: begun.state,
      nonce: begun.nonce,
      code_challenge: await library.calculatePKCECodeChallenge(begun.verifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, begun };
  }

  /** Trades the code for the claims of a person. `search` is the query with which the browser came back. */
  async finish(search: string, begun: BegunSignIn): Promise<Record<string, unknown>> {
    if (this.#finishing >= maxFinishingAtOnce)
      throw new ProviderError('busy', `${maxFinishingAtOnce} sign-ins are being finished`);
    this.#finishing++;
    try {
      return await this.#finish(search, begun);
    } finally {
      this.#finishing--;
    }
  }

  async #finish(search: string, begun: BegunSignIn): Promise<Record<string, unknown>> {
    const { library, provider } = await this.#discovered();
    // The address is ours, whatever host the request named.
    const url = new URL(this.#options.backAt());
    url.search = search;
    try {
      const tokens = await library.authorizationCodeGrant(provider, url, {
        pkceCodeVerifier: begun.verifier,
        expectedState: begun.state,
        expectedNonce: begun.nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new ProviderError('wrong', 'the provider gave no ID token');
      // Some providers name roles in the ID token, and some only when they are asked who somebody is.
      const asked = this.#claimsAsked().every((path) => textsAt(claims, path).length > 0);
      if (asked || provider.serverMetadata().userinfo_endpoint === undefined) return { ...claims };
      const more = await library.fetchUserInfo(provider, tokens.access_token, claims.sub);
      // The ID token is signed, so its claims count where both have one.
      return { ...more, ...claims };
    } catch (error) {
      throw troubleOf(error, library);
    }
  }

  #claimsAsked(): string[] {
    const { rolesClaim, teamsClaim, agentClaim } = this.#options.config;
    return [rolesClaim, teamsClaim, agentClaim].filter((path) => path !== undefined);
  }

  /** The address at the provider that ends the person's sign-in there too, if the provider has one. */
  async leaveAt(backTo: string): Promise<string | undefined> {
    const { library, provider } = await this.#discovered();
    if (provider.serverMetadata().end_session_endpoint === undefined) return undefined;
    return library.buildEndSessionUrl(provider, { post_logout_redirect_uri: backTo }).href;
  }

  /** Asks the provider for its addresses and keys, whether or not they are known. */
  async trial(): Promise<void> {
    this.#known = undefined;
    this.#failed = undefined;
    await this.#discovered();
  }

  async #discovered(): Promise<DiscoveredProvider> {
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#failed !== undefined && nowMs < this.#failed.untilMs) throw this.#failed.error;
    const known = await this.#known;
    if (known !== undefined && nowMs < known.untilMs) return known;
    const asking = (this.#known = this.#discover());
    asking.catch((error: unknown) => {
      if (this.#known === asking) this.#known = undefined;
      const untilMs = this.#options.clock.monotonicMs() + pauseAfterFailureMs;
      this.#failed = { error, untilMs };
    });
    return asking;
  }

  async #discover(): Promise<DiscoveredProvider> {
    // Loaded when somebody signs in: most installations have no provider.
    const library = await import('openid-client');
    const { issuer, clientId, clientSecret } = this.#options.config;
    const execute = [
      // Signatures are checked too, although tokens come from the provider itself.
      library.enableNonRepudiationChecks,
      // Settings allow http on this machine alone.
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- marked so that it stands out
      ...(issuer.startsWith('http:') ? [library.allowInsecureRequests] : []),
    ];
    try {
      const provider = await library.discovery(
        new URL(issuer),
        clientId,
        { [library.clockTolerance]: clockToleranceS },
        clientSecret === undefined ? library.None() : library.ClientSecretBasic(clientSecret),
        { execute, [library.customFetch]: this.#fetch, timeout: answerWithinMs / 1_000 },
      );
      provider[library.customFetch] = this.#fetch;
      if (provider.serverMetadata().authorization_endpoint === undefined)
        throw new ProviderError('wrong', 'the provider names no address at which people sign in');
      const untilMs = this.#options.clock.monotonicMs() + knownForMs;
      return { library, provider, untilMs };
    } catch (error) {
      throw troubleOf(error, library);
    }
  }

  readonly #fetch: OpenId.CustomFetch = async (url, { method, headers, body, signal }) => {
    const answer = await this.#client.send({
      ...{ url, method: method === 'POST' ? 'POST' : 'GET', headers },
      ...{ deadlineMs: answerWithinMs, maxBytes: maxAnswerBytes, signal },
      ...(body == null ? {} : { body: bytesOf(body) }),
    });
    if (!answer.ok)
      throw new ProviderError('away', `the provider gave no answer: ${answer.reason}`);
    if (answer.status >= 500)
      throw new ProviderError('away', `the provider answered with ${answer.status}`);
    if (answer.bodyEnd !== 'complete')
      throw new ProviderError('wrong', `an answer of the provider was ${answer.bodyEnd === 'cut' ? `longer than ${maxAnswerBytes} bytes` : 'broken off'}`); // prettier-ignore
    return new Response(hasBody(answer.status) ? new Uint8Array(answer.body) : null, {
      status: answer.status,
      headers: new Headers(
        Object.entries(answer.headers).flatMap(([name, value]) =>
          [value ?? []].flat().map((one): [string, string] => [name, one]),
        ),
      ),
    });
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
  }
}

function hasBody(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

function bytesOf(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(body instanceof URLSearchParams ? body.toString() : typeof body === 'string' ? body : ''); // prettier-ignore
}

/** Texts of the library may quote what the provider sent, so only its codes are passed on. */
function troubleOf(error: unknown, library: typeof OpenId): ProviderError {
  for (let cause: unknown = error, depth = 0; cause instanceof Error && depth < 5; depth++) {
    if (cause instanceof ProviderError) return cause;
    if (cause instanceof library.AuthorizationResponseError)
      return new ProviderError('refused', `the provider signed nobody in: ${codeOf(cause.error)}`);
    if (cause instanceof library.ResponseBodyError)
      return new ProviderError('refused', `the provider refused the code: ${codeOf(cause.error)}`);
    cause = cause.cause;
  }
  const code = isObject(error) && typeof error['code'] === 'string' ? error['code'] : 'no reason';
  return new ProviderError(
    'wrong',
    `an answer of the provider cannot be believed: ${codeOf(code)}`,
  );
}

/** Codes are words of the standard. Anything else is not repeated. */
function codeOf(text: unknown): string {
  return typeof text === 'string' && /^\w{1,60}$/.test(text) ? text : 'unknown';
}
