import { describe, expect, test } from 'vitest';
import { carrierNames } from '../../../src/carriers/all.ts';
import { CarrierLine } from '../../support/carriers/carrier-line.ts';
import { carrierServer } from '../../support/carriers/carrier-server.ts';
import { FaultProxy } from '../../support/faults/fault-proxy.ts';
import { until } from '../../support/process/until.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

/** Troubles of lines that still carry everything in the end. */
const slow: Record<string, (proxy: FaultProxy) => void> = {
  'a delay of 200 ms with jitter': ({ wire }) => Object.assign(wire, { latencyMs: 200, jitterMs: 10 }),
  '64 kbit/s': ({ wire }) => Object.assign(wire, { bytesPerSecond: 8_000 }),
  'slices of one byte': ({ wire }) => Object.assign(wire, { sliceBytes: 1 }),
}; // prettier-ignore
const broken: Record<string, (proxy: FaultProxy) => void> = {
  'a cut': (proxy) => proxy.cut(),
  'a reset': (proxy) => proxy.reset(),
  'an end in the middle of a frame': ({ wire }) => Object.assign(wire, { limitBytes: 1 }),
  'a black hole': (proxy) => proxy.freeze(),
};
const phases = ['opening', 'speaking', 'ending'] as const;
const all = [...Object.keys(slow), ...Object.keys(broken)].flatMap((fault, row) =>
  phases.map((phase, column) => ({
    fault,
    phase,
    carrier: carrierNames[(row * 3 + column + row) % carrierNames.length]!,
  })),
);

describe('a bad line between the carrier and us', () => {
  test.each(all)('$fault while $phase, by $carrier', async ({ fault, phase, carrier }) => {
    const clock = new TestClock(1);
    await using server = await carrierServer({
      insecure: true,
      clock,
      config: { idleTimeoutMs: 25_000 },
    });
    await using proxy = await FaultProxy.start(server.port);
    await using good = await CarrierLine.connect(server, carrier);
    await good.open();
    good.speak(3);
    await using line = await CarrierLine.connect(proxy, carrier);
    const happens = (now: (typeof phases)[number]): void => {
      if (now === phase) (slow[fault] ?? broken[fault])?.(proxy);
    };
    const goesOn = fault in slow;
    happens('opening');
    if (goesOn || phase !== 'opening') await line.open();
    else line.client.send(...line.opening());
    line.speak(4);
    if (phase === 'speaking') await line.client.ping();
    happens('speaking');
    line.speak(4);
    if (phase === 'ending') await line.client.ping();
    happens('ending');
    if (goesOn) {
      await line.finish();
      line.expectWhole(await server.bridge.ended(1));
    } else {
      void line.finish().catch(() => undefined); // there is nobody to answer it
      // Twice what one step lets pass is more than any deadline of a line that is dead.
      for (let step = 0; fault === 'a black hole' && step < 2; step++) {
        good.speak(1);
        await good.client.ping();
        await clock.pass(13_000);
      }
      if (phase === 'opening') await until(() => line.client.closed ?? fault === 'a black hole');
      else line.expectBeginning(await server.bridge.ended(1), phase === 'ending' ? 8 : 4);
      expect(server.bridge.streams.length).toBe(phase === 'opening' ? 1 : 2);
    }
    good.speak(3);
    await good.finish();
    good.expectWhole(await server.bridge.ended(0));
  });
});
