import { isOneOf } from '../../port/principal.ts';
import type { PanelScope } from '../../protocol/panel.ts';

/** The reach of a token of the panel, and its end. */
export type PanelGrant = {
  scope: PanelScope;
  /** The agent whose calls it opens. Set for the scope `agent` alone. */
  agent: string | undefined;
  /** The call that it opens. Set for the scope `call` alone. */
  callId: string | undefined;
  /** The teams whose calls it opens. Undefined for a token of all calls, of one agent or of one call. */
  teams?: readonly string[] | undefined;
  expiresAt: number;
  /** The id in the list of tokens. Undefined for a token that a desktop signed itself. */
  id: string | undefined;
};

type OpenRoute = { method: string; path: string; scopes: readonly PanelScope[] };

const everybody = ['agent', 'call', 'supervisor', 'qa'] as const;
const inCalls = ['agent', 'call', 'supervisor'] as const;

/**
 * Every route that a token opens, and no other. A route with `{id}` opens calls within the reach of the token only.
 * Articles are the same for everybody.
 */
export const panelRoutes: readonly OpenRoute[] = [
  { method: 'GET', path: '/api/panel/me', scopes: everybody },
  { method: 'GET', path: '/api/panel/live', scopes: ['agent', 'call'] },
  { method: 'GET', path: '/api/board/live', scopes: ['supervisor'] },
  { method: 'GET', path: '/api/calls/{id}', scopes: everybody },
  { method: 'GET', path: '/api/calls/{id}/live', scopes: everybody },
  { method: 'GET', path: '/api/calls/{id}/assist', scopes: everybody },
  { method: 'POST', path: '/api/calls/{id}/assist/feedback', scopes: ['agent', 'call'] },
  { method: 'GET', path: '/api/calls/{id}/knowledge', scopes: everybody },
  { method: 'GET', path: '/api/knowledge', scopes: everybody },
  { method: 'GET', path: '/api/knowledge/articles/{article}', scopes: everybody },
  { method: 'POST', path: '/api/calls/{id}/pause', scopes: inCalls },
  { method: 'POST', path: '/api/calls/{id}/resume', scopes: inCalls },
  { method: 'PATCH', path: '/api/calls/{id}', scopes: inCalls },
  { method: 'GET', path: '/api/calls/{id}/wrap-up', scopes: everybody },
  { method: 'PUT', path: '/api/calls/{id}/wrap-up', scopes: ['agent', 'call'] },
  { method: 'GET', path: '/api/calls', scopes: ['qa'] },
  { method: 'GET', path: '/api/calls/{id}/transcript', scopes: ['qa'] },
  { method: 'GET', path: '/api/calls/{id}/recording', scopes: ['qa'] },
];

const byLength = Map.groupBy(
  panelRoutes.map((row) => ({ ...row, parts: row.path.split('/') })),
  ({ parts }) => parts.length,
);

/**
 * Says if a token of this scope opens this route: no; yes; or yes for the call with this id, if that is within its
 * reach. The path is compared as it came, so another writing of a path opens nothing. Pure.
 */
export function opens(
  scope: PanelScope,
  method: string,
  path: string,
): { opens: false } | { opens: true; callId: string | undefined } {
  const shown = path.split('/');
  const asked = method === 'HEAD' ? 'GET' : method;
  const row = byLength
    .get(shown.length)
    ?.find(
      ({ method: taken, parts }) =>
        taken === asked && parts.every((part, at) => part.startsWith('{') || part === shown[at]),
    );
  if (row?.scopes.includes(scope) !== true) return { opens: false };
  const at = row.parts.indexOf('{id}');
  const callId = at < 0 ? undefined : (shown[at] ?? '');
  // Our ids need no encoding. A path that is written otherwise names no call.
  if (callId !== undefined && !/^[\w-]{1,100}$/.test(callId)) return { opens: false };
  return { opens: true, callId };
}

/**
 * True if a call is within the reach of a token. `agent` is the agent who has the call now, and `teamsOf` the teams of an
 * agent now. Pure.
 */
export function reaches(
  { scope, agent, callId, teams }: PanelGrant,
  call: { id: string; agent: string | undefined },
  teamsOf: (agent: string) => readonly string[],
): boolean {
  switch (scope) {
    case 'agent':
      return agent !== undefined && call.agent !== undefined && isOneOf([agent], call.agent);
    case 'call':
      return call.id === callId;
    case 'supervisor':
    case 'qa': {
      if (teams === undefined) return true;
      // A call without an agent is in no team.
      const own = call.agent === undefined ? [] : teamsOf(call.agent);
      return own.some((team) => teams.some((one) => one.toLowerCase() === team.toLowerCase()));
    }
  }
}
