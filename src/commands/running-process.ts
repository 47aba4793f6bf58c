import { loadConfig, type Config } from '../config.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Api } from '../player/api-client.ts';

/** fetch says only that it failed; its cause says why. */
export function whyUnreachable(error: unknown): string {
  return reasonOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
}

/** One GET, with the key that the process wants. */
export async function askProcess(api: Api, path: string, withinMs: number): Promise<Response> {
  return await fetch(`${api.url}${path}`, {
    headers: api.key === undefined ? {} : { 'x-service-key': api.key },
    signal: AbortSignal.timeout(withinMs),
  });
}

/** The process that a command talks to: as told, or the one on this machine with the same settings. */
export function runningProcess(url: string | undefined): { api: Api; config: Config } {
  const { config } = loadConfig(process.env);
  const [key] = config.http.apiKeys;
  const own = `http://127.0.0.1:${config.http.port}`;
  const address = (url ?? process.env['TRUNKLINE_URL'] ?? own).replace(/\/+$/, '');
  return { api: { url: address, ...(key === undefined ? {} : { key }) }, config };
}

/**
 * The bridge that a call goes to. Named by its carrier address alone it may be somebody else's, without
 * our API behind it.
 */
export function targetBridge({ url, to }: { url?: string; to?: string }): {
  api: Api;
  config: Config;
  mayBeForeign: boolean;
} {
  const ofBridge = to === undefined ? undefined : new URL(to.replace(/^ws/, 'http')).origin;
  return {
    ...runningProcess(url ?? ofBridge),
    mayBeForeign: url === undefined && to !== undefined,
  };
}
