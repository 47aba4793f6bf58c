import { h } from './dom.js';

/** Several questions may stand on one page. */
let questions = 0;

/**
 * Asks before an action that cannot be undone. `trigger` only asks, the focus moves to the harmless button, and Escape
 * means no. `run` does the action; the caller shows its errors.
 */
export class Sure {
  #trigger;
  #keep;
  element;

  /**
   * @param {HTMLElement} trigger
   * @param {{ question: string, yes: string, no: string, run: () => void }} words
   */
  constructor(trigger, { question, yes, no, run }) {
    this.#trigger = trigger;
    const id = `sure-${++questions}`;
    const words = h('span', { id }, question);
    const confirm = h('button', { type: 'button', class: 'bad', onclick: run }, yes);
    this.#keep = h('button', { type: 'button', onclick: () => this.ask(false) }, no);
    this.element = h(
      'div',
      { class: 'actions sure', role: 'group', 'aria-labelledby': id, hidden: true },
      ...[words, confirm, this.#keep],
    );
    this.element.addEventListener('keydown', ({ key }) => {
      if (key === 'Escape') this.ask(false);
    });
    trigger.addEventListener('click', () => this.ask(true));
  }

  /** @param {boolean} isAsking */
  ask(isAsking) {
    this.element.hidden = !isAsking;
    this.#trigger.hidden = isAsking;
    (isAsking ? this.#keep : this.#trigger).focus();
  }
}
