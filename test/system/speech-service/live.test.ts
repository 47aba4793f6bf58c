import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import {
  connect,
  fixtureRecogniser,
  mulawOf,
  startTestService,
  type TestService,
} from '../../support/speech/speech-service.ts';

let recogniser: Recogniser;
let service: TestService;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
  service = await startTestService({ recogniser });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await recogniser[Symbol.asyncDispose]();
});

test('a session from POST to result: audio in, words out, the ending in order, closed with 1000', async () => {
  const { id, url } = await service.post();
  const client = await connect(url);
  const audio = mulawOf('my card is lost');
  client.send(audio);
  client.stop();
  const { code } = await client.closed;
  expect(code).toBe(1000);
  expect(client.finals()).toBe(' my card is lost');
  const types = client.messages
    .map((message) => message.type)
    .filter((type) => type !== 'audio_chunk');
  expect(types.slice(-2)).toEqual(['post_transcript', 'post_final_transcript']);
  expect(types).toContain('stop_recording');
  const ends = client.of('audio_chunk').map((ack) => ack.data?.byte_range);
  expect(ends.at(-1)?.[1]).toBe(audio.length);
  for (const [index, range] of ends.entries()) expect(range?.[0]).toBe(ends[index - 1]?.[1] ?? 0);
  const job = await service.ended(id);
  expect(job.status).toBe('done');
  expect(job.result?.transcription?.full_transcript).toBe('my card is lost');
  expect(job.result?.metadata.audio_duration).toBeCloseTo(audio.length / 8000, 3);
});
