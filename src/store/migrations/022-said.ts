import { sql, type Kysely } from 'kysely';

/**
 * The words that were said or written of calls, to be searched. The database keeps the rows by itself: triggers write
 * them in the transaction of the result, so that a kill loses none, an erasure leaves none, and the version before this
 * one needs to know nothing of it. Calls of before are filled in later, by the bridge.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  // Asked in a way that fails on SQLite alone: there a failed statement leaves the transaction as it is.
  const isPostgres = await sql`select version()`.execute(db).then(
    () => true,
    () => false,
  );
  await (isPostgres ? onPostgres(db) : onSqlite(db));
  await sql`create table said_backlog (name text primary key, before_call text not null, next_id bigint not null, done integer not null)`.execute(
    db,
  );
  // An id of a call begins with its time: all that there are now sort before this one.
  await sql`insert into said_backlog (name, before_call, next_id, done)
    select 'calls', coalesce(max(id), '') || '~', -1, 0 from calls`.execute(db);
}

const columns = `call_id text not null, leg_id text not null, session_id text not null, result_key text not null,
  kind text not null, role text not null, start_s double precision not null, end_s double precision not null,
  text text not null`;
const ofResult = `new.call_id, new.leg_id, new.session_id, new.key, 'turn', new.role, new.start_s, new.end_s, new.text`;
const names = 'call_id, leg_id, session_id, result_key, kind, role, start_s, end_s, text';
const sameResult = (row: string) =>
  `kind = 'turn' and leg_id = ${row}.leg_id and session_id = ${row}.session_id and result_key = ${row}.key`;

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as above
async function onSqlite(db: Kysely<any>): Promise<void> {
  const run = (words: string) => sql.raw(words).execute(db);
  await run(`create table said (id integer primary key autoincrement, ${columns})`);
  await run(
    `create unique index said_identity on said (kind, leg_id, session_id, result_key, call_id)`,
  );
  await run(`create index said_of_call on said (call_id, id)`);
  await run(
    `create virtual table said_words using fts5(text, content='said', content_rowid='id', tokenize='unicode61 remove_diacritics 2')`,
  );
  // Deleted words leave the index at once, not with a later merge.
  await run(`insert into said_words (said_words, rank) values ('secure-delete', 1)`);
  await run(`create trigger said_added after insert on said begin
    insert into said_words (rowid, text) values (new.id, new.text); end`);
  await run(`create trigger said_removed after delete on said begin
    insert into said_words (said_words, rowid, text) values ('delete', old.id, old.text); end`);
  await run(`create trigger said_changed after update of text on said begin
    insert into said_words (said_words, rowid, text) values ('delete', old.id, old.text);
    insert into said_words (rowid, text) values (new.id, new.text); end`);
  await run(`create trigger said_with_result after insert on leg_results
    when new.kind = 'call.transcript' and new.text <> '' begin
    insert or ignore into said (${names}) values (${ofResult}); end`);
  await run(`create trigger said_without_result after delete on leg_results
    when old.kind = 'call.transcript' begin delete from said where ${sameResult('old')}; end`);
  await run(`create trigger said_with_change after update of text on leg_results
    when new.kind = 'call.transcript' begin
    update said set text = new.text where ${sameResult('new')}; end`);
  await run(`create trigger said_without_call after delete on calls begin
    delete from said where call_id = old.id; end`);
  for (const [kind, value] of written)
    await run(`create trigger said_${kind} after update of ${kind === 'note' ? 'notes' : kind} on calls begin
      delete from said where call_id = new.id and kind = '${kind}';
      insert into said (${names}) select new.id, '', '', '', '${kind}', '', 0, 0, ${value}
        where coalesce(${value}, '') <> ''; end`);
}

/** The columns that people and the program write beside a call. The summary of a call is JSON. */
const written = [
  ['note', 'new.notes'],
  ['summary', `case when json_valid(new.summary) then json_extract(new.summary, '$.text') end`],
] as const;

/** Words alone, without case and accents, as the other database cuts them: no address or amount is one word. */
const plainText = `regexp_replace(translate(lower(text),
  'áàâäãåāăąçćčďéèêëēėęěğíìîïīįńñňóòôöõōőřśšşťúùûüūůűųýÿźżž',
  'aaaaaaaaacccdeeeeeeeegiiiiiinnnooooooorssstuuuuuuuuyyzzz'), '[^[:alnum:]]+', ' ', 'g')`;

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as above
async function onPostgres(db: Kysely<any>): Promise<void> {
  const run = (words: string) => sql.raw(words).execute(db);
  await run(`create table said (id bigint generated by default as identity primary key, ${columns},
    words tsvector generated always as (to_tsvector('simple', ${plainText})) stored)`);
  await run(
    `create unique index said_identity on said (kind, leg_id, session_id, result_key, call_id)`,
  );
  await run(`create index said_of_call on said (call_id, id)`);
  await run(`create index said_by_words on said using gin (words)`);
  await run(`create function said_follows_result() returns trigger language plpgsql as $$ begin
    if tg_op = 'DELETE' then
      delete from said where ${sameResult('old')};
    elsif tg_op = 'UPDATE' then
      update said set text = new.text where ${sameResult('new')};
    elsif new.text <> '' then
      insert into said (${names}) values (${ofResult}) on conflict do nothing;
    end if;
    return null; end $$`);
  await run(`create trigger said_with_result after insert or update of text on leg_results
    for each row when (new.kind = 'call.transcript') execute function said_follows_result()`);
  await run(`create trigger said_without_result after delete on leg_results
    for each row when (old.kind = 'call.transcript') execute function said_follows_result()`);
  await run(`create function said_follows_call() returns trigger language plpgsql as $$ declare told text; begin
    if tg_op = 'DELETE' then
      delete from said where call_id = old.id;
      return null;
    end if;
    if new.notes is distinct from old.notes then
      delete from said where call_id = new.id and kind = 'note';
      if coalesce(new.notes, '') <> '' then
        insert into said (${names}) values (new.id, '', '', '', 'note', '', 0, 0, new.notes);
      end if;
    end if;
    if new.summary is distinct from old.summary then
      delete from said where call_id = new.id and kind = 'summary';
      begin
        told := new.summary::jsonb ->> 'text';
      exception when others then
        told := null; -- a character that no text of this database can hold: the call ends all the same
      end;
      if coalesce(told, '') <> '' then
        insert into said (${names}) values (new.id, '', '', '', 'summary', '', 0, 0, told);
      end if;
    end if;
    return null; end $$`);
  await run(`create trigger said_with_call after update of notes, summary on calls
    for each row execute function said_follows_call()`);
  await run(`create trigger said_without_call after delete on calls
    for each row execute function said_follows_call()`);
}
