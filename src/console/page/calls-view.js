import { post } from './api.js';
import { h, onNextFrame, setText } from './dom.js';
import { clock, lengthOf, missingOf, moment, parties, roleNames, stateNames } from './format.js';
import { LevelBars } from './levels.js';
import { connection, PageState } from './page-state.js';

/** All calls, live first: a row per call that changes in place. */
export class CallsView {
  title = 'Calls';
  #book;
  #rows = new Map();
  #changed = new Set();
  #live = h('ol', { class: 'calls', 'aria-labelledby': 'live-heading' });
  #earlier = h('ol', { class: 'calls', 'aria-labelledby': 'earlier-heading' });
  #earlierHeading = h('h2', { id: 'earlier-heading', hidden: true }, 'Earlier');
  #count = h('span', { class: 'count' });
  #state = new PageState('the calls', () => this.#book.loadNewest());
  #older = h(
    'button',
    { type: 'button', onclick: () => void this.#loadOlder(), hidden: true },
    'Older calls',
  );
  /** Shows only calls that lack words; the book is asked for them, for they may lie far back. */
  #filter = h(
    'button',
    { type: 'button', 'aria-pressed': 'false', onclick: () => this.#toggleFilter() },
    'Incomplete only',
  );
  #again = h(
    'button',
    { type: 'button', hidden: true, onclick: () => void this.#transcribeAgain() },
    'Transcribe all again',
  );
  #said = h('span', { class: 'quiet', role: 'status' });
  #isFiltered = false;
  #visible = new Set();
  #watcher = new IntersectionObserver((seen) => this.#seen(seen), { rootMargin: '200px' });
  #draw = onNextFrame(() => this.#drawChanged());
  #clock = setInterval(() => this.#drawClocks(), 1_000);
  #unwatch;

  constructor({ book, placeTestCall }) {
    this.#book = book;
    this.element = h(
      'div',
      { class: 'view' },
      h(
        'div',
        { class: 'heading' },
        h('h1', {}, 'Calls'),
        h(
          'div',
          { class: 'actions' },
          this.#said,
          this.#again,
          this.#filter,
          testCallButton(placeTestCall),
        ),
      ),
      h('h2', { id: 'live-heading' }, 'Live calls ', this.#count),
      this.#live,
      this.#state.element,
      this.#earlierHeading,
      this.#earlier,
      this.#older,
    );
    this.#unwatch = book.watch((id) => this.#change(id));
    for (const id of book.calls.keys()) this.#changed.add(id);
    this.#draw();
  }

  close() {
    this.#unwatch();
    this.#state.close();
    this.#watcher.disconnect();
    clearInterval(this.#clock);
  }

  async #loadOlder() {
    this.#older.disabled = true;
    await this.#book.loadOlder(this.#isFiltered);
    this.#older.disabled = false;
  }

  async #transcribeAgain() {
    this.#again.disabled = true;
    try {
      const { ordered, already, without_recording: lost } = await post('/api/calls/transcribe');
      const rest = lost > 0 ? `, ${lost} have no recording` : '';
      setText(this.#said, `Transcribing ${ordered + already} again${rest}.`);
    } catch (error) {
      setText(this.#said, error.message);
    }
    this.#again.disabled = false;
  }

  #toggleFilter() {
    this.#isFiltered = !this.#isFiltered;
    this.#again.hidden = !this.#isFiltered;
    setText(this.#said, '');
    this.#filter.setAttribute('aria-pressed', String(this.#isFiltered));
    for (const id of this.#book.calls.keys()) this.#changed.add(id);
    this.#draw();
    if (this.#isFiltered) void this.#book.loadIncomplete();
  }

  /** Only what is on the screen moves: a thousand calls cost no more than those that are seen. */
  take(message) {
    if (message.type !== 'levels') return;
    for (const { call_id: id, leg_id: leg, level } of message.levels)
      if (this.#visible.has(id)) this.#rows.get(id)?.levels.set(leg, level);
  }

  #change(id) {
    if (id !== undefined) this.#changed.add(id);
    this.#draw();
  }

  #drawChanged() {
    for (const id of this.#changed) this.#drawCall(id);
    this.#changed.clear();
    this.#older.hidden = !this.#book.hasOlder(this.#isFiltered);
    const shown = (list) => [...list.children].filter(({ hidden }) => !hidden).length;
    this.#earlierHeading.hidden = shown(this.#earlier) === 0;
    const live = shown(this.#live);
    setText(this.#count, live === 0 ? '' : String(live));
    const { isLoaded, problem } = this.#book;
    if (problem) this.#state.failed(problem);
    else if (isLoaded) this.#state.ready(live > 0 ? '' : this.#emptyText());
  }

  #emptyText() {
    if (this.#isFiltered)
      return this.#earlierHeading.hidden
        ? 'No incomplete calls.'
        : 'Live calls are not checked yet.';
    return this.#book.calls.size === 0
      ? 'No calls yet. Place a test call to see how it works, or connect a carrier.'
      : 'No live calls.';
  }

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
      row = new Row(id);
      this.#rows.set(id, row);
      this.#watcher.observe(row.element);
    }
    row.draw(call);
    row.element.hidden = this.#isFiltered
      ? !call.incomplete
      : call.state === 'ended' && !this.#book.isListed(id);
    const list = call.state === 'ended' ? this.#earlier : this.#live;
    if (row.element.parentElement !== list) insertNewestFirst(list, row.element);
  }

  #seen(entries) {
    for (const { target, isIntersecting } of entries)
      if (isIntersecting) this.#visible.add(target.dataset.id);
      else this.#visible.delete(target.dataset.id);
  }

  #drawClocks() {
    if (connection.lostAt !== undefined) return;
    for (const id of this.#visible) {
      const call = this.#book.calls.get(id);
      if (call && call.state === 'live') this.#rows.get(id)?.drawClock(call);
    }
  }
}

/** Ids sort by time; the newest stands first. Found by halving, since a list may hold thousands. */
function insertNewestFirst(list, element) {
  const rows = list.children;
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].dataset.id > element.dataset.id) low = middle + 1;
    else high = middle;
  }
  list.insertBefore(element, rows[low] ?? null);
}

function testCallButton(placeTestCall) {
  const status = h('span', { class: 'error', role: 'alert' });
  const button = h('button', { type: 'button', class: 'primary' }, 'Place a test call');
  button.addEventListener('click', async () => {
    button.disabled = true;
    setText(button, 'Placing the test call …');
    setText(status, '');
    try {
      await placeTestCall();
    } catch (error) {
      setText(status, error.message);
    }
    setText(button, 'Place a test call');
    button.disabled = false;
  });
  return h('div', { class: 'actions' }, status, button);
}

class Row {
  levels = new LevelBars();
  #state = h('span', { class: 'state' });
  #who = h('span', { class: 'who' });
  #how = h('span', { class: 'how quiet' });
  #incomplete = h('span', { class: 'incomplete', hidden: true }, 'Incomplete');
  #words = h('span', { class: 'words' });
  #clock = h('span', { class: 'clock' });

  constructor(id) {
    this.element = h(
      'li',
      { dataset: { id } },
      h(
        'a',
        { href: `#/calls/${id}` },
        this.#state,
        h('span', { class: 'party' }, this.#who, this.#how, this.#incomplete),
        this.#words,
        this.levels.element,
        this.#clock,
      ),
    );
  }

  draw(call) {
    this.#state.dataset.state = call.paused && call.state === 'live' ? 'paused' : call.state;
    setText(this.#state, call.paused && call.state === 'live' ? 'Paused' : stateNames[call.state]);
    setText(this.#who, parties(call));
    setText(this.#how, [call.carrier, call.direction].filter(Boolean).join(' · '));
    const missing = missingOf(call);
    this.#incomplete.hidden = missing === undefined;
    this.#incomplete.title = missing ?? '';
    this.#drawWords(call.words);
    this.levels.show(call.state === 'live' ? call.legs : []);
    this.drawClock(call);
  }

  drawClock(call) {
    const length = clock(lengthOf(call));
    setText(
      this.#clock,
      call.state === 'ended' ? `${moment(call.started_at)} · ${length}` : length,
    );
  }

  #drawWords(words) {
    this.#words.classList.toggle('partial', words?.partial === true);
    this.#words.dataset.role = words?.role ?? '';
    setText(this.#words, words ? `${roleNames[words.role]}: ${words.text}` : '');
  }
}
