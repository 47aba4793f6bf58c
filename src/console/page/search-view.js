import { get } from './api.js';
import { askedOf, changed, queryOf } from './call-query.js';
import { h, setText } from './dom.js';
import { isUnanswered } from './failures.js';
import { callFields, field, fillFields, foldedFields, select } from './filter-fields.js';
import { FoundWords } from './found-words.js';
import { fullDay, percent, zoneNow } from './format.js';
import { HitSound } from './hit-sound.js';
import { menu } from './menu.js';
import { PageState } from './page-state.js';
import { SavedSearches } from './saved-searches.js';
import { transcriptFormats } from './transcript-formats.js';

/** @import { LiveFeedMessage, SearchPage, Shortcut } from './shapes.ts' */

const pageItems = 20;
/** A pause of this length in typing starts the search. */
const typedMs = 600;
const progressEveryMs = 10_000;
/** An answer that takes longer is announced. The first search by meaning waits for its model. */
const waitedMs = 400;

/** @type {[string, string][]} */
const language = [
  ['refund visa', 'both words, anywhere in the call'],
  ['"speak to your manager"', 'these words one after the other'],
  ['manag*', 'a word that begins so'],
  ['customer:refund agent:"i am sorry"', 'said by this party'],
  ['refund -cancelled', 'the first word, and not the second'],
  ['(late OR delayed)', 'one of the words'],
  ['near(refund card, 6)', 'at most six words apart'],
  ['refund tag:vip mood:negative', 'only calls with this tag, in this mood'],
];

/** @type {[string, string][]} */
const meaningLanguage = [
  ['the parcel arrived too late', 'whatever means nearly the same'],
  ['customer: I want to leave', 'said by this party'],
  ['my card was lost tag:vip', 'only calls with this tag'],
];

const placeholders = {
  words: 'What was said: refund "credit card" -cancelled',
  meaning: 'A sentence, as: the parcel arrived too late',
};

/** Calls found by what was said in them. The address holds the whole search. */
export class SearchView {
  title = 'Search';
  #box = field('q', 'Words', h('input', { type: 'search', maxlength: '500' }), {
    placeholder: placeholders.words,
  });
  #by = select('by', 'Find', [
    ['', 'These words'],
    ['meaning', 'What means the same'],
  ]);
  #sort = select('sort', 'Order', [
    ['', 'Newest first'],
    ['relevance', 'Best match first'],
  ]);
  #carriers = h('datalist', { id: 'search-carriers' });
  #fields = callFields('search-carriers');
  #more = foldedFields(this.#fields);
  #clear = h('a', { href: '#/search', hidden: true }, 'Clear the search');
  #told = h('p', { class: 'quiet', role: 'status' });
  #progress = h('progress', { max: '1', 'aria-labelledby': 'indexing' });
  #indexing = h('p', { class: 'quiet indexing', hidden: true });
  #indexingText = h('span', { id: 'indexing' });
  #language = h('dl', { class: 'search-language' });
  #list = h('ol', { class: 'found', 'aria-label': 'Calls found' });
  #next = h('button', { type: 'button', hidden: true }, 'More calls');
  #state = new PageState('the calls', () => this.#search());
  #sound = new HitSound();
  #downloads;
  #saved;
  #query = new URLSearchParams();
  /** @type {Map<string, FoundWords>} */
  #found = new Map();
  /** @type {string | null} */
  #cursor = null;
  #reading = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #typing;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #waiting;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #looking;
  element;

  constructor() {
    this.#downloads = menu('Download');
    this.#saved = new SavedSearches(() => this.#query);
    this.#indexing.append(this.#indexingText, ' ', this.#progress);
    this.#next.addEventListener('click', () => void this.#readMore());
    const form = h(
      'form',
      { class: 'call-filters', role: 'search', 'aria-label': 'Words in calls' },
      h(
        'div',
        { class: 'filter-line' },
        this.#box.element,
        this.#by.element,
        this.#sort.element,
        h('button', { type: 'submit', class: 'primary' }, 'Search'),
      ),
      this.#more.element,
      this.#carriers,
      h('details', { class: 'more-filters' }, h('summary', {}, 'How to search'), this.#language),
      h('p', {}, this.#clear),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#take('q', this.#box.input.value.trim(), true);
    });
    this.#box.input.addEventListener('input', () => {
      clearTimeout(this.#typing);
      this.#typing = setTimeout(() => this.#take('q', this.#box.input.value.trim()), typedMs);
    });
    for (const { name, input } of [this.#by, this.#sort, ...this.#fields])
      input.addEventListener('change', () => this.#take(name, input.value.trim()));
    this.element = h(
      'div',
      { class: 'view search-view' },
      h(
        'div',
        { class: 'heading' },
        h('h1', {}, 'Search'),
        h('div', { class: 'actions' }, this.#saved.element, this.#downloads),
      ),
      form,
      this.#saved.form,
      this.#indexing,
      this.#sound.element,
      this.#told,
      this.#state.element,
      this.#list,
      this.#next,
    );
    this.follow(location.hash);
    if (!this.#query.has('q')) requestAnimationFrame(() => this.#box.input.focus());
  }

  close() {
    this.#reading++;
    clearTimeout(this.#typing);
    clearTimeout(this.#waiting);
    clearTimeout(this.#looking);
    this.#state.close();
    this.#sound.close();
  }

  /**
   * The address changed. The fields keep the focus.
   * @param {string} hash
   */
  follow(hash) {
    if (!/^#\/search(?:\?.*)?$/.test(hash)) return false;
    this.#query = queryOf(hash);
    const typed = this.#typing === undefined ? undefined : this.#box.input;
    fillFields([this.#box, this.#by, this.#sort, ...this.#fields], this.#query, typed);
    this.#sort.element.hidden = this.#isByMeaning;
    this.#drawLanguage();
    this.#more.show(this.#query);
    this.#clear.hidden = this.#query.size === 0;
    this.#saved.show();
    void this.#search();
    return true;
  }

  /** @param {LiveFeedMessage} message */
  take(message) {
    if (message.type === 'reset') void this.#search();
    if (message.type !== 'call-deleted') return;
    this.#found.get(message.call_id)?.element.remove();
    this.#found.delete(message.call_id);
    this.#sound.forget(message.call_id);
    this.#tell();
  }

  /** @returns {Shortcut[]} */
  get shortcuts() {
    /** @param {number} step */
    const go = (step) => () => {
      const places = [...this.#list.querySelectorAll('.place > :first-child')];
      const next = places[places.indexOf(document.activeElement ?? this.#list) + step] ?? places.at(step > 0 ? 0 : -1); // prettier-ignore
      if (next instanceof HTMLElement) next.focus();
      return next !== undefined;
    };
    return [
      { key: 'j', name: 'Next place', run: go(1) },
      { key: 'k', name: 'Place before', run: go(-1) },
      { key: ' ', shown: 'Space', name: 'Play or pause', run: () => this.#sound.toggle() },
    ];
  }

  /**
   * @param {string} name
   * @param {string} value
   * @param {boolean} [again] searches also if nothing changed
   */
  #take(name, value, again = false) {
    clearTimeout(this.#typing);
    this.#typing = undefined;
    // The address itself is read, because another field may have changed it and the browser reports that only later.
    const before = queryOf(location.hash);
    if (value === (before.get(name) ?? '')) return again ? void this.#search() : undefined;
    const query = changed(before, name, value).toString();
    const address = query === '' ? '#/search' : `#/search?${query}`;
    // One step back leaves the search, however many letters were typed.
    if (name === 'q' && before.has('q') && value !== '') location.replace(address);
    else location.hash = address;
  }

  async #search() {
    const reading = ++this.#reading;
    this.#cursor = null;
    clearTimeout(this.#waiting);
    if (!this.#query.has('q')) {
      this.#clearList();
      this.#state.ready(
        this.#isByMeaning
          ? 'Enter a sentence that means what was said.'
          : 'Enter words from a call, from its notes or from its summary.',
      );
      this.#drawDownloads();
      return;
    }
    // Calls of the question before would be taken for the answer to this one.
    this.#waiting = setTimeout(() => {
      this.#clearList();
      this.#state.ready('');
      setText(this.#told, 'Searching …');
    }, waitedMs);
    try {
      const page = await get(`/api/search?${this.#asked()}`);
      if (reading !== this.#reading) return;
      clearTimeout(this.#waiting);
      this.#clearList();
      this.#draw(page);
    } catch (error) {
      if (reading !== this.#reading) return;
      clearTimeout(this.#waiting);
      if (!isUnanswered(error) || this.#found.size === 0) this.#clearList();
      this.#state.failed(error);
    }
    this.#drawDownloads();
  }

  async #readMore() {
    const reading = this.#reading;
    if (this.#cursor === null) return;
    this.#next.disabled = true;
    try {
      const page = await get(`/api/search?${this.#asked()}&cursor=${this.#cursor}`);
      if (reading === this.#reading) this.#draw(page);
    } catch (error) {
      this.#state.failed(error);
    }
    this.#next.disabled = false;
  }

  get #isByMeaning() {
    return this.#query.get('by') === 'meaning';
  }

  #asked() {
    const query = askedOf(this.#query, zoneNow());
    query.set('limit', String(pageItems));
    query.delete('cursor');
    if (this.#isByMeaning) query.delete('sort');
    return query;
  }

  /** @param {SearchPage} page */
  #draw({ items, next_cursor: next, indexing }) {
    for (const item of items) {
      const found = new FoundWords(item, (place, button) => void this.#sound.play(item.call, place, button)); // prettier-ignore
      this.#found.set(item.call.id, found);
      this.#list.append(found.element);
    }
    const carriers = new Set([...this.#found.values()].map(({ carrier }) => carrier));
    this.#carriers.replaceChildren(...[...carriers].map((value) => h('option', { value })));
    this.#cursor = next;
    this.#next.hidden = next === null;
    this.#state.ready(this.#found.size > 0 ? '' : next === null ? this.#nothing : 'None yet.');
    this.#tell();
    this.#drawProgress(indexing);
  }

  #tell() {
    const count = this.#found.size;
    const calls = count === 1 ? 'One call' : `${count} calls`;
    const more = this.#cursor === null ? '' : ', and more';
    const order = this.#isByMeaning
      ? 'the nearest first'
      : this.#query.get('sort') === 'relevance'
        ? 'the best match first'
        : 'the newest words first';
    setText(this.#told, count === 0 ? '' : `${calls}${more}, ${order}.`);
  }

  get #nothing() {
    return this.#isByMeaning ? 'Nothing like this was said in a call.' : 'No call has these words.';
  }

  /** @param {SearchPage['indexing']} indexing */
  #drawProgress(indexing) {
    clearTimeout(this.#looking);
    this.#indexing.hidden = indexing === null;
    if (indexing === null) return;
    const [from, reached, oldest] = [indexing.from, indexing.reached, indexing.oldest].map(
      Date.parse,
    );
    const all = (from ?? 0) - (oldest ?? 0);
    const share = all > 0 ? Math.min(1, Math.max(0, ((from ?? 0) - (reached ?? 0)) / all)) : 0;
    this.#progress.value = share;
    setText(
      this.#indexingText,
      `Older calls are being added to the search${this.#isByMeaning ? ' by meaning' : ''}, ${percent(share)}. Calls since ${fullDay(indexing.reached)} are found already.`,
    );
    this.#looking = setTimeout(() => void this.#lookAtProgress(), progressEveryMs);
  }

  async #lookAtProgress() {
    const reading = this.#reading;
    const page = await get(`/api/search?${this.#asked()}`).catch(() => undefined);
    if (page && reading === this.#reading) this.#drawProgress(page.indexing);
  }

  #drawLanguage() {
    this.#box.input.placeholder = placeholders[this.#isByMeaning ? 'meaning' : 'words'];
    this.#language.replaceChildren(
      ...(this.#isByMeaning ? meaningLanguage : language).map(([written, found]) =>
        h('div', {}, h('dt', {}, h('code', {}, written)), h('dd', {}, found)),
      ),
    );
  }

  #drawDownloads() {
    const query = askedOf(this.#query, zoneNow());
    this.#downloads.hidden = this.#found.size === 0;
    this.#downloads.querySelector('.panel')?.replaceChildren(
      h('p', { class: 'quiet' }, 'Whole transcripts of the calls found, 1,000 calls at most.'),
      ...transcriptFormats.map(([format, name]) => {
        query.set('format', format);
        const href = `/api/search/export?${query}`;
        return h('a', { class: 'button', href, download: `search.${format}` }, name);
      }),
    );
  }

  #clearList() {
    this.#found.clear();
    this.#list.replaceChildren();
    this.#next.hidden = true;
    this.#indexing.hidden = true;
    setText(this.#told, '');
  }
}
