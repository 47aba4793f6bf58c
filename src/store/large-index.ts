/** An index of a table that may be large, written as parts of an SQL statement. */
export type LargeIndex = {
  name: string;
  table: string;
  /** The columns or expressions, separated by commas. */
  columns: string;
  where?: string;
  /** `postgres` if SQLite does not need this index. */
  only?: 'postgres';
};

/** The words after `create index`, for SQL with or without `concurrently`. */
export function indexWords({ name, table, columns, where }: LargeIndex): string {
  return `${name} on ${table} (${columns})${where === undefined ? '' : ` where ${where}`}`;
}
