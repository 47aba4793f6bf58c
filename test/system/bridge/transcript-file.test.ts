import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { transcriptFormats, transcriptText } from '../../../src/bridge/api/call-transcript.ts';
import { newId } from '../../../src/lib/ids.ts';
import { openStore } from '../../../src/store/store.ts';
import { startApp } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { callRow, finalRows } from '../../support/store/call-row.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryFolder } from '../../support/store/store.ts';

type StoredAt = { dataDir: string; databaseUrl?: string };

async function storedCall(at: StoredAt, turns: number, text: string): Promise<string> {
  await using store = await openStore({ ballastBytes: 0, lowWaterBytes: 0, ...at });
  const startedAt = Date.UTC(2026, 0, 1);
  const id = newId('call', startedAt);
  await store.transaction(async (tx) => {
    await tx.insertInto('calls').values(callRow(id, startedAt)).execute();
    const lines = Array.from({ length: turns }, (_, on) => [on % 3 === 0 ? 'agent' : 'customer', `${text} n${on}x`] as const); // prettier-ignore
    for (let from = 0; from < turns; from += 500)
      await tx
        .insertInto('leg_results')
        // Some turns begin and end at once.
        .values(
          finalRows(id, lines)
            .slice(from, from + 500)
            .map((row, on) => ({
              ...row,
              start_s: Math.floor((from + on) / 2) * 5,
              end_s: Math.floor((from + on) / 2) * 5 + 4,
            })),
        ) // prettier-ignore
        .execute();
  });
  return id;
}

test.each(['SQLite', 'Postgres'])(
  'a transcript of many pages leaves whole, in every format, on %s',
  { timeout: 60_000 },
  async (kind) => {
    if (kind === 'Postgres' && postgresMissing !== undefined) return;
    await using opened = new AsyncDisposableStack();
    const { path: dataDir } = opened.use(await temporaryFolder());
    const databaseUrl =
      kind === 'SQLite' ? undefined : await opened.use(await startPostgres()).newDatabase();
    const at = { dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) };
    const id = await storedCall(at, 1_501, 'let me look');
    await using app = await startApp({ dataDir, env: databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl } }); // prettier-ignore
    const { transcript } = (await (await app.get(`/api/calls/${id}`)).json()) as { transcript: { text: string; start: number; role: 'agent' }[] }; // prettier-ignore
    const textsOf = (text: string): string[] => text.match(/n\d+x/g)?.toSorted() ?? [];
    for (const format of transcriptFormats) {
      const answer = await app.get(`/api/calls/${id}/transcript?format=${format}`);
      const text = await answer.text();
      const whole = transcriptText({ id, state: 'ended', transcript: transcript as never }, format);
      expect([format, answer.status, text.length]).toEqual([format, 200, whole.length]);
      expect(textsOf(text)).toEqual(textsOf(whole));
      expect(textsOf(text)).toHaveLength(1_501);
    }
    expect((await app.get('/api/calls/call_unknown/transcript')).status).toBe(404);
  },
);

test('a reader that hangs is ended, and holds up no other; a transcript that is erased meanwhile is cut', async () => {
  await using folder = await temporaryFolder();
  const id = await storedCall({ dataDir: folder.path }, 6_000, 'hm'.repeat(1_600));
  await using app = await startApp({ dataDir: folder.path });
  const path = `/api/calls/${id}/transcript?format=txt`;
  const port = Number(new URL(app.url).port);
  const hanging = await Promise.all(Array.from({ length: 4 }, () => silentReader(port, path)));
  const whole = await (await app.get(path)).text();
  expect(whole.match(/\n/g)).toHaveLength(6_000);
  const ended = /connections_ended_total\{reason="unread"\} (\d+)/;
  const endedUntil = async (): Promise<boolean> =>
    Number(ended.exec(await (await app.get('/metrics')).text())?.[1]) >= hanging.length;
  await until(endedUntil, 60_000);
  for (const socket of hanging) socket.destroy();

  // Most of it is still in the database when the call is erased: so it never was in memory.
  const reader: ReadableStreamDefaultReader<Uint8Array> = (await app.get(path)).body!.getReader();
  let read = (await reader.read()).value?.length ?? 0;
  expect((await app.get(`/api/calls/${id}`, { method: 'DELETE' })).status).toBe(204);
  const rest = async (): Promise<void> => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      read += value.length;
    }
  };
  await expect(rest()).rejects.toThrow();
  expect(read).toBeLessThan(whole.length / 2);
}, 120_000);

async function silentReader(port: number, path: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.pause().on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await once(socket, 'connect');
  return socket;
}
