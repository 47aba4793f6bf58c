import { RightsTable, routeRights, type Right } from '../../../src/protocol/rights.ts';

/** The table of rights with the routes that a test mounts beside ours. */
export function rightsWith(more: Record<string, Right | 'open' | 'own proof'>): RightsTable {
  const rows = Object.entries(more).map(([route, action]) => {
    const [method = '', path = ''] = route.split(' ');
    return { method, path, action };
  });
  return new RightsTable([...rows, ...routeRights]);
}
