import pg from 'pg';
import { expect, test } from 'vitest';
import { migrations } from '../../../src/store/migrations.ts';
import { callAt, eventsAt, expectToldOnce, fleetOf } from '../../support/bridge/fleet.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import type { App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { versionBefore, versionBeforeMissing } from '../../support/process/version-before.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { wordsOf } from '../../support/speech/fake-speech.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';

/** The call of that carrier's id, wherever it is, asked of this node. */
async function callOf(node: App, callSid: string): Promise<AnyJson> {
  const { items } = (await (await node.get(`/api/calls?carrier_call_id=${callSid}`)).json()) as AnyJson; // prettier-ignore
  return items[0] && (await (await node.get(`/api/calls/${items[0].id}`)).json());
}

test.skipIf(postgresMissing !== undefined || versionBeforeMissing !== undefined)(
  'the version before and this one share a database: calls at both, and each takes over what the other leaves behind',
  async () => {
    await using before = versionBefore();
    await using postgres: TestPostgres = await startPostgres();
    await using fleet = await fleetOf(0, postgres);
    // A call that says nothing more goes on as silence.
    Object.assign(fleet.speech.script, { silenceHasNoWords: true });
    const audio = seededAudio(24_000, 1);
    const begin = async (node: App, callSid: string) => {
      const call = await callAt(node, `MZ${callSid}`, { callSid });
      call.say(audio);
      await until(async () => (await callOf(node, callSid))?.transcript.length === 3);
      return call;
    };
    const expectWhole = async (node: App, callSid: string): Promise<void> => {
      const { id } = await callOf(node, callSid);
      const events = await until(async () => {
        const told = await eventsAt(node, id);
        return told.some(({ type }) => type === 'call.completed') && told;
      }, 60_000);
      expectToldOnce(events);
      const call = await callOf(node, callSid);
      expect(call.transcript.map(({ text }: AnyJson) => text)).toEqual(wordsOf(audio));
      expect(call.legs[0].ledger).toMatchObject({
        received: 24_000,
        acknowledged: 24_000,
        gaps: 0,
      });
    };

    // The older one is there first, with a call; the newer one changes the schema under it.
    const older = await fleet.add({ program: before.folder });
    await begin(older, 'CA1');
    const newer = await fleet.add();
    const client = new pg.Client({ connectionString: fleet.databaseUrl });
    await client.connect();
    const { rows } = await client.query('select max(version) as version from schema_version');
    await client.end();
    expect(before.knows).toBeLessThan(migrations.length);
    expect(rows).toEqual([{ version: migrations.length }]);
    // Calls begin and end at both, and each answers for the other's.
    const [second, third] = await Promise.all([begin(older, 'CA2'), begin(newer, 'CA3')]);
    second.client.send(twilioStop);
    third.client.send(twilioStop);
    await Promise.all([expectWhole(newer, 'CA2'), expectWhole(older, 'CA3')]);

    // The older one dies with its first call: the newer one has it.
    await older.end('SIGKILL');
    await expectWhole(newer, 'CA1');

    // An older one starts on the newer schema, and takes over in its turn.
    const again = await fleet.add({ program: before.folder, dataDir: older.dataDir });
    await begin(newer, 'CA4');
    await newer.end('SIGKILL');
    await expectWhole(again, 'CA4');
  },
  180_000,
);
