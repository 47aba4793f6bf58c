import { testCallButton } from './test-call-button.js';
import { post } from './api.js';
import { CallFilters } from './call-filters.js';
import { addressOf, changed, isListAddress, queryOf } from './call-query.js';
import { CallHeadings } from './call-headings.js';
import { CallRow } from './call-row.js';
import { h, onNextFrame, setText } from './dom.js';
import { messageOf } from './failures.js';
import { FoundCalls } from './found-calls.js';
import { connection, PageState } from './page-state.js';
import { may } from './who.js';

/** @import { TranscribeAllAgain } from '../../protocol/api.ts' */

/** @import { CallBook } from './call-book.js' */

/** @import { LiveFeedMessage } from './shapes.ts' */

/**
 * All calls, live ones first, with one row per call that is updated in place. If the address has a query, the calls
 * that it finds.
 */
export class CallsView {
  title = 'Calls';
  #book;
  /** @type {Map<string, CallRow>} */
  #rows = new Map();
  /** @type {Set<string>} */
  #changed = new Set();
  #live = h('ol', { class: 'calls', 'aria-labelledby': 'live-heading' });
  #earlier = h('ol', { class: 'calls', 'aria-labelledby': 'earlier-heading' });
  #earlierHeading = h('h2', { id: 'earlier-heading', hidden: true }, 'Earlier');
  #headings = new CallHeadings();
  #count = h('span', { class: 'count' });
  #liveHeading = h('h2', { id: 'live-heading', hidden: true }, 'Live calls ', this.#count);
  #state = new PageState('the calls', () => this.#book.loadNewest());
  #older = h(
    'button',
    { type: 'button', onclick: () => void this.#loadOlder(), hidden: true },
    'Older calls',
  );
  #incomplete = h(
    'button',
    { type: 'button', 'aria-pressed': 'false', onclick: () => this.#toggleIncomplete() },
    'Incomplete only',
  );
  #again = h(
    'button',
    { type: 'button', hidden: true, onclick: () => void this.#transcribeAgain() },
    'Transcribe all again',
  );
  #said = h('span', { class: 'quiet', role: 'status' });
  #query = new URLSearchParams();
  #all = h('div', { class: 'view' });
  #found;
  #filters;
  /** @type {Set<string>} */
  #visible = new Set();
  #watcher = new IntersectionObserver((seen) => this.#seen(seen), { rootMargin: '200px' });
  #draw = onNextFrame(() => this.#drawChanged());
  #clock = setInterval(() => this.#drawClocks(), 1_000);
  #unwatch;
  /** @type {number | undefined} */
  #place;

  /** @param {{ book: CallBook, placeTestCall: (carrier?: string) => Promise<void> }} page */
  constructor({ book, placeTestCall }) {
    this.#book = book;
    this.#found = new FoundCalls(book);
    this.element = h(
      'div',
      { class: 'view calls-view' },
      h(
        'div',
        { class: 'heading' },
        h('h1', {}, 'Calls'),
        h(
          'div',
          { class: 'actions' },
          this.#said,
          this.#again,
          this.#incomplete,
          testCallButton(() => placeTestCall()),
        ),
      ),
    );
    this.#filters = new CallFilters(this.element);
    this.#all.append(
      this.#liveHeading,
      this.#live,
      this.#state.element,
      h('div', { class: 'list-head' }, this.#earlierHeading, this.#headings.element),
      this.#earlier,
      this.#older,
    );
    this.#headings.show(new URLSearchParams());
    this.element.append(this.#filters.element, this.#all, this.#found.element);
    this.follow(location.hash);
    this.#unwatch = book.watch((id) => this.#change(id));
    for (const id of book.calls.keys()) this.#changed.add(id);
    this.#draw();
  }

  close() {
    this.#unwatch();
    this.#state.close();
    this.#found.close();
    this.#filters.close();
    this.#watcher.disconnect();
    clearInterval(this.#clock);
  }

  /** @param {number} place */
  goTo(place) {
    this.#place = place;
    this.#found.whenDrawn(() => this.#goToPlace());
    this.#draw();
  }

  /** Waits for the rows: before they exist, the page is too short to scroll. */
  #goToPlace() {
    if (this.#place === undefined) return;
    window.scrollTo(0, this.#place);
    this.#place = undefined;
  }

  async #loadOlder() {
    this.#older.disabled = true;
    await this.#book.loadOlder();
    this.#older.disabled = false;
  }

  async #transcribeAgain() {
    this.#again.disabled = true;
    let read = 0;
    let lost = 0;
    try {
      // A request searches a limited number of calls and returns where the next one continues.
      /** @type {string | null} */
      let next = '';
      while (next !== null) {
        /** @type {'' | `?before=${string}`} */
        const query = next === '' ? '' : `?before=${encodeURIComponent(next)}`;
        /** @type {TranscribeAllAgain} */
        const some = await post(`/api/calls/transcribe${query}`);
        read += some.ordered + some.already;
        lost += some.without_recording;
        const rest = lost > 0 ? `, ${lost} have no recording` : '';
        setText(this.#said, `Transcribing ${read} again${rest}.`);
        next = some.next ?? null;
      }
    } catch (error) {
      setText(this.#said, messageOf(error));
    }
    this.#again.disabled = false;
  }

  /**
   * The address changed. Returns true if it still belongs to this view, whose fields then keep the focus.
   * @param {string} hash
   */
  follow(hash) {
    if (!isListAddress(hash)) return false;
    this.#query = queryOf(hash);
    const isAll = this.#query.size === 0;
    const isIncomplete = this.#query.get('incomplete') === 'true';
    this.#filters.show(this.#query);
    this.#incomplete.setAttribute('aria-pressed', String(isIncomplete));
    this.#again.hidden = !isIncomplete;
    setText(this.#said, '');
    this.#all.hidden = !isAll;
    this.#found.show(isAll ? undefined : this.#query);
    return true;
  }

  #toggleIncomplete() {
    const query = queryOf(location.hash);
    const isOn = query.get('incomplete') === 'true';
    location.hash = addressOf(changed(query, 'incomplete', isOn ? '' : 'true'));
  }

  /**
   * Updates only rows on the screen, so a thousand calls cost no more than the visible ones.
   * @param {LiveFeedMessage} message
   */
  take(message) {
    this.#found.take(message);
    if (message.type !== 'levels') return;
    for (const { call_id: id, leg_id: leg, level } of message.levels)
      if (this.#visible.has(id)) this.#rows.get(id)?.levels.set(leg, level);
  }

  /** @param {string | undefined} id */
  #change(id) {
    if (id !== undefined) this.#changed.add(id);
    this.#found.change(id);
    this.#draw();
  }

  #drawChanged() {
    for (const id of this.#changed) this.#drawCall(id);
    this.#changed.clear();
    this.#older.hidden = !this.#book.hasOlder();
    const isShown = [...this.#rows.values()].some(
      ({ element }) => element.parentElement === this.#earlier && !element.hidden,
    );
    this.#earlierHeading.hidden = !isShown;
    this.#headings.element.hidden = this.#earlierHeading.hidden;
    const live = this.#live.childElementCount;
    this.#filters.suggest([...this.#book.calls.values()].map(({ carrier }) => carrier));
    setText(this.#count, live === 0 ? '' : String(live));
    const { isLoaded, problem } = this.#book;
    if (problem) this.#state.failed(problem);
    else if (isLoaded) this.#state.ready(this.#book.calls.size > 0 ? '' : noCalls());
    this.#liveHeading.hidden = live === 0;
    if (isLoaded && !this.#all.hidden) this.#goToPlace();
  }

  /** @param {string} id */
  #drawCall(id) {
    const call = this.#book.calls.get(id);
    let row = this.#rows.get(id);
    if (!call) {
      row?.element.remove();
      if (row) this.#watcher.unobserve(row.element);
      this.#rows.delete(id);
      return;
    }
    if (!row) {
      row = new CallRow(id);
      this.#rows.set(id, row);
      this.#watcher.observe(row.element);
    }
    row.draw(call, { isUndelivered: this.#book.undelivered.has(id) });
    row.element.hidden = call.state === 'ended' && !this.#book.isListed(id);
    const list = call.state === 'ended' ? this.#earlier : this.#live;
    if (row.element.parentElement !== list) insertNewestFirst(list, row.element);
  }

  /** @param {readonly IntersectionObserverEntry[]} entries */
  #seen(entries) {
    for (const { target, isIntersecting } of entries) {
      const id = idOf(target);
      if (isIntersecting) this.#visible.add(id);
      else this.#visible.delete(id);
    }
  }

  #drawClocks() {
    if (connection.lostAt !== undefined) return;
    this.#found.drawClocks();
    for (const id of this.#visible) {
      const call = this.#book.calls.get(id);
      if (call && call.state === 'live') this.#rows.get(id)?.drawClock(call);
    }
  }
}

/**
 * Inserts an element so that the newest id stands first. Ids sort by time. Binary search is used, since a list may hold
 * thousands.
 * @param {HTMLElement} list
 * @param {HTMLElement} element
 */
function insertNewestFirst(list, element) {
  const rows = list.children;
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (idOf(rows[middle]) > idOf(element)) low = middle + 1;
    else high = middle;
  }
  list.insertBefore(element, rows[low] ?? null);
}

/** @param {Element | undefined} element */
function idOf(element) {
  return element instanceof HTMLElement ? (element.dataset['id'] ?? '') : '';
}

/** An agent sees own calls alone, and can neither place a test call nor connect a carrier. */
function noCalls() {
  return may('calls.test')
    ? 'No calls yet. Place a test call to see how it works, or connect a carrier.'
    : 'No calls yet. Calls that you may see appear here as soon as they begin.';
}
