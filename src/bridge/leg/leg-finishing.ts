import type { Clock } from '../../lib/clock.ts';
import type { FinishDeadlines, LegOutcome } from './leg-types.ts';

export type LegFinishingOptions = {
  deadlines: FinishDeadlines;
  clock: Clock;
  resolve: (outcome: LegOutcome) => void;
  /** Audio that is unacknowledged now never will be in time. */
  onOutOfTime: () => void;
  /** The service has every byte and answers, and its last finals did not come. */
  onFinalsLate: () => void;
};

/** The last part of a leg: no more audio comes, and two deadlines run until the service has said its last word. */
export class LegFinishing {
  readonly deadlines: FinishDeadlines;
  finals: LegOutcome['finals'] = 'complete';
  private readonly options: LegFinishingOptions;
  private readonly stopWithin: () => void;
  private stopFinals: (() => void) | undefined;

  constructor(options: LegFinishingOptions) {
    this.options = options;
    this.deadlines = options.deadlines;
    this.stopWithin = options.clock.after(options.deadlines.withinMs, () => options.onOutOfTime());
  }

  /** The last finals have their time from when the service has every byte and answers. */
  armFinals(): void {
    const { clock, deadlines, onFinalsLate } = this.options;
    this.stopFinals ??= clock.after(deadlines.finalsMs, () => {
      this.stopFinals = undefined;
      onFinalsLate();
    });
  }

  disarmFinals(): void {
    this.stopFinals?.();
    this.stopFinals = undefined;
  }

  stop(): void {
    this.disarmFinals();
    this.stopWithin();
  }

  resolve(outcome: Omit<LegOutcome, 'finals'>): void {
    this.options.resolve({ ...outcome, finals: this.finals });
  }
}
