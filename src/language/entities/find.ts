import type { EntitySpan } from '../types.ts';

const patterns: [type: string, pattern: RegExp][] = [
  ['EMAIL_ADDRESS', /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}/g],
  ['MONEY', /[$£€]\d[\d,]{0,12}(?:\.\d{1,2})?/g],
  ['PHONE_NUMBER', /\b\d{3}[-. ]\d{3}[-. ]\d{4}\b/g],
];

/** The entities of a text, in order, none over another. `types` adds those found only where asked for by name. */
export function findEntities(text: string, types?: readonly string[]): EntitySpan[] {
  const wanted = types && new Set(types);
  return patterns
    .flatMap(([type, pattern]) =>
      [...text.matchAll(pattern)].map((match) => ({
        type,
        text: match[0],
        start: match.index,
        end: match.index + match[0].length,
      })),
    )
    .filter((span) => !wanted || wanted.has(span.type))
    .sort((a, b) => a.start - b.start);
}
