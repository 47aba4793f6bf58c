import { createHmac, timingSafeEqual } from 'node:crypto';
import { originsOf } from './origins.ts';
import { fieldsIn, splitTarget } from './parameters.ts';

export type SignedRequest = {
  publicUrl: string;
  kind: 'socket' | 'webhook';
  /** Path and query exactly as on the request line. */
  target: string;
  /** Form fields of a webhook, in any order. */
  fields?: readonly (readonly [string, string])[];
};

/** HMAC-SHA1 is 20 bytes; anything else is refused here, because comparing other lengths would throw. */
const signatureForm = /^[A-Za-z0-9+/]{27}=$/;

/**
 * HMAC-SHA1 over the address as the carrier was told it, with the form's sorted names and values behind it.
 * Carriers spell ports and the last slash in more than one way, so every spelling of our own address is tried.
 */
export function isUrlSignature(
  signature: string,
  tokens: readonly string[],
  request: SignedRequest,
): boolean {
  if (!signatureForm.test(signature)) return false;
  const given = Buffer.from(signature, 'base64');
  const fields = fieldsText(request.fields ?? []);
  let found = false;
  // No early exit: neither the token nor the spelling that matched shows in the time.
  for (const url of spellings(request))
    for (const token of tokens)
      found =
        timingSafeEqual(
          createHmac('sha1', token)
            .update(url + fields)
            .digest(),
          given,
        ) || found;
  return found;
}

function spellings({ publicUrl, kind, target }: SignedRequest): string[] {
  const { path, query } = splitTarget(target);
  const bare = path.replace(/\/+$/, '');
  const paths = [...new Set([path, bare, `${bare}/`])];
  // A query on a stream address is not documented as supported; where there is one, both known forms are tried.
  const queries = query === '' ? [''] : [`?${query}`, fieldsText(fieldsIn(query))];
  return originsOf(publicUrl, kind).flatMap(({ scheme, authority, prefix }) =>
    paths.flatMap((spelt) =>
      queries.map((rest) => `${scheme}://${authority}${prefix}${spelt}${rest}`),
    ),
  );
}

/** Sorted by name; several values of one name sorted too, each counted once. */
function fieldsText(fields: readonly (readonly [string, string])[]): string {
  const byName = new Map<string, Set<string>>();
  for (const [name, value] of fields) byName.set(name, (byName.get(name) ?? new Set()).add(value));
  return [...byName.keys()]
    .sort()
    .flatMap((name) => [...(byName.get(name) ?? [])].sort().map((value) => name + value))
    .join('');
}
