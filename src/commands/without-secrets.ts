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
