import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linearToAlaw, linearToMulaw } from '../../../src/audio/g711.ts';
import { ServerMessage } from '../../../src/protocol/live-messages.ts';
import { buildHeader } from '../../../src/speech-service/live/incoming/audio-format.ts';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { tones } from '../../support/recognition/fixture-model.ts';
import {
  connect,
  fixtureRecogniser,
  mulawOf,
  startTestService,
  telephony,
  type TestService,
} from '../../support/speech/speech-service.ts';
import { refusalEndsConnection } from '../../support/faults/upgrade-flood.ts';
import { until } from '../../support/process/until.ts';

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

const chunk = (bytes: Buffer, extra: object = {}): string =>
  JSON.stringify({ type: 'audio_chunk', data: { chunk: bytes.toString('base64') }, ...extra });
const all = {
  receive_partial_transcripts: true, receive_final_transcripts: true, receive_speech_events: true,
  receive_pre_processing_events: true, receive_realtime_processing_events: true, receive_post_processing_events: true,
  receive_acknowledgments: true, receive_errors: true, receive_lifecycle_events: true,
}; // prettier-ignore

/** A 16-bit wave in any encoding of the interface. */
function encoded(samples: Int16Array[], encoding: string, bitDepth: number): Buffer {
  const [first] = samples;
  const step = bitDepth / 8;
  const bytes = Buffer.alloc((first?.length ?? 0) * samples.length * step);
  samples.forEach((channel, index) => {
    channel.forEach((sample, frame) => {
      const at = (frame * samples.length + index) * step;
      if (encoding === 'wav/ulaw') bytes[at] = linearToMulaw(sample);
      else if (encoding === 'wav/alaw') bytes[at] = linearToAlaw(sample);
      else if (bitDepth === 8) bytes[at] = (sample >> 8) + 128;
      else bytes.writeIntLE(sample * 2 ** (bitDepth - 16), at, step);
    });
  });
  return bytes;
}

describe('audio', () => {
  test('comes in binary and in base64, mixed, acknowledged one by one in order, with exact ranges', async () => {
    const { url } = await service.post();
    const client = await connect(url);
    const audio = mulawOf('my card');
    client.socket.send(audio.subarray(0, 800));
    client.socket.send(chunk(audio.subarray(800, 1600), { message_id: 'second' }));
    client.socket.send(Buffer.alloc(0));
    client.socket.send(chunk(Buffer.alloc(0)));
    client.socket.send(audio.subarray(1600));
    client.stop();
    expect((await client.closed).code).toBe(1000);
    const acks = client.of('audio_chunk');
    expect(acks.map((ack) => ack.data?.byte_range)).toEqual([
      [0, 800],
      [800, 1600],
      [1600, 1600],
      [1600, 1600],
      [1600, audio.length],
    ]);
    expect(acks.map((ack) => ack.data?.time_range)).toEqual([
      [0, 0.1],
      [0.1, 0.2],
      [0.2, 0.2],
      [0.2, 0.2],
      [0.2, audio.length / 8000],
    ]);
    expect(acks.map((ack) => (ack as { message_id?: string }).message_id)).toEqual([
      undefined,
      'second',
      undefined,
      undefined,
      undefined,
    ]);
    expect(client.of('stop_recording')).toMatchObject([
      { acknowledged: true, data: { recording_duration: Math.round(audio.length / 8) / 1000 } },
    ]);
    expect(client.finals()).toBe(' my card');
  });

  test('with a WAV header counts it in bytes and not in time, and serves a file with one header', async () => {
    const { id, url } = await service.post();
    const client = await connect(url);
    const audio = mulawOf('my card');
    const header = buildHeader(
      { encoding: 'wav/ulaw', bitDepth: 8, sampleRate: 8000, channels: 1 },
      0,
    );
    client.socket.send(header.subarray(0, 3));
    client.socket.send(header.subarray(3, 30));
    client.socket.send(Buffer.concat([header.subarray(30), audio.subarray(0, 800)]));
    client.socket.send(audio.subarray(800));
    client.stop();
    await client.closed;
    expect(client.of('audio_chunk').at(2)?.data).toEqual({
      byte_range: [30, header.length + 800],
      time_range: [0, 0.1],
    });
    expect(client.finals()).toBe(' my card');
    const file = Buffer.from(await (await service.http(`/v2/live/${id}/file`)).arrayBuffer());
    expect(file.subarray(58).equals(audio)).toBe(true);
  });

  test('whose header contradicts the session is refused with 4400 and the job is in error', async () => {
    const { id, url } = await service.post();
    const client = await connect(url);
    client.socket.send(
      buildHeader({ encoding: 'wav/pcm', bitDepth: 16, sampleRate: 16000, channels: 2 }, 0),
    );
    const { code, reason } = await client.closed;
    expect([code, reason]).toEqual([4400, 'WAV header says format 1, the session 7']);
    expect(await service.ended(id)).toMatchObject({
      status: 'error',
      error_code: 400,
      result: null,
    });
    expect((await (await connect(url)).closed).code).toBe(4403);
  });

  test.each([
    ['wav/pcm', 8, 8000],
    ['wav/pcm', 16, 16000],
    ['wav/pcm', 24, 44100],
    ['wav/pcm', 32, 48000],
    ['wav/pcm', 16, 32000],
    ['wav/alaw', 8, 8000],
    ['wav/ulaw', 8, 48000],
  ] as const)(
    '%s, %i bit, %i Hz, cut at odd places, is heard',
    async (encoding, bitDepth, sampleRate) => {
      // prettier-ignore
      const { url } = await service.post({ encoding, bit_depth: bitDepth, sample_rate: sampleRate, language_config: { languages: ['en'] } });
      const client = await connect(url);
      const audio = encoded([tones('two refund', { sampleRate })], encoding, bitDepth);
      client.send(audio, 7_777);
      client.stop();
      expect((await client.closed).code).toBe(1000);
      expect(client.finals()).toBe(' two refund');
      expect(client.of('audio_chunk').at(-1)?.data?.byte_range[1]).toBe(audio.length);
    },
  );

  test('of eight channels is recognised channel by channel, each reported as itself', async () => {
    const words = ['one', 'two', 'three', 'four', 'five', 'my', 'card', 'lost'] as const;
    const { id, url } = await service.post({
      encoding: 'wav/pcm',
      bit_depth: 16,
      sample_rate: 8000,
      channels: 8,
      language_config: { languages: ['en'] },
    });
    const client = await connect(url);
    client.send(
      encoded(
        words.map((word) => tones(word)),
        'wav/pcm',
        16,
      ),
      4_001,
    );
    client.stop();
    await client.closed;
    const heard = client
      .of('transcript')
      .map(({ data }) => [data.utterance.channel, data.utterance.text, data.id]);
    expect(heard.sort()).toEqual(
      words.map((word, channel) => [channel, ` ${word}`, `0${channel}_00000000`]),
    );
    const job = await service.ended(id);
    expect(job.result?.metadata).toMatchObject({ number_of_distinct_channels: 8 });
    expect(job.result?.metadata.billing_time).toBeCloseTo(
      (job.result?.metadata.audio_duration ?? 0) * 8,
      2,
    );
  });
});

describe('messages', () => {
  test('all classes on: each parses, and the ending comes in the documented order', async () => {
    const { id, url } = await service.post({
      ...telephony,
      messages_config: all,
      realtime_processing: { sentiment_analysis: true, named_entity_recognition: true },
      post_processing: { summarization: true, chapterization: true },
    });
    const client = await connect(url);
    client.send(mulawOf('my card is lost'));
    await client.until('transcript', (message) => message.data.is_final);
    client.stop();
    expect((await client.closed).code).toBe(1000);
    for (const message of client.messages)
      expect(ServerMessage.safeParse(message).error?.issues).toBeUndefined();
    const types = client.messages
      .map((message) => message.type)
      .filter((type) => type !== 'audio_chunk');
    expect(types[0]).toBe('start_recording');
    const order = [
      'stop_recording',
      'end_recording',
      'post_transcript',
      'post_final_transcript',
      'end_session',
    ] as const;
    expect(types.filter((type) => (order as readonly string[]).includes(type))).toEqual(order);
    expect(types.at(-1)).toBe('end_session');
    const place = (type: string) => types.indexOf(type as never);
    for (const between of ['post_summarization', 'post_chapterization']) {
      expect(place(between)).toBeGreaterThan(place('post_transcript'));
      expect(place(between)).toBeLessThan(place('post_final_transcript'));
    }
    for (const addon of ['sentiment_analysis', 'named_entity_recognition']) {
      expect(place(addon)).toBeGreaterThan(place('transcript'));
      expect(place(addon)).toBeLessThan(place('end_recording'));
    }
    const [sentiment] = client.of('sentiment_analysis');
    expect(sentiment?.data?.utterance_id).toBe('00_00000000');
    expect(sentiment?.data?.utterance.words.length).toBe(4);
    const { result } = await service.ended(id);
    expect(result?.summarization?.success).toBe(true);
    expect(Array.isArray(result?.chapterization?.results)).toBe(false);
    expect(typeof result?.sentiment_analysis?.results).toBe('string');
    expect(client.of('post_final_transcript')[0]?.data).toEqual({ ...result, messages: undefined });
  });

  test('partials share the id of their final and come before it', async () => {
    const { url } = await service.post({
      ...telephony,
      messages_config: { receive_partial_transcripts: true },
    });
    const client = await connect(url);
    const audio = mulawOf('one two three four five');
    const half = Math.floor(audio.length / 2);
    client.send(audio.subarray(0, half));
    await client.until('transcript', ({ data }) => !data.is_final);
    client.send(audio.subarray(half));
    client.stop();
    await client.closed;
    const said = client.of('transcript').map(({ data }) => data);
    expect(said.some((data) => !data.is_final)).toBe(true);
    expect(new Set(said.map((data) => data.id)).size).toBe(1);
    expect(said.findIndex((data) => data.is_final)).toBe(said.length - 1);
  });

  test('with every flag off but finals a client sees finals and the close, and no words when all are off', async () => {
    const none = Object.fromEntries(Object.keys(all).map((flag) => [flag, false]));
    for (const finals of [true, false]) {
      const { url } = await service.post({
        ...telephony,
        messages_config: { ...none, receive_final_transcripts: finals },
      });
      const client = await connect(url);
      client.send(mulawOf('hello'));
      client.stop();
      expect((await client.closed).code).toBe(1000);
      expect(client.messages.map((message) => message.type)).toEqual(finals ? ['transcript'] : []);
    }
  });

  test('stand-alone errors and start_session come only where the operator says so', async () => {
    await using loud = await startTestService({
      recogniser,
      config: { errorMessages: true, startSessionMessage: true },
    });
    for (const [where, expected] of [
      [service, []],
      [loud, ['start_session', 'error']],
    ] as const) {
      const { url } = await where.post({ ...telephony, messages_config: all });
      const client = await connect(url);
      client.socket.send('{"type":"pause"}');
      client.stop();
      await client.closed;
      const types = client.messages
        .map((message) => message.type)
        .filter((type) => type === 'error' || type === 'start_session');
      expect(types).toEqual(expected);
    }
  });
});

describe('the end', () => {
  test('audio after the stop is refused with a negative ack, the session goes on to its end', async () => {
    const { url } = await service.post();
    const client = await connect(url);
    client.send(mulawOf('hello'));
    client.stop();
    client.stop();
    client.socket.send(Buffer.alloc(800));
    expect((await client.closed).code).toBe(1000);
    expect(client.of('stop_recording').map((ack) => ack.acknowledged)).toEqual([true, false]);
    expect(client.of('audio_chunk').at(-1)).toMatchObject({
      acknowledged: false,
      data: null,
      error: { message: 'audio is no longer accepted, the session was stopped' },
    });
    expect(client.finals()).toBe(' hello');
  });

  test('a stop without audio ends in an empty result', async () => {
    const { id, url } = await service.post({ ...telephony, messages_config: all });
    const client = await connect(url);
    client.stop();
    expect((await client.closed).code).toBe(1000);
    const job = await service.ended(id);
    expect(job).toMatchObject({
      status: 'done',
      result: { transcription: { full_transcript: '', utterances: [] } },
    });
  });

  test.each([
    [1000, 'a close with 1000 is a stop'],
    [1001, 'any other close is finished after the abandoned time-out'],
  ])('%i: %s', async (code) => {
    await using quick = await startTestService({ recogniser, config: { abandonedS: 0.3 } });
    const { id, url } = await quick.post();
    const client = await connect(url);
    client.send(mulawOf('my card is lost'));
    client.socket.close(code);
    const job = await quick.ended(id);
    expect(job).toMatchObject({
      status: 'done',
      result: { transcription: { full_transcript: 'my card is lost' } },
    });
  });

  test('stop and an immediate close, as one client does, still finishes the job', async () => {
    const { id, url } = await service.post();
    const client = await connect(url);
    client.send(mulawOf('my card'));
    client.stop();
    client.socket.close();
    expect((await service.ended(id)).result?.transcription?.full_transcript).toBe('my card');
  });

  test('never connected: error 408; idle: 4408; too long: the normal ending', async () => {
    await using unvisited = await startTestService({
      recogniser,
      config: { neverConnectedS: 0.2 },
    });
    const never = await unvisited.post();
    expect(await unvisited.ended(never.id)).toMatchObject({
      status: 'error',
      error_code: 408,
      result: null,
    });
    expect((await (await connect(never.url)).closed).code).toBe(4403);

    await using quick = await startTestService({ recogniser, config: { idleS: 0.4 } });
    const idle = await quick.post();
    const quiet = await connect(idle.url);
    quiet.send(mulawOf('hello'));
    expect(await quiet.closed).toEqual({ code: 4408, reason: 'no audio received' });
    expect(await quick.ended(idle.id)).toMatchObject({
      status: 'done',
      result: { transcription: { full_transcript: 'hello' } },
    });

    await using brief = await startTestService({ recogniser, config: { longestS: 0.8 } });
    const long = await brief.post();
    const talker = await connect(long.url);
    talker.send(mulawOf('hello'));
    expect((await talker.closed).code).toBe(1000);
    expect(talker.finals()).toBe(' hello');
  });

  test('an empty chunk is activity: the idle time-out waits', async () => {
    const clock = new TestClock(1);
    await using quick = await startTestService({ recogniser, clock, config: { idleS: 10 } });
    const { url } = await quick.post();
    const client = await connect(url);
    for (let time = 0; time < 3; time++) {
      await clock.pass(6_000);
      client.socket.send(chunk(Buffer.alloc(0)));
      // The answer to a ping says that the chunk before it was read.
      client.socket.ping();
      await once(client.socket, 'pong');
    }
    client.stop();
    expect((await client.closed).code).toBe(1000);
  });
});

describe('a second socket', () => {
  test('replaces the first with 4409; the words come on the new one', async () => {
    const { url } = await service.post();
    const first = await connect(url);
    const audio = mulawOf('my card is lost');
    first.send(audio.subarray(0, 8000));
    await first.until('audio_chunk', (ack) => ack.data?.byte_range[1] === 8000);
    const second = await connect(url);
    expect((await first.closed).code).toBe(4409);
    second.send(audio.subarray(8000));
    second.stop();
    expect((await second.closed).code).toBe(1000);
    expect(second.of('audio_chunk')[0]?.data?.byte_range[0]).toBe(8000);
    expect(`${first.finals()}${second.finals()}`).toContain('lost');
  });

  test('gets the messages that were produced while there was none', async () => {
    const { id, url } = await service.post();
    const first = await connect(url);
    const audio = mulawOf('my card is lost');
    first.send(audio.subarray(0, 800));
    await first.until('audio_chunk', (ack) => ack.data?.byte_range[1] === 800);
    // From here on it takes nothing and confirms nothing, as a client whose line went dead.
    first.socket.pause();
    first.send(audio.subarray(800));
    await until(async () => {
      const file = await (await service.http(`/v2/live/${id}/file`)).bytes();
      return file.length === 58 + audio.length;
    });
    first.socket.terminate();
    const second = await connect(url);
    await second.until('transcript');
    second.stop();
    await second.closed;
    expect(second.finals()).toBe(' my card is lost');
    expect(second.of('speech_start')).toHaveLength(1);
  });

  test('after the end gets what the first never saw, then 4403 for good', async () => {
    const { id, url } = await service.post();
    const first = await connect(url);
    first.send(mulawOf('hello'));
    first.stop();
    first.socket.terminate();
    await service.ended(id);
    const second = await connect(url);
    expect((await second.closed).code).toBe(4403);
    expect(second.finals()).toBe(' hello');
    expect(second.of('post_final_transcript')).toHaveLength(1);
    const third = await connect(url);
    expect((await third.closed).code).toBe(4403);
    expect(third.messages).toEqual([]);
  });

  test('a wrong or missing token: the handshake, then 4401; HTTP 401 where the operator says so', async () => {
    for (const query of ['?token=wrong', '', '?token=', `?token=${'a'.repeat(500)}`])
      expect(
        (await (await connect(`ws://127.0.0.1:${service.port}/v2/live${query}`)).closed).code,
      ).toBe(4401);
    await using strict = await startTestService({
      recogniser,
      config: { refuseTokenWith401: true },
    });
    await expect(connect(`ws://127.0.0.1:${strict.port}/v2/live?token=x`)).rejects.toThrow('401');
    await refusalEndsConnection(strict.port, '/v2/live?token=x');
  });

  test('the other path of older clients works too', async () => {
    const { url } = await service.post();
    const client = await connect(url.replace('/v2/live?', '/v2/live/ws?'));
    client.send(mulawOf('hello'));
    client.stop();
    await client.closed;
    expect(client.finals()).toBe(' hello');
  });
});
