import pg from 'pg';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { StoreConfig } from '../../../src/store/config.ts';
import { migratePostgres } from '../../../src/store/postgres.ts';

/** Events per call: with two speaking legs, slightly more than in the built-in test call. */
const eventsPerCall = 40;

export type Rows = {
  /** The number of events. Every other table is in proportion to them. */
  events: number;
  /** The time of the newest row. All other rows are older. */
  untilMs: number;
  /** The number of days over which the calls are spread. */
  days: number;
  /** The node that owns all of them. */
  node: string;
};

/**
 * Rows as in a fleet after years, made by the database itself: ended calls in order of time, their delivered events,
 * and the corresponding rows of every other table. Ids are like ours: time first, in digits that sort. For an empty
 * Postgres database, which gets its schema with every index.
 */
export async function storeRows(databaseUrl: string, rows: Rows): Promise<void> {
  const log = createLog({ level: 'silent' });
  await migratePostgres(
    { config: StoreConfig.parse({ databaseUrl }), log, clock: systemClock },
    false,
  );
  const calls = Math.max(1, Math.round(rows.events / eventsPerCall));
  const everyMs = Math.max(1, Math.floor((rows.days * 86_400_000) / calls));
  const fromMs = rows.untilMs - calls * everyMs;
  const node = `'${rows.node.replaceAll("'", "''")}'`;
  // These are not ids with a time: the API requires UUIDs.
  const [session, job, file] = ["'session' || n || ' ' || leg", "'job' || n", "'file' || n"].map(
    (seed) => `md5(${seed})::uuid::text`,
  );
  const tens = Array.from({ length: 10 }, (_, digit) => `substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((t / ${32 ** (9 - digit)}) % 32)::int + 1, 1)`); // prettier-ignore
  await ask(
    databaseUrl,
    `create temporary table made as
       select n, ${fromMs}::bigint + n * ${everyMs}::bigint as t, '' as id
       from generate_series(0::bigint, ${calls - 1}) as n;
     update made set id = ${tens.join(' || ')} || lpad(n::text, 16, '0');`,
    ...[
      `insert into calls (id, node, carrier, carrier_call_id, state, direction, from_number, to_number,
         started_at, zero_at, hung_up_at, ended_at, end_reason, custom_metadata, overrides, warnings, counts, paused,
         statistics, incomplete, summary_due, has_recording, recover_tries, said_by, last_turn, tags, duration_ms, fence)
       select 'call_' || id, ${node}, case n % 3 when 0 then 'telnyx' else 'twilio' end, 'CA' || n, 'ended',
         case n % 5 when 0 then 'outbound' else 'inbound' end, '+1555' || lpad(((n * 7919) % 10000000)::text, 7, '0'),
         '+442079460018', t, t, t + 300000, t + 300500, 'stop', '{"crmCase":"' || n || '"}', '{}', '[]', '{}', 0,
         '{"duration":300}', case n % 100 when 0 then '{"seconds":1,"causes":[]}' end, 0, (n % 2)::int, 0,
         'agent customer', '{"role":"agent","text":"Goodbye."}', case n % 100 when 1 then '["Refund"]' end,
         (n * 104729) % 600000 + 1000, 1 from made order by n`,
      `insert into call_keys (call_id, kind, key)
       select 'call_' || id, 'number', reverse('1555' || lpad(((n * 7919) % 10000000)::text, 7, '0')) from made
       union all select 'call_' || id, 'number', '810064970244' from made
       union all select 'call_' || id, 'tag', 'refund' from made where n % 100 = 1`,
      `insert into legs (id, call_id, role, track, encoding, sample_rate, channels, offset_ms, started_at, state,
         session_id, received, acknowledged, gaps, paused, filler, reconnects)
       select 'leg_' || left(id, 25) || leg, 'call_' || id, case leg when 0 then 'customer' else 'agent' end, leg::text,
         'mulaw', 8000, 1, 0, t, 'done', ${session}, 2400000, 2400000, 0, 0, 0, 0
       from made, generate_series(0, 1) as leg order by n`,
      `insert into streams (id, call_id, carrier_stream_id, opened_at, closed_at, end_reason)
       select 'str_' || id, 'call_' || id, 'MZ' || n, t, t + 300000, 'stop' from made order by n`,
      `insert into leg_sessions (id, leg_id, call_id, offset_s, opened_at)
       select ${session}, 'leg_' || left(id, 25) || leg, 'call_' || id, 0, t
       from made, generate_series(0, 1) as leg order by n`,
      `insert into leg_results (leg_id, session_id, kind, key, call_id, role, start_s, end_s, text)
       select 'leg_' || left(id, 25) || leg, ${session}, 'call.transcript', turn::text, 'call_' || id,
         case leg when 0 then 'customer' else 'agent' end, turn * 30, turn * 30 + 5, 'Thank you for calling.'
       from made, generate_series(0, 1) as leg, generate_series(0, 3) as turn order by n`,
      `insert into call_statuses (id, carrier, carrier_call_id, received_at, status)
       select 'sta_' || left(id, 25) || step, case n % 3 when 0 then 'telnyx' else 'twilio' end, 'CA' || n,
         t + step * 1000, '{"CallStatus":"completed"}' from made, generate_series(0, 3) as step order by n`,
      `insert into erased_calls (digest, erased_at) select md5(n::text), t from made where n % 3 = 0`,
      `insert into erasures (session_id, requested_at, next_at, tries)
       select 'ses_' || n || 'gone', t, t + 60000000000, 1 from made where n % 500 = 0`,
      `insert into stream_tokens (digest, carrier, carrier_call_id, metadata, expires_at, used_at)
       select md5('token' || n), 'twilio', 'CA' || n, '{}', ${rows.untilMs} - n, t from made`,
      `insert into event_calls (call_id, last_sequence) select 'call_' || id, ${eventsPerCall} from made order by n`,
      `insert into lanes (endpoint, call_id, wakes, held_by_endpoint)
       select 'webhook', 'call_' || id, ${eventsPerCall}, 0 from made order by n`,
      `insert into speech_jobs (id, kind, node, token_digest, status, created_at, completed_at, custom_metadata,
         post_session_metadata, request_params, audio_duration, channels, result, zero_retention, callbacks_due)
       select ${session}, 'live', ${node}, md5(n || ' ' || leg), 'done', t, t + 300000, '{"n":1}', '{}', '{}',
         300, 1, '{}', 0, 0 from made, generate_series(0, 1) as leg order by n`,
      `insert into speech_files (id, node, created_at, filename, extension, size, audio_duration, channels, source)
       select ${file}, ${node}, t, 'call.wav', 'wav', 4800000, 300, 1, null from made where n % 5 = 0 order by n`,
      `insert into speech_jobs (id, kind, node, status, created_at, completed_at, custom_metadata, post_session_metadata,
         request_params, audio_duration, channels, result, zero_retention, callbacks_due, file_id, filename, attempts)
       select ${job}, 'pre-recorded', ${node}, 'done', t, t + 300000, '{"n":1}', '{}', '{}', 300, 1, '{}', 0, 0,
         ${file}, 'call.wav', 1 from made where n % 5 = 0 order by n`,
      `insert into speech_job_metadata (job_id, pair, kind, created_at)
       select id, left(md5('pair' || created_at % 100), 22), kind, created_at from speech_jobs`,
      `insert into speech_job_callbacks (id, job_id, target, event, created_at, attempts, parked_at)
       select 'cb_' || id, ${job}, 'request', 'transcription.success', t, 8, t from made where n % 50 = 0`,
      `insert into speech_usage (id, kind, created_at, completed_at, status, audio_duration)
       select id, kind, created_at, completed_at, 'done', 300 from speech_jobs`,
      `insert into objects (key, node, state, bytes, part_bytes, sha256, created_at)
       select 'recordings/leg_' || left(id, 25) || leg, ${node}, 'stored', 2400000, 8388608, md5(id), t
       from made, generate_series(0, 1) as leg where n % 2 = 1
       union all select 'sessions/' || ${session}, ${node}, 'stored', 2400000, 8388608, md5(id), t
       from made, generate_series(0, 1) as leg
       union all select 'files/' || ${file}, ${node}, 'stored', 2400000, 8388608, md5(id), t from made where n % 5 = 0`,
      `insert into events (id, call_id, sequence, type, occurred_at, speech_ended_at, body)
       select 'evt_' || left(id, 24) || lpad(s::text, 2, '0'), 'call_' || id, s + 1,
         case s when 0 then 'call.started' when ${eventsPerCall - 1} then 'call.completed' else 'call.transcript' end,
         t + s * 7500, t + s * 7500, '{"type":"call.transcript","data":{"text":"' || repeat('word ', 20) || '"}}'
       from made, generate_series(0, ${eventsPerCall - 1}) as s order by n, s`,
      `insert into deliveries (endpoint, event_id, call_id, sequence, type, state, attempts, first_attempt_at,
         last_attempt_at, settled_at, last_status, last_answer, history)
       select 'webhook', 'evt_' || left(id, 24) || lpad(s::text, 2, '0'), 'call_' || id, s + 1,
         'call.transcript', 'delivered', 1, t + s * 7500, t + s * 7500, t + s * 7500, 200, 'ok', '[]'
       from made, generate_series(0, ${eventsPerCall - 1}) as s order by n, s`,
    ],
  );
  await ask(databaseUrl, 'vacuum analyze');
}

async function ask(databaseUrl: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    options: '-c statement_timeout=0 -c auto_explain.log_min_duration=-1 -c jit=off',
  });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** One of each thing that the pages show, from the middle of the data. */
export async function namesInTheMiddle(
  databaseUrl: string,
): Promise<{ callId: string; number: string; eventId: string; jobId: string }> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ callId: string; number: string; jobId: string }>(
      `select calls.id as "callId", from_number as number, (select id from speech_jobs where kind = 'pre-recorded' limit 1) as "jobId"
         from calls order by calls.id offset (select count(*) / 2 from calls) limit 1`,
    );
    const [found] = rows;
    if (found === undefined) throw new Error('there are no calls');
    const events = await client.query<{ id: string }>(
      'select id from events where call_id = $1 order by sequence limit 1',
      [found.callId],
    );
    return { ...found, eventId: events.rows[0]?.id ?? '' };
  } finally {
    await client.end();
  }
}
