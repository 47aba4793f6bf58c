import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { speak, testBridge, type AnyJson } from '../../support/bridge/test-bridge.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech, wordsOf } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

test('a process that stops under a call leaves it to the next one, and the stream goes on in the same record', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const config = { rejoinWaitMs: 30_000 };
  const [first, second] = [seededAudio(16_000, 1), seededAudio(16_000, 2)];
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url, config });
    const { stream } = await app.open();
    callId = stream.callId;
    await speak(stream, 'inbound', first);
    await until(() => [...speech.sessions.values()][0]?.bytes.length === first.length);
    stream.end('drain');
  }
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  expect((await app.callOf()).state).toBe('live');
  const { stream } = await app.open({ streamId: 'MZ2' });
  expect(stream.callId).toBe(callId);
  await speak(stream, 'inbound', second);
  stream.end('stop');
  const ended = await app.ended(callId);
  expect(speech.posts.length).toBe(1);
  expect(ended.data.legs[0].ledger).toMatchObject({
    received: 32_000,
    acknowledged: 32_000,
    gaps: 0,
    paused: 0,
  });
  const said = (await app.callOf()).transcript.map((turn: AnyJson) => turn.text);
  expect(said.slice(0, 2)).toEqual(wordsOf(first));
});

test('after a restart a call whose stream stays away ends by itself, with every word', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const audio = seededAudio(40_000, 3);
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url });
    const { stream } = await app.open();
    callId = stream.callId;
    await speak(stream, 'inbound', audio);
  }
  // The process was away for an hour.
  await store.transaction(async (tx) => {
    await tx
      .updateTable('calls')
      .set((eb) => ({
        started_at: eb('started_at', '-', 3_600_000),
        zero_at: eb('zero_at', '-', 3_600_000),
      }))
      .execute();
  });
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { rejoinWaitMs: 200 },
  });
  const ended = await app.ended(callId);
  expect(ended.data.reason).toBe('restart');
  // The hour is neither talk nor dead air: nobody knows when the phone call ended.
  expect(ended.data).toMatchObject({ duration: 5, dead_air: { total: 0 } });
  expect(Date.parse(ended.data.hung_up_at) - Date.parse(ended.call.started_at)).toBe(5_000);
  expect((await app.callOf()).transcript.map((turn: AnyJson) => turn.text)).toEqual(wordsOf(audio));
  const events = await app.events(callId);
  expect(events.filter((event) => event.type === 'call.ended')).toHaveLength(1);
});

test('audio that the disk damaged while the process was away is told as a gap, once over all starts', async () => {
  await using speech = await FakeSpeech.start();
  speech.script.create = () => ({ status: 503 });
  await using store = await temporaryStore();
  const audio = seededAudio(40_000, 5);
  // A leg that is recorded moves its audio on into its own file, where it would be found.
  const recording = 'off';
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url, config: { recording } });
    const { stream } = await app.open();
    callId = stream.callId;
    await speak(stream, 'inbound', audio);
  }
  const folder = join(store.dataDir, 'journal', 'wal');
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name));
    const at = bytes.indexOf(audio.subarray(39_680, 39_840));
    if (at < 0) continue;
    bytes[at] = bytes[at]! ^ 4;
    writeFileSync(join(folder, name), bytes);
  }
  const config = { recording, rejoinWaitMs: 30_000 } as const;
  {
    await using app = await testBridge({ store, speechUrl: speech.url, config });
    expect((await app.callOf()).state).toBe('live');
  }
  delete speech.script.create;
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { recording, rejoinWaitMs: 200 },
  });
  const ended = await app.ended(callId);
  const ledger = ended.data.legs[0].ledger as { acknowledged: number; gaps: number };
  expect(ledger.gaps).toBeGreaterThan(0);
  expect(ledger.acknowledged + ledger.gaps).toBe(audio.length);
  const gaps = (await app.events(callId)).filter((event) => event.type === 'call.gap');
  expect(gaps.map((event) => event.data)).toMatchObject([
    { cause: 'damaged', bytes: ledger.gaps, detail: 'the journal was damaged here' },
  ]);
  expect((await app.callOf()).counts).not.toHaveProperty('bug');
});

test('a summary that is owed when the process stops is made by the next one, once', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url });
    const { stream } = await app.open();
    callId = stream.callId;
    await speak(stream, 'inbound', seededAudio(16_000, 4));
    stream.end('stop');
    await app.ended(callId);
  }
  await store.transaction(async (tx) => {
    await tx.deleteFrom('events').where('type', 'in', ['call.summary', 'call.completed']).execute();
    await tx.updateTable('calls').set({ summary_due: 1 }).execute();
  });
  await using app = await testBridge({ store, speechUrl: speech.url });
  await app.ended(callId);
  const types = (await app.events(callId)).map((event) => event.type);
  expect(types.filter((type) => type === 'call.summary')).toHaveLength(1);
  expect(types.filter((type) => type === 'call.completed')).toHaveLength(1);
  expect(types.filter((type) => type === 'call.ended')).toHaveLength(1);
});

test('rows of rubbish keep nobody from starting, and are set aside after three starts', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using first = await testBridge({ store, speechUrl: speech.url });
  await first.bridge[Symbol.asyncDispose]();
  const node = (await import('node:fs')).readFileSync(`${store.dataDir}/node-id`, 'utf8').trim();
  const row = {
    node,
    carrier: 'twilio',
    state: 'live' as const,
    direction: null,
    from_number: null,
    to_number: null,
    started_at: 0,
    zero_at: null,
    hung_up_at: null,
    ended_at: null,
    deadline: null,
    end_reason: null,
    continues: null,
    warnings: '[]',
    counts: '{}',
    paused: 0,
    paused_at: null,
    statistics: null,
    summary: null,
    summary_due: 0,
    has_recording: 0,
    recover_tries: 0,
  };
  const rubbish = ['not json', '', '{"unfinished": ', 'null', '[]'];
  await store.transaction(async (tx) => {
    for (const [at, custom_metadata] of rubbish.entries())
      await tx
        .insertInto('calls')
        .values({
          ...row,
          id: `call_bad${at}`,
          carrier_call_id: `bad${at}`,
          custom_metadata,
          overrides: at > 2 ? 'not json' : '{}',
        })
        .execute();
  });
  for (let start = 0; start < 4; start++) {
    await using app = await testBridge({ store, speechUrl: speech.url });
    const { stream } = await app.open({ carrierCallId: `good${start}` });
    stream.end('stop');
    await app.ended(stream.callId);
    if (start === 3) expect(app.bridge.notes?.().join()).toContain('5 calls could not be taken up');
  }
});

test('a call stored but never heard ends after a restart without a session for nothing', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url });
    callId = (await app.open()).stream.callId;
  }
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { rejoinWaitMs: 100 },
  });
  const ended = await app.ended(callId);
  expect(ended.data.legs[0].ledger).toMatchObject({ received: 0, acknowledged: 0 });
  expect(await until(() => app.bridge.calls.all.length === 0)).toBe(true);
});

test('words that are stored are told once, although the journal on disk is older than they are and their session is gone', async () => {
  await using speech = await FakeSpeech.start();
  // Finals overtake acknowledgements, which a full disk holds back.
  speech.script.ack = () => undefined;
  await using store = await temporaryStore();
  const audio = seededAudio(40_000, 7);
  const [before, after] = [audio.subarray(0, 24_000), audio.subarray(24_000)];
  const journal = join(store.dataDir, 'journal');
  const older = join(store.dataDir, 'journal-older');
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url });
    const { stream } = await app.open();
    callId = stream.callId;
    // Less than a second: the service says nothing yet.
    await speak(stream, 'inbound', before.subarray(0, 7_840));
    const [session] = await until(() => {
      const all = [...speech.sessions.values()];
      return all[0]?.bytes.length === 7_840 && all;
    });
    await until(() => readdirSync(join(journal, 'wal')).length > 0);
    await speak(stream, 'inbound', before.subarray(7_840));
    await until(async () => (await app.callOf()).transcript.length === 3);
    // A disk that refuses has the audio, and the leg as it was before its words came.
    cpSync(journal, older, { recursive: true });
    session!.state = 'gone';
  }
  rmSync(journal, { recursive: true });
  cpSync(older, journal, { recursive: true });
  delete speech.script.ack;
  await using app = await testBridge({ store, speechUrl: speech.url, config: { rejoinWaitMs: 30_000 } }); // prettier-ignore
  const { stream } = await app.open({ streamId: 'MZ2' });
  await speak(stream, 'inbound', after);
  stream.end('stop');
  const ended = await app.ended(callId);
  const ledger = ended.data.legs[0].ledger as Record<'acknowledged' | 'gaps' | 'received', number>;
  expect(ledger.acknowledged + ledger.gaps).toBe(ledger.received);
  expect((await app.callOf()).transcript.map((turn: AnyJson) => turn.text)).toEqual(wordsOf(audio));
});
