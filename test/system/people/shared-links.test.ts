import { expect, test } from 'vitest';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { play } from '../../../src/player/play.ts';
import type { AuditPage } from '../../../src/protocol/people-reports.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { startApp } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';

const key = 'key-of-the-settings-in-the-test';
const headers = { 'x-service-key': key };

type ToldWithLinks = { type: string; data: { page_url: string; recording_url: string } };

test('a call, its words and its recording that a link opened have a line each, a forged link has none, and the chain holds', async () => {
  await using speech = await FakeSpeech.start();
  await using app = await startApp({
    env: {
      TRUNKLINE_API_KEYS: key,
      TRUNKLINE_INSECURE: '1',
      TRUNKLINE_ROLES: 'bridge',
      TRUNKLINE_SPEECH_URL: speech.url,
    },
  });
  await play({
    to: `${app.url.replace('http', 'ws')}/carriers/twilio`,
    player: twilioPlayer,
    call: playedCall(twilioPlayer.newIds()),
    audio: [{ leg: 'customer', bytes: seededAudio(8_000, 1) }],
    speed: 10,
  });
  const asked = async <T>(path: string): Promise<T> => (await app.get(path, { headers })).json() as T; // prettier-ignore
  const id = await until(async () => (await asked<{ items: { id: string }[] }>('/api/calls')).items[0]?.id); // prettier-ignore
  const { data } = await until(async () => {
    const { items } = await asked<{ items: ToldWithLinks[] }>(`/api/calls/${id}/events?limit=200`);
    return items.find(({ type }) => type === 'call.completed');
  });
  const opened = async (url: string, range = ''): Promise<number> =>
    (await fetch(url, range === '' ? {} : { headers: { range } })).status;
  expect(await opened(data.page_url)).toBe(200);
  for (let again = 0; again < 3; again++) await opened(data.page_url);
  expect(await opened(data.recording_url)).toBe(200);
  for (const range of ['bytes=0-99', 'bytes=100-199'])
    expect(await opened(data.recording_url, range)).toBe(206);
  const forged = data.page_url.replace(/signature=./, 'signature=_');
  expect(await opened(forged)).toBe(403);
  const lines = async (): Promise<string[]> =>
    (await asked<AuditPage>(`/api/audit?call_id=${id}&actor=a%20link`)).items
      .map(({ action, actor, actor_kind, address, call_id }) =>
        [action, actor, actor_kind, address, call_id].join(),
      ) // prettier-ignore
      .toSorted();
  const line = (action: string): string => `${action},a link,link,127.0.0.1,${id}`;
  expect(await lines()).toEqual(
    ['opened a link', 'opened a link to the recording'].map(line).toSorted(),
  );
  expect((await app.get(`/api/calls/${id}`, { method: 'DELETE', headers })).status).toBe(204);
  // The lines stay, without a word of the call.
  expect(await opened(data.page_url)).toBe(404);
  expect(await lines()).toHaveLength(2);
  expect(await asked('/api/audit/check')).toMatchObject({ whole: true });
});
