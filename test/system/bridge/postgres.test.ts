import { expect, test } from 'vitest';
import { ApiCall, CallEventPage } from '../../../src/protocol/api.ts';
import { speak, testBridge } from '../../support/bridge/test-bridge.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech, wordsOf } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

test.skipIf(postgresMissing !== undefined)(
  'a call on Postgres: the same events once each, tokens, restart and erasure',
  async () => {
    await using postgres = await startPostgres();
    await using speech = await FakeSpeech.start();
    Object.assign(speech.script, { twice: true, sentiment: true });
    await using store = await temporaryStore({ databaseUrl: await postgres.newDatabase() });
    const audio = seededAudio(40_000, 1);
    let callId = '';
    {
      await using app = await testBridge({ store, speechUrl: speech.url });
      const { token } = await app.bridge.mintToken({ carrier: 'twilio' });
      const claims = await Promise.all(
        [1, 2, 3, 4].map(() => app.bridge.claimToken(token, 'twilio')),
      );
      expect(claims.filter((claim) => claim.outcome === 'accepted')).toHaveLength(1);
      const { stream } = await app.open();
      callId = stream.callId;
      await speak(stream, 'inbound', audio);
      await until(async () => (await app.callOf()).transcript.length === 5);
    }
    await using app = await testBridge({ store, speechUrl: speech.url });
    await app.ended(callId);
    const call = ApiCall.parse(await app.callOf());
    expect(call.transcript.map((turn) => turn.text)).toEqual(wordsOf(audio));
    expect(call.legs[0]?.ledger).toMatchObject({ received: 40_000, acknowledged: 40_000, gaps: 0 });
    const { items } = CallEventPage.parse(await app.json(`/api/calls/${callId}/events?limit=1000`));
    expect(items.map((event) => event.sequence)).toEqual(items.map((_, at) => at + 1));
    expect(items.filter((event) => event.type === 'call.sentiment')).toHaveLength(5);
    expect(items.slice(-3).map((event) => event.type)).toEqual([
      'call.ended',
      'call.summary',
      'call.completed',
    ]);
    expect((await app.get(`/api/calls/${callId}`, { method: 'DELETE' })).status).toBe(204);
    expect((await app.json('/api/calls')).items).toEqual([]);
  },
  120_000,
);
