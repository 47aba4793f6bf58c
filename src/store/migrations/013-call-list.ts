import { sql, type Kysely } from 'kysely';

/** Columns by which lists of calls are filtered and sorted, and notes of people beside a call. Existing calls are filled in. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  const calls = db.schema.alterTable('calls');
  await calls.addColumn('notes', 'text').execute();
  await calls.addColumn('tags', 'text').execute();
  await calls.addColumn('said_by', 'text').execute();
  await calls.addColumn('last_turn', 'text').execute();
  await calls
    .addColumn('duration_ms', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .createTable('call_keys')
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('call_keys_identity', ['call_id', 'kind', 'key'])
    .execute();
  await fill(db);
  await db.schema
    .createIndex('call_keys_by_key')
    .on('call_keys')
    .columns(['kind', 'key', 'call_id'])
    .execute();
  for (const [name, columns] of [
    ['calls_by_length', ['duration_ms', 'id']],
    ['calls_by_state', ['state', 'id']],
    ['calls_of_carrier', ['carrier', 'id']],
    ['calls_by_direction', ['direction', 'id']],
    ['calls_by_speaker', ['said_by', 'id']],
    ['calls_by_carrier_call_id', ['carrier_call_id', 'id']],
  ] as const)
    await db.schema
      .createIndex(name)
      .on('calls')
      .columns([...columns])
      .execute();
}

const rowsAtATime = 500;

type Row = {
  id: string;
  from_number: string | null;
  to_number: string | null;
  started_at: number;
  hung_up_at: number | null;
  statistics: string | null;
};

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as above
async function fill(db: Kysely<any>): Promise<void> {
  for (let after = ''; ;) {
    const rows = (await db
      .selectFrom('calls')
      .select(['id', 'from_number', 'to_number', 'started_at', 'hung_up_at', 'statistics'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(rowsAtATime)
      .execute()) as Row[];
    const last = rows.at(-1);
    if (last === undefined) return;
    const keys = rows.flatMap(keysOf);
    if (keys.length > 0) await db.insertInto('call_keys').values(keys).execute();
    const speakers = await speakersOf(
      db,
      rows.map(({ id }) => id),
    );
    const facts = rows.map((row) => ({
      id: row.id,
      ms: durationMs(row),
      by: row.statistics === null ? null : (speakers.get(row.id) ?? ''),
    }));
    const byId = (value: (fact: (typeof facts)[number]) => unknown, type: 'bigint' | 'text') => {
      const cases = facts.map((fact) => sql`when ${fact.id} then ${value(fact)}`);
      return sql`cast(case id ${sql.join(cases, sql` `)} end as ${sql.raw(type)})`;
    };
    await sql`update calls set duration_ms = ${byId(({ ms }) => ms, 'bigint')},
      said_by = ${byId(({ by }) => by, 'text')}
      where id > ${after} and id <= ${last.id}`.execute(db);
    after = last.id;
  }
}

function durationMs({ statistics, started_at, hung_up_at }: Row): number {
  const { duration } = JSON.parse(statistics ?? '{}') as { duration?: unknown };
  if (typeof duration === 'number') return Math.round(duration * 1_000);
  return hung_up_at === null ? 0 : Math.max(0, hung_up_at - started_at);
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as above
async function speakersOf(db: Kysely<any>, ids: string[]): Promise<Map<string, string>> {
  const rows = (await db
    .selectFrom('leg_results')
    .select(['call_id', 'role'])
    .distinct()
    .where('call_id', 'in', ids)
    .where('kind', '=', 'call.transcript')
    .execute()) as { call_id: string; role: string }[];
  const roles = Map.groupBy(rows, ({ call_id }) => call_id);
  return new Map(
    [...roles].map(([id, said]) => [
      id,
      said
        .map(({ role }) => role)
        .toSorted()
        .join(' '),
    ]),
  );
}

function keysOf({ id, from_number, to_number }: Row): object[] {
  const keys = [from_number, to_number].flatMap((party) => partyKey(party ?? '') ?? []);
  const known = new Map(keys.map((one) => [`${one.kind} ${one.key}`, one]));
  return [...known.values()].map(({ kind, key }) => ({ call_id: id, kind, key }));
}

/** A copy of what the bridge stores: a migration must not change with the program. */
function partyKey(party: string): { kind: string; key: string } | undefined {
  if (party.length > 300) return { kind: 'address', key: party.slice(0, 300).trim().toLowerCase() };
  const plain = party.normalize('NFKC').replace(/\p{Cf}/gu, '');
  const bare = plain
    .replace(/^\s*(?:tel|sips?):([^@;?]*).*$/is, '$1')
    .replace(/[\s;,]*(?:;ext=|\bext(?:ension)?\b\.?|\bx)\s*\d+\s*$/i, '');
  const key = party.trim().toLowerCase();
  const digits = /^[\d\s()./+*#\p{Pd}]*$/u.test(bare) ? digitsOf(bare) : '';
  if (digits === '') return key === '' ? undefined : { kind: 'address', key };
  return { kind: 'number', key: Array.from(digits).toReversed().join('').slice(0, 64) };
}

function digitsOf(bare: string): string {
  const isInternational = /^\s*(?:\+|00)/.test(bare);
  const digits = (isInternational ? bare.replaceAll('(0)', '') : bare).replace(/\D/g, '');
  return digits.length < 7 ? digits : digits.replace(/^0+(?=\d)/, '');
}
