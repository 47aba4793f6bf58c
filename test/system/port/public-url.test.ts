import { expect, test } from 'vitest';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { playCall } from '../../../src/player/play-call.ts';
import type { ApiCall, CallPage } from '../../../src/protocol/api.ts';
import { startApp } from '../../support/process/app.ts';
import { tones } from '../../support/recognition/fixture-model.ts';
import { until } from '../../support/process/until.ts';

const key = 'a-key-of-the-tests';

test('behind a public address that only the outside can reach, the bridge still reaches our own service', async () => {
  await using app = await startApp({
    env: { TRUNKLINE_PUBLIC_URL: 'https://calls.example.invalid', TRUNKLINE_API_KEYS: key },
  });
  await playCall({
    player: twilioPlayer,
    to: app.url.replace('http', 'ws'),
    api: { url: app.url, key },
    callId: 'CA-public',
    legs: [{ leg: 'customer', samples: tones(['hello', 'refund']), rateHz: 8_000 }],
  });
  const read = async <T>(path: string): Promise<T> =>
    (await (await app.get(path, { headers: { 'x-service-key': key } })).json()) as T;
  const { id } = await until(async () => {
    const { items } = await read<CallPage>('/api/calls');
    return items[0]?.state === 'ended' && items[0];
  }, 120_000);
  const call = await read<ApiCall>(`/api/calls/${id}`);
  expect(call.transcript.map((turn) => turn.text).join(' ')).toBe('hello refund');
});
