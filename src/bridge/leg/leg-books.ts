import type { Logger } from '../../lib/log.ts';
import { bytesPerSecond } from '../../protocol/live-request.ts';
import { Ledger, type LedgerSnapshot } from './ledger.ts';
import { legTotals } from './leg-metrics.ts';
import type { GapCause, LegAudioOptions, LegRequest } from './leg-types.ts';

export type LegBooksOptions = Pick<LegAudioOptions, 'onGap'> & {
  request: LegRequest;
  left: LedgerSnapshot | undefined;
  log: Logger;
};

/** One leg's ledger, in the sums of the whole process too, and its gaps told once each. */
export class LegBooks {
  readonly ledger: Ledger;
  readonly bytesPerSecond: number;
  private readonly options: LegBooksOptions;

  constructor(options: LegBooksOptions) {
    this.options = options;
    this.ledger = new Ledger(options.left);
    const { sample_rate, channels, bit_depth } = options.request;
    this.bytesPerSecond = bytesPerSecond({ sample_rate, channels, bit_depth });
    legTotals.open++;
    for (const part of ['received', 'acknowledged', 'gaps', 'paused', 'filler'] as const)
      legTotals[part] += this.ledger.counts()[part];
  }

  get settled(): number {
    return this.ledger.settled;
  }

  get end(): number {
    return this.ledger.end;
  }

  /** Everything that came is acknowledged, a gap or filler. */
  get isSettled(): boolean {
    return this.ledger.settled === this.ledger.end;
  }

  secondsAt(position: number): number {
    return position / this.bytesPerSecond;
  }

  received(bytes: number, paused: boolean): void {
    legTotals.received += bytes;
    if (!paused) return;
    legTotals.paused += bytes;
    legTotals.filler += bytes;
  }

  filler(bytes: number): void {
    legTotals.filler += bytes;
  }

  acknowledge(position: number): void {
    legTotals.acknowledged += this.ledger.acknowledge(position);
  }

  lost(start: number, end: number, cause: GapCause): void {
    const bytes = this.ledger.gap(start, end);
    legTotals.gaps += bytes;
    if (bytes > 0) this.tellGap(start, end, bytes, cause);
  }

  /** Acknowledged once, and the service has it no more. */
  takenBack(start: number, end: number): void {
    const bytes = this.ledger.takenBack(end - start);
    legTotals.acknowledged -= bytes;
    legTotals.gaps += bytes;
    if (bytes > 0) this.tellGap(start, end, bytes, 'service');
  }

  tellGap(start: number, end: number, bytes: number, cause: GapCause): void {
    this.options.log.warn({ bytes, cause }, 'audio of a leg will not be transcribed');
    const [startS, durationS] = [this.secondsAt(start), this.secondsAt(end - start)];
    this.options.onGap({ startS, durationS, bytes, cause });
  }

  /** At the end nothing may be under way: if it is, that is an alarm. */
  checkEven(): void {
    if (this.ledger.balanced() && this.ledger.underWay() === 0) return;
    legTotals.unbalanced++;
    this.options.log.error({ ledger: this.ledger.counts() }, 'ledger does not come out even');
  }

  close(): void {
    legTotals.open--;
  }
}
