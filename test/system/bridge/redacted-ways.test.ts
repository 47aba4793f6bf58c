import pg from 'pg';
import { expect, test } from 'vitest';
import { callAt, endedCallAt, fleetOf } from '../../support/bridge/fleet.ts';
import {
  speak,
  streamStart,
  testBridge,
  TestControl,
  type AnyJson,
} from '../../support/bridge/test-bridge.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

/** A carrier that takes the finals of its stream. */
class TakingControl extends TestControl {
  readonly results: string[] = [];
  result({ text }: { text: string }): void {
    this.results.push(text);
  }
}

test.each([
  { redactEntities: ['PCI'], isRedacted: true },
  { redactEntities: [], isRedacted: false },
])(
  'a redacted call gives its carrier no result, nobody a recording before its end, and leaves no session at the service; others do (redacted: $isRedacted)',
  async ({ redactEntities, isRedacted }) => {
    await using speech = await FakeSpeech.start();
    await using store = await temporaryStore();
    await using app = await testBridge({ store, speechUrl: speech.url, config: { redactEntities } }); // prettier-ignore
    const control = new TakingControl();
    const opened = await app.bridge.openStream(streamStart(), control);
    if (opened.outcome !== 'opened') throw new Error('not opened');
    const { stream } = opened;
    await speak(stream, 'inbound', seededAudio(24_000, 1));
    await until(async () => (await app.callOf()).transcript.length === 3);
    const recording = `/api/calls/${stream.callId}/recording`;
    const during = await app.get(recording);
    await during.arrayBuffer();
    expect(during.status === 200).toBe(!isRedacted);
    stream.end('stop');
    await app.ended(stream.callId);
    const after = await app.get(recording);
    await after.arrayBuffer();
    expect(after.status).toBe(200);
    expect(control.results).toHaveLength(isRedacted ? 0 : 3);
    if (isRedacted) await until(() => speech.sessions.size === 0);
    else expect(speech.sessions.size).toBe(1);
    const kept: AnyJson = await app.callOf();
    expect(kept.transcript).toHaveLength(3);
  },
);

test.skipIf(postgresMissing !== undefined)(
  'the database of several nodes has the address of a session until the call has ended, and no words that wait for redaction',
  async () => {
    await using postgres = await startPostgres();
    await using fleet = await fleetOf(1, postgres, { TRUNKLINE_REDACT: 'PCI' });
    const [node] = fleet.nodes;
    if (!node) throw new Error('no node');
    const { client, say } = await callAt(node);
    say(seededAudio(24_000, 1));
    await until(async () => (await newestCall(node))?.transcript.length === 3);
    const [session] = fleet.speech.sessions.values();
    const text = 'my card is four two four two';
    const words = text.split(' ').map((word, at) => ({ word: ` ${word}`, start: at / 4, end: at / 4 + 0.2, confidence: 1 })); // prettier-ignore
    const utterance = { start: 0, end: 2, confidence: 1, channel: 0, language: 'en', text, words };
    fleet.speech.sendToAll(({ id }) => ({
      session_id: id,
      created_at: new Date().toISOString(),
      type: 'transcript',
      data: { id: 'head', is_final: true, utterance },
    }));
    const database = new pg.Client(fleet.databaseUrl);
    await database.connect();
    const kept = async (): Promise<string> =>
      JSON.stringify((await database.query('select * from leg_states')).rows);
    // The journal on this node's disk has the head of the number meanwhile.
    for (const endMs = performance.now() + 1_500; performance.now() < endMs;) {
      const state = await kept();
      expect(state).toContain(session?.id ?? 'no session');
      expect(state).not.toContain('four two');
    }
    client.send(twilioStop);
    await endedCallAt(node);
    expect(await kept()).toBe('[]');
    await database.end();
  },
  60_000,
);
