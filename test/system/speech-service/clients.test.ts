import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServerMessage } from '../../../src/protocol/live-messages.ts';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import { tones } from '../../support/recognition/fixture-model.ts';
import {
  connect,
  fixtureRecogniser,
  mulawOf,
  startTestService,
  type Job,
  type TestClient,
  type TestService,
} from '../../support/speech/speech-service.ts';

// The messages that released integrations send and need, as seen when each ran against a service.
const key = 'key-of-the-integrations';
let recogniser: Recogniser;
let service: TestService;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
  service = await startTestService({ recogniser, keys: [key] });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await recogniser[Symbol.asyncDispose]();
});

function pcmOf(words: string, sampleRate: number): Buffer {
  const samples = tones(words, { sampleRate });
  return Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
}

async function post(path: string, header: string, body: object): Promise<Job> {
  const response = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { [header]: key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(201);
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  return (await response.json()) as Job;
}

function sendBase64(client: TestClient, audio: Buffer, chunkBytes: number): void {
  for (let at = 0; at < Math.max(1, audio.length); at += chunkBytes)
    client.socket.send(chunkOf(audio.subarray(at, at + chunkBytes)));
}

const chunkOf = (audio: Buffer): string =>
  JSON.stringify({ type: 'audio_chunk', data: { chunk: audio.toString('base64') } });

const stop = JSON.stringify({ type: 'stop_recording' });

test('LiveKit: region in the query, a legacy field, base64 of 100 ms, a chunk after the stop, reads to post_final_transcript', async () => {
  const { id, url } = await post('/v2/live?region=eu-west', 'X-Gladia-Key', {
    model: 'solaria-1',
    encoding: 'wav/pcm',
    bit_depth: 16,
    sample_rate: 16_000,
    channels: 1,
    endpointing: 0.05,
    maximum_duration_without_endpointing: 5,
    language_config: { languages: ['en'], code_switching: false },
    realtime_processing: { words_accurate_timestamps: false },
    custom_metadata: { room: 'r-1' },
    messages_config: { receive_partial_transcripts: true, receive_final_transcripts: true },
  });
  const client = await connect(url);
  sendBase64(client, pcmOf('my card is lost', 16_000), 3_200);
  const said = await client.until('transcript', (message) => message.data.is_final);
  client.socket.send(stop);
  client.socket.send(chunkOf(Buffer.alloc(3_200)));
  await client.until('post_final_transcript');
  expect((await client.closed).code).toBe(1000);
  expect(client.of('audio_chunk').at(-1)).toMatchObject({ acknowledged: false, data: null });
  expect(client.of('transcript').some((message) => !message.data.is_final)).toBe(true);
  expect(said.data.utterance).toMatchObject({ language: 'en' });
  expect(said.data.utterance.words.length).toBeGreaterThan(0);
  expect(client.messages.map((message) => message.type as string)).not.toContain('error');
  expect((await service.ended(id)).custom_metadata).toEqual({ room: 'r-1' });
});

test('Pipecat: empty chunks while idle, its whole backlog as one message after a cut, stop and close at once', async () => {
  const { id, url } = await post('/v2/live', 'x-gladia-key', {
    encoding: 'wav/pcm',
    bit_depth: 16,
    sample_rate: 16_000,
    channels: 1,
    language_config: { languages: ['en'] },
    messages_config: {
      receive_partial_transcripts: true,
      receive_final_transcripts: true,
      receive_speech_events: true,
    },
  });
  const audio = pcmOf('hello my refund is great', 16_000);
  const half = 2 * Math.floor(audio.length / 4);
  const first = await connect(url);
  first.socket.send(chunkOf(Buffer.alloc(0)));
  sendBase64(first, audio.subarray(0, half), 3_200);
  await first.until('audio_chunk', (ack) => (ack.data?.byte_range[1] ?? 0) > half / 2);
  first.socket.terminate();
  await once(first.socket, 'close');
  // It drops what was acknowledged and sends all the rest, and what came meanwhile, in one message.
  const counter = Math.max(...first.of('audio_chunk').map((ack) => ack.data?.byte_range[1] ?? 0));
  const second = await connect(url);
  second.socket.send(chunkOf(audio.subarray(counter)));
  const ack = await second.until('audio_chunk');
  expect(ack.data?.byte_range).toEqual([counter, audio.length]);
  second.socket.send(stop);
  second.socket.close(1000);
  const job = await service.ended(id);
  expect(job.status).toBe('done');
  expect(job.result?.transcription?.full_transcript).toBe('hello my refund is great');
  for (const message of [...first.of('transcript'), ...second.of('transcript')])
    expect(message.data.utterance).toMatchObject({ language: 'en' });
});

test('jambonz: splits the address into host, path and query; finals, speech events and errors only', async () => {
  const { url } = await post('/v2/live?region=us-west', 'X-Gladia-Key', {
    encoding: 'wav/pcm',
    bit_depth: 16,
    sample_rate: 8_000,
    channels: 1,
    model: 'solaria-1',
    language_config: { languages: ['en'] },
    messages_config: {
      receive_partial_transcripts: false,
      receive_final_transcripts: true,
      receive_speech_events: true,
      receive_errors: true,
      receive_acknowledgments: false,
      receive_post_processing_events: false,
    },
  });
  const { protocol, host, pathname, search } = new URL(url);
  expect(protocol).toBe('ws:');
  expect(pathname).toBe('/v2/live');
  expect(search).toMatch(/^\?token=[\w-]{40,}$/);
  const client = await connect(`ws://${host}${pathname}${search}`);
  for (const audio = pcmOf('thanks goodbye', 8_000), at = { byte: 0 }; at.byte < audio.length;) {
    client.socket.send(audio.subarray(at.byte, at.byte + 320));
    at.byte += 320;
  }
  client.socket.send(stop);
  expect((await client.closed).code).toBe(1000);
  const types = new Set(client.messages.map((message: ServerMessage) => message.type));
  expect([...types].sort()).toEqual(['speech_end', 'speech_start', 'transcript']);
  for (const { data } of client.of('transcript')) {
    expect(data.is_final).toBe(true);
    expect(data.utterance.confidence).toBeGreaterThan(0);
    expect(data.utterance.language).toBe('en');
  }
  expect(client.finals()).toBe(' thanks goodbye');
});

test('bolna: mu-law of a phone line, pings of its own, a new session after each loss', async () => {
  const body = {
    encoding: 'wav/ulaw',
    bit_depth: 8,
    sample_rate: 8_000,
    channels: 1,
    model: 'solaria-1',
    endpointing: 0.1,
    maximum_duration_without_endpointing: 5,
    language_config: { languages: ['en'], code_switching: false },
    pre_processing: { audio_enhancer: true, speech_threshold: 0.6 },
    messages_config: {
      receive_partial_transcripts: true,
      receive_final_transcripts: true,
      receive_speech_events: true,
    },
  };
  const lost = await post('/v2/live', 'x-gladia-key', body);
  const dead = await connect(lost.url);
  dead.send(mulawOf('hello'), 160);
  dead.socket.terminate();
  const { url } = await post('/v2/live', 'x-gladia-key', body);
  const client = await connect(url);
  client.socket.ping();
  await once(client.socket, 'pong');
  client.send(mulawOf('please one two'), 160);
  await client.until('speech_start');
  await client.until('transcript', (message) => message.data.is_final);
  await client.until('speech_end');
  client.socket.send(stop);
  expect((await client.closed).code).toBe(1000);
  expect(client.finals().trim()).not.toBe('');
});

test('small clients: a key is tried with the list, a region where it means nothing is ignored, the version header too', async () => {
  const headers = { 'x-gladia-key': key, 'x-gladia-version': '2' };
  for (const query of ['?limit=1', '?limit=1&region=us-west']) {
    const response = await fetch(`${service.url}/v2/live${query}`, { headers });
    expect(response.status).toBe(200);
  }
  const { id, url } = await post('/v2/live', 'x-service-key', {
    encoding: 'wav/ulaw',
    bit_depth: 8,
    sample_rate: 8_000,
    messages_config: { receive_lifecycle_events: true },
  });
  const client = await connect(url);
  const audio = mulawOf('order three');
  client.send(audio);
  client.socket.send(stop);
  await client.until('end_session');
  const result = (await client.until('post_final_transcript')).data;
  expect(result.transcription?.full_transcript).toBe('order three');
  expect(result.metadata.billing_time).toBeCloseTo(audio.length / 8_000, 2);
  const job = await fetch(`${service.url}/v2/live/${id}?region=eu-west`, { headers });
  expect(job.status).toBe(200);
});
