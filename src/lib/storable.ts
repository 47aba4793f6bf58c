/** U+0000, which Postgres accepts in no text. One such character in a word would make every commit with it fail. */
const nul = /\u0000/g;

export function storableText(text: string): string {
  return text.includes('\u0000') ? text.replace(nul, '\uFFFD') : text;
}

/** Plain data from outside with all texts and field names changed so that any store accepts them. */
export function storable<T>(value: T): T {
  if (typeof value === 'string') return storableText(value) as T;
  if (Array.isArray(value)) return value.map(storable) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [storableText(key), storable(item)]),
  ) as T;
}
