import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { speechTotals } from '../../../src/speech-client/metrics.ts';
import { FaultProxy } from '../../support/faults/fault-proxy.ts';
import { legRig, type RigLeg } from '../../support/bridge/leg-rig.ts';
import {
  mulawOf,
  startTestService,
  type TestService,
} from '../../support/speech/speech-service.ts';
import { until } from '../../support/process/until.ts';

const deadlines = { finalsMs: 600_000, withinMs: 1_200_000 };
const silence = (seconds: number): Buffer => Buffer.alloc(seconds * 8_000, 0xff);

function say(leg: RigLeg, bytes: Buffer): number {
  for (let at = 0; at < bytes.length; at += 160) leg.leg.push(bytes.subarray(at, at + 160));
  return bytes.length;
}

/** The words in the files of the service, whatever it has told. */
const heldBytes = (service: TestService, id: string): number =>
  statSync(join(service.store.dataDir, 'speech', `${id}.audio`)).size;

async function fileOf(service: TestService, id: string): Promise<Buffer> {
  const file = await service.http(`/v2/live/${id}/file`);
  return Buffer.from(await file.arrayBuffer()).subarray(58);
}

test('acks are lost in the middle of a silence: our service holds every byte that is called acknowledged, and no time moves', async () => {
  await using service = await startTestService();
  await using proxy = await FaultProxy.start(service.port);
  await using rig = await legRig({ url: proxy.url, own: true });
  const leg = rig.leg();
  const spoken: Buffer[] = [];
  const speak = (bytes: Buffer): number => {
    spoken.push(bytes);
    say(leg, bytes);
    return spoken.reduce((sum, one) => sum + one.length, 0);
  };
  const acknowledged = (bytes: number): Promise<boolean> =>
    until(() => leg.leg.ledger().acknowledged === bytes);
  await acknowledged(speak(mulawOf('my card')));
  const before = speechTotals.rebases;
  for (let round = 0; round < 3; round++) {
    // Silence whose acks arrive, silence whose acks are lost with the socket, and more of it afterwards.
    for (let turn = 0; turn < 5; turn++) await acknowledged(speak(silence(0.2)));
    const id = leg.leg.sessionId()!;
    const held = heldBytes(service, id);
    proxy.wire.lose = 'down';
    speak(silence(0.5));
    await until(() => heldBytes(service, id) === held + 4_000);
    proxy.wire.lose = 'none';
    proxy.cut();
    await acknowledged(speak(silence(0.5)));
    await acknowledged(speak(mulawOf('is lost')));
  }
  const { ledger, sessions } = await leg.leg.finish(deadlines);
  const audio = Buffer.concat(spoken);
  expect(sessions).toHaveLength(1);
  expect(ledger).toMatchObject({ received: audio.length, acknowledged: audio.length, gaps: 0 });
  expect((await fileOf(service, sessions[0]!.id)).equals(audio)).toBe(true);
  expect(speechTotals.rebases).toBe(before);
  expect(leg.words.map(({ word }) => word)).toEqual('my card is lost is lost is lost'.split(' '));
});
