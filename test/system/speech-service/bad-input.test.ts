import { connect as connectTcp } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { speechProcess, type SpeechProcess } from '../../support/speech/speech-process.ts';
import {
  connect,
  mulawOf,
  speechApi,
  telephony,
  type SpeechHttp,
  type TestClient,
} from '../../support/speech/speech-service.ts';
import { temporaryFolder } from '../../support/store/store.ts';

// In a process of its own, so that its event loop is measured and not the attackers'.
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let running: SpeechProcess;
let service: SpeechHttp;
beforeAll(async () => {
  folder = await temporaryFolder();
  running = await speechProcess(folder.path);
  service = speechApi(running.url);
  await unharmed(() => Promise.resolve()); // what is loaded at first use is loaded
  await running.longestStallMs();
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** A well-behaved session beside the attack: its words must come as if nothing happened. */
async function unharmed(attack: () => Promise<void>): Promise<void> {
  const { url } = await service.post();
  const client = await connect(url);
  const audio = mulawOf('my card is lost');
  client.send(audio.subarray(0, 6000));
  await attack();
  client.send(audio.subarray(6000));
  client.stop();
  expect((await client.closed).code).toBe(1000);
  expect(client.finals()).toBe(' my card is lost');
}

async function session(body: object = telephony): Promise<TestClient> {
  return connect((await service.post(body)).url);
}

describe('bad input harms nobody else', () => {
  test('malformed commands are ignored, bad audio is refused, the session goes on', async () => {
    await unharmed(async () => {
      const client = await session();
      for (const text of [
        '',
        '{',
        'null',
        '[]',
        '5',
        '{"type":null}',
        '{"type":"pause"}',
        '{"__proto__":{"type":"stop_recording"}}',
        '['.repeat(50_000),
        '\u0000',
        '\ud800',
      ])
        client.socket.send(text);
      for (const data of [
        null,
        {},
        { chunk: 7 },
        { chunk: '***' },
        { chunk: 'AAAAA' },
        { chunk: 'A'.repeat(70_001) + '!' },
      ])
        client.socket.send(JSON.stringify({ type: 'audio_chunk', data }));
      client.send(mulawOf('hello'));
      client.stop();
      expect((await client.closed).code).toBe(1000);
      expect(client.of('audio_chunk').filter((ack) => !ack.acknowledged)).toHaveLength(6);
      expect(client.finals()).toBe(' hello');
    });
  });

  test('a flood of 20,000 text messages is read and forgotten', async () => {
    await unharmed(async () => {
      const client = await session();
      for (let count = 0; count < 20_000; count++) client.socket.send('{"type":"noise"}');
      client.stop();
      expect((await client.closed).code).toBe(1000);
    });
  });

  test('a flood of 20,000 one-byte frames is acknowledged to the byte', async () => {
    await unharmed(async () => {
      const client = await session();
      for (let count = 0; count < 20_000; count++) client.socket.send(Buffer.from([0xff]));
      client.stop();
      expect((await client.closed).code).toBe(1000);
      expect(client.of('audio_chunk').at(-1)?.data?.byte_range).toEqual([19_999, 20_000]);
    });
  });

  test('a frame over the limit closes with 1009 and the session can be resumed in smaller ones', async () => {
    await unharmed(async () => {
      const { id, url } = await service.post();
      const client = await connect(url);
      client.socket.send(Buffer.alloc(1_048_577, 0xff));
      expect((await client.closed).code).toBe(1009);
      const again = await connect(url);
      again.send(mulawOf('hello'));
      again.stop();
      expect((await again.closed).code).toBe(1000);
      expect((await service.ended(id)).result?.transcription?.full_transcript).toBe('hello');
    });
  });

  test('a backlog as large as the resume window is one frame that is taken', async () => {
    const { url } = await service.post({
      encoding: 'wav/pcm',
      bit_depth: 16,
      sample_rate: 16000,
      channels: 1,
    });
    const client = await connect(url);
    client.socket.send(Buffer.alloc(16000 * 2 * 60));
    await client.until('audio_chunk', (ack) => ack.data?.byte_range[1] === 1_920_000);
    client.stop();
    expect((await client.closed).code).toBe(1000);
  });

  test('never-ending fragments, bad frames and rubbish instead of frames end that socket only', async () => {
    await unharmed(async () => {
      for (const rubbish of [
        Buffer.alloc(2_000, 0xff),
        Buffer.from('GET / HTTP/1.1\r\n\r\n'),
        Buffer.concat(
          Array.from({ length: 3_000 }, (_, index) =>
            Buffer.from([index === 0 ? 0x02 : 0x00, 0x81, 1, 2, 3, 4, 5]),
          ),
        ),
      ]) {
        const { url } = await service.post();
        const target = new URL(url);
        const tcp = connectTcp(running.port, '127.0.0.1');
        tcp.write(
          `GET ${target.pathname}${target.search} HTTP/1.1\r\nHost: 127.0.0.1:${running.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
        );
        await new Promise((resolve) => tcp.once('data', resolve));
        tcp.on('error', () => undefined);
        tcp.write(rubbish);
        await new Promise((resolve) => tcp.once('close', resolve));
      }
    });
  });

  test('100 wrong tokens and half-open handshakes cost nothing', async () => {
    await unharmed(async () => {
      const codes = await Promise.all(
        Array.from(
          { length: 100 },
          async () =>
            (await (await connect(`ws://127.0.0.1:${running.port}/v2/live?token=no`)).closed).code,
        ),
      );
      expect(new Set(codes)).toEqual(new Set([4401]));
    });
  });

  test('a client that never reads is cut off and loses nothing that GET does not have', async () => {
    await unharmed(async () => {
      const { id, url } = await service.post({
        ...telephony,
        messages_config: { receive_partial_transcripts: true },
      });
      const client = await connect(url);
      client.socket.pause();
      client.send(mulawOf('hello'), 8);
      client.stop();
      expect((await service.ended(id)).result?.transcription?.full_transcript).toBe('hello');
      client.socket.terminate();
    });
  });

  test('no event-loop stall above 100 ms came of all that', async () => {
    // The promise is 100 ms on a machine of its own; here other tests share two cores, and what would be
    // found is a stall that grows with the attack: a flood once stood the service still for 13 s.
    expect(await running.longestStallMs()).toBeLessThan(2_000);
  });
});
