import type { Request, Response } from 'express';
import type { Clock } from '../../lib/clock.ts';
import { every, type Loop } from '../../lib/every.ts';
import type { OpenedByToken, TokenDoor } from '../../port/keys.ts';
import type { Principal } from '../../port/principal.ts';
import { pathOf, Problem } from '../../port/problem.ts';
import type { PanelScope } from '../../protocol/panel.ts';
import type { KeyScope } from '../../protocol/rights.ts';
import type { Store } from '../../store/store.ts';
import type { CallAgent } from '../records/call-agent.ts';
import { opens, reaches, type PanelGrant } from './panel-grant.ts';
import type { PanelTokens } from './panel-tokens.ts';

/** A stream that a token opened is looked at again this often: the token may be revoked, or the call somebody else's. */
const lookAgainMs = 2_000;

type OpenStreamOfPanel = { grant: PanelGrant; callId: string | undefined; response: Response };

type PanelDoorOptions = {
  store: Store;
  tokens: PanelTokens;
  /** The teams of an agent, by the people of this installation. */
  teamsOf: ((agent: string) => readonly string[]) | undefined;
  clock: Clock;
};

/** Lets requests with a token of the panel in, to the routes and calls of that token alone. */
export class PanelDoor implements TokenDoor, AsyncDisposable {
  readonly #options: PanelDoorOptions;
  readonly #open = new Set<OpenStreamOfPanel>();
  readonly #looks: Loop;

  constructor(options: PanelDoorOptions) {
    this.#options = options;
    this.#looks = every(options.clock, lookAgainMs, () => this.#look());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looks.stop();
  }

  hasForm(token: string): boolean {
    return this.#options.tokens.hasForm(token);
  }

  /** The holder of this token and its check, or undefined for a token that is wrong, revoked or over. */
  async open(token: string): Promise<OpenedByToken | undefined> {
    const grant = await this.#options.tokens.grantOf(token);
    if (grant === undefined) return undefined;
    return {
      is: 'token',
      principal: principalFor(grant),
      admit: (request, response) => this.#admit(grant, request, response),
    };
  }

  /** Throws the refusal if this token does not open this. */
  async #admit(grant: PanelGrant, request: Request, response: Response): Promise<void> {
    const path = pathOf(request.originalUrl);
    const opened = opens(grant.scope, request.method, path);
    if (!opened.opens)
      throw new Problem(403, `a token with the scope ${grant.scope} does not open this`);
    const { callId } = opened;
    // The answer does not show whether a call of somebody else exists.
    if (callId !== undefined && !(await this.#isWithin([{ grant, callId }])).includes(true))
      throw new Problem(404, 'call not found');
    response.locals['panel'] = grant;
    if (!path.endsWith('/live')) return;
    const stream = { grant, callId, response };
    this.#open.add(stream);
    response.on('close', () => this.#open.delete(stream));
  }

  async #look(): Promise<void> {
    const open = [...this.#open];
    if (open.length === 0) return;
    const { tokens, clock } = this.#options;
    const revoked = await tokens.revokedOf([
      ...new Set(open.flatMap(({ grant }) => grant.id ?? [])),
    ]);
    const within = await this.#isWithin(open);
    const now = clock.now();
    for (const [at, { grant, response }] of open.entries())
      if (
        within[at] !== true ||
        grant.expiresAt <= now ||
        (grant.id !== undefined && revoked.has(grant.id))
      )
        response.destroy();
  }

  /** True for each whose call is within the reach of its token, and where there is no call. */
  async #isWithin(
    asked: readonly { grant: PanelGrant; callId: string | undefined }[],
  ): Promise<boolean[]> {
    const ids = [...new Set(asked.flatMap(({ callId }) => callId ?? []))];
    if (ids.length === 0) return asked.map(() => true);
    const rows = await this.#options.store.db
      .selectFrom('calls')
      .select(['id', 'agent'])
      .where('id', 'in', ids)
      .execute();
    const { teamsOf = () => [] } = this.#options;
    const calls = new Map(rows.map((row) => [row.id, { id: row.id, agent: agentIn(row.agent) }]));
    return asked.map(({ grant, callId }) => {
      if (callId === undefined) return true;
      const call = calls.get(callId);
      return call !== undefined && reaches(grant, call, teamsOf);
    });
  }
}

function agentIn(text: string | null): string | undefined {
  return text === null ? undefined : (JSON.parse(text) as CallAgent).id;
}

/** The grant of the token that this request showed. Undefined: the request showed a key. */
export function panelGrantOf(response: Response): PanelGrant | undefined {
  return response.locals['panel'] as PanelGrant | undefined;
}

/** Scopes of keys that cover what a token of each scope opens. Its own list and reach have narrowed that before. */
const keyScopesOf: Record<PanelScope, readonly KeyScope[]> = {
  agent: ['assist'],
  call: ['assist'],
  supervisor: ['assist', 'read'],
  qa: ['read'],
};

/** The holder as the table of rights knows one. */
function principalFor({ id = 'signed', scope, agent, callId, teams }: PanelGrant): Principal {
  const of = agent ?? callId ?? teams?.join(', ');
  return {
    kind: 'token',
    id,
    name: `panel, ${scope}${of === undefined ? '' : ` ${of}`}`,
    scopes: keyScopesOf[scope],
    roles: [],
    agents: { own: [], team: [] },
    ...(teams === undefined ? {} : { teams }),
  };
}
