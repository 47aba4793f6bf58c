import { alawToLinear, mulawToLinear } from './g711.ts';

type CompandingLaw = 'mulaw' | 'alaw';
/** The verdict stays `undecided` until enough sound has come. */
type CompandingVerdict = 'undecided' | 'as-declared' | 'other-law';

const frameBytes = 160;
/** The verdict needs this many frames with sound, which is half a second. Silence is the same in both laws. */
const framesToDecide = 25;
/** A frame with fewer different codes than this is silence or a constant. */
const codesOfSound = 12;
/**
 * The declared law counts as wrong only if it makes the wave rougher by this much. Measured on speech, the wrong law is rougher by at least 0.8 and
 * usually by 2 (logarithm of bend against power, mean of 25 frames).
 */
const clearDifference = 0.5;

/**
 * Distinguishes mu-law from A-law by the samples: if the wrong law decodes a smooth wave, it bends at every step. A leg
 * passes its payloads from the start of the call until there is a verdict, and then drops the check.
 */
export class CompandingCheck {
  readonly #declared: CompandingLaw;
  readonly #roughness: Record<CompandingLaw, number> = { mulaw: 0, alaw: 0 };
  readonly #rest = Buffer.alloc(frameBytes);
  #restBytes = 0;
  #frames = 0;
  #verdict: CompandingVerdict = 'undecided';

  constructor(declared: CompandingLaw) {
    this.#declared = declared;
  }

  get verdict(): CompandingVerdict {
    return this.#verdict;
  }

  push(payload: Uint8Array): CompandingVerdict {
    for (let from = 0; from < payload.length && this.#verdict === 'undecided';) {
      const part = payload.subarray(from, from + frameBytes - this.#restBytes);
      this.#rest.set(part, this.#restBytes);
      this.#restBytes += part.length;
      from += part.length;
      if (this.#restBytes < frameBytes) break;
      this.#restBytes = 0;
      this.#frame(this.#rest);
    }
    return this.#verdict;
  }

  #frame(codes: Uint8Array): void {
    if (new Set(codes).size < codesOfSound) return;
    // Loud and soft frames count equally, so that a click does not outweigh a word.
    this.#roughness.mulaw += roughness(codes, mulawToLinear);
    this.#roughness.alaw += roughness(codes, alawToLinear);
    this.#frames++;
    if (this.#frames >= framesToDecide) this.#verdict = this.#decide();
  }

  #decide(): CompandingVerdict {
    const other = this.#declared === 'mulaw' ? 'alaw' : 'mulaw';
    const difference = (this.#roughness[this.#declared] - this.#roughness[other]) / this.#frames;
    return difference > clearDifference ? 'other-law' : 'as-declared';
  }
}

/** The bend of the wave from sample to sample, relative to its power. */
function roughness(codes: Uint8Array, toLinear: Int16Array): number {
  let power = 1;
  let bend = 1;
  let last = 0;
  let lastButOne = 0;
  for (const code of codes) {
    const sample = toLinear[code] ?? 0;
    power += sample * sample;
    bend += (sample - 2 * last + lastButOne) ** 2;
    lastButOne = last;
    last = sample;
  }
  return Math.log(bend / power);
}
