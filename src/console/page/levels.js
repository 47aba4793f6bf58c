import { h } from './dom.js';
import { legNames } from './format.js';

/** How loud each leg is, as a bar in its role's colour. For the eye only: the words say the rest. */
export class LevelBars {
  element = h('span', { class: 'levels', 'aria-hidden': 'true' });
  #bars = new Map();

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

  set(legId, level) {
    const bar = this.#bars.get(legId)?.firstElementChild;
    // Loudness is heard in ratios: the square root lets quiet speech be seen.
    if (bar) bar.style.transform = `scaleX(${Math.min(1, Math.sqrt(level)).toFixed(3)})`;
  }
}
