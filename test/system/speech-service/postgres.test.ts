import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Recogniser } from '../../../src/speech-service/recognition/recogniser.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import {
  connect,
  fixtureRecogniser,
  mulawOf,
  startTestService,
  telephony,
} from '../../support/speech/speech-service.ts';
import { temporaryStore } from '../../support/store/store.ts';

let recogniser: Recogniser;
let postgres: TestPostgres;
beforeAll(async () => {
  if (postgresMissing) return;
  [recogniser, postgres] = await Promise.all([fixtureRecogniser(), startPostgres()]);
}, 60_000);
afterAll(async () => {
  if (postgresMissing) return;
  await recogniser[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

test.skipIf(postgresMissing)(
  `the rows of live sessions on Postgres: life, list, metadata, restart, delete${postgresMissing ? ` (${postgresMissing})` : ''}`,
  async () => {
    await using store = await temporaryStore({ databaseUrl: await postgres.newDatabase() });
    expect(store.kind).toBe('postgres');
    const first = await startTestService({ recogniser, store });
    const ids: string[] = [];
    for (const number of [1, 2, 3]) {
      const { id, url } = await first.post({ ...telephony, custom_metadata: { number, of: 'pg' } });
      ids.push(id);
      const client = await connect(url);
      client.send(mulawOf('hello'));
      client.stop();
      expect((await client.closed).code).toBe(1000);
      expect(await first.ended(id)).toMatchObject({
        status: 'done',
        error_code: null,
        custom_metadata: { number, of: 'pg' },
        result: { transcription: { full_transcript: 'hello' } },
      });
    }
    const list = async (query: string): Promise<string[]> =>
      (
        (await (await first.http(`/v2/live?${query}`)).json()) as { items: { id: string }[] }
      ).items.map((item) => item.id);
    expect(await list('status=done&limit=2')).toEqual(ids.toReversed().slice(0, 2));
    expect(await list('custom_metadata[number]=2')).toEqual([ids[1]]);
    expect(await list(`before_date=2001-01-01T00:00:00Z`)).toEqual([]);
    const [, , last = ''] = ids;
    const patched = await first.http(`/v2/live/${last}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ post_session_metadata: { note: 'ü' } }),
    });
    expect(patched.status).toBe(204);
    expect((await first.job(last)).post_session_metadata).toEqual({ note: 'ü' });

    const open = await first.post();
    const talker = await connect(open.url);
    talker.send(mulawOf('my card'));
    await talker.until('transcript');
    expect((await first.http(`/v2/live/${open.id}`, { method: 'DELETE' })).status).toBe(403);
    await first[Symbol.asyncDispose]();
    await using second = await startTestService({ recogniser, store, config: { abandonedS: 0.2 } });
    expect(await second.ended(open.id)).toMatchObject({
      status: 'done',
      result: { transcription: { full_transcript: 'my card' } },
    });
    expect((await second.http(`/v2/live/${open.id}`, { method: 'DELETE' })).status).toBe(202);
    expect((await second.http(`/v2/live/${open.id}`)).status).toBe(404);
  },
  60_000,
);
