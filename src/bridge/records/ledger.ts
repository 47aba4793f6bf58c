/** Counts of bytes of one leg's carrier audio. received = acknowledged + gaps + paused + bytes still in progress. */
export type LedgerCounts = {
  received: number;
  acknowledged: number;
  gaps: number;
  paused: number;
  /** Silence that we added. It is not part of the sum. */
  filler: number;
};

/**
 * Bytes in the leg's stream that are not carrier audio to be transcribed. Acknowledging them does not change the
 * counts.
 */
type LedgerMark = { start: number; end: number; kind: 'filler' | 'gap' };

export type LedgerSnapshot = {
  counts: LedgerCounts;
  /** The leg position up to which every byte is acknowledged, in a gap, or filler. */
  settled: number;
  end: number;
  marks: LedgerMark[];
};

export type LegGapCause =
  /** The disk was full or failed while the service was unreachable. No copy is left. */
  | 'journal'
  /** The journal of an earlier run was damaged here. */
  | 'damaged'
  /** The service acknowledged the audio and, by its own count after a lost connection, no longer has it. */
  | 'service'
  /** The leg's time for finishing was over. */
  | 'deadline'
  /** The leg used up its number of sessions. */
  | 'sessions'
  /** The service refuses our request for a session, and the call is over. */
  | 'refused'
  /** The audio was on the disk of a lost node. */
  | 'node';

/** A stretch of leg time. Leg time counts from the leg's first byte and includes silence that we added. */
export type LegGap = { startS: number; durationS: number; bytes: number; cause: LegGapCause };

const nothing: LedgerCounts = { received: 0, acknowledged: 0, gaps: 0, paused: 0, filler: 0 };

/**
 * Accounts for every byte of one leg over all its sessions. Pure; only the leg itself writes it. Positions count the
 * bytes in the journal and on the socket: carrier audio, and our silence in place of paused or lost audio.
 */
export class LegLedger {
  readonly #total: LedgerCounts;
  #marks: LedgerMark[];
  #settledTo: number;
  #end: number;

  constructor(from?: LedgerSnapshot) {
    this.#total = { ...(from?.counts ?? nothing) };
    this.#marks = (from?.marks ?? []).map((mark) => ({ ...mark }));
    this.#settledTo = from?.settled ?? 0;
    this.#end = from?.end ?? 0;
  }

  get settled(): number {
    return this.#settledTo;
  }

  get end(): number {
    return this.#end;
  }

  /** True if every received byte is acknowledged, in a gap, or filler. */
  get isSettled(): boolean {
    return this.#settledTo === this.#end;
  }

  audio(bytes: number): void {
    this.#total.received += bytes;
    this.#end += bytes;
  }

  /** Adds silence to the stream. `paused`: the silence replaces carrier bytes that were discarded on request. */
  filler(bytes: number, paused: boolean): void {
    this.#total.filler += bytes;
    if (paused) {
      this.#total.received += bytes;
      this.#total.paused += bytes;
    }
    this.#mark(this.#end, this.#end + bytes, 'filler');
    this.#end += bytes;
  }

  /**
   * Records that the service has everything before the position, which never moves back. Returns the number of newly
   * acknowledged carrier bytes.
   */
  acknowledge(position: number): number {
    const to = Math.min(position, this.#end);
    if (to <= this.#settledTo) return 0;
    const bytes = to - this.#settledTo - this.#marked(this.#settledTo, to);
    this.#total.acknowledged += bytes;
    this.#settle(to);
    return bytes;
  }

  /**
   * Records that these bytes will never be transcribed. Returns how many of them were carrier audio still in progress.
   */
  gap(start: number, end: number): number {
    const from = Math.max(start, this.#settledTo);
    const to = Math.min(end, this.#end);
    if (to <= from) return 0;
    const lost = to - from - this.#marked(from, to);
    this.#total.gaps += lost;
    this.#insertGap(from, to);
    if (from === this.#settledTo) this.#settle(to);
    return lost;
  }

  /**
   * Records that the service no longer has this many bytes that it had acknowledged. Nobody knows any more which of
   * them were our own silence, so all count as carrier audio: the loss can only look greater than it is. Returns their
   * number.
   */
  takenBack(bytes: number): number {
    const lost = Math.min(bytes, this.#total.acknowledged);
    this.#total.acknowledged -= lost;
    this.#total.gaps += lost;
    return lost;
  }

  counts(): LedgerCounts {
    return { ...this.#total };
  }

  /** Number of carrier bytes that are neither acknowledged nor declared lost yet. */
  underWay(): number {
    return this.#end - this.#settledTo - this.#marked(this.#settledTo, this.#end);
  }

  /** True if the counts add up as `LedgerCounts` promises. If they do not, an alarm is raised. */
  balanced(): boolean {
    const { received, acknowledged, gaps, paused } = this.#total;
    return received === acknowledged + gaps + paused + this.underWay();
  }

  snapshot(): LedgerSnapshot {
    return {
      counts: this.counts(),
      settled: this.#settledTo,
      end: this.#end,
      marks: this.#marks.map((mark) => ({ ...mark })),
    };
  }

  #settle(position: number): void {
    this.#settledTo = position;
    let gone = 0;
    while (gone < this.#marks.length && (this.#marks[gone]?.end ?? Infinity) <= position) gone++;
    if (gone > 0) this.#marks.splice(0, gone);
    const first = this.#marks[0];
    if (first && first.start < position) first.start = position;
  }

  #marked(from: number, to: number): number {
    let bytes = 0;
    for (const mark of this.#marks)
      bytes += Math.max(0, Math.min(to, mark.end) - Math.max(from, mark.start));
    return bytes;
  }

  #mark(start: number, end: number, kind: LedgerMark['kind']): void {
    if (end <= start) return;
    const last = this.#marks.at(-1);
    if (last?.kind === kind && last.end === start) last.end = end;
    else this.#marks.push({ start, end, kind });
  }

  /** A gap absorbs the filler inside it, so that marks never overlap. */
  #insertGap(start: number, end: number): void {
    const kept: LedgerMark[] = [];
    for (const mark of this.#marks) {
      if (mark.end <= start || mark.start >= end) {
        kept.push(mark);
        continue;
      }
      if (mark.start < start) kept.push({ ...mark, end: start });
      if (mark.end > end) kept.push({ ...mark, start: end });
    }
    kept.push({ start, end, kind: 'gap' });
    this.#marks = kept.sort((one, other) => one.start - other.start);
  }
}
