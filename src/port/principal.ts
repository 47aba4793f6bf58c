import type { Response } from 'express';
import type { IncomingMessage } from 'node:http';
import { reachOf, type Holder, type Reach } from '../protocol/rights.ts';

/** Somebody who asks, after their key or sign-in was judged. */
export type Principal = Holder & {
  /**
   * `machine`: anybody on this machine, where no key is asked for; `process`: the bridge of this process; `setting`: a key
   * of the settings; `key`: a named key; `person`: somebody who signed in; `token`: a panel in a desktop.
   */
  kind: 'machine' | 'process' | 'setting' | 'key' | 'person' | 'token';
  id: string;
  name: string;
  /** The agents whose calls this person may touch: themselves, and those of their teams. */
  agents: { own: readonly string[]; team: readonly string[] };
  /** The teams to whose calls a token is bound, whatever its scopes open. */
  teams?: readonly string[];
};

const ofNobody = { own: [], team: [] } as const;

/** Everybody on this machine, while no key and no person was made. */
export const thisMachine: Principal = {
  kind: 'machine',
  id: 'machine',
  name: 'this machine',
  scopes: ['admin'],
  roles: [],
  agents: ofNobody,
};

/** The bridge of this process, which opens the speech interface only. */
export const thisProcess: Principal = {
  kind: 'process',
  id: 'process',
  name: 'this process',
  scopes: ['speech'],
  roles: [],
  agents: ofNobody,
};

/** A key of the settings. It may do everything. */
export const settingKey: Principal = {
  kind: 'setting',
  id: 'setting',
  name: 'a key of TRUNKLINE_API_KEYS',
  scopes: ['admin'],
  roles: [],
  agents: ofNobody,
};

/** A request that was let in, for the record of who did what. */
export type Deed = {
  /** Nobody knows who follows a link, so it is told from which address somebody did. */
  principal: Pick<Principal, 'id' | 'name'> & { kind: Principal['kind'] | 'link' };
  method: string;
  /** The path as the table of rights writes it. */
  route: string;
  callId: string | undefined;
  /** The name or id in the path, where it is not that of a call. */
  target: string;
  address: string;
};

/** Knows the named keys, the people who signed in, and whose calls are whose. */
export type Directory = {
  /** True once a key or a person was made. Nobody is then admitted without a proof. */
  readonly asksForProof: boolean;
  /** True for text that has the form of a named key, so that other text costs no look into the database. */
  hasForm(key: string): boolean;
  holderOf(key: string): Principal | undefined;
  /** True if the request shows the cookie of a sign-in that this node does not know yet. */
  isUnknown(request: IncomingMessage): boolean;
  signedIn(request: IncomingMessage): Principal | undefined;
  /** Reads the keys and sign-ins that other nodes changed a moment ago. */
  refresh(): Promise<void>;
  mayTouch(agents: readonly string[], callId: string): Promise<boolean>;
  /** The agents in this team. */
  agentsOf(team: string): readonly string[];
};

/** A directory of an installation in which nobody made a key or a person. */
export const emptyDirectory: Directory = {
  asksForProof: false,
  hasForm: () => false,
  holderOf: () => undefined,
  isUnknown: () => false,
  signedIn: () => undefined,
  refresh: () => Promise.resolve(),
  mayTouch: () => Promise.resolve(false),
  agentsOf: () => [],
};

/** The agents to whose calls this principal is bound, or undefined if all calls are open to them. */
export function agentsWithin({ agents }: Principal, reach: Reach): readonly string[] | undefined {
  return reach === 'all' ? undefined : agents[reach];
}

/** Tells the handler of a list which calls the list may have. */
export function bindTo(response: Response, agents: readonly string[] | undefined): void {
  response.locals['agents'] = agents;
}

/** The agents whose calls this answer may have. Undefined: all calls. */
export function agentsAllowed(response: Response): readonly string[] | undefined {
  return response.locals['agents'] as readonly string[] | undefined;
}

type Opening = (callId: string) => Promise<void>;

/** Lets the handler of a link keep a line, once the link has proved itself. */
export function letTellOpening(response: Response, told: Opening): void {
  response.locals['opening'] = told;
}

/** Keeps a line that a link opened this call. It is durable when this resolves. */
export async function tellOpening(response: Response, callId: string): Promise<void> {
  await (response.locals['opening'] as Opening | undefined)?.(callId);
}

/** Tells the handler of a list which agents are in the team that the request names. */
export function tellTeam(response: Response, agents: readonly string[]): void {
  response.locals['teamAgents'] = agents;
}

/** The agents of the team that the request names. */
export function teamAgentsOf(response: Response): readonly string[] | undefined {
  return response.locals['teamAgents'] as readonly string[] | undefined;
}

/** The form of an agent's id in which two ids are compared. Upper and lower case do not matter. */
export function agentKey(agent: string): string {
  return agent.normalize('NFKC').toLowerCase();
}

export function isOneOf(agents: readonly string[], agent: string): boolean {
  return agents.some((one) => agentKey(one) === agentKey(agent));
}

/** The principal who asked. Undefined on routes that ask for no proof. */
export function principalOf(response: Response): Principal | undefined {
  return response.locals['principal'] as Principal | undefined;
}

/** False for a key that reads calls and not their scores. Where no proof is asked for, everybody may. */
export function mayReadScores(response: Response): boolean {
  const principal = principalOf(response);
  return principal === undefined || reachOf(principal, 'scores.read') !== undefined;
}
