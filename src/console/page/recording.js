import { h, setText } from './dom.js';
import { messageOf } from './failures.js';
import { clock } from './format.js';
import { peaksOf } from './peaks.js';

/** @import { Peaks } from './peaks.js' */

/** @import { ApiCall } from './shapes.ts' */

const bins = 600;

/** The call's sound: a waveform for each leg, and the browser's own player, which requests ranges by itself. */
export class Recording {
  #audio;
  #waves;
  #canvases;
  #sides;
  #head = h('i', { class: 'playhead', hidden: true });
  #note = h('p', { class: 'quiet', role: 'status' });
  #problem = h('p', { class: 'error', role: 'alert' });
  #stop = new AbortController();
  #colours = matchMedia('(prefers-color-scheme: dark)');
  /** @type {Peaks | undefined} */
  #peaks;
  #frame = 0;
  #onHeard;
  /** Separate from the rest, so that it stays visible while the words are read. */
  player;

  /**
   * `onHeard` gets the position for each frame while it plays, and whenever it is set.
   * @param {Pick<ApiCall, 'id' | 'legs'>} call
   * @param {(seconds: number) => void} onHeard
   */
  constructor({ id, legs }, onHeard) {
    const address = `/api/calls/${id}/recording`;
    // If all speakers share one channel, both sides are the same.
    const isMixed = legs.every(({ role }) => role === 'mixed');
    this.#sides = isMixed ? 'All speakers in one channel' : 'Customer above, agent below';
    this.#canvases = (isMixed ? ['mixed'] : ['customer', 'agent']).map((role) =>
      h('canvas', { width: bins * 2, height: 72, dataset: { role }, 'aria-hidden': 'true' }),
    );
    this.#onHeard = onHeard;
    this.#audio = h('audio', {
      ...{
        controls: true,
        preload: 'metadata',
        src: address,
        'aria-label': 'Recording of the call',
      },
      onplaying: () => this.#follow(),
      onpause: () => cancelAnimationFrame(this.#frame),
      onseeked: () => this.#tell(),
      onerror: () => this.#failed(),
    });
    this.player = h('div', { class: 'player' }, this.#audio, this.#problem);
    this.#waves = h('div', { class: 'waves' }, this.#canvases, this.#head);
    this.#waves.addEventListener('click', (event) => {
      const { left, width } = this.#waves.getBoundingClientRect();
      this.hear(((event.clientX - left) / width) * this.#seconds());
    });
    this.element = h(
      'section',
      { class: 'recording', 'aria-labelledby': 'recording-heading' },
      h('h2', { id: 'recording-heading' }, 'Recording'),
      this.#waves,
      this.#note,
    );
    const { signal } = this.#stop;
    this.#colours.addEventListener('change', () => this.#draw(), { signal });
    document.addEventListener('theme', () => this.#draw(), { signal });
    void this.#load(address);
  }

  get place() {
    return this.#audio.currentTime;
  }

  /** @param {number} seconds */
  hear(seconds) {
    this.goTo(seconds);
    // A browser may refuse to play without a user's gesture. The position is set all the same.
    this.#audio.play().catch(() => undefined);
  }

  /**
   * Sets the position without playing. A player that has loaded nothing yet will begin there.
   * @param {number} seconds
   */
  goTo(seconds) {
    this.#audio.currentTime = Math.min(Math.max(0, seconds), this.#seconds() || Infinity);
    this.#tell();
  }

  toggle() {
    if (this.#audio.paused) this.#audio.play().catch(() => undefined);
    else this.#audio.pause();
  }

  close() {
    this.#stop.abort();
    cancelAnimationFrame(this.#frame);
    this.#audio.pause();
    this.#audio.removeAttribute('src');
  }

  /** The browser loads nothing before somebody plays. Until then the waveform knows the length. */
  #seconds() {
    return this.#audio.duration || this.#peaks?.seconds || 0;
  }

  #follow() {
    cancelAnimationFrame(this.#frame);
    setText(this.#problem, '');
    this.#tell();
    if (!this.#audio.paused) this.#frame = requestAnimationFrame(() => this.#follow());
  }

  #tell() {
    const { currentTime } = this.#audio;
    this.#head.hidden = false;
    this.#head.style.left = `${((currentTime / (this.#seconds() || 1)) * 100).toFixed(2)}%`;
    this.#onHeard(currentTime);
  }

  #failed() {
    if (!this.#audio.hasAttribute('src')) return;
    setText(
      this.#problem,
      'The recording cannot be played: it is gone, or Trunkline does not answer.',
    );
  }

  /** @param {string} address */
  async #load(address) {
    try {
      this.#peaks = await peaksOf(address, bins, this.#stop.signal, (peaks) => {
        this.#peaks = peaks;
        this.#draw();
      });
      this.#draw();
      setText(this.#note, `${this.#sides} · ${clock(this.#peaks.seconds)}`);
    } catch (error) {
      if (!this.#stop.signal.aborted)
        setText(this.#note, `The waveform could not be drawn: ${messageOf(error)}`);
    }
  }

  #draw() {
    if (!this.#peaks) return;
    this.#canvases.forEach((canvas, channel) => {
      const { width, height } = canvas;
      const context = canvas.getContext('2d');
      if (context === null) return;
      context.clearRect(0, 0, width, height);
      context.fillStyle = getComputedStyle(canvas).color;
      this.#peaks?.channels[channel]?.forEach((peak, at) => {
        const tall = Math.max(1, peak * (height - 4));
        context.fillRect(at * 2, (height - tall) / 2, 1.4, tall);
      });
    });
  }
}
