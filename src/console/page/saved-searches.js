import { erase, get, putSearch } from './api.js';
import { h, setText, tryAction } from './dom.js';
import { menu } from './menu.js';

/** @import { SavedSearch } from './shapes.ts' */

/** The searches that people kept: a menu of them, and the form that keeps the one on the page. */
export class SavedSearches {
  #queryOf;
  #list = h('ul', { class: 'saved-searches' });
  #said = h('p', { class: 'quiet', role: 'status' });
  #problem = h('p', { class: 'error', role: 'alert' });
  #name = h('input', { id: 'search-name', maxlength: '80', required: true, autocomplete: 'off' });
  #keep = h('button', { type: 'button' }, 'Save this search');
  element = menu('Saved searches', this.#list, this.#keep);
  form;

  /** @param {() => URLSearchParams} queryOf */
  constructor(queryOf) {
    this.#queryOf = queryOf;
    const cancel = h('button', { type: 'button' }, 'Cancel');
    const naming = h(
      'form',
      { class: 'name-search', hidden: true },
      h('label', { for: 'search-name' }, 'Name of this search'),
      this.#name,
      h('button', { type: 'submit', class: 'primary' }, 'Save'),
      cancel,
    );
    this.form = h('div', {}, naming, this.#said, this.#problem);
    this.#keep.addEventListener('click', () => {
      this.element.open = false;
      naming.hidden = false;
      this.#name.focus();
    });
    cancel.addEventListener('click', () => {
      naming.hidden = true;
      this.#focus();
    });
    naming.addEventListener('submit', (event) => {
      event.preventDefault();
      const name = this.#name.value.trim();
      if (name === '') return;
      void this.#do(async () => {
        const query = new URLSearchParams(this.#queryOf());
        query.delete('cursor');
        await putSearch(`/api/saved-searches/${encodeURIComponent(name)}`, { query: query.toString() }); // prettier-ignore
        naming.hidden = true;
        this.#name.value = '';
        setText(this.#said, `Saved as “${name}”.`);
        this.#focus();
      });
    });
    this.element.addEventListener('toggle', () => {
      if (this.element.open) void this.#do(() => this.#load());
    });
    this.#list.append(h('li', { class: 'quiet' }, 'Loading …'));
  }

  /** The search on the page changed. */
  show() {
    this.#keep.hidden = !this.#queryOf().has('q');
    setText(this.#said, '');
    setText(this.#problem, '');
  }

  #focus() {
    const summary = this.element.querySelector('summary');
    if (summary instanceof HTMLElement) summary.focus();
  }

  async #load() {
    const { items } = await get('/api/saved-searches');
    const rows = items.map((saved) => this.#row(saved));
    this.#list.replaceChildren(
      ...(rows.length > 0 ? rows : [h('li', { class: 'quiet' }, 'Nothing is saved yet.')]),
    );
  }

  /** @param {SavedSearch} saved */
  #row({ name, query }) {
    const link = h('a', { href: `#/search?${query}` }, name);
    link.addEventListener('click', () => (this.element.open = false));
    const remove = h('button', { type: 'button', 'aria-label': `Remove ${name}` }, 'Remove');
    const row = h('li', {}, link, remove);
    remove.addEventListener('click', () => {
      // The focus stays in the menu, which would close without it.
      this.#focus();
      void this.#do(async () => {
        await erase(`/api/saved-searches/${encodeURIComponent(name)}`);
        await this.#load();
      });
    });
    return row;
  }

  /** @param {() => Promise<unknown>} run */
  #do(run) {
    return tryAction({ said: this.#said, problem: this.#problem }, run);
  }
}
