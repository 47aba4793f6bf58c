import { afterAll, beforeAll, expect, test } from 'vitest';
import { linearToMulaw } from '../../../src/audio/g711.ts';
import { callAt, endedCallAt, expectToldOnce, fleetOf, nodesSeenBy } from '../../support/bridge/fleet.ts'; // prettier-ignore
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import type { App } from '../../support/process/app.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { until } from '../../support/process/until.ts';
import { tones } from '../../support/recognition/fixture-model.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';

let postgres: TestPostgres | undefined;
beforeAll(async () => {
  if (postgresMissing === undefined) postgres = await startPostgres();
});
afterAll(() => postgres?.[Symbol.asyncDispose]());

/** A bridge without a speech service of its own, and two nodes that are nothing else. */
const apart = (at: number): Record<string, string> => ({
  TRUNKLINE_ROLES: at === 0 ? 'bridge,console' : 'speech',
  TRUNKLINE_SPEECH_URL: '',
});

const said = (words: string): Buffer =>
  Buffer.from(Array.from(tones(words, { tailS: 1.5 }), linearToMulaw));
const textOf = (call: AnyJson): string =>
  call.transcript.map(({ text }: AnyJson) => text).join(' ').toLowerCase(); // prettier-ignore

test.skipIf(postgresMissing !== undefined)(
  'a bridge finds speech nodes by the database; one is killed in a call, and the other goes on with the rest',
  async () => {
    await using fleet = await fleetOf(3, postgres, apart);
    const [bridge, ...speech] = fleet.nodes as [App, App, App];
    await until(async () => {
      const there = (await nodesSeenBy(bridge)).filter(({ speech: load }) => load?.capacity > 0);
      return there.length === 2;
    });
    const { client, say } = await callAt(bridge);
    say(said('my card is lost'));
    await until(async () => textOf((await newestCall(bridge)) ?? { transcript: [] }) !== '');
    const used = await until(async () =>
      (await nodesSeenBy(bridge)).find(({ speech: load }) => load?.used > 0),
    );
    const numbers = await Promise.all(speech.map(async (app) => (await nodesSeenBy(app)).find(({ self }) => self).id)); // prettier-ignore
    await speech[numbers.indexOf(used.id)]?.end('SIGKILL');
    say(said('hello please'));
    await until(async () => /please/.test(textOf(await newestCall(bridge))));
    client.send(twilioStop);
    const { call, events } = await endedCallAt(bridge);
    expectToldOnce(events);
    expect(textOf(call)).toBe('my card is lost hello please');
    const { acknowledged, received } = call.legs[0].ledger as Record<string, number>;
    expect(acknowledged).toBe(received);
  },
  120_000,
);
