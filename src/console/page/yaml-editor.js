import { h, setText } from './dom.js';
import { completionsAt } from './yaml-completion.js';

/** @import { JsonSchema, Completion } from './yaml-completion.js' */
/** @typedef {{ line: number, reason: string }} Mistake */

let editors = 0;

/**
 * A field for YAML with numbered lines, the mistakes at their lines, and completion by a schema. Tab leaves it, as it
 * leaves every field; Enter takes a completion only after the arrow keys chose one.
 */
export class YamlEditor {
  /** @type {JsonSchema} */
  schema = {};
  #onInput;
  #id = `yaml-${++editors}`;
  #numbers = h('div', { class: 'yaml-numbers', 'aria-hidden': 'true' });
  #list = h('ul', { id: `${this.#id}-list`, role: 'listbox', class: 'yaml-completions', 'aria-label': 'Completions', hidden: true }); // prettier-ignore
  #told = h('p', { class: 'off-screen', role: 'status' });
  #mistakes = h('ul', { id: `${this.#id}-mistakes`, class: 'yaml-mistakes' });
  #field = h('textarea', {
    ...{ id: this.#id, class: 'yaml-field', rows: '22', wrap: 'off', spellcheck: 'false' },
    ...{ autocapitalize: 'off', autocomplete: 'off', 'aria-autocomplete': 'list' },
    ...{
      'aria-controls': `${this.#id}-list`,
      'aria-describedby': `${this.#id}-help ${this.#id}-mistakes`,
    },
  });
  /** @type {{ items: Completion[], length: number }} */
  #offered = { items: [], length: 0 };
  #chosen = -1;
  #lines = 0;
  element;

  /**
   * @param {string} label
   * @param {() => void} onInput
   */
  constructor(label, onInput) {
    this.#onInput = onInput;
    this.element = h(
      'div',
      { class: 'yaml-editor' },
      h('label', { for: this.#id }, label),
      h('p', { id: `${this.#id}-help`, class: 'quiet' }, 'Control and space show what may stand here; the arrow keys choose, Enter takes it, Escape closes.'), // prettier-ignore
      h('div', { class: 'yaml-frame' }, this.#numbers, this.#field),
      this.#list,
      this.#told,
      this.#mistakes,
    );
    this.#field.addEventListener('input', () => {
      this.#number();
      this.#offer(false);
      this.#onInput();
    });
    this.#field.addEventListener('scroll', () => (this.#numbers.scrollTop = this.#field.scrollTop));
    this.#field.addEventListener('keydown', (event) => this.#key(event));
    this.#field.addEventListener('blur', () => this.#close());
    this.#field.addEventListener('click', () => this.#close());
    // A press on the list must not take the focus from the field, which would close the list.
    this.#list.addEventListener('mousedown', (event) => event.preventDefault());
  }

  get text() {
    return this.#field.value;
  }

  /** @param {string} text */
  set text(text) {
    this.#field.value = text;
    this.#field.scrollTop = 0;
    this.#lines = 0;
    this.#number();
    this.#close();
  }

  /** @param {readonly Mistake[]} mistakes */
  showMistakes(mistakes) {
    this.#field.setAttribute('aria-invalid', String(mistakes.length > 0));
    this.#mistakes.replaceChildren(
      ...mistakes.map(
        ({ line, reason }) =>
        h('li', {}, h('button', { type: 'button', class: 'error', onclick: () => this.goTo(line) }, `Line ${line}: ${reason}`)), // prettier-ignore
      ),
    );
    const wrong = new Set(mistakes.map(({ line }) => String(line)));
    for (const number of this.#numbers.children)
      number.classList.toggle('wrong', wrong.has(number.textContent ?? ''));
  }

  /** @param {number} line */
  goTo(line) {
    const lines = this.text.split('\n');
    const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    this.#field.focus();
    this.#field.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    this.#field.scrollTop = (this.#field.scrollHeight / Math.max(1, lines.length)) * Math.max(0, line - 5); // prettier-ignore
  }

  #number() {
    const lines = this.text.split('\n').length;
    if (lines === this.#lines) return;
    while (this.#numbers.childElementCount > lines) this.#numbers.lastElementChild?.remove();
    const from = this.#numbers.childElementCount;
    this.#numbers.append(...Array.from({ length: lines - from }, (_, at) => h('div', {}, String(from + at + 1)))); // prettier-ignore
    this.#lines = lines;
    this.#numbers.scrollTop = this.#field.scrollTop;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { key, ctrlKey: isControl } = event;
    if (isControl && key === ' ') this.#offer(true);
    else if (this.#list.hidden) return;
    else if (key === 'ArrowDown') this.#choose(this.#chosen + 1);
    else if (key === 'ArrowUp') this.#choose(this.#chosen - 1);
    else if (key === 'Escape') this.#close();
    else if (key === 'Enter' && this.#chosen >= 0) this.#take(this.#chosen);
    else return;
    event.preventDefault();
    // Escape and the arrows mean other things to the page.
    event.stopPropagation();
  }

  /** @param {boolean} isAsked */
  #offer(isAsked) {
    const { selectionStart: caret, selectionEnd: end } = this.#field;
    this.#offered = caret === end ? completionsAt(this.schema, this.text, caret) : { items: [], length: 0 }; // prettier-ignore
    const { items, length } = this.#offered;
    if (items.length === 0 || (length === 0 && !isAsked)) {
      this.#close();
      if (isAsked) setText(this.#told, 'Nothing to complete here.');
      return;
    }
    this.#chosen = -1;
    this.#list.replaceChildren(
      ...items.map(({ label, note }, at) =>
        h(
          'li',
          { id: `${this.#id}-${at}`, role: 'option', 'aria-selected': 'false', onclick: () => this.#take(at) }, // prettier-ignore
          h('span', { class: 'yaml-label' }, label),
          note === '' ? null : h('span', { class: 'quiet' }, ` ${note}`),
        ),
      ),
    );
    this.#list.hidden = false;
    this.#field.removeAttribute('aria-activedescendant');
    setText(this.#told, `${items.length} ${items.length === 1 ? 'completion' : 'completions'}`);
  }

  /** @param {number} wanted */
  #choose(wanted) {
    const { length } = this.#offered.items;
    this.#chosen = (wanted + length) % length;
    for (const [at, option] of [...this.#list.children].entries())
      option.setAttribute('aria-selected', String(at === this.#chosen));
    const chosen = this.#list.children[this.#chosen];
    chosen?.scrollIntoView({ block: 'nearest' });
    this.#field.setAttribute('aria-activedescendant', chosen?.id ?? '');
  }

  /** @param {number} at */
  #take(at) {
    const { items, length } = this.#offered;
    const { insert = '' } = items[at] ?? {};
    const caret = this.#field.selectionStart;
    this.#field.setRangeText(insert, caret - length, caret, 'end');
    this.#close();
    this.#field.focus();
    this.#number();
    this.#onInput();
  }

  #close() {
    this.#list.hidden = true;
    this.#chosen = -1;
    this.#field.removeAttribute('aria-activedescendant');
    setText(this.#told, '');
  }
}
