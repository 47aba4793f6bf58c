import { addressOf, changed, queryOf } from './call-query.js';
import { choice, choose } from './choices.js';
import { h } from './dom.js';
import { callFields, field, fillFields, foldedFields, select } from './filter-fields.js';
import { menu } from './menu.js';

/** A pause of this length in typing starts the search. */
const typedMs = 300;
const hiddenByChoice = 'calls-hidden';

/** The form above the list. Every field is part of the address, and the list shows what the address says. */
export class CallFilters {
  #search = field('search', 'Search', h('input', { type: 'search', maxlength: '300' }), {
    placeholder: 'Number, tag or call ID',
  });
  #carriers = h('datalist', { id: 'calls-carriers' });
  #sort = select('sort', 'Order', [
    ['', 'Newest first'],
    ['oldest', 'Oldest first'],
    ['longest', 'Longest first'],
    ['shortest', 'Shortest first'],
  ]);
  #others = callFields('calls-carriers');
  #fields = [this.#search, this.#sort, ...this.#others];
  #clear = h('a', { href: '#/calls', hidden: true }, 'Clear filters');
  #more = foldedFields(this.#others);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #typing;

  /**
   * `list` is the element whose columns are shown or hidden.
   * @param {HTMLElement} list
   */
  constructor(list) {
    const search = this.#search;
    this.element = h(
      'form',
      { class: 'call-filters', role: 'search', 'aria-label': 'Calls' },
      h('div', { class: 'filter-line' }, search.element, this.#sort.element, columnsMenu(list)),
      this.#more.element,
      this.#carriers,
      h('p', {}, this.#clear),
    );
    this.element.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#take(search);
    });
    for (const one of this.#fields) one.input.addEventListener('change', () => this.#take(one));
    // The cross in the search field empties it without Enter.
    search.input.addEventListener('search', () => this.#take(search));
    search.input.addEventListener('input', () => {
      clearTimeout(this.#typing);
      this.#typing = setTimeout(() => this.#take(search), typedMs);
    });
  }

  /**
   * Fills the fields from the address. The answer deals with names or values that have no field here.
   * @param {URLSearchParams} query
   */
  show(query) {
    fillFields(this.#fields, query, this.#typing === undefined ? undefined : this.#search.input);
    this.#more.show(query);
    this.#clear.hidden = query.size === 0;
  }

  close() {
    clearTimeout(this.#typing);
  }

  /** @param {readonly string[]} carriers */
  suggest(carriers) {
    const told = [...this.#carriers.options].map(({ value }) => value);
    const known = [...new Set(carriers)].toSorted();
    if (known.join() === told.join()) return;
    this.#carriers.replaceChildren(...known.map((value) => h('option', { value })));
  }

  /** @param {{ name: string, input: HTMLInputElement | HTMLSelectElement }} field */
  #take({ name, input }) {
    if (name === 'search') {
      clearTimeout(this.#typing);
      this.#typing = undefined;
    }
    // The address itself is read, because another field may have changed it and the browser reports that only later.
    const query = queryOf(location.hash);
    const value = input.value.trim();
    if (value === (query.get(name) ?? '')) return;
    const address = addressOf(changed(query, name, value));
    // One step back leaves the search, however many letters were typed.
    if (name === 'search' && query.has(name) && value !== '') location.replace(address);
    else location.hash = address;
  }
}

/**
 * The optional columns. State and parties are always shown; this browser remembers the choice of the others.
 * @type {[string, string][]}
 */
const columns = [
  ['how', 'Carrier and direction'],
  ['tags', 'Tags'],
  ['mood', 'Mood'],
  ['words', 'About'],
  ['agent', 'Agent'],
  ['levels', 'Sound'],
  ['clock', 'Time and length'],
];

/** @param {HTMLElement} list */
function columnsMenu(list) {
  const hidden = new Set(choice(hiddenByChoice).split(' '));
  const boxes = columns.map(([name, label]) => {
    list.classList.toggle(`hide-${name}`, hidden.has(name));
    const box = h('input', { type: 'checkbox', checked: !hidden.has(name) });
    box.addEventListener('change', () => {
      list.classList.toggle(`hide-${name}`, !box.checked);
      if (box.checked) hidden.delete(name);
      else hidden.add(name);
      choose(hiddenByChoice, [...hidden].join(' ').trim());
    });
    return h('label', {}, box, label);
  });
  return menu('Columns', h('fieldset', { class: 'extras' }, h('legend', {}, 'Shown'), boxes));
}
