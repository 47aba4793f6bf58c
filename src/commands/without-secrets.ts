/**
 * An address for the eyes of whoever looks at a terminal or a log of one. Many services put their key into the path
 * (a chat's incoming webhook) or the query of an address, so only scheme, host and port are shown. Any other text is
 * answered as it is.
 */
export function withoutSecrets(text: string): string {
  const [scheme] = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text) ?? [];
  if (scheme === undefined) return text;
  const url = URL.parse(text);
  // Several hosts of one database, for example: which part is the password nobody knows.
  if (url === null) return `${scheme}********`;
  const user = url.username === '' && url.password === '' ? '' : '********@';
  const rest = url.pathname.length > 1 || url.search !== '' || url.hash !== '' ? '/********' : '';
  return `${url.protocol}//${user}${url.host}${rest}`;
}
