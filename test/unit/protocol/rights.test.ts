import { describe, expect, test } from 'vitest';
import { carrierRoutes } from '../../../src/carriers/webhook-routes.ts';
import { allRoutes } from '../../../src/protocol/openapi/document.ts';
import {
  actions,
  actionsOf,
  deeds,
  keyScopes,
  listsOfCalls,
  mayDo,
  personRoles,
  reachOf,
  RightsTable,
  routeRights,
  type Right,
} from '../../../src/protocol/rights.ts';

const table = new RightsTable();
const described = allRoutes(carrierRoutes).map(({ method, path, access }) => ({
  ...{ method: method.toUpperCase(), path, access },
  name: `${method.toUpperCase()} ${path}`,
}));

describe('the table of rights', () => {
  test('every described route has a row, and every row a described route: add yours to src/protocol/rights.ts', () => {
    const rows = routeRights.map(({ method, path }) => `${method} ${path}`);
    const without = described.filter(({ method, path }) => table.find(method, path) === undefined);
    expect(without.map(({ name }) => name)).toEqual([]);
    const names = new Set(described.map(({ name }) => name));
    expect(rows.filter((row) => !names.has(row) && !row.startsWith('* '))).toEqual([]);
    expect(rows.filter((row, at) => rows.indexOf(row) !== at)).toEqual([]);
  });

  test('a route asks for a key exactly where the table asks for a right', () => {
    for (const { method, path, access, name } of described) {
      const action = table.find(method, path)?.action;
      const asks = action !== 'open' && action !== 'own proof';
      expect([name, asks]).toEqual([name, access === 'key']);
    }
  });

  test('the row of each route is its own, not that of a path with a variable part', () => {
    for (const { method, path, name } of described) {
      if (path.startsWith('/carriers/')) continue;
      expect([name, table.find(method, path)?.path]).toEqual([name, path]);
    }
  });

  test('no spelling of a path reaches another row, and none a row that it is not', () => {
    const found = (path: string) => table.find('GET', path)?.path;
    expect(found('/API/Calls/')).toBe('/api/calls');
    expect(found('/api/calls/x')).toBe('/api/calls/{id}');
    for (const odd of [
      '//api/calls',
      '/api//calls',
      '/api/calls//',
      '/api/callsx',
      '/apixcalls',
      '/api/calls/x/y',
      '/api/calls/x/recording/more',
      '/',
      '///',
    ])
      // prettier-ignore
      expect([odd, odd === '/' ? undefined : found(odd)]).toEqual([odd, undefined]);
    expect(table.find('HEAD', '/api/calls')?.path).toBe('/api/calls');
    expect(table.find('PUT', '/api/calls')).toBeUndefined();
  });

  test('every change is kept in the record of who did what, and every deed there is a route', () => {
    const changes = described.filter(
      ({ method, path }) => method !== 'GET' && !path.startsWith('/carriers/'),
    );
    expect(changes.filter(({ name }) => deeds[name] === undefined)).toEqual([]);
    const names = new Set(described.map(({ name }) => name));
    expect(Object.keys(deeds).filter((name) => !names.has(name))).toEqual([]);
  });

  test('a role that may touch some calls only gets no route that has neither a call nor a list of calls', () => {
    for (const { method, path, action } of routeRights) {
      if (action === 'open' || action === 'own proof') continue;
      const limited = Object.values(actions[action].people).some((reach) => reach !== 'all');
      const isOfCalls = path.startsWith('/api/calls/{id}') || listsOfCalls.has(`${method} ${path}`);
      expect([path, limited && !isOfCalls]).toEqual([path, false]);
    }
  });

  test('an admin may do all, nobody may do nothing, and more roles never take away', () => {
    const all = Object.keys(actions) as Right[];
    const ofPeople = all.filter((action) => action !== 'speech');
    expect(Object.keys(actionsOf({ scopes: ['admin'], roles: [] }))).toEqual(all);
    expect(Object.keys(actionsOf({ scopes: [], roles: ['admin'] }))).toEqual(ofPeople);
    expect(actionsOf({ scopes: [], roles: [] })).toEqual({});
    expect(reachOf({ scopes: [], roles: ['agent', 'quality'] }, 'calls.read')).toBe('all');
    expect(reachOf({ scopes: [], roles: ['agent', 'supervisor'] }, 'calls.read')).toBe('team');
    for (const action of all) expect(mayDo(action)).toMatch(/admin/);
    expect([keyScopes.length, personRoles.length]).toEqual([6, 5]);
  });
});
