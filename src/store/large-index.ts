/** An index of a table that may be large, in the words of SQL. */
export type LargeIndex = {
  name: string;
  table: string;
  /** Columns or expressions, separated by commas. */
  columns: string;
  where?: string;
  /** True for indexes that SQLite does not need. */
  only?: 'postgres';
};

/** The words after `create index`, for SQL with or without `concurrently`. */
export function indexWords({ name, table, columns, where }: LargeIndex): string {
  return `${name} on ${table} (${columns})${where === undefined ? '' : ` where ${where}`}`;
}
