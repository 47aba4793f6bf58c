import { sql, type Kysely } from 'kysely';

/**
 * Makes wrap-ups, tags and parameters of calls searchable beside the words. As with the words, triggers write the rows
 * in the transaction of what they hold.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  // The query is written so that it fails only on SQLite, where a failed statement leaves the transaction intact.
  const isPostgres = await sql`select version()`.execute(db).then(
    () => true,
    () => false,
  );
  await (isPostgres ? onPostgres(db) : onSqlite(db));
}

const names = 'call_id, leg_id, session_id, result_key, kind, role, start_s, end_s, text';
/** Facts that every call has by itself; a filter finds them. */
const ownNames = `'call_id', 'carrier', 'carrier_call_id', 'direction', 'from', 'to', 'started_at'`;

const row = (kind: string, callId: string, text: string) =>
  `insert into said (${names}) select ${callId}, '', '', '', '${kind}', '', 0, 0, told.text
    from (select ${text} as text) told where coalesce(told.text, '') <> ''`;

const inSqlite = {
  record: `case when json_valid(new.record) then (select group_concat(atom, ' · ') from json_tree(new.record)
    where type = 'text' and key in ('text', 'what', 'value', 'disposition') and path <> '$.outcome') end`,
  tag: `case when json_valid(new.tags) then (select group_concat(value, ' · ') from json_each(new.tags)) end`,
  parameter: `case when json_valid(new.custom_metadata) then (select group_concat(atom, ' · ')
    from json_tree(new.custom_metadata) where atom is not null and key not in (${ownNames})) end`,
};

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as above
async function onSqlite(db: Kysely<any>): Promise<void> {
  const run = (words: string) => sql.raw(words).execute(db);
  for (const when of ['insert on wrap_ups', 'update of record on wrap_ups'])
    await run(`create trigger said_wrap_up_${when.slice(0, 6)} after ${when} begin
      delete from said where call_id = new.call_id and kind = 'wrap-up';
      ${row('wrap-up', 'new.call_id', inSqlite.record)}; end`);
  await run(`create trigger said_without_wrap_up after delete on wrap_ups begin
    delete from said where call_id = old.call_id and kind = 'wrap-up'; end`);
  for (const [kind, column] of [
    ['tag', 'tags'],
    ['parameter', 'custom_metadata'],
  ] as const)
    for (const [name, when] of [
      ['began', 'insert'],
      ['changed', `update of ${column}`],
    ])
      await run(`create trigger said_${kind}_${name} after ${when} on calls begin
        delete from said where call_id = new.id and kind = '${kind}';
        ${row(kind, 'new.id', inSqlite[kind])}; end`);
}

const told = (text: string, table: string, column: string) =>
  `begin ${column} := (select string_agg(${text}, ' · ') from ${table});
    exception when others then ${column} := null; end;`;

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as above
async function onPostgres(db: Kysely<any>): Promise<void> {
  const run = (words: string) => sql.raw(words).execute(db);
  const paths = ['$.reason.text', '$.done[*].text', '$.promises[*].what', '$.facts[*].value', '$.disposition']; // prettier-ignore
  const values = paths
    .map((path) => `select jsonb_path_query(new.record::jsonb, '${path}') as v`)
    .join(' union all ');
  await run(`create function said_follows_wrap_up() returns trigger language plpgsql as $$
    declare words text; begin
    if tg_op = 'DELETE' then
      delete from said where call_id = old.call_id and kind = 'wrap-up';
      return null;
    end if;
    delete from said where call_id = new.call_id and kind = 'wrap-up';
    ${told(`v #>> '{}'`, `(${values}) as t where jsonb_typeof(v) = 'string'`, 'words')}
    ${row('wrap-up', 'new.call_id', 'words')};
    return null; end $$`);
  await run(`create trigger said_with_wrap_up after insert or update of record or delete on wrap_ups
    for each row execute function said_follows_wrap_up()`);
  await run(`create function said_follows_facts() returns trigger language plpgsql as $$
    declare words text; begin
    if tg_op = 'INSERT' or new.tags is distinct from old.tags then
      delete from said where call_id = new.id and kind = 'tag';
      ${told('value', 'jsonb_array_elements_text(new.tags::jsonb)', 'words')}
      ${row('tag', 'new.id', 'words')};
    end if;
    if tg_op = 'INSERT' or new.custom_metadata is distinct from old.custom_metadata then
      delete from said where call_id = new.id and kind = 'parameter';
      ${told('value', `jsonb_each_text(new.custom_metadata::jsonb) where key not in (${ownNames})`, 'words')}
      ${row('parameter', 'new.id', 'words')};
    end if;
    return null; end $$`);
  await run(`create trigger said_with_facts after insert or update of tags, custom_metadata on calls
    for each row execute function said_follows_facts()`);
}
