import { h, setText } from './dom.js';
import { clock } from './format.js';
import { peaksOf } from './peaks.js';

const bins = 600;

/** The call's sound: a waveform per leg, and the browser's own player, which asks for ranges by itself. */
export class Recording {
  #audio;
  #canvases = ['customer', 'agent'].map((role) =>
    h('canvas', { width: bins * 2, height: 72, dataset: { role }, 'aria-hidden': 'true' }),
  );
  #head = h('i', { class: 'playhead', hidden: true });
  #note = h('p', { class: 'quiet', role: 'status' });
  #stop = new AbortController();
  #colours = matchMedia('(prefers-color-scheme: dark)');
  #peaks;

  constructor(callId, onHeard) {
    const address = `/api/calls/${callId}/recording`;
    this.#audio = h('audio', {
      controls: true,
      preload: 'none',
      src: address,
      'aria-label': 'Recording of the call',
    });
    this.#audio.addEventListener('timeupdate', () => {
      this.#moveHead();
      onHeard(this.#audio.paused ? -1 : this.#audio.currentTime);
    });
    const waves = h('div', { class: 'waves' }, this.#canvases, this.#head);
    waves.addEventListener('click', (event) => {
      const { left, width } = waves.getBoundingClientRect();
      this.hear(((event.clientX - left) / width) * this.#seconds());
    });
    this.element = h(
      'section',
      { class: 'recording', 'aria-labelledby': 'recording-heading' },
      h('h2', { id: 'recording-heading' }, 'Recording'),
      waves,
      this.#audio,
      this.#note,
    );
    this.#colours.addEventListener('change', () => this.#draw(), { signal: this.#stop.signal });
    void this.#load(address);
  }

  hear(seconds) {
    this.#audio.currentTime = Math.max(0, seconds);
    // A browser may refuse to play without a gesture; the place is set all the same.
    this.#audio.play().catch(() => undefined);
  }

  close() {
    this.#stop.abort();
    this.#audio.pause();
    this.#audio.removeAttribute('src');
  }

  /** The browser reads nothing before someone listens; until then the waveform knows the length. */
  #seconds() {
    return this.#audio.duration || this.#peaks?.seconds || 0;
  }

  async #load(address) {
    try {
      this.#peaks = await peaksOf(address, bins, this.#stop.signal, (peaks) => {
        this.#peaks = peaks;
        this.#draw();
      });
      this.#draw();
      setText(this.#note, `Customer above, agent below · ${clock(this.#peaks.seconds)}`);
    } catch (error) {
      if (!this.#stop.signal.aborted)
        setText(this.#note, `The waveform could not be drawn: ${error.message}`);
    }
  }

  #moveHead() {
    const { currentTime } = this.#audio;
    this.#head.hidden = false;
    this.#head.style.left = `${((currentTime / (this.#seconds() || 1)) * 100).toFixed(2)}%`;
  }

  #draw() {
    if (!this.#peaks) return;
    this.#canvases.forEach((canvas, channel) => {
      const { width, height } = canvas;
      const context = canvas.getContext('2d');
      context.clearRect(0, 0, width, height);
      context.fillStyle = getComputedStyle(canvas).color;
      this.#peaks.channels[channel]?.forEach((peak, at) => {
        const tall = Math.max(1, peak * (height - 4));
        context.fillRect(at * 2, (height - tall) / 2, 1.4, tall);
      });
    });
  }
}
