import { createHmac, timingSafeEqual } from 'node:crypto';
import { originsOf } from '../origins.ts';
import { fieldsIn, splitTarget } from '../parameters.ts';

export type PlivoRequest = {
  publicUrl: string;
  kind: 'socket' | 'webhook';
  target: string;
  nonce: string;
  fields?: readonly (readonly [string, string])[];
};

const signatureForm = /^[A-Za-z0-9+/]{43}=$/;
const signaturesAtMost = 8;

/**
 * Checks an HMAC-SHA256 over the address, the sorted query and form, a full stop and the nonce. The header may list
 * several signatures while tokens rotate; one that matches is enough.
 */
export function isPlivoSignature(
  header: string,
  tokens: readonly string[],
  request: PlivoRequest,
): boolean {
  const given = header
    .split(',')
    .map((text) => text.trim())
    .filter((text) => signatureForm.test(text))
    .slice(0, signaturesAtMost)
    .map((text) => Buffer.from(text, 'base64'));
  if (given.length === 0 || request.nonce === '') return false;
  let found = false;
  for (const base of spellings(request))
    for (const token of tokens) {
      const expected = createHmac('sha256', token).update(`${base}.${request.nonce}`).digest();
      for (const signature of given) found = timingSafeEqual(expected, signature) || found;
    }
  return found;
}

function spellings({ publicUrl, kind, target, fields = [] }: PlivoRequest): string[] {
  const { path, query: asked } = splitTarget(target);
  const query = sorted(fieldsIn(asked), '=', '&');
  const form = sorted(fields, '', '');
  const rest = form === '' ? query && `?${query}` : `?${query}${query && '.'}${form}`;
  const bare = path.replace(/\/+$/, '');
  return originsOf(publicUrl, kind).flatMap(({ scheme, authority, prefix }) =>
    [...new Set([path, bare, `${bare}/`])].map(
      (spelt) => `${scheme}://${authority}${prefix}${spelt}${rest}`,
    ),
  );
}

function sorted(
  fields: readonly (readonly [string, string])[],
  between: string,
  joint: string,
): string {
  const byName = new Map<string, string[]>();
  for (const [name, value] of fields) {
    const values = byName.get(name);
    if (values === undefined) byName.set(name, [value]);
    else values.push(value);
  }
  return [...byName.keys()]
    .sort()
    .flatMap((name) => (byName.get(name) ?? []).sort().map((value) => `${name}${between}${value}`))
    .join(joint);
}
