import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  callAt,
  endedCallAt,
  eventsAt,
  expectToldOnce,
  fleetOf,
  nodesSeenBy,
} from '../../support/bridge/fleet.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import type { App } from '../../support/process/app.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { wordsOf } from '../../support/speech/fake-speech.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import { bytesOf, filesBelow } from '../../support/process/files-below.ts';

let postgres: TestPostgres | undefined;
beforeAll(async () => {
  if (postgresMissing === undefined) postgres = await startPostgres();
});
afterAll(() => postgres?.[Symbol.asyncDispose]());

test.skipIf(postgresMissing !== undefined)(
  'a node that is killed, with its disk gone: another ends its call, with the words that were heard and a gap',
  async () => {
    await using fleet = await fleetOf(2, postgres);
    const [lost, left] = fleet.nodes as [App, App];
    // Shorter than the silence after which a node is lost: what comes after it is not known.
    const audio = seededAudio(8_000, 1);
    const { say } = await callAt(lost);
    say(audio);
    await until(async () => (await newestCall(left))?.transcript.length === 1);
    await until(async () => (await nodesSeenBy(left)).length === 2);
    const killedMs = Date.now();
    await lost.end('SIGKILL');
    await rm(lost.dataDir, { recursive: true, force: true });
    const { call, events } = await endedCallAt(left);
    expectToldOnce(events);
    expect(call.transcript.map(({ text }: AnyJson) => text)).toEqual(wordsOf(audio));
    const { ledger } = call.legs[0];
    // Every byte that anybody still knows of.
    expect(ledger).toMatchObject({ received: 8_000, acknowledged: 8_000, gaps: 0, paused: 0 });
    // No stream came back: what it may have heard until the other had the call is told as well. It is a second gap if the
    // node lived for longer than its audio.
    const gaps = events.filter(({ type }) => type === 'call.gap').map(({ data }) => data);
    for (const gap of gaps) expect(gap).toMatchObject({ cause: 'node', bytes: 0 });
    expect(gaps.at(-1)?.end).toBeGreaterThan((killedMs - Date.parse(call.started_at)) / 1_000 + 1);
    const warnings = events.filter(({ type }) => type === 'call.warning');
    expect(warnings.map(({ data }) => data.code)).toEqual(['NODE_LOST', 'RECORDING_LACKS']);
    expect(warnings[1].data.message).toContain('1.0 s of a recording');
    const nodes = await nodesSeenBy(left);
    expect(nodes.map(({ self, state }) => [self, state]).toSorted()).toEqual([
      [false, 'lost'],
      [true, 'here'],
    ]);
  },
  120_000,
);

test.skipIf(postgresMissing !== undefined).each(['at once', 'later'])(
  'the stream of a killed node comes back at another %s: the call goes on in the same record, the hole is a gap',
  async (when) => {
    await using fleet = await fleetOf(2, postgres, {
      TRUNKLINE_REJOIN_WAIT_MS: '20000',
    });
    const [lost, left] = fleet.nodes as [App, App];
    const [first, second] = [seededAudio(8_000, 1), seededAudio(16_000, 2)];
    const before = await callAt(lost);
    before.say(first);
    await until(async () => (await newestCall(left))?.transcript.length === 1);
    await lost.end('SIGKILL');
    await rm(lost.dataDir, { recursive: true, force: true });
    // At once the other node does not know yet that the first is gone, and the audio waits.
    const isLost = async () => (await nodesSeenBy(left)).some(({ state }) => state === 'lost');
    if (when === 'later') await until(isLost);
    const after = await callAt(left, 'MZ2');
    after.say(second);
    await until(async () => (await newestCall(left))?.transcript.length >= 3);
    after.client.send(twilioStop);
    const { call, events } = await endedCallAt(left);
    expectToldOnce(events);
    expect(((await (await left.get('/api/calls')).json()) as AnyJson).items).toHaveLength(1);
    expect(call.legs[0].ledger).toMatchObject({ received: 24_000, acknowledged: 24_000, gaps: 0 });
    expect(call.transcript[0].text).toBe(wordsOf(first)[0]);
    // The next session hears silence for the hole, so that the times are true, and all of the hole is said.
    const [, next] = [...fleet.speech.sessions.values()];
    const heard = next?.bytes ?? Buffer.alloc(0);
    expect(heard.subarray(-second.length).equals(second)).toBe(true);
    const gaps = events.filter(({ type }) => type === 'call.gap').map(({ data }) => data.duration);
    const { short_gaps: short } = events.find(({ type }) => type === 'call.ended')?.data ?? {};
    const hole = (heard.length - second.length) / 8_000;
    expect(gaps.reduce((sum: number, one: number) => sum + one, short.seconds)).toBeCloseTo(
      hole,
      1,
    );
    if (when === 'later') expect(hole).toBeGreaterThan(0);
  },
  120_000,
);

test.skipIf(postgresMissing !== undefined)(
  'a node that stood still for longer than its lease writes, sends and takes nothing more of its call',
  async () => {
    await using fleet = await fleetOf(2, postgres);
    const [paused, left] = fleet.nodes as [App, App];
    const audio = seededAudio(24_000, 1);
    const { client, say } = await callAt(paused);
    say(audio);
    await until(async () => (await newestCall(left))?.transcript.length === 3);
    paused.process.kill('SIGSTOP');
    const { call, events } = await endedCallAt(left);
    // Audio that the carrier sends now waits in the socket of the process that stands still.
    say(seededAudio(16_000, 2));
    client.send(twilioStop);
    paused.process.kill('SIGCONT');
    await until(() => paused.lines.some((line) => line.includes('another node took this call')));
    await until(async () => (await nodesSeenBy(left)).every(({ state }) => state === 'here'));
    expectToldOnce(events);
    expect(await eventsAt(left, call.id)).toEqual(events);
    expect(await newestCall(left)).toEqual(call);
    // It goes on as a node: a call of its own is taken.
    const again = await callAt(paused, 'MZ9');
    again.say(seededAudio(8_000, 3));
    await until(async () => (await newestCall(left))?.id !== call.id);
    const next = await newestCall(left);
    expect(next.continues).toBe(call.id);
  },
  120_000,
);

test.skipIf(postgresMissing !== undefined)(
  'a recording that was to be read again is lost with its node: the call says so, instead of waiting for ever',
  async () => {
    await using fleet = await fleetOf(2, postgres, {
      TRUNKLINE_RECORDING: 'on',
      TRUNKLINE_SECOND_PASS: 'on',
      TRUNKLINE_SECOND_PASS_WITHIN_MS: '4000',
    });
    // The service takes no recording before the node is gone.
    fleet.speech.recordings.script.upload = () => ({ status: 503 });
    const [lost, left] = fleet.nodes as [App, App];
    const { client, say } = await callAt(lost);
    say(seededAudio(16_000, 1));
    await until(async () => (await newestCall(lost))?.transcript.length === 2);
    client.send(twilioStop);
    const { call } = await endedCallAt(lost);
    await lost.end('SIGKILL');
    const told = await until(async () =>
      (await eventsAt(left, call.id)).find(
        ({ type, data }) => type === 'call.warning' && data.code === 'NO_SECOND_PASS',
      ),
    );
    expect(told.data.message).toContain('the disk of a node that is lost');
    expect((await eventsAt(left, call.id)).at(-1)).toEqual(told);
  },
  120_000,
);

test.skipIf(postgresMissing !== undefined)(
  'a call is erased while the node that had it is away: its disk comes back without the audio',
  async () => {
    await using fleet = await fleetOf(2, postgres, { TRUNKLINE_RECORDING: 'on' });
    const [lost, left] = fleet.nodes as [App, App];
    const audio = seededAudio(24_000, 1);
    const { say } = await callAt(lost);
    say(audio);
    await until(async () => (await newestCall(left))?.transcript.length === 3);
    await until(async () => (await nodesSeenBy(left)).length === 2);
    await lost.end('SIGKILL');
    const { call } = await endedCallAt(left);
    expect((await left.get(`/api/calls/${call.id}`, { method: 'DELETE' })).status).toBe(204);
    const journal = join(lost.dataDir, 'journal');
    const hasAudio = async (): Promise<boolean> => {
      for (const path of await filesBelow(journal)) {
        const bytes = await bytesOf(path);
        for (let at = 0; at < audio.length; at += 160)
          if (bytes.includes(audio.subarray(at, at + 160))) return true;
      }
      return false;
    };
    expect(await hasAudio()).toBe(true);
    const back = await fleet.restart(0);
    await until(async () => !(await hasAudio()));
    expect((await back.get(`/api/calls/${call.id}`)).status).toBe(404);
  },
  120_000,
);
