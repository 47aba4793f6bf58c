import { get } from './api.js';
import { addressOf, askedOf } from './call-query.js';
import { CallHeadings } from './call-headings.js';
import { CallRow } from './call-row.js';
import { h, setText } from './dom.js';
import { zoneNow } from './format.js';
import { PageState } from './page-state.js';

const pageItems = 50;
/** Where each page was come from, for the way back: the service only knows the way on. */
const pagesBefore = new Map();
const maxPagesKept = 1_000;

/** The calls that a query finds, a page at a time. What happens changes the rows that stand there and moves none. */
export class FoundCalls {
  #book;
  #query = new URLSearchParams();
  #rows = new Map();
  #reading = 0;
  /** The newest call that could be in what was read. */
  #newestId = '';
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

  constructor(book) {
    this.#book = book;
  }

  close() {
    this.#reading++;
    this.#state.close();
  }

  /** Shows what this query finds; undefined shows nothing. */
  show(query) {
    this.element.hidden = query === undefined;
    this.#reading++;
    this.#clear();
    this.#query = query;
    if (query === undefined) return;
    this.#headings.show(query);
    void this.#read();
  }

  take(message) {
    if (message.type === 'reset' && this.#query) void this.#read();
    if (message.type === 'call-deleted') this.#drop(message.call_id);
    if (message.type === 'levels')
      for (const { call_id: id, leg_id: leg, level } of message.levels)
        this.#rows.get(id)?.row.levels.set(leg, level);
  }

  /** The book knows something new of this call. */
  change(id) {
    if (this.#query === undefined || id === undefined) return;
    const call = this.#book.calls.get(id);
    const known = this.#rows.get(id);
    if (call && known) {
      known.call = call;
      known.row.draw(call);
    } else if (call && id > this.#newestId) this.#fresh.add(id);
    else if (!call) this.#fresh.delete(id);
    this.#drawFresh();
  }

  drawClocks() {
    for (const { row, call } of this.#rows.values()) if (call.state === 'live') row.drawClock(call);
  }

  async #read() {
    const reading = ++this.#reading;
    const query = askedOf(this.#query, zoneNow());
    if (!query.has('limit')) query.set('limit', String(pageItems));
    const newestId = [...this.#book.calls.keys()].reduce((a, b) => (a > b ? a : b), '');
    try {
      const page = await get(`/api/calls?${query}`);
      if (reading !== this.#reading) return;
      this.#draw(page, newestId);
    } catch (error) {
      if (reading !== this.#reading) return;
      if (!error.isUnanswered) this.#clear();
      this.#state.failed(error);
    }
  }

  #draw({ items, next_cursor: next }, newestId) {
    this.#clear();
    this.#newestId = items.reduce((newest, { id }) => (id > newest ? id : newest), newestId);
    for (const call of items) {
      const row = new CallRow(call.id);
      // The feed is ahead of an answer that was on its way.
      const shown = this.#book.calls.get(call.id) ?? withWords(call);
      row.draw(shown);
      this.#rows.set(call.id, { row, call: shown });
    }
    this.#list.replaceChildren(...[...this.#rows.values()].map(({ row }) => row.element));
    this.#state.ready(items.length === 0 ? this.#emptyText() : '');
    setText(this.#told, items.length === 0 ? '' : toldOf(items.length, next !== null));
    this.#headings.element.hidden = items.length === 0;
    this.#drawPages(next);
  }

  #emptyText() {
    return this.#query.has('cursor') ? 'No more calls.' : 'No call matches these filters.';
  }

  #drawPages(next) {
    const here = addressOf(this.#query);
    this.#next.hidden = next === null;
    if (next !== null) {
      const query = new URLSearchParams(this.#query);
      query.set('cursor', next);
      this.#next.href = addressOf(query);
      if (pagesBefore.size >= maxPagesKept) pagesBefore.clear();
      pagesBefore.set(this.#next.getAttribute('href'), here);
    }
    this.#before.hidden = !this.#query.has('cursor');
    const first = new URLSearchParams(this.#query);
    first.delete('cursor');
    // Whoever was sent this page has not come from one before it.
    const before = pagesBefore.get(here);
    setText(this.#before, before === undefined ? 'First page' : 'Previous page');
    this.#before.href = before ?? addressOf(first);
  }

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

function toldOf(count, isMore) {
  const calls = count === 1 ? 'One call' : `${count} calls`;
  return isMore ? `${calls} on this page, and more on the next.` : `${calls}.`;
}

/** A list shows the last words alone. */
function withWords({ last_turn: turn, ...call }) {
  return turn ? { ...call, words: { ...turn, partial: false } } : call;
}
