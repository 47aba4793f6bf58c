import { MediaError } from './media-error.ts';

/** At most this many files may wait. A further one is refused, and its sender tries again later. */
export const maxFilesWaiting = 64;

/** Runs at most `places` tasks at once, the others in order of arrival. */
export class FileLanes {
  readonly #places: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(places: number) {
    this.#places = places;
  }

  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#running < this.#places) this.#running += 1;
    else await this.#placeFor(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next)
        next(); // the finished task's place goes to the next one
      else this.#running -= 1;
    }
  }

  #placeFor(signal?: AbortSignal): Promise<void> {
    if (this.#waiting.length >= maxFilesWaiting)
      throw new MediaError(
        503,
        `${maxFilesWaiting} files are waiting to be read already: try again later`,
      );
    return new Promise((resolve, reject) => {
      const granted = () => {
        signal?.removeEventListener('abort', aborted);
        resolve();
      };
      const aborted = () => {
        const at = this.#waiting.indexOf(granted);
        if (at >= 0) this.#waiting.splice(at, 1);
        reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
      };
      this.#waiting.push(granted);
      signal?.addEventListener('abort', aborted, { once: true });
    });
  }
}
