import type { GuardedAnswer, GuardedRequest } from '../lib/guarded-fetch.ts';
import { storableText } from '../lib/storable.ts';
import type { ApiExchange } from '../protocol/delivery-reports.ts';

/*
 * A request of an attempt and its answer, as an operator may see them: no secret is in it, and its size is bounded. Pure.
 */

/** At most this many steps of one attempt are stored: the last ones, where the trouble is. */
const maxExchanges = 4;
const maxHeaders = 24;
const maxHeaderChars = 200;
const maxBodyChars = 4_096;
/**
 * At most this many characters of the event are shown. The event is read from its own row and not stored with the
 * delivery.
 */
const maxEventChars = 65_536;
const blank = '********';
/** A shorter value may occur in any answer by chance. */
const leastSecretChars = 8;

/** Headers whose value may be a secret. Ids with similar names are kept. */
const secretHeader = /auth|cookie|token|secret|key|signature|password|credential/i;
const harmlessHeader = new Set(['idempotency-key']);
/** A part of a path that is long enough to be a hook's secret. */
const longPart = /^[\w~+=-]{16,}$/;

type MadeExchange = {
  /** The name of a mapping's step. */
  step?: string;
  request: Pick<GuardedRequest, 'url' | 'method' | 'headers' | 'body'>;
  answer: GuardedAnswer;
  /** Headers that the operator set. If an answer repeats their values, these are masked. */
  own: Record<string, string>;
  /** True if the body is the stored event. */
  isEvent: boolean;
};

export function exchangeOf({ step, request, answer, own, isEvent }: MadeExchange): ApiExchange {
  const hidden = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  return {
    step,
    request: {
      method: request.method ?? 'GET',
      url: shownUrl(request.url),
      headers: shownHeaders(request.headers ?? {}, hidden),
      body: isEvent || request.body === undefined ? null : textOf(request.body, maxBodyChars),
      ...(isEvent ? { is_event: true } : {}),
    },
    ...(answer.ok
      ? {
          response: {
            status: answer.status,
            headers: shownHeaders(answer.headers, new Set(), own),
            body: cut(withoutValues(textOf(answer.body, answer.body.length), own), maxBodyChars),
          },
        }
      : { failure: storableText(answer.reason.slice(0, 300)) }),
  };
}

/** The text that is stored with the delivery. */
export function exchangesText(exchanges: readonly ApiExchange[]): string {
  return JSON.stringify(exchanges.slice(-maxExchanges));
}

/** Parses the stored text and inserts the event's body if that was sent. A row of an earlier version has none. */
export function exchangesFrom(text: string | null, eventBody: string): ApiExchange[] {
  const exchanges = text === null ? [] : (JSON.parse(text) as ApiExchange[]);
  return exchanges.map(({ request, ...rest }) => {
    const { is_event: isEvent, ...shown } = request;
    const body = isEvent === true ? cut(eventBody, maxEventChars) : request.body;
    return { ...rest, request: { ...shown, body } };
  });
}

function shownUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return '';
  const path = url.pathname
    .split('/')
    .map((part) => (longPart.test(part) && /\d/.test(part) ? blank : part))
    .join('/');
  const query = [...url.searchParams.keys()].map((name) => `${encodeURIComponent(name)}=${blank}`);
  const shown = `${url.protocol}//${url.host}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`;
  return storableText(cut(shown, 1_000));
}

function shownHeaders(
  headers: Record<string, string | string[] | undefined>,
  hidden: ReadonlySet<string>,
  own: Record<string, string> = {},
): Record<string, string> {
  const shown = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(headers).slice(0, maxHeaders)) {
    if (value === undefined || name === '__proto__') continue;
    const isSecret = !harmlessHeader.has(name) && (hidden.has(name) || secretHeader.test(name));
    const text = Array.isArray(value) ? value.join(', ') : value;
    shown[cut(name, 100)] = isSecret
      ? blank
      : storableText(cut(withoutValues(text, own), maxHeaderChars));
  }
  return shown;
}

/** Masks secrets that a receiver may repeat: the values of the operator's headers, with and without their scheme. */
export function withoutValues(text: string, own: Record<string, string>): string {
  return Object.values(own)
    .flatMap((value) => [value, value.slice(value.lastIndexOf(' ') + 1)])
    .filter((value) => value.length >= leastSecretChars)
    .reduce((shown, value) => shown.replaceAll(value, blank), text);
}

function textOf(bytes: Uint8Array, maxChars: number): string {
  // A UTF-8 character has at most four bytes.
  const text = Buffer.from(bytes.subarray(0, maxChars * 4)).toString('utf8');
  return storableText(cut(text, maxChars));
}

function cut(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars - 1).toWellFormed()}…`;
}
