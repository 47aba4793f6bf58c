import type { Request, RequestHandler, Response, Router } from 'express';
import { mayDo, reachOf, listsOfCalls, type RightsTable } from '../protocol/rights.ts';
import { markByToken, refusalOf, tokenNotAccepted, type KeyCheck } from './keys.ts';
import {
  agentsWithin,
  bindTo,
  letTellOpening,
  tellTeam,
  type Deed,
  type Directory,
  type Principal,
} from './principal.ts';
import { pathOf, Problem } from './problem.ts';

type GuardOptions = {
  keyCheck: KeyCheck;
  table: RightsTable;
  directory: Directory;
  /** Keeps the deed before it is done. The returned function tells the status with which it was answered. */
  noted: (deed: Deed) => Promise<((status: number) => void) | undefined>;
};

type UnderWay = {
  request: Request;
  principal: Principal;
  /** The agents of the teams of a token, as they were when it was let in. */
  agents?: readonly string[] | undefined;
};

/** Stands before every route and lets through only what the table of rights allows. */
export class Guard {
  readonly #options: GuardOptions;
  /** Answers that are under way, such as feeds and recordings. The connections of the port bound their number. */
  readonly #underWay = new Map<Response, UnderWay>();

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /** Lets open routes and routes with a proof of their own through to this router. Without a row, nobody gets there. */
  openOnly(router: Router): RequestHandler {
    return (request, response, next) => {
      const row = this.#options.table.find(request.method, pathOf(request.originalUrl));
      const action = row?.action;
      if (row?.action === 'own proof')
        letTellOpening(response, (callId) => this.#opened(row.path, callId, request, response));
      const isOpen = action === 'open' || action === 'own proof';
      // Express answers OPTIONS by itself, from the routes that it has.
      if (isOpen || request.method === 'OPTIONS') router(request, response, next);
      else next();
    };
  }

  /** Keeps a line about a link that opened a call. Where nobody has to sign in, reads have no line. */
  async #opened(
    route: string,
    callId: string,
    request: Request,
    response: Response,
  ): Promise<void> {
    const { keyCheck, noted } = this.#options;
    if (!keyCheck.required) return;
    const address = keyCheck.clientOf(request);
    const principal = { kind: 'link', id: `link ${address}`, name: 'a link' } as const;
    const answered = await noted({ principal, method: 'GET', route, callId, target: '', address });
    if (answered !== undefined) response.once('finish', () => answered(response.statusCode));
  }

  /** Lets only requests through that `operator` or `speech` have admitted, whatever path a part gives its routes. */
  guarded(router: Router): RequestHandler {
    return (request, response, next) => {
      if (response.locals['principal'] === undefined) next();
      else router(request, response, next);
    };
  }

  readonly operator: RequestHandler = async (request, response, next) => {
    const shown = await this.#options.keyCheck.identifyToken(request);
    if (shown?.is === 'wrong') throw new Problem(401, tokenNotAccepted);
    const found = shown ?? (await this.#options.keyCheck.identify(request));
    if (found.is !== 'right' && found.is !== 'token') {
      next(refusalOf(found, request));
      return;
    }
    if (found.is === 'token') {
      markByToken(response);
      await found.admit(request, response);
    }
    await this.#admit(found.principal, request, response);
    this.#options.keyCheck.noteChange(request);
    next();
  };

  readonly speech: RequestHandler = async (request, response, next) => {
    const found = await this.#options.keyCheck.identifySpeech(request);
    if (found.is !== 'right') {
      next(refusalOf(found, request));
      return;
    }
    await this.#admit(found.principal, request, response);
    next();
  };

  /**
   * Ends the answers whose key was revoked, whose sign-in was ended, or whose person may do other things now. Clients of
   * feeds come back and are judged anew. Called once a second.
   */
  look(): void {
    const { keyCheck, directory } = this.#options;
    for (const [response, { request, principal, agents }] of this.#underWay) {
      const now = keyCheck.holderNow(request, principal);
      if (now === undefined || !isSame(now, principal)) response.destroy();
      // A token of a team sees another set of calls once the team has other agents.
      const { teams } = principal;
      if (agents !== undefined && !isSame(agentsOfTeams(directory, teams), agents)) response.destroy(); // prettier-ignore
    }
  }

  /** Throws the refusal if the table does not let this principal do this. */
  async #admit(principal: Principal, request: Request, response: Response): Promise<void> {
    const { table, directory } = this.#options;
    const path = pathOf(request.originalUrl);
    response.locals['principal'] = principal;
    this.#underWay.set(response, { request, principal });
    response.once('close', () => this.#underWay.delete(response));
    if (request.method === 'OPTIONS') return;
    const row = table.find(request.method, path);
    if (row === undefined) throw this.#unlisted(request, path);
    if (row.action === 'open' || row.action === 'own proof') return;
    const reach = reachOf(principal, row.action);
    if (reach === undefined)
      throw new Problem(403, `this asks for ${mayDo(row.action)}: ${nameOf(principal)}`);
    const { teams } = principal;
    const agents = agentsOfTeams(directory, teams) ?? agentsWithin(principal, reach);
    const route = `${row.method} ${row.path}`;
    const callId = row.path.startsWith('/api/calls/{id}') ? callIn(path) : undefined;
    if (agents !== undefined) {
      // The answer does not show whether a call of somebody else exists.
      if (callId !== undefined && !(await directory.mayTouch(agents, callId)))
        throw new Problem(404, 'call not found');
      // The door of the tokens let a token through to its own short list alone.
      if (callId === undefined && teams === undefined && !listsOfCalls.has(route))
        throw new Problem(403, `this asks for rights on all calls: ${nameOf(principal)}`);
    }
    bindTo(response, agents);
    if (teams !== undefined) this.#underWay.set(response, { request, principal, agents });
    const { team } = request.query;
    if (listsOfCalls.has(route) && typeof team === 'string')
      tellTeam(response, directory.agentsOf(team));
    const { keyCheck, noted } = this.#options;
    const { method } = request;
    const address = keyCheck.clientOf(request);
    const target = callId === undefined && row.path.includes('{') ? lastIn(path, row.path) : '';
    const answered = await noted({ principal, method, route: row.path, callId, target, address });
    if (answered !== undefined) response.once('finish', () => answered(response.statusCode));
  }

  /** The answer about a route without a row. The speech interface says which methods an address has. */
  #unlisted({ method }: Request, path: string): Problem {
    const methods = this.#options.table.methodsAt(path);
    if (methods.length === 0 || !/^\/(?:v2|file)\//i.test(path))
      return new Problem(404, 'Not found');
    const allow = ['GET', 'POST', 'PATCH', 'DELETE']
      .filter((one) => methods.includes(one))
      .flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : [one]))
      .join(', ');
    return new Problem(405, `${method} is not answered here, only ${allow}`, {
      headers: { allow },
    });
  }
}

function agentsOfTeams(
  directory: Directory,
  teams: readonly string[] | undefined,
): string[] | undefined {
  return teams && [...new Set(teams.flatMap((team) => directory.agentsOf(team)))].toSorted();
}

function isSame<One>(one: One, other: One): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function callIn(path: string): string {
  const text = path.split('/')[3] ?? '';
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Problem(400, 'the id of the call is not percent-encoded UTF-8');
  }
}

/** The variable part of the path, at most as long as any name of ours. */
function lastIn(path: string, route: string): string {
  const at = route.split('/').findIndex((part) => part.startsWith('{'));
  return (path.split('/')[at] ?? '').slice(0, 200);
}

function nameOf({ kind, name, scopes, roles }: Principal): string {
  if (kind === 'person') return `${name} has the role ${roles.join(' and ') || 'of nobody'}`;
  return `the key "${name}" has the scope ${scopes.join(' and ')}`;
}
