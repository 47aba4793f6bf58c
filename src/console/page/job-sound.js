import { h, setText } from './dom.js';

/** The job's audio in the browser's own player, which requests only the ranges of a long file that are played. */
export class JobSound {
  #audio;
  #note = h('p', { class: 'quiet', role: 'status' });
  #onHeard;
  #frame = 0;

  /**
   * `onHeard` gets the position for each frame while it plays, and -1 when it stops.
   * @param {string} jobId
   * @param {(seconds: number) => void} onHeard
   */
  constructor(jobId, onHeard) {
    const address = `/v2/pre-recorded/${jobId}/file`;
    this.#onHeard = onHeard;
    this.#audio = h('audio', {
      ...{ controls: true, preload: 'metadata', src: address, 'aria-label': 'Audio of the job' },
      onplaying: () => this.#follow(),
      onpause: () => this.#rest(),
      onerror: () => this.#failed(),
    });
    this.element = h(
      'section',
      { class: 'recording', 'aria-labelledby': 'sound-heading' },
      h('h2', { id: 'sound-heading' }, 'Audio'),
      this.#audio,
      this.#note,
      h('p', {}, h('a', { href: address, download: '' }, 'Save the original file')),
    );
  }

  /** @param {number} seconds */
  hear(seconds) {
    this.#audio.currentTime = Math.max(0, seconds);
    // A browser may refuse to play without a user's gesture, or may not know the format. `onerror` reports that.
    this.#audio.play().catch(() => undefined);
  }

  close() {
    cancelAnimationFrame(this.#frame);
    this.#audio.pause();
    this.#audio.removeAttribute('src');
  }

  #follow() {
    cancelAnimationFrame(this.#frame);
    this.#onHeard(this.#audio.currentTime);
    if (!this.#audio.paused) this.#frame = requestAnimationFrame(() => this.#follow());
  }

  #rest() {
    cancelAnimationFrame(this.#frame);
    this.#onHeard(-1);
  }

  #failed() {
    if (!this.#audio.hasAttribute('src')) return;
    setText(
      this.#note,
      'This browser cannot play the audio. It was deleted, or the browser does not know its format.',
    );
  }
}
