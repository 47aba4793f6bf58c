import { loadConfig, type Config } from '../config.ts';
import { reasonOf, TrunklineError } from '../lib/errors.ts';
import { fetchWithKey, isKeyRefused, keyRefused, type Api } from '../player/api-client.ts';
import { isLoopback } from '../port/addresses.ts';

/**
 * The reason why a process did not answer. `fetch` says only that it failed; the cause of its error gives the reason.
 */
export function whyUnreachable(error: unknown): string {
  return reasonOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
}

export function unreachable(api: Api, error: unknown): TrunklineError {
  if (error instanceof TrunklineError) return error;
  return new TrunklineError('UNREACHABLE', `${api.url} does not answer: ${whyUnreachable(error)}`);
}

/** Sends one GET with the key from the settings. */
export async function askProcess(api: Api, path: string, withinMs: number): Promise<Response> {
  return await fetchWithKey(api, path, { signal: AbortSignal.timeout(withinMs) });
}

const answerWithinMs = 10_000;
const changeWithinMs = 30_000;

/** Returns the parsed answer of a GET. If the key is refused, the error says what to set. */
export async function answerOf<T>(api: Api, path: string): Promise<T> {
  let response: Response;
  try {
    response = await askProcess(api, path, answerWithinMs);
  } catch (error) {
    throw unreachable(api, error);
  }
  if (isKeyRefused(response.status)) throw keyRefused(api, response.status);
  if (response.status === 404 && path.startsWith('/api/calls/'))
    throw new TrunklineError('BAD_INPUT', 'no such call');
  if (response.status === 400) throw await refusedBy(api, response);
  if (!response.ok)
    throw new TrunklineError('UNREACHABLE', `${path} was answered with ${response.status}`);
  return (await response.json()) as T;
}

/** All items of a list, read page by page. */
export async function everyPage<T>(api: Api, path: string): Promise<T[]> {
  const all: T[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const next: string = cursor === '' ? path : `${path}&cursor=${encodeURIComponent(cursor)}`;
    const page: { items: T[]; next_cursor: string | null } = await answerOf(api, next);
    all.push(...page.items);
    cursor = page.next_cursor;
  }
  return all;
}

/** Sends one request that changes something. If the process refuses it, its own message is shown. */
export async function requestOf(
  api: Api,
  path: string,
  request: { method?: string; body?: unknown } = {},
): Promise<unknown> {
  let response: Response;
  try {
    response = await fetchWithKey(api, path, {
      method: request.method ?? 'GET',
      ...(request.body === undefined ? {} : { headers: { 'content-type': 'application/json' } }),
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      signal: AbortSignal.timeout(changeWithinMs),
    });
  } catch (error) {
    throw unreachable(api, error);
  }
  if (isKeyRefused(response.status)) throw keyRefused(api, response.status);
  if (!response.ok) throw await refusedBy(api, response);
  return await response.json().catch(() => ({}));
}

export async function refusedBy(api: Api, response: Response): Promise<TrunklineError> {
  const { message = '', validation_errors: errors = [] } = (await response
    .json()
    .catch(() => ({}))) as { message?: string; validation_errors?: string[] };
  const why = [message, ...errors].join(': ');
  return new TrunklineError('BAD_INPUT', `${api.url} answered ${response.status}: ${why}`);
}

/** The process that a command talks to: the one given by URL, or the one on this machine with the same settings. */
export function runningProcess(url: string | undefined): { api: Api; config: Config } {
  const { config } = loadConfig(process.env);
  // A named key in the environment is for commands alone; the process itself has the keys of its settings.
  const key = process.env['TRUNKLINE_KEY'] || config.http.apiKeys[0];
  const own = `http://127.0.0.1:${config.http.port}`;
  const address = (url ?? process.env['TRUNKLINE_URL'] ?? own).replace(/\/+$/, '');
  return { api: { url: address, key }, config };
}

/**
 * The bridge that a call is played to. If only its carrier address is given, it may be another product without our
 * API. A process on this machine has these settings: carriers sign for its public address, whatever address this call
 * uses.
 */
export function targetBridge(options: { url?: string; to?: string; publicUrl?: string }): {
  api: Api;
  config: Config;
  mayBeForeign: boolean;
  publicUrl: string | undefined;
} {
  const { url, to } = options;
  const ofBridge = to === undefined ? undefined : new URL(to.replace(/^ws/, 'http')).origin;
  const target = runningProcess(url ?? ofBridge);
  const mayBeForeign = url === undefined && to !== undefined;
  const isOurs = !mayBeForeign && isLoopback(new URL(target.api.url).hostname);
  const publicUrl = options.publicUrl ?? (isOurs ? target.config.http.publicUrl : undefined);
  return { ...target, mayBeForeign, publicUrl };
}
