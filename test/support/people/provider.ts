import { createPrivateKey, generateKeyPairSync, sign, type JsonWebKey } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import OidcProvider from 'oidc-provider';

export const clientId = 'trunkline-of-the-test';
export const clientSecret = 'client-secret-of-the-test-0000';

type ToldClaims = Record<string, unknown>;
type ToldToken = { header: ToldClaims; claims: ToldClaims };

export type ProviderOfTest = AsyncDisposable & {
  issuer: string;
  /** The people whom the provider knows, by the name that they sign in with. */
  accounts: Record<string, ToldClaims>;
  /** Registers the redirect address. Nobody can sign in before. */
  register(url: string): void;
  /** Changes each ID token before it is signed again with the provider's own key; `none` leaves the signature out. */
  tamper: ((token: ToldToken) => ToldToken & { none?: boolean }) | undefined;
  /** Answers every request in place of the provider, if it is set. */
  instead: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  /** Paths that were asked for. */
  asked: string[];
  env: Record<string, string>;
};

/** A real OpenID Connect provider with its own forms for sign-in and consent. */
export async function startProvider(accounts: Record<string, ToldClaims>): Promise<ProviderOfTest> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const jwk = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'test' };
  let answer: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined;
  const server = createServer((request, response) => {
    provider.asked.push(request.url ?? '');
    if (provider.instead !== undefined) {
      provider.instead(request, response);
      return;
    }
    if (provider.tamper !== undefined && request.url === '/token') resign(response);
    void (answer ?? answerAs([]))(request, response);
  });
  const resign = (response: ServerResponse): void => {
    const end = response.end.bind(response);
    response.end = ((body?: unknown) => {
      const told = JSON.parse(String(body)) as { id_token?: string };
      if (told.id_token !== undefined && provider.tamper !== undefined)
        told.id_token = signed(provider.tamper(read(told.id_token)), jwk);
      const changed = JSON.stringify(told);
      response.setHeader('content-length', Buffer.byteLength(changed));
      return end(changed);
    }) as typeof response.end;
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answerAs = (backTo: string[]) =>
    new OidcProvider(issuer, {
      clients: [
        {
          ...{ client_id: clientId, client_secret: clientSecret, redirect_uris: backTo },
          ...{ grant_types: ['authorization_code'], response_types: ['code'] },
          post_logout_redirect_uris: backTo.map((url) => `${new URL(url).origin}/`),
        },
      ],
      claims: {
        openid: ['sub'],
        profile: ['name', 'preferred_username', 'roles', 'groups', 'agent', 'realm_access'],
      },
      conformIdTokenClaims: false,
      pkce: { required: () => true },
      findAccount: (_context: unknown, id: string) => {
        const claims = provider.accounts[id];
        return claims && { accountId: id, claims: () => ({ sub: id, ...claims }) };
      },
      jwks: { keys: [jwk] },
      cookies: { keys: ['cookie-key-of-the-test-0000'] },
    }).callback();
  const provider: ProviderOfTest = {
    ...{ issuer, accounts, tamper: undefined, instead: undefined, asked: [] },
    register: (url) => {
      answer = answerAs([url]);
    },
    env: {
      TRUNKLINE_OIDC_ISSUER: issuer,
      TRUNKLINE_OIDC_CLIENT_ID: clientId,
      TRUNKLINE_OIDC_CLIENT_SECRET: clientSecret,
      TRUNKLINE_OIDC_NAME: 'the test’s provider',
      TRUNKLINE_OIDC_TEAMS_CLAIM: 'groups',
      TRUNKLINE_OIDC_AGENT_CLAIM: 'agent',
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return provider;
}

function read(token: string): ToldToken {
  const [header = '', claims = ''] = token.split('.');
  const json = (part: string): ToldClaims => JSON.parse(Buffer.from(part, 'base64url').toString()) as ToldClaims; // prettier-ignore
  return { header: json(header), claims: json(claims) };
}

function signed({ header, claims, none }: ToldToken & { none?: boolean }, jwk: JsonWebKey): string {
  const part = (json: ToldClaims): string =>
    Buffer.from(JSON.stringify(json)).toString('base64url');
  const text = `${part(header)}.${part(claims)}`;
  if (none) return `${text}.`;
  const key = createPrivateKey({ format: 'jwk', key: jwk });
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
}

/** A browser without a screen: it keeps cookies, follows redirects and fills in the forms of the provider. */
export class FormWalker {
  readonly #jar = new Map<string, string>();
  readonly #login: string;
  /** Every address that was asked for. */
  readonly went: string[] = [];

  constructor(login: string) {
    this.#login = login;
  }

  get cookies(): string {
    return [...this.#jar].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  /** Takes a cookie away, or gives this one. */
  setCookie(name: string, value: string | undefined): void {
    if (value === undefined) this.#jar.delete(name);
    else this.#jar.set(name, value);
  }

  cookie(name: string): string | undefined {
    return this.#jar.get(name);
  }

  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    this.went.push(url);
    const headers = new Headers(init.headers);
    headers.set('cookie', this.cookies);
    const answer = await fetch(url, { ...init, redirect: 'manual', headers });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      const isOver = /expires=Thu, 01 Jan 1970/i.test(line);
      this.setCookie(name, isOver || value === '' ? undefined : value);
    }
    return answer;
  }

  /** Goes on until `stop` is the address of the next step, or there is no next step; returns that address. */
  async walk(from: string, stop: (url: string) => boolean): Promise<string> {
    let next = { url: from, init: {} as RequestInit };
    for (let step = 0; step < 20; step++) {
      if (stop(next.url)) return next.url;
      const answer = await this.fetch(next.url, next.init);
      const to = answer.headers.get('location');
      if (to !== null) {
        next = { url: new URL(to, next.url).href, init: {} };
        continue;
      }
      const form = formIn(await answer.text(), this.#login);
      if (form === undefined) return next.url;
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      next = {
        url: new URL(form.action, next.url).href,
        init: { method: 'POST', headers, body: form.fields.toString() },
      };
    }
    throw new Error(`no end after 20 steps: ${this.went.join(' ')}`);
  }
}

function formIn(
  html: string,
  login: string,
): { action: string; fields: URLSearchParams } | undefined {
  const action = /<form[^>]*action="([^"]+)"/.exec(html)?.[1];
  if (action === undefined) return undefined;
  const fields = new URLSearchParams();
  for (const [input] of html.matchAll(/<input[^>]*>/g)) {
    const name = /name="([^"]+)"/.exec(input)?.[1];
    const value = /value="([^"]*)"/.exec(input)?.[1];
    if (name !== undefined)
      fields.set(name, name === 'login' ? login : (value ?? 'any-password-at-all'));
  }
  return { action, fields };
}
