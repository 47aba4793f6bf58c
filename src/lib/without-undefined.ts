/**
 * The entries that have a value. An entry that is undefined would be sent as a header of the text `undefined`, and in a
 * spread it would take the place of an earlier value.
 */
export function withoutUndefined<T extends object>(
  entries: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
