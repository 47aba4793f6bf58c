import { h } from './dom.js';
import { legNames } from './format.js';

/** @import { ApiCall } from './shapes.ts' */

/** The loudness of each leg, as a bar in its role's colour. It is only for the eye: the words carry the information. */
export class LevelBars {
  element = h('span', { class: 'levels', 'aria-hidden': 'true' });
  /** @type {Map<string, HTMLElement>} */
  #bars = new Map();

  /** @param {ApiCall['legs']} legs */
  show(legs) {
    const ids = legs.map((leg) => leg.id).join();
    if (this.element.dataset.legs === ids) return;
    this.element.dataset.legs = ids;
    this.#bars = new Map(
      legs.map((leg) => [
        leg.id,
        h(
          'span',
          { class: 'level', title: legNames[leg.role], dataset: { role: leg.role } },
          h('i'),
        ),
      ]),
    );
    this.element.replaceChildren(...this.#bars.values());
  }

  /**
   * @param {string} legId
   * @param {number} level
   */
  set(legId, level) {
    const bar = this.#bars.get(legId)?.firstElementChild;
    // People hear loudness as ratios, so the square root makes quiet speech visible.
    if (bar instanceof HTMLElement)
      bar.style.transform = `scaleX(${Math.min(1, Math.sqrt(level)).toFixed(3)})`;
  }
}
