import { createHmac, timingSafeEqual } from 'node:crypto';
import { originsOf } from './origins.ts';
import { fieldsIn, splitTarget } from './parameters.ts';

export type SignedRequest = {
  publicUrl: string;
  kind: 'socket' | 'webhook';
  /** Path and query, exactly as they stand on the request line. */
  target: string;
  /** The form fields of a webhook, in any order. */
  fields?: readonly (readonly [string, string])[];
};

/** HMAC-SHA1 is 20 bytes. Anything else is refused here, because comparing other lengths would throw. */
const signatureForm = /^[A-Za-z0-9+/]{27}=$/;

/**
 * Checks an HMAC-SHA1 over the address that the carrier was told, followed by the form's sorted names and values.
 * Carriers spell ports and the last slash in several ways, so every spelling of our own address is tried.
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
  // The loop has no early exit, so that the time shows neither the token nor the spelling that matched.
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
  // No carrier documents a query on a stream address as supported. If there is one, both known forms are tried.
  const queries = query === '' ? [''] : [`?${query}`, fieldsText(fieldsIn(query))];
  return originsOf(publicUrl, kind).flatMap(({ scheme, authority, prefix }) =>
    paths.flatMap((spelt) =>
      queries.map((rest) => `${scheme}://${authority}${prefix}${spelt}${rest}`),
    ),
  );
}

/** Joins the fields sorted by name. Several values of one name are sorted too, each counted once. */
function fieldsText(fields: readonly (readonly [string, string])[]): string {
  const byName = new Map<string, Set<string>>();
  for (const [name, value] of fields) byName.set(name, (byName.get(name) ?? new Set()).add(value));
  return [...byName.keys()]
    .sort()
    .flatMap((name) => [...(byName.get(name) ?? [])].sort().map((value) => name + value))
    .join('');
}
