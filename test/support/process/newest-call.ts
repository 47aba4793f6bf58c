import type { AnyJson } from '../bridge/test-bridge.ts';
import type { App } from './app.ts';

/** The newest call with its words, which lists do not have. Undefined before there is one. */
export async function newestCall(
  app: Pick<App, 'get'>,
  headers: Record<string, string> = {},
): Promise<AnyJson> {
  const json = async (path: string): Promise<AnyJson> => (await app.get(path, { headers })).json();
  const [call] = (await json('/api/calls?limit=1')).items;
  return call && (await json(`/api/calls/${call.id}`));
}
