import { expect, test } from 'vitest';
import { OutboxTables } from '../../../src/outbox/tables.ts';
import { speak, testBridge } from '../../support/bridge/test-bridge.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

async function purgedWhileAndAfter(databaseUrl?: string): Promise<void> {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore(databaseUrl === undefined ? {} : { databaseUrl });
  await using app = await testBridge({ store, speechUrl: speech.url });
  const tables = new OutboxTables(store);
  // As with a retention of no days at all, some time after the events.
  const purge = async (): Promise<number> =>
    (await tables.upkeep.purge((await tables.time.now()) + 60_000, true, 1_000)).removed;
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(16_000, 1));
  const typesOf = async (): Promise<string[]> => (await app.events(stream.callId)).map(({ type }) => type); // prettier-ignore
  const told = await until(async () => {
    const types = await typesOf();
    return types.includes('call.transcript') && types;
  });
  expect(await purge()).toBe(0);
  expect((await typesOf()).slice(0, told.length)).toEqual(told);
  stream.end('stop');
  await app.ended(stream.callId);
  await until(() => app.bridge.calls.get(stream.callId) === undefined);
  expect(await purge()).toBeGreaterThan(told.length);
  expect(await typesOf()).toEqual([]);
}

test('a retention of no days takes no event of a call that goes on, and all of one that has ended', async () => {
  await purgedWhileAndAfter();
}, 30_000);

test.skipIf(postgresMissing !== undefined)(
  'on Postgres too, a retention of no days takes no event of a call that goes on',
  async () => {
    await using postgres = await startPostgres();
    await purgedWhileAndAfter(await postgres.newDatabase());
  },
  60_000,
);
