/** The voice detector goes on for a moment after a voice has ended; this far below it nothing is spoken. */
const silentBelow = 10 ** -4.5; // 45 dB
/** How fast a loud moment is forgotten: 10 dB in a second. */
const decayEachSecond = 0.1;

/** Whether a window of audio can be heard beside the voice of the last seconds. */
export class Audible {
  #peak = 0;

  window(voiced: boolean, samples: Float32Array): boolean {
    let energy = 0;
    for (const sample of samples) energy += sample * sample;
    energy /= Math.max(1, samples.length);
    this.#peak *= decayEachSecond ** (samples.length / 16000);
    if (voiced) this.#peak = Math.max(this.#peak, energy);
    return voiced && energy >= this.#peak * silentBelow;
  }
}
