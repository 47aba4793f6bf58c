/**
 * Shortens an address for a terminal or its log. Many services put their key into an address's path (a chat's
 * incoming webhook) or query, so only scheme, host and port are shown. Any other text is returned unchanged.
 */
export function withoutSecrets(text: string): string {
  const [scheme] = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text) ?? [];
  if (scheme === undefined) return text;
  const url = URL.parse(text);
  // An address with several hosts, for example: nobody can tell which part is the password.
  if (url === null) return `${scheme}********`;
  const user = url.username === '' && url.password === '' ? '' : '********@';
  const rest = url.pathname.length > 1 || url.search !== '' || url.hash !== '' ? '/********' : '';
  return `${url.protocol}//${user}${url.host}${rest}`;
}

const masked = '********';
/** A part of a path that is long enough to be a key. */
const longPart = /^[\w~+=-]{16,}$/;
/** Settings and fields whose whole value is a secret. */
const secretName = /secret|token|password|key|headers|authorization/i;
/** Addresses of these settings may hold a key anywhere in their path, as the incoming hooks of many services do. */
const hookName = /hook|callback|endpoints/i;

/** An address whose path is no secret by itself: user, values of the query and long parts with digits are masked. */
function withoutKeys(text: string): string {
  if (!/^(?:https?|wss?):\/\//i.test(text)) return withoutSecrets(text);
  const url = URL.parse(text);
  if (url === null) return withoutSecrets(text);
  const user = url.username === '' && url.password === '' ? '' : `${masked}@`;
  const path = url.pathname
    .split('/')
    .map((part) => (longPart.test(part) && /\d/.test(part) ? masked : part))
    .join('/');
  const query = [...url.searchParams.keys()].map((name) => `${name}=${masked}`).join('&');
  return `${url.protocol}//${user}${url.host}${path === '/' ? '' : path}${query && `?${query}`}`;
}

/**
 * The value of a setting as a person may see it: a secret is masked, and so is what may be one in an address. Secrets
 * deeper in a list or map are recognised by the names of their fields.
 */
export function shownSetting(path: readonly string[], value: unknown, isSecret: boolean): unknown {
  if (value === undefined || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => shownSetting(path, item, isSecret));
  if (typeof value === 'object')
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        shownSetting([...path, name], item, isSecret || secretName.test(name)),
      ]),
    );
  if (isSecret) return masked;
  if (typeof value !== 'string') return value;
  return path.some((name) => hookName.test(name)) ? withoutSecrets(value) : withoutKeys(value);
}
