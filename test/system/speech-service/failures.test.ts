import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type {
  Recogniser,
  RecogniserEvent,
  RecogniserStream,
} from '../../../src/hearing/recogniser.ts';
import { openStore } from '../../../src/store/store.ts';
import { until } from '../../support/process/until.ts';
import { fillDisk, mountSmallDisk, smallDiskMissing } from '../../support/store/small-disk.ts';
import {
  connect,
  fixtureRecogniser,
  mulawOf,
  startTestService,
  telephony,
} from '../../support/speech/speech-service.ts';

let real: Recogniser;
beforeAll(async () => {
  real = await fixtureRecogniser();
});
afterAll(async () => {
  await real[Symbol.asyncDispose]();
});

/** The real one, whose streams fail on their first audio as often as told. */
function failing(times: number): Recogniser & { failures: () => number } {
  let failures = 0;
  const open: Recogniser['open'] = (options, onEvent) => {
    if (failures >= times) return real.open(options, onEvent);
    const stream: RecogniserStream = {
      backlogS: 0,
      expect: () => undefined,
      push() {
        failures++;
        queueMicrotask(() =>
          onEvent({ type: 'failed', reason: 'the engine ended' } satisfies RecogniserEvent),
        );
      },
      finish: () => undefined,
      close: () => undefined,
    };
    return { outcome: 'admitted', stream };
  };
  return {
    mostProcesses: real.mostProcesses,
    status: () => real.status(),
    admits: (...parameters) => real.admits(...parameters),
    open,
    failures: () => failures,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

test('a recogniser that fails inside a session is replaced, and hears again what was not decided', async () => {
  await using service = await startTestService({ recogniser: failing(2) });
  const { id, url } = await service.post();
  const client = await connect(url);
  const audio = mulawOf('my card is lost');
  client.send(audio);
  client.stop();
  expect((await client.closed).code).toBe(1000);
  expect(client.finals()).toBe(' my card is lost');
  expect(client.of('audio_chunk').at(-1)?.data?.byte_range[1]).toBe(audio.length);
  expect((await service.job(id)).status).toBe('done');
});

test('one that goes on failing ends its session with 4500 and error 500, then 4403; the next one is fine', async () => {
  const recogniser = failing(5);
  await using service = await startTestService({ recogniser });
  const { id, url } = await service.post();
  const client = await connect(url);
  client.send(mulawOf('hello'));
  const { code, reason } = await client.closed;
  expect(code).toBe(4500);
  expect(reason).toContain('the engine ended');
  expect(recogniser.failures()).toBe(5);
  const job = await service.ended(id);
  expect(job).toMatchObject({ status: 'error', error_code: 500, result: null });
  expect(job.file?.audio_duration).toBeGreaterThan(0);
  // Clients come back after 4500: they learn that it is over.
  expect((await (await connect(url)).closed).code).toBe(4403);
  const next = await connect((await service.post()).url);
  next.send(mulawOf('hello'));
  next.stop();
  expect((await next.closed).code).toBe(1000);
  expect(next.finals()).toBe(' hello');
});

test('a disk that stays full acknowledges nothing that it did not take, ends that session with 4500 and harms no other', async () => {
  await using service = await startTestService({ recogniser: real, config: { withoutRoomS: 0.6 } });
  const beside = await connect((await service.post()).url);
  const audio = mulawOf('my card is lost');
  beside.send(audio.subarray(0, 6_000));
  const { id, url } = await service.post();
  await symlink('/dev/full', join(service.store.dataDir, 'speech', `${id}.audio`));
  const client = await connect(url);
  client.send(audio);
  const { code, reason } = await client.closed;
  expect({ code, reason }).toEqual({ code: 4500, reason: 'the audio could not be kept' });
  expect(client.of('audio_chunk').filter((ack) => ack.acknowledged)).toEqual([]);
  expect(await service.ended(id)).toMatchObject({ status: 'error', error_code: 500 });
  beside.send(audio.subarray(6_000));
  beside.stop();
  expect((await beside.closed).code).toBe(1000);
  expect(beside.finals()).toBe(' my card is lost');
});

test.skipIf(smallDiskMissing !== undefined)(
  'a session outlives a disk that is full for a while: its words go on, and its bytes are acknowledged when there is room',
  async () => {
    using disk = mountSmallDisk(24);
    const dataDir = join(disk.path, 'data');
    await using store = await openStore({ dataDir, ballastBytes: 0, lowWaterBytes: 0 });
    await using service = await startTestService({
      recogniser: real,
      store: Object.assign(Object.create(store) as typeof store, { dataDir }),
    });
    const { id, url } = await service.post({ ...telephony, endpointing: 0.2 });
    const client = await connect(url);
    const first = mulawOf('my card is lost');
    client.send(first);
    await until(() => client.finals() === ' my card is lost');
    const acknowledged = (): number | undefined => client.of('audio_chunk').at(-1)?.data?.byte_range[1]; // prettier-ignore
    await until(() => acknowledged() === first.length);
    const full = fillDisk(disk.path);
    const second = mulawOf('one two three');
    client.send(second);
    await until(() => client.finals() === ' my card is lost one two three');
    expect(acknowledged()).toBe(first.length);
    full[Symbol.dispose]();
    await until(() => acknowledged() === first.length + second.length);
    client.stop();
    expect((await client.closed).code).toBe(1000);
    expect(await service.ended(id)).toMatchObject({
      status: 'done',
      result: { transcription: { full_transcript: 'my card is lost one two three' } },
    });
  },
);

test('a log that a full disk refuses costs the messages of the record and nothing else', async () => {
  await using service = await startTestService({ recogniser: real, config: { withoutRoomS: 0.6 } });
  const { id, url } = await service.post({ ...telephony, endpointing: 0.2 });
  await symlink('/dev/full', join(service.store.dataDir, 'speech', `${id}.log`));
  const client = await connect(url);
  client.send(mulawOf('my card is lost'));
  client.stop();
  expect((await client.closed).code).toBe(1000);
  expect(client.finals()).toBe(' my card is lost');
  expect(await service.ended(id)).toMatchObject({
    status: 'done',
    result: { transcription: { full_transcript: 'my card is lost' } },
  });
});
