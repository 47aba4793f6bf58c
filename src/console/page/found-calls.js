import { get } from './api.js';
import { addressOf, askedOf } from './call-query.js';
import { CallHeadings } from './call-headings.js';
import { CallRow } from './call-row.js';
import { h, setText } from './dom.js';
import { isUnanswered } from './failures.js';
import { zoneNow } from './format.js';
import { PageState } from './page-state.js';

/** @import { CallBook } from './call-book.js' */

/** @import { BookedCall, CallItem, LiveFeedMessage } from './shapes.ts' */

const pageItems = 50;
/**
 * The page before each page, for going back: the service only knows the next page.
 * @type {Map<string, string>}
 */
const pagesBefore = new Map();
const maxPagesKept = 1_000;

/** The calls that a query finds, one page at a time. Events update the rows on the page and never move them. */
export class FoundCalls {
  #book;
  /** @type {URLSearchParams | undefined} */
  #query = new URLSearchParams();
  /** @type {Map<string, { row: CallRow, call: BookedCall }>} */
  #rows = new Map();
  #reading = 0;
  /** @type {() => void} */
  #onDrawn = () => undefined;
  /** The newest call that could be among the results read so far. */
  #newestId = '';
  /** @type {Set<string>} */
  #fresh = new Set();
  #list = h('ol', { class: 'calls', 'aria-label': 'Calls found' });
  #state = new PageState('the calls', () => this.#read());
  #headings = new CallHeadings();
  #told = h('p', { class: 'quiet', role: 'status' });
  #freshly = h('button', { type: 'button', hidden: true, onclick: () => void this.#read() });
  #before = h('a', { rel: 'prev', hidden: true });
  #next = h('a', { rel: 'next', hidden: true }, 'Next page');
  element = h(
    'div',
    { class: 'view', hidden: true },
    h('div', { class: 'list-head' }, this.#told, this.#headings.element),
    this.#freshly,
    this.#state.element,
    this.#list,
    h('nav', { class: 'pages', 'aria-label': 'Pages of calls' }, this.#before, this.#next),
  );

  /** @param {CallBook} book */
  constructor(book) {
    this.#book = book;
  }

  /** @param {() => void} run */
  whenDrawn(run) {
    this.#onDrawn = run;
  }

  close() {
    this.#reading++;
    this.#state.close();
  }

  /**
   * Shows the results of this query; undefined shows nothing.
   * @param {URLSearchParams | undefined} query
   */
  show(query) {
    this.element.hidden = query === undefined;
    this.#reading++;
    this.#clear();
    this.#query = query;
    if (query === undefined) return;
    this.#headings.show(query);
    void this.#read();
  }

  /** @param {LiveFeedMessage} message */
  take(message) {
    if (message.type === 'reset' && this.#query) void this.#read();
    if (message.type === 'call-deleted') this.#drop(message.call_id);
    if (message.type === 'levels')
      for (const { call_id: id, leg_id: leg, level } of message.levels)
        this.#rows.get(id)?.row.levels.set(leg, level);
  }

  /**
   * Updates a call's row after the call book changed.
   * @param {string | undefined} id
   */
  change(id) {
    if (this.#query === undefined || id === undefined) return;
    const call = this.#book.calls.get(id);
    const known = this.#rows.get(id);
    if (call && known) {
      known.call = call;
      known.row.draw(call, this.#factsOf(call.id));
    } else if (call && id > this.#newestId) this.#fresh.add(id);
    else if (!call) this.#fresh.delete(id);
    this.#drawFresh();
  }

  drawClocks() {
    for (const { row, call } of this.#rows.values()) if (call.state === 'live') row.drawClock(call);
  }

  async #read() {
    const asked = this.#query;
    if (asked === undefined) return;
    const reading = ++this.#reading;
    const query = askedOf(asked, zoneNow());
    if (!query.has('limit')) query.set('limit', String(pageItems));
    const newestId = [...this.#book.calls.keys()].reduce((a, b) => (a > b ? a : b), '');
    try {
      const page = await get(`/api/calls?${query}`);
      if (reading !== this.#reading) return;
      this.#draw(page, newestId, asked);
    } catch (error) {
      if (reading !== this.#reading) return;
      if (!isUnanswered(error)) this.#clear();
      this.#state.failed(error);
    }
  }

  /**
   * @param {{ items: readonly CallItem[], next_cursor: string | null }} page
   * @param {string} newestId
   * @param {URLSearchParams} asked
   */
  #draw({ items, next_cursor: next }, newestId, asked) {
    this.#clear();
    this.#newestId = items.reduce((newest, { id }) => (id > newest ? id : newest), newestId);
    for (const call of items) {
      const row = new CallRow(call.id);
      // The feed may be ahead of an answer that was on its way.
      const shown = this.#book.calls.get(call.id) ?? withWords(call);
      row.draw(shown, this.#factsOf(call.id));
      this.#rows.set(call.id, { row, call: shown });
    }
    this.#list.replaceChildren(...[...this.#rows.values()].map(({ row }) => row.element));
    const none = asked.has('cursor') ? 'No more calls.' : 'No call matches these filters.';
    this.#state.ready(items.length === 0 ? none : '');
    setText(this.#told, items.length === 0 ? '' : toldOf(items.length, next !== null));
    this.#headings.element.hidden = items.length === 0;
    this.#drawPages(next, asked);
    this.#onDrawn();
  }

  /**
   * @param {string | null} next
   * @param {URLSearchParams} asked
   */
  #drawPages(next, asked) {
    const here = addressOf(asked);
    this.#next.hidden = next === null;
    if (next !== null) {
      const query = new URLSearchParams(asked);
      query.set('cursor', next);
      const address = addressOf(query);
      this.#next.href = address;
      if (pagesBefore.size >= maxPagesKept) pagesBefore.clear();
      pagesBefore.set(address, here);
    }
    this.#before.hidden = !asked.has('cursor');
    const first = new URLSearchParams(asked);
    first.delete('cursor');
    // A reader who got a link to this page has no page to go back to.
    const before = pagesBefore.get(here);
    setText(this.#before, before === undefined ? 'First page' : 'Previous page');
    this.#before.href = before ?? addressOf(first);
  }

  /** @param {string} id */
  #factsOf(id) {
    return { isUndelivered: this.#book.undelivered.has(id) };
  }

  /** @param {string} id */
  #drop(id) {
    this.#rows.get(id)?.row.element.remove();
    this.#rows.delete(id);
  }

  #drawFresh() {
    const count = this.#fresh.size;
    this.#freshly.hidden = count === 0;
    const calls = count === 1 ? 'One call has begun' : `${count} calls have begun`;
    setText(this.#freshly, count === 0 ? '' : `${calls} since. Read this list again`);
  }

  #clear() {
    this.#rows.clear();
    this.#fresh.clear();
    this.#drawFresh();
    this.#list.replaceChildren();
    setText(this.#told, '');
    this.#headings.element.hidden = true;
    this.#next.hidden = true;
    this.#before.hidden = true;
  }
}

/**
 * @param {number} count
 * @param {boolean} isMore
 */
function toldOf(count, isMore) {
  const calls = count === 1 ? 'One call' : `${count} calls`;
  return isMore ? `${calls} on this page, and more on the next.` : `${calls}.`;
}

/**
 * Reduces a call to its last words, which a list shows.
 * @param {CallItem} call
 * @returns {BookedCall}
 */
function withWords({ last_turn: turn, ...call }) {
  return turn ? { ...call, words: { ...turn, partial: false } } : call;
}
