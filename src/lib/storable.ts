/** U+0000, which Postgres takes in no text: one such character in a word would fail every commit that holds it. */
const nul = /\u0000/g;

export function storableText(text: string): string {
  return text.includes('\u0000') ? text.replace(nul, '\uFFFD') : text;
}

/** Plain data as it came from outside, with every text in it, names of fields too, such that any store can take it. */
export function storable<T>(value: T): T {
  if (typeof value === 'string') return storableText(value) as T;
  if (Array.isArray(value)) return value.map(storable) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [storableText(key), storable(item)]),
  ) as T;
}
