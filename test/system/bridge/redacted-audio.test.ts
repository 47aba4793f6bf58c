import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LegSnapshot } from '../../../src/bridge/records/leg-snapshot.ts';
import { openJournal, type Journal } from '../../../src/bridge/journal/journal.ts';
import { Recordings } from '../../../src/bridge/recordings/recordings.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Store } from '../../../src/store/store.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { startCall } from '../../support/bridge/spoken-call.ts';
import { silentLog } from '../../support/recognition/recogniser.ts';
import { storeCalls } from '../../support/store/many-calls.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';
import { bytesOf, filesBelow } from '../../support/process/files-below.ts';

const secretsOnly = { redactEntities: ['PCI', 'SSN'] };
const bytesPerSecond = 8_000;

/** The names of all files below the folder that have a tenth of a second of this audio, wherever in them it stands. */
async function filesWith(folder: string, audio: Buffer): Promise<string[]> {
  const found: string[] = [];
  for (const path of await filesBelow(folder)) {
    const bytes = await bytesOf(path);
    for (let at = 0; at + 800 <= audio.length; at += 800)
      if (bytes.includes(audio.subarray(at, at + 800))) {
        found.push(path);
        break;
      }
  }
  return found;
}

test('no file of the data folder has the sound of a redacted number once its call is finished', async () => {
  const audio = { customer: seededAudio(240_000, 1), agent: seededAudio(240_000, 2) };
  await using call = await startCall(secretsOnly, {}, audio);
  const secret = (leg: Buffer) => leg.subarray(3 * bytesPerSecond, 4.6 * bytesPerSecond);
  expect(await filesWith(call.dataDir, secret(audio.customer))).not.toEqual([]);
  await call.say('agent', 'What is the card number?', 1);
  await call.say('customer', 'four two four two four two four two four two four two four two four two', 3); // prettier-ignore
  await call.say('agent', 'Thank you.', 6);
  await call.end();
  for (const leg of [audio.customer, audio.agent])
    await until(async () => (await filesWith(call.dataDir, secret(leg))).length === 0);
  // The rest of both legs is kept, up to the margin of the tone.
  for (const leg of [audio.customer, audio.agent])
    for (const [from, to] of [
      [0, 2.7],
      [4.9, 29],
    ] as const)
      // prettier-ignore
      expect(
        await filesWith(call.dataDir, leg.subarray(from * bytesPerSecond, to * bytesPerSecond)),
      ).toHaveLength(1);
  const loudness = await call.loudness();
  expect(loudness(3.5).every((channel) => channel > 2_900 && channel < 3_100)).toBe(true);
});

test('what no service heard of a redacted call has a tone in all that can be played, and stays on the disk to be read again', async () => {
  const audio = { customer: seededAudio(240_000, 5), agent: seededAudio(240_000, 6) };
  await using call = await startCall(secretsOnly, {}, audio);
  await call.say('customer', 'it was forty two dollars', 3);
  const { id, legs } = await call.json();
  const gap = { call_id: id, leg_id: legs[0].id, session_id: 'session', kind: 'call.gap', role: 'customer' } as const; // prettier-ignore
  await call.store.db
    .insertInto('leg_results')
    .values([
      { ...gap, key: 'deadline:1', start_s: 8, end_s: 10, text: '' },
      { ...gap, key: 'carrier:1', start_s: 14, end_s: 15, text: '' },
    ])
    .execute();
  await call.end();
  const loudness = await call.loudness();
  const isTone = (second: number) => loudness(second).every((channel) => channel > 2_900 && channel < 3_100); // prettier-ignore
  expect([3, 8.1, 9.8, 14.5].map(isTone)).toEqual([false, true, true, false]);
  const unheard = audio.customer.subarray(8 * bytesPerSecond, 10 * bytesPerSecond);
  expect(await filesWith(join(call.dataDir, 'journal', 'legs'), unheard)).toHaveLength(1);
});

test('a call without redacted words keeps its audio as it came', async () => {
  const audio = { customer: seededAudio(240_000, 3), agent: seededAudio(240_000, 4) };
  await using call = await startCall(secretsOnly, {}, audio);
  await call.say('customer', 'it was forty two dollars', 3);
  await call.end();
  for (const leg of [audio.customer, audio.agent])
    expect(await filesWith(join(call.dataDir, 'journal', 'legs'), leg.subarray(24_000, 40_000))).toHaveLength(1); // prettier-ignore
});

/** A leg of a call with its audio on this disk, of which the second after the first is to be covered. */
async function openLeg(store: Store, journal: Journal, callId: string, audio: Buffer) {
  const legId = `leg${callId}`;
  await store.db
    .insertInto('leg_results')
    .values({
      leg_id: legId,
      session_id: 'session',
      kind: 'hidden',
      key: '0',
      call_id: callId,
      role: 'customer',
      start_s: 1,
      end_s: 2,
      text: JSON.stringify([{ start: 1, end: 2 }]),
    })
    .execute();
  const { store: leg, entry } = journal.openLeg({
    legId,
    recording: true,
    silence: 0xff,
    bytesPerSecond,
    position: { settled: 0, end: 0 },
    log: silentLog,
    snapshot: () => ({ ledger: { end: audio.length } }) as LegSnapshot,
    onWritten: () => undefined,
    onLost: () => undefined,
  });
  leg.audio(audio);
  await leg.spillAll();
  return entry;
}

const secretOf = (audio: Buffer) => audio.subarray(1.2 * bytesPerSecond, 1.8 * bytesPerSecond);

test('a leg that is still open when its call is covered is covered by the next look', async () => {
  await using store = await temporaryStore();
  await using journal = await openJournal({ dir: join(store.dataDir, 'journal'), clock: systemClock, log: silentLog }); // prettier-ignore
  const recordings = new Recordings({ store, journal, node: 'node-1', clock: systemClock, log: silentLog, objects: undefined }); // prettier-ignore
  const [call] = await storeCalls(store, 1);
  const callId = call?.id ?? '';
  const audio = seededAudio(4 * bytesPerSecond, 5);
  const entry = await openLeg(store, journal, callId, audio);
  await recordings.cover(callId);
  const legs = join(store.dataDir, 'journal', 'legs');
  expect(await filesWith(legs, secretOf(audio))).toHaveLength(1);
  await journal.finish(entry);
  await using watch = recordings.watchErased();
  await watch.look();
  expect(await filesWith(legs, secretOf(audio))).toEqual([]);
  expect(await filesWith(legs, audio.subarray(2.5 * bytesPerSecond))).toHaveLength(1);
});

test('a recording that cannot be covered keeps no other one uncovered', async () => {
  await using store = await temporaryStore();
  await using journal = await openJournal({ dir: join(store.dataDir, 'journal'), clock: systemClock, log: silentLog }); // prettier-ignore
  const recordings = new Recordings({ store, journal, node: 'node-1', clock: systemClock, log: silentLog, objects: undefined }); // prettier-ignore
  const calls = await storeCalls(store, 3);
  const audios = [5, 6, 7].map((seed) => seededAudio(4 * bytesPerSecond, seed));
  for (const [at, { id }] of calls.entries())
    await journal.finish(await openLeg(store, journal, id, audios[at]!));
  const legs = join(store.dataDir, 'journal', 'legs');
  const [damaged] = await filesWith(legs, secretOf(audios[0]!));
  await rm(damaged!);
  await mkdir(damaged!); // whatever is there cannot be written to
  await using watch = recordings.watchErased();
  await watch.look();
  for (const audio of audios.slice(1)) {
    expect(await filesWith(legs, secretOf(audio))).toEqual([]);
    expect(await filesWith(legs, audio.subarray(2.5 * bytesPerSecond))).toHaveLength(1);
  }
});
