import { GladiaClient, type LiveV2InitRequest } from '@gladiaio/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import { cuttingProxy } from '../../support/faults/cutting-proxy.ts';
import {
  fixtureRecogniser,
  mulawOf,
  startTestService,
  type TestService,
} from '../../support/speech/speech-service.ts';
import { until } from '../../support/process/until.ts';

// The vendor's released JavaScript SDK, unmodified, against our service.
let recogniser: Recogniser;
let service: TestService;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
  service = await startTestService({ recogniser, keys: ['key-for-the-sdk-of-tests'] });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await recogniser[Symbol.asyncDispose]();
});

const options: LiveV2InitRequest = {
  encoding: 'wav/ulaw',
  bit_depth: 8,
  sample_rate: 8000,
  channels: 1,
  language_config: { languages: ['en'] },
};

function client(port = service.port) {
  return new GladiaClient({
    apiUrl: `http://127.0.0.1:${port}`,
    apiKey: 'key-for-the-sdk-of-tests',
  });
}

type LiveOfSdk = ReturnType<ReturnType<typeof client>['liveV2']>;
type SdkSession = ReturnType<
  ReturnType<LiveOfSdk['startSession']> extends infer S ? () => S : never
>;

function watch(session: SdkSession) {
  const messages: { type: string; [key: string]: unknown }[] = [];
  const reconnecting: number[] = [];
  let connected = (): void => undefined;
  const firstConnected = new Promise<void>((resolve) => {
    connected = resolve;
  });
  session.on('message', (message) => messages.push(message as never));
  session.on('connecting', ({ attempt }: { attempt: number }) => reconnecting.push(attempt));
  session.on('connected', () => connected());
  const ended = new Promise<{ code: number; reason?: string }>((resolve) => {
    session.on('ended', resolve);
  });
  const finals = () =>
    messages
      .filter((message) => message.type === 'transcript')
      .map(
        (message) =>
          (message as never as { data: { is_final: boolean; utterance: { text: string } } }).data,
      )
      .filter((data) => data.is_final)
      .map((data) => data.utterance.text)
      .join('');
  return { messages, reconnecting, ended, firstConnected, finals };
}

async function sendTwelve(session: SdkSession, audio = mulawOf('my card is lost')) {
  const size = Math.ceil(audio.length / 12);
  for (let at = 0; at < audio.length; at += size) {
    session.sendAudio(audio.subarray(at, at + size));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The bytes that the SDK still holds and counts. They are private, and the only way to see whether it agrees with us. */
function counters(session: SdkSession): { bytesSent: number; held: number } {
  const inner = session as never as { bytesSent: number; audioBuffer: Uint8Array | null };
  return { bytesSent: inner.bytesSent, held: inner.audioBuffer?.byteLength ?? 0 };
}

describe('the released JavaScript SDK', () => {
  test('acks all, stop ack, close 1000; the SDK ends with 1000 and holds nothing', async () => {
    const session = client()
      .liveV2()
      .startSession({
        ...options,
        messages_config: { receive_lifecycle_events: true, receive_acknowledgments: true },
      });
    const seen = watch(session);
    await seen.firstConnected;
    const audio = mulawOf('my card is lost');
    let last = { bytesSent: -1, held: -1 };
    session.on('message', (message: { type: string }) => {
      if (message.type === 'stop_recording') last = counters(session);
    });
    await sendTwelve(session, audio);
    session.stopRecording();
    expect((await seen.ended).code).toBe(1000);
    expect(last).toEqual({ bytesSent: audio.length, held: 0 });
    expect(seen.finals()).toBe(' my card is lost');
    const types = seen.messages.map((message) => message.type);
    expect(types.filter((type) => type === 'start_session')).toHaveLength(1);
    expect(types.at(-1)).toBe('end_session');
    expect(seen.reconnecting).toEqual([]);
  });

  test('a wire cut after the stop, the stop forgotten by the SDK: it still ends with 1000 or 4403', async () => {
    await using wire = await cuttingProxy(service.port);
    const { id, url, created_at } = await service.post(options);
    const session = client()
      .liveV2()
      .connectSession({ id, url: wire.through(url), created_at });
    const seen = watch(session);
    await seen.firstConnected;
    await sendTwelve(session);
    session.stopRecording();
    wire.muteServer();
    await until(() => wire.mutedBytes() > 0);
    wire.cut();
    expect([1000, 4403]).toContain((await seen.ended).code);
    expect((await service.ended(id)).result?.transcription?.full_transcript).toBe(
      'my card is lost',
    );
    // Messages that the cut swallowed came on the second socket.
    expect(seen.finals().endsWith('lost')).toBe(true);
  });

  test('a cut, and a session that ended meanwhile: 4403, no further attempt', async () => {
    const { id, url, created_at } = await service.post(options);
    const first = client().liveV2().connectSession({ id, url, created_at });
    const seenFirst = watch(first);
    await seenFirst.firstConnected;
    await sendTwelve(first);
    first.stopRecording();
    await seenFirst.ended;
    const late = client().liveV2().connectSession({ id, url, created_at });
    const seen = watch(late);
    expect(await seen.ended).toEqual({ code: 4403, reason: 'session ended' });
    expect(seen.reconnecting).toEqual([]);
  });

  test('no audio for the idle time-out: 4408, no attempt', async () => {
    await using quick = await startTestService({ recogniser, config: { idleS: 0.3 } });
    const session = client(quick.port).liveV2().startSession(options);
    const seen = watch(session);
    expect((await seen.ended).code).toBe(4408);
    expect(seen.reconnecting).toEqual([]);
  });

  test('a cut with acks outstanding: the counter ends exactly at the bytes sent', async () => {
    await using wire = await cuttingProxy(service.port);
    const { id, url, created_at } = await service.post(options);
    const session = client()
      .liveV2()
      .connectSession({
        id,
        url: wire.through(url),
        created_at,
        messages_config: { receive_acknowledgments: true },
      });
    const seen = watch(session);
    await seen.firstConnected;
    const audio = mulawOf('my card is lost thanks');
    const size = Math.ceil(audio.length / 12);
    for (let at = 0; at < audio.length; at += size) {
      if (at / size === 5) wire.muteServer();
      session.sendAudio(audio.subarray(at, at + size));
      await new Promise((resolve) => setImmediate(resolve));
      if (at / size !== 8) continue;
      await until(() => wire.mutedBytes() > 0);
      wire.cut();
    }
    await until(() => counters(session).held === 0);
    expect(counters(session).bytesSent).toBe(audio.length);
    session.stopRecording();
    expect((await seen.ended).code).toBe(1000);
    expect(wire.connections()).toBe(2);
    const job = await service.ended(id);
    expect(job.file?.audio_duration).toBeCloseTo(audio.length / 8000, 3);
    expect(job.result?.transcription?.full_transcript).toBe('my card is lost thanks');
  });

  test('endSession of an application that gives up: stop and 1001 still finish the job', async () => {
    const session = client().liveV2().startSession(options);
    const seen = watch(session);
    await seen.firstConnected;
    const id = await session.getSessionId();
    await sendTwelve(session);
    session.endSession();
    await seen.ended;
    expect((await service.ended(id)).result?.transcription?.full_transcript).toBe(
      'my card is lost',
    );
  });

  test('jobs: get, list with filters and its next page, file, delete', async () => {
    const api = client().liveV2();
    const ids: string[] = [];
    for (const number of [1, 2, 3]) {
      const session = api.startSession({ ...options, custom_metadata: { trial: 'jobs', number } });
      const seen = watch(session);
      await seen.firstConnected;
      await sendTwelve(session, mulawOf('hello'));
      session.stopRecording();
      await seen.ended;
      ids.push(await session.getSessionId());
    }
    const [first = ''] = ids;
    const job = await api.get(first);
    expect(job).toMatchObject({ id: first, status: 'done', kind: 'live', version: 2 });
    const page = await api.list({ limit: 2, custom_metadata: { trial: 'jobs' } });
    expect(page.items.map((item) => item.id)).toEqual(ids.toReversed().slice(0, 2));
    const next = await api.list({ url: page.next ?? '' });
    expect(next.items.map((item) => item.id)).toEqual([first]);
    expect(next.next).toBeNull();
    expect(
      (await api.list({ status: ['error'], custom_metadata: { trial: 'jobs' } })).items,
    ).toEqual([]);
    const file = Buffer.from(await api.getFile(first));
    expect(file.toString('latin1', 0, 4)).toBe('RIFF');
    expect(await api.delete(first)).toBe(true);
    await expect(api.get(first)).rejects.toThrow('Not found');
    await expect(api.delete('00000000-0000-0000-0000-000000000000')).rejects.toThrow('Not found');
  });
});
