import { openApiDocument } from '../../../src/protocol/openapi/document.ts';

type Described = { method: string; path: RegExp; statuses: ReadonlySet<string> };
type Operations = Record<string, { responses: Record<string, unknown> }>;

let described: readonly Described[] | undefined;

function readDescription(): readonly Described[] {
  const { paths } = openApiDocument({ version: '1.0.0', carrierRoutes: [] });
  return (
    Object.entries(paths as Record<string, Operations>)
      // A path without a parameter comes before a path whose parameter would match it.
      .sort(([one], [other]) => Number(one.includes('{')) - Number(other.includes('{')))
      .flatMap(([path, operations]) =>
        Object.entries(operations).map(([method, { responses }]) => ({
          method,
          path: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
          statuses: new Set(Object.keys(responses)),
        })),
      )
  );
}

/**
 * Throws if the API description does not name this status for the route. Every answer to a client of the tests is
 * checked here. A path that is not ours has no description.
 */
export function assertDescribed(method: string, target: string, status: number): void {
  described ??= readDescription();
  const { pathname } = new URL(target, 'http://local');
  const name = method === 'HEAD' ? 'get' : method.toLowerCase();
  const route = described.find((one) => one.method === name && one.path.test(pathname));
  if (route && !route.statuses.has(String(status)))
    throw new Error(
      `${method} ${pathname} answered ${status}, and the API's description names only ${[...route.statuses].join(', ')}`,
    );
}
