import { needsOf, passes, sortedIds } from './board-order.js';
import { BoardRow } from './board-row.js';
import { changed, queryOf } from './call-query.js';
import { h, onNextFrame, setText } from './dom.js';
import { Feed } from './feed.js';
import { field, select } from './filter-fields.js';
import { connection, PageState } from './page-state.js';

/** @import { BoardCard, BoardMessage } from './shapes.ts' */

const tickMs = 1_000;
/** While a hand moves over the rows, they keep their places: a row that moves away takes the click with it. */
const stillMs = 3_000;
/** Rows beyond the screen that exist, so that the Tab key finds the next one. */
const rowsBeyond = 4;

/**
 * The running calls of all nodes, those that need help first. Only the rows on the screen exist, whatever the number of
 * calls.
 */
export class BoardView {
  title = 'Board';
  /** @type {Map<string, BoardCard>} */
  #cards = new Map();
  /** Calls that ended while the rows keep their places. */
  #over = new Set();
  /** @type {string[]} */
  #order = [];
  /** @type {Map<string, BoardRow>} */
  #rows = new Map();
  /** @type {BoardRow[]} */
  #spare = [];
  #list = h('ol', { class: 'board', 'aria-label': 'Running calls' });
  #count = h('p', { class: 'quiet board-count' });
  #state = new PageState('the board');
  #teams = select('team', 'Team', [['', 'All teams']]);
  #names = h('datalist', { id: 'board-agents' });
  #agent = field('agent', 'Agent', h('input', { type: 'search', maxlength: '100' }), {
    placeholder: 'Name or ID',
    list: 'board-agents',
  });
  #helpOnly = h('button', { type: 'button', 'aria-pressed': 'false' }, 'Needs help');
  #query = new URLSearchParams();
  #isWhole = false;
  #leftOut = 0;
  /** The server's clock minus this computer's. */
  #aheadMs = 0;
  #movedAt = -Infinity;
  #isPressed = false;
  #needsOrder = true;
  #feed;
  #draw = onNextFrame(() => this.#drawRows());
  #tick = setInterval(() => this.#ticked(), tickMs);
  shortcuts = [
    { key: 'j', name: 'Next call', run: () => this.#move(1) },
    { key: 'k', name: 'Call before', run: () => this.#move(-1) },
  ];
  element;

  /**
   * The feed of the page, or one that shows a token.
   * @param {(told: (message: BoardMessage) => void) => { close(): void }} [openFeed]
   */
  constructor(openFeed = (told) => new Feed('/api/board/live', told, () => undefined)) {
    this.#list.addEventListener('pointermove', () => (this.#movedAt = performance.now()));
    this.#list.addEventListener('pointerdown', () => (this.#isPressed = true));
    window.addEventListener('pointerup', this.#released);
    window.addEventListener('pointercancel', this.#released);
    window.addEventListener('scroll', this.#draw, { passive: true });
    window.addEventListener('resize', this.#draw);
    this.#teams.input.addEventListener('change', () => this.#take('team', this.#teams.input.value));
    this.#agent.input.addEventListener('input', () =>
      this.#take('agent', this.#agent.input.value.trim()),
    );
    this.#helpOnly.addEventListener('click', () =>
      this.#take('help', this.#query.get('help') === 'true' ? '' : 'true'),
    );
    const form = h(
      'form',
      { class: 'call-filters', role: 'search', 'aria-label': 'Running calls' },
      h(
        'div',
        { class: 'filter-line' },
        this.#teams.element,
        this.#agent.element,
        this.#helpOnly,
        this.#count,
      ),
      this.#names,
    );
    form.addEventListener('submit', (event) => event.preventDefault());
    this.element = h(
      'div',
      { class: 'view board-view' },
      h('div', { class: 'heading' }, h('h1', {}, 'Board')),
      form,
      this.#state.element,
      this.#list,
    );
    this.follow(location.hash);
    this.#feed = openFeed((message) => this.#told(message));
  }

  close() {
    this.#feed.close();
    this.#state.close();
    clearInterval(this.#tick);
    window.removeEventListener('pointerup', this.#released);
    window.removeEventListener('pointercancel', this.#released);
    window.removeEventListener('scroll', this.#draw);
    window.removeEventListener('resize', this.#draw);
  }

  /** @param {string} hash */
  follow(hash) {
    if (!/^#\/board(?:\?|$)/.test(hash)) return false;
    this.#query = queryOf(hash);
    const agent = this.#query.get('agent') ?? '';
    if (document.activeElement !== this.#agent.input) this.#agent.input.value = agent;
    this.#helpOnly.setAttribute('aria-pressed', String(this.#query.get('help') === 'true'));
    this.#offerTeams();
    this.#needsOrder = true;
    this.#draw();
    return true;
  }

  /**
   * @param {string} name
   * @param {string} value
   */
  #take(name, value) {
    const text = changed(this.#query, name, value).toString();
    history.replaceState(null, '', text === '' ? '#/board' : `#/board?${text}`);
    this.follow(location.hash);
  }

  /** @param {BoardMessage} message */
  #told({ at, whole, cards, gone, left_out: leftOut }) {
    this.#aheadMs = Date.parse(at) - Date.now();
    this.#leftOut = leftOut;
    if (whole) {
      const ids = new Set(cards.map((card) => card.call_id));
      for (const id of this.#cards.keys()) if (!ids.has(id)) this.#end(id);
      this.#isWhole = true;
      this.#needsOrder = true;
    }
    for (const card of cards) {
      if (!this.#cards.has(card.call_id)) this.#needsOrder = true;
      this.#over.delete(card.call_id);
      this.#cards.set(card.call_id, card);
    }
    for (const id of gone) this.#end(id);
    this.#draw();
  }

  /** @param {string} id */
  #end(id) {
    if (!this.#cards.has(id)) return;
    if (this.#isHeld() && this.#order.includes(id)) this.#over.add(id);
    else {
      this.#cards.delete(id);
      this.#over.delete(id);
      this.#needsOrder = true;
    }
  }

  #now() {
    return Date.now() + this.#aheadMs;
  }

  /** True while the rows must keep their places: under a finger, a pointer or the focus. */
  #isHeld() {
    return (
      this.#isPressed ||
      this.#list.contains(document.activeElement) ||
      performance.now() - this.#movedAt < stillMs
    );
  }

  #released = () => {
    this.#isPressed = false;
  };

  #ticked() {
    if (!this.#isHeld()) {
      for (const id of this.#over) this.#cards.delete(id);
      this.#over.clear();
      this.#needsOrder = true;
      this.#draw();
    }
    if (connection.lostAt !== undefined) return;
    const now = this.#now();
    for (const [id, row] of this.#rows) {
      const card = this.#cards.get(id);
      if (card) row.drawClocks(card, now, this.#over.has(id));
    }
  }

  /** Puts the calls in order, or keeps the order and adds those that are new. */
  #sort() {
    const filters = { team: this.#query.get('team') ?? '', agent: this.#query.get('agent') ?? '' };
    const isHelpOnly = this.#query.get('help') === 'true';
    const now = this.#now();
    const fits = [...this.#cards.values()].filter(
      (card) => passes(card, filters) && (!isHelpOnly || needsOf(card, now).length > 0),
    );
    const sorted = sortedIds(fits, now);
    if (!this.#isHeld()) this.#order = sorted;
    else {
      const fitting = new Set(sorted);
      const kept = this.#order.filter((id) => fitting.has(id));
      const known = new Set(kept);
      this.#order = [...kept, ...sorted.filter((id) => !known.has(id))];
    }
    this.#needsOrder = false;
    this.#offerTeams();
    const running = this.#cards.size - this.#over.size;
    const count = this.#order.length === this.#cards.size ? `${running}` : `${this.#order.length} of ${running}`; // prettier-ignore
    const rest = this.#leftOut === 0 ? '' : `, ${this.#leftOut} more are not shown`;
    setText(
      this.#count,
      this.#isWhole ? `${count} ${running === 1 ? 'call' : 'calls'}${rest}` : '',
    );
    if (!this.#isWhole) return;
    const isEmpty = this.#order.length === 0;
    this.#state.ready(isEmpty ? (running === 0 ? 'No call is running.' : 'No running call fits these filters.') : ''); // prettier-ignore
  }

  #offerTeams() {
    const chosen = this.#query.get('team') ?? '';
    const cards = [...this.#cards.values()];
    const teams = new Set([...cards.flatMap((card) => card.teams), ...(chosen ? [chosen] : [])]);
    fill(this.#teams.input, [...teams].sort(), [h('option', { value: '' }, 'All teams')]);
    if (this.#teams.input.value !== chosen) this.#teams.input.value = chosen;
    const names = new Set(cards.flatMap(({ agent }) => (agent ? [agent.name ?? agent.id] : [])));
    fill(this.#names, [...names].sort().slice(0, 200), []);
  }

  #drawRows() {
    if (this.#needsOrder) this.#sort();
    const height = this.#rowHeight();
    const total = this.#order.length;
    this.#list.style.height = `${height * total}px`;
    const top = this.#list.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(-top / height) - rowsBeyond);
    const last = Math.min(total, Math.ceil((window.innerHeight - top) / height) + rowsBeyond);
    const ids = this.#order.slice(first, Math.max(first, last));
    const focused = this.#list.contains(document.activeElement) ? idOf(document.activeElement) : '';
    // The row with the focus stays, even where it is scrolled away.
    const wanted = new Set(focused !== '' && this.#order.includes(focused) ? [...ids, focused] : ids); // prettier-ignore
    for (const [id, row] of this.#rows)
      if (!wanted.has(id)) {
        row.element.remove();
        this.#rows.delete(id);
        this.#spare.push(row);
      }
    const nowMs = this.#now();
    /** @type {Element | null} */
    let next = this.#list.firstElementChild;
    for (const id of this.#order.length === 0 ? [] : inOrder(wanted, this.#order, first)) {
      const card = this.#cards.get(id);
      if (!card) continue;
      const row = this.#rows.get(id) ?? this.#spare.pop() ?? new BoardRow();
      this.#rows.set(id, row);
      const place = this.#places(id, first);
      row.element.style.transform = `translateY(${place * height}px)`;
      row.draw(card, { place, of: total, nowMs, isOver: this.#over.has(id) });
      if (row.element === next) next = next.nextElementSibling;
      else this.#list.insertBefore(row.element, next);
    }
    if (focused !== '' && !this.#rows.has(focused)) this.#list.querySelector('a')?.focus();
  }

  /**
   * @param {string} id
   * @param {number} first
   */
  #places(id, first) {
    const near = this.#order.indexOf(id, first);
    return near >= 0 ? near : this.#order.indexOf(id);
  }

  /** The style sheet decides how high a row is. */
  #rowHeight() {
    const text = getComputedStyle(this.#list).getPropertyValue('--row-height');
    return Number.parseFloat(text) || 64;
  }

  /** @param {number} by */
  #move(by) {
    const { activeElement } = document;
    const at = this.#list.contains(activeElement) ? this.#order.indexOf(idOf(activeElement)) : -1;
    const place = at < 0 ? 0 : Math.min(this.#order.length - 1, Math.max(0, at + by));
    const id = this.#order[place];
    if (id === undefined) return false;
    const top = this.#list.getBoundingClientRect().top + place * this.#rowHeight();
    if (top < 0 || top + this.#rowHeight() > window.innerHeight)
      window.scrollBy(0, top - window.innerHeight / 3);
    this.#drawRows();
    this.#rows.get(id)?.link.focus({ preventScroll: true });
    return true;
  }
}

/**
 * The rows that exist, in the order of the list.
 * @param {ReadonlySet<string>} wanted
 * @param {readonly string[]} order
 * @param {number} first
 */
function inOrder(wanted, order, first) {
  const shown = order.slice(first, first + wanted.size).filter((id) => wanted.has(id));
  const rest = [...wanted].filter((id) => !shown.includes(id));
  return [...rest.filter((id) => order.indexOf(id) < first), ...shown, ...rest.filter((id) => order.indexOf(id) >= first)]; // prettier-ignore
}

/** @param {Element | null} element */
function idOf(element) {
  const row = element?.closest('li');
  return row instanceof HTMLElement ? (row.dataset['id'] ?? '') : '';
}

/**
 * Sets the options of a list, if they changed.
 * @param {HTMLElement} list
 * @param {readonly string[]} values
 * @param {readonly HTMLElement[]} before
 */
function fill(list, values, before) {
  const told = values.join('\n');
  if (list.dataset['values'] === told) return;
  list.dataset['values'] = told;
  list.replaceChildren(...before, ...values.map((value) => h('option', { value }, value)));
}
