import { createHmac, randomBytes } from 'node:crypto';

/** X-Twilio-Signature of an upgrade: the address as the carrier was told it. */
export function twilioSignature(url: string, authToken: string): string {
  return createHmac('sha1', authToken).update(url).digest('base64');
}

/** X-Plivo-Signature-V3 of an upgrade. */
export function plivoSignature(url: string, nonce: string, authToken: string): string {
  const { query, bare } = splitQuery(url);
  const sorted = [...new URLSearchParams(query)]
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join('&');
  return createHmac('sha256', authToken)
    .update(`${bare}${sorted && `?${sorted}`}.${nonce}`)
    .digest('base64');
}

function splitQuery(url: string): { bare: string; query: string } {
  const at = url.indexOf('?');
  return at < 0 ? { bare: url, query: '' } : { bare: url.slice(0, at), query: url.slice(at + 1) };
}

export function newNonce(): string {
  return randomBytes(18).toString('base64');
}

/** HTTP message signature of an AudioHook upgrade over its six components. */
export function audiohookSignature(options: {
  target: string;
  authority: string;
  headers: Record<string, string>;
  apiKey: string;
  clientSecret: string;
  nonce: string;
  createdS: number;
}): { 'signature-input': string; signature: string } {
  const { target, authority, headers, apiKey, clientSecret, nonce, createdS } = options;
  const values: [string, string][] = [
    ['@request-target', target],
    ['@authority', authority],
    ...[
      'audiohook-organization-id',
      'audiohook-session-id',
      'audiohook-correlation-id',
      'x-api-key',
    ].map((name): [string, string] => [name, headers[name] ?? '']),
  ];
  const list = `(${values.map(([name]) => `"${name}"`).join(' ')})`;
  const parameters = `${list};keyid="${apiKey}";nonce="${nonce}";alg="hmac-sha256";created=${createdS};expires=${createdS + 30}`;
  const base = [
    ...values.map(([name, value]) => `"${name}": ${value}`),
    `"@signature-params": ${parameters}`,
  ].join('\n');
  const digest = createHmac('sha256', Buffer.from(clientSecret, 'base64'))
    .update(base)
    .digest('base64');
  return { 'signature-input': `sig1=${parameters}`, signature: `sig1=:${digest}:` };
}
