import { Counter } from 'prom-client';
import { metrics } from '../lib/metrics.ts';

/** Plain numbers, because this code runs for every frame. The metrics registry reads them on request. */
export const speechTotals = {
  connects: 0,
  stalled: 0,
  strange: 0,
  repeated: 0,
  badAcks: 0,
  refusedAcks: 0,
  rebases: 0,
  created: 0,
  createFailures: 0,
  orphansErased: 0,
  passedOver: 0,
  moved: 0,
  closes: new Map<number, number>(),
  closed(code: number): void {
    this.closes.set(code, (this.closes.get(code) ?? 0) + 1);
  },
};

const lines = {
  connects: 'Sockets opened to live sessions.',
  stalled: 'Sockets given up because no acknowledgement moved for ten seconds.',
  strange: 'Messages of the speech service that could not be read, or were of another session.',
  repeated: 'Messages that came a second time and were dropped.',
  badAcks: 'Acknowledgements that cannot be true: ignored, socket renewed.',
  refusedAcks: 'Audio that the speech service refused.',
  rebases: 'Resumes after which the service counted other bytes than we did.',
  created: 'Live sessions created.',
  createFailures: 'Attempts to create a live session that failed.',
  orphansErased: 'Sessions erased whose creation was answered to nobody.',
  passedOver:
    'Times that a speech node began to be passed over, because it was full or did not answer.',
  moved:
    'Live sessions that were given up because their speech node is gone: their legs go on at another.',
} as const;

for (const key of Object.keys(lines) as (keyof typeof lines)[]) {
  const name = `trunkline_speech_${key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_total`;
  new Counter({
    name,
    help: lines[key],
    registers: [metrics],
    collect() {
      this.reset();
      this.inc(speechTotals[key]);
    },
  });
}

new Counter({
  name: 'trunkline_speech_closes_total',
  help: 'Sockets to live sessions that ended, by close code.',
  labelNames: ['code'],
  registers: [metrics],
  collect() {
    this.reset();
    for (const [code, count] of speechTotals.closes) this.inc({ code: String(code) }, count);
  },
});
