import { reasonOf, TrunklineError } from '../lib/errors.ts';
import { messagesOf } from '../lib/event-stream.ts';
import { withoutUndefined } from '../lib/without-undefined.ts';
import { ApiCall, CallPage, NewStream } from '../protocol/api.ts';
import type { CallItem, LiveFeedMessage } from '../protocol/api.ts';
import type { z } from 'zod';

/** The address and the key of the bridge's operator API. The player uses it to place and watch a call. */
export type Api = { url: string; key?: string | undefined };

const answerWithinMs = 10_000;

export async function mintStream(
  api: Api,
  request: { carrier: string; call_id?: string; metadata?: Record<string, unknown> },
): Promise<NewStream> {
  return ask(api, '/api/streams', NewStream, request);
}

/** Mints a stream token as `mintStream` does. The bridge may be another product: undefined if it has no such API. */
export async function mintStreamIfOffered(
  api: Api,
  request: { carrier: string; call_id?: string },
): Promise<NewStream | undefined> {
  try {
    return await mintStream(api, request);
  } catch (error) {
    const code = error instanceof TrunklineError ? error.code : undefined;
    if (code === 'UNREACHABLE' || code === 'UNAUTHORIZED') return undefined;
    throw error;
  }
}

/** Returns undefined while the bridge does not know the call. */
export async function findCall(api: Api, carrierCallId: string): Promise<CallItem | undefined> {
  const query = new URLSearchParams({ carrier_call_id: carrierCallId, limit: '1' });
  const { items } = await ask(api, `/api/calls?${query.toString()}`, CallPage);
  return items[0];
}

export async function getCall(api: Api, id: string): Promise<ApiCall> {
  return ask(api, `/api/calls/${encodeURIComponent(id)}`, ApiCall);
}

/** Yields the call's server-sent events until they end or the signal stops them. */
export async function* watchCall(
  api: Api,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<LiveFeedMessage> {
  const response = await request(api, `/api/calls/${encodeURIComponent(id)}/live`, { signal });
  if (!response.body) return;
  for await (const { data } of messagesOf(response.body as AsyncIterable<Uint8Array>))
    yield JSON.parse(data) as LiveFeedMessage;
}

async function ask<T extends z.ZodType>(
  api: Api,
  path: string,
  schema: T,
  body?: unknown,
): Promise<z.infer<T>> {
  const response = await request(api, path, {
    signal: AbortSignal.timeout(answerWithinMs),
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  return schema.parse(await response.json());
}

/**
 * Sends a request with the key to this address only. A redirect is not followed, because the key would go to an address
 * that nobody named.
 */
export async function fetchWithKey(
  { url, key }: Api,
  path: string,
  init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
): Promise<Response> {
  const address = `${httpAddress(url)}${path}`;
  const response = await fetch(address, {
    ...init,
    redirect: 'manual',
    headers: { ...init.headers, ...withoutUndefined({ 'x-service-key': key }) },
  });
  const location = response.headers.get('location');
  if (!isRedirect(response.status) || location === null) return response;
  await response.body?.cancel();
  const target = URL.parse(location, address)?.origin ?? 'another address';
  throw new TrunklineError('UNREACHABLE', `${new URL(address).origin} redirects to ${target}, and the key goes to no other address: if that one is right, name it with --url`); // prettier-ignore
}

function httpAddress(url: string): string {
  return url.replace(/^ws/, 'http').replace(/\/+$/, '');
}

function originOf({ url }: Api): string {
  return new URL(httpAddress(url)).origin;
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304;
}

async function request(
  api: Api,
  path: string,
  init: Omit<RequestInit, 'headers'>,
): Promise<Response> {
  let response: Response;
  try {
    response = await fetchWithKey(api, path, {
      ...init,
      headers: { 'content-type': 'application/json' },
    });
  } catch (cause) {
    if (cause instanceof TrunklineError) throw cause;
    throw new TrunklineError(
      'UNREACHABLE',
      `${originOf(api)} does not answer: ${reasonOf(cause instanceof Error && cause.cause !== undefined ? cause.cause : cause)}`,
      { cause },
    );
  }
  if (response.ok) return response;
  await response.body?.cancel();
  if (isKeyRefused(response.status)) throw keyRefused(api, response.status);
  throw new TrunklineError(
    'UNREACHABLE',
    `${originOf(api)}${path.split('?')[0]} answered ${response.status}`,
  );
}

/** True if the answer refuses the key. A client that has shown too many wrong keys gets 429. */
export function isKeyRefused(status: number): boolean {
  return status === 401 || status === 429;
}

export function keyRefused({ url, key }: Api, status: number): TrunklineError {
  const { origin } = new URL(url);
  if (status === 429)
    return new TrunklineError('UNAUTHORIZED', `${origin} has seen too many wrong keys: wait, then set TRUNKLINE_KEY to one of its keys`); // prettier-ignore
  const what = key === undefined ? 'wants a key' : 'refuses the key of TRUNKLINE_API_KEYS';
  return new TrunklineError('UNAUTHORIZED', `${origin} ${what} (${status}): set TRUNKLINE_KEY to one of its keys`); // prettier-ignore
}
