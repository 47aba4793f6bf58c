import { expect, test } from 'vitest';
import { startCrm } from '../../support/crm/crm.ts';
import { secret } from '../../support/crm/outbox.ts';
import { speak, testBridge } from '../../support/bridge/test-bridge.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech, type FakeSession } from '../../support/speech/fake-speech.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

function final({ id }: FakeSession, key: string, text: string): string {
  const utterance = { start: 0, end: 0.2, confidence: 1, channel: 0, language: 'en', text, words: [] }; // prettier-ignore
  const data = { id: key, is_final: true, utterance };
  const created_at = new Date().toISOString();
  return JSON.stringify({ session_id: id, created_at, type: 'transcript', data });
}

const flooding = 12;
const finalsOfEach = 400;

/** The time of one call's finals to the CRM, while other calls' finals come by the hundred. */
async function latenciesBesideFlood(
  databaseUrl?: string,
): Promise<{ alone: number[]; beside: number[] }> {
  await using crm = await startCrm([secret]);
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore(databaseUrl === undefined ? {} : { databaseUrl });
  const endpoints = [{ name: 'crm', url: crm.url, secrets: [secret], concurrency: 4 }];
  await using app = await testBridge({ store, speechUrl: speech.url, outbox: { endpoints } });
  const sessionOf = async (at: number): Promise<FakeSession> => {
    const { stream } = await app.open({ carrierCallId: `CA${at}`, streamId: `MZ${at}` });
    await speak(stream, 'inbound', seededAudio(1_600, at));
    const find = (): FakeSession | undefined => [...speech.sessions.values()].find(({ bytes, request }) => bytes.length === 1_600 && (request['custom_metadata'] as { carrier_call_id?: string }).carrier_call_id === `CA${at}`); // prettier-ignore
    return until(find);
  };
  const quiet = await sessionOf(0);
  const loud: FakeSession[] = [];
  for (let at = 1; at <= flooding; at++) loud.push(await sessionOf(at));
  const arrivedMs = new Map<string, number>();
  crm.behave = ({ event }) => {
    const text = (event['data'] as { text?: string } | undefined)?.text;
    if (text !== undefined) arrivedMs.set(text, performance.now());
    return 200;
  };
  const say = async (text: string): Promise<number> => {
    const saidMs = performance.now();
    quiet.socket?.send(final(quiet, text, text));
    return (await until(() => arrivedMs.get(text), 60_000)) - saidMs;
  };
  const alone: number[] = [];
  for (let word = 0; word < 10; word++) alone.push(await say(`alone ${word}`));
  for (const session of loud)
    for (let at = 0; at < finalsOfEach; at++)
      session.socket?.send(final(session, `key ${at}`, `${session.id} ${at}`));
  const beside: number[] = [];
  const expected = flooding * finalsOfEach;
  const told = (): number => arrivedMs.size - alone.length - beside.length;
  while (told() < expected) beside.push(await say(`beside ${beside.length}`));
  return { alone, beside };
}

const median = (values: number[]): number => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN; // prettier-ignore

/** Said one after the other, however fast the machine is: with turns of whole backlogs they are nine, with fair ones sixty. */
function expectFair({ alone, beside }: { alone: number[]; beside: number[] }): void {
  console.log(
    `alone ${median(alone).toFixed(0)} ms; beside ${flooding * finalsOfEach} finals: ${beside.length} said, ` +
      `median ${median(beside).toFixed(0)} ms, longest ${Math.max(...beside).toFixed(0)} ms`,
  );
  expect(beside.length).toBeGreaterThan(25);
}

test('finals by the hundred, of many calls at once, do not hold up those of another call', async () => {
  expectFair(await latenciesBesideFlood());
}, 120_000);

test.skipIf(postgresMissing !== undefined)(
  'on Postgres too, finals by the hundred do not hold up those of another call',
  async () => {
    await using postgres = await startPostgres();
    expectFair(await latenciesBesideFlood(await postgres.newDatabase()));
  },
  120_000,
);
