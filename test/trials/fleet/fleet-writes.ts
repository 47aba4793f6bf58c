import pg from 'pg';
import { addressesOf } from '../../../src/store/postgres-connections.ts';

/** Tables whose rows are written by the node that has the call, and by nobody else. */
const tables = [
  'calls',
  'legs',
  'leg_states',
  'streams',
  'leg_sessions',
  'leg_results',
  'events',
] as const;

export type FencedWrite = { table: string; callId: string; writer: string; holder: string };

/**
 * Looks at every row of a call as it is committed: who writes, and which node has the call in that moment. Nodes connect
 * under their own names (`application_name`), so that the database itself can say it.
 */
export class WatchedWrites {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  /** Watches a database whose tables are there. Fails where it does not see a stranger's write. */
  static async begin(url: string): Promise<WatchedWrites> {
    const watched = new WatchedWrites(url);
    await watched.ask(`
      create table fleet_writes (id bigserial primary key, table_name text, call_id text, writer text, holder text, fence bigint);
      create function fleet_watch() returns trigger language plpgsql as $$
      declare
        line jsonb := case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
        call text := case when tg_table_name = 'calls' then line->>'id' else line->>'call_id' end;
        has text; number bigint;
      begin
        -- A second reading has a lease of its own, which may be with another node.
        if line->>'type' = 'call.transcript.revised' then return null; end if;
        select node, fence into has, number from calls where id = call;
        if tg_table_name = 'calls' and tg_op = 'UPDATE' and to_jsonb(old)->>'node' = current_setting('application_name')
        then has := current_setting('application_name'); end if;
        insert into fleet_writes (table_name, call_id, writer, holder, fence)
        values (tg_table_name, call, current_setting('application_name'), has, number);
        return null;
      end $$;
      ${tables
        .map(
          (
            table,
          ) => `create constraint trigger fleet_watch after insert or update or delete on ${table}
            deferrable initially deferred for each row execute function fleet_watch();`,
        )
        .join('\n')}
      insert into calls (id, node, carrier, carrier_call_id, state, started_at, custom_metadata, overrides, warnings, counts, paused, summary_due, has_recording, recover_tries)
        values ('call_watched', 'its node', 'twilio', 'of the trial', 'ended', 0, '{}', '{}', '[]', '{}', 0, 0, 0, 0);`);
    await watched.ask(`set application_name = 'its node'; update calls set paused = 0 where id = 'call_watched'`); // prettier-ignore
    await watched.#forget();
    await watched.ask(`set application_name = 'a stranger'; update calls set paused = 0 where id = 'call_watched'`); // prettier-ignore
    const seen = await watched.take();
    if (seen.fenced.length !== 1 || seen.writes !== 1)
      throw new Error('the watch over writes does not see a stranger');
    await watched.ask(`delete from calls where id = 'call_watched'`);
    await watched.#forget();
    return watched;
  }

  /** All writes since the last time, and those of a node that did not have the call. */
  async take(): Promise<{ writes: number; fenced: FencedWrite[] }> {
    const all = await this.ask<{ n: string }>('select count(*) as n from fleet_writes');
    const fenced = await this.ask<FencedWrite>(
      `select table_name as "table", call_id as "callId", writer, holder from fleet_writes where holder <> writer order by id`,
    );
    await this.#forget();
    return { writes: Number(all[0]?.n ?? 0), fenced };
  }

  /** At whichever host takes the writes; again where that has just changed. */
  async ask<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]> {
    const endMs = performance.now() + 30_000;
    for (;;) {
      for (const connectionString of addressesOf(this.#url)) {
        const client = new pg.Client({ connectionString, connectionTimeoutMillis: 2_000 });
        client.on('error', () => undefined);
        try {
          await client.connect();
          const { rows } = await client.query<{ no: boolean }>('select pg_is_in_recovery() as no');
          if (rows[0]?.no === false) return (await client.query<Row>(text, values)).rows;
        } catch (error) {
          if (performance.now() > endMs) throw error;
          if (error instanceof pg.DatabaseError && error.code?.startsWith('42')) throw error;
        } finally {
          await client.end().catch(() => undefined);
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  async #forget(): Promise<void> {
    await this.ask('truncate fleet_writes');
  }
}
