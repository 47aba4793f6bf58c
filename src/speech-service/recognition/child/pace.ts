const windowMs = 1_000;
/** What may come at once and still be called live: a packet late, a few packets together. */
const burstS = 1;

/**
 * Whether audio comes as it is spoken, or faster: a recording, or what was kept while a line was down.
 * It is looked at anew for each second, so that a stream which has caught up is live again.
 */
export class Pace {
  #sinceMs: number;
  #heardS = 0;
  #wasLive = true;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** More audio that came at this time; true while the stream is live. */
  heard(atMs: number, seconds: number): boolean {
    if (atMs - this.#sinceMs >= windowMs) {
      this.#wasLive = this.#isLive(atMs);
      this.#sinceMs = atMs;
      this.#heardS = 0;
    }
    this.#heardS += seconds;
    return this.#wasLive && this.#isLive(atMs);
  }

  #isLive(atMs: number): boolean {
    return this.#heardS <= (atMs - this.#sinceMs) / 1000 + burstS;
  }
}
