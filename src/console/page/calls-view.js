import { get } from './api.js';
import { h, onNextFrame, setText } from './dom.js';
import { Feed } from './feed.js';
import { clock, moment, parties, roleNames, secondsBetween, stateNames } from './format.js';
import { LevelBars } from './levels.js';

const pageItems = 50;

/** All calls, live first: a row per call that changes in place. */
export class CallsView {
  title = 'Calls';
  #calls = new Map();
  #rows = new Map();
  #changed = new Set();
  #live = h('ol', { class: 'calls', 'aria-labelledby': 'live-heading' });
  #earlier = h('ol', { class: 'calls', 'aria-labelledby': 'earlier-heading' });
  #count = h('span', { class: 'count' });
  #empty = h('p', { class: 'empty' });
  #older = h('button', { type: 'button', onclick: () => void this.#loadOlder() }, 'Older calls');
  #cursor = null;
  #visible = new Set();
  #watcher = new IntersectionObserver((seen) => this.#seen(seen), { rootMargin: '200px' });
  #draw = onNextFrame(() => this.#drawChanged());
  #clock = setInterval(() => this.#drawClocks(), 1_000);
  #feed;

  constructor({ onState, placeTestCall }) {
    this.element = h(
      'div',
      { class: 'view' },
      h('div', { class: 'heading' }, h('h1', {}, 'Calls'), testCallButton(placeTestCall)),
      h('h2', { id: 'live-heading' }, 'On the line ', this.#count),
      this.#live,
      this.#empty,
      h('h2', { id: 'earlier-heading' }, 'Earlier'),
      this.#earlier,
      this.#older,
    );
    this.#older.hidden = true;
    this.#feed = new Feed('/api/live', (message) => this.#take(message), onState);
    void this.#loadOlder();
    this.#draw();
  }

  close() {
    this.#feed.close();
    this.#watcher.disconnect();
    clearInterval(this.#clock);
  }

  async #loadOlder() {
    this.#older.disabled = true;
    const cursor = this.#cursor ? `&cursor=${encodeURIComponent(this.#cursor)}` : '';
    const page = await get(`/api/calls?limit=${pageItems}${cursor}`).catch(() => undefined);
    this.#older.disabled = false;
    if (!page) return;
    this.#cursor = page.next_cursor;
    this.#older.hidden = page.next_cursor === null;
    // What the feed has told in the meantime is newer than this answer.
    for (const call of page.items) if (!this.#calls.has(call.id)) this.#put(call);
  }

  #take(message) {
    if (message.type === 'call') return this.#put(message.call);
    if (message.type === 'levels') return this.#levels(message.levels);
    if (message.type === 'partial')
      return this.#words(message.call_id, message.role, message.utterance.text, true);
    if (message.type === 'call-deleted') return this.#remove(message.call_id);
    if (message.type === 'reset') return this.#reload();
    if (message.type === 'call.transcript')
      return this.#words(message.call.id, message.leg.role, message.data.text, false);
  }

  #put(call) {
    const known = this.#calls.get(call.id);
    const turn = call.transcript.at(-1);
    const words = known?.words ?? (turn && { role: turn.role, text: turn.text, partial: false });
    // The transcript is the longest part and only its last words are shown here.
    const { transcript: _, ...rest } = call;
    this.#calls.set(call.id, { ...rest, words });
    this.#change(call.id);
  }

  #words(id, role, text, partial) {
    const call = this.#calls.get(id);
    if (!call) return;
    call.words = { role, text, partial };
    this.#change(id);
  }

  #remove(id) {
    this.#calls.delete(id);
    this.#change(id);
  }

  #reload() {
    for (const id of this.#calls.keys()) this.#change(id);
    this.#calls.clear();
    this.#cursor = null;
    void this.#loadOlder();
  }

  #change(id) {
    this.#changed.add(id);
    this.#draw();
  }

  #drawChanged() {
    for (const id of this.#changed) this.#drawCall(id);
    this.#changed.clear();
    const live = this.#live.childElementCount;
    setText(this.#count, live === 0 ? '' : String(live));
    this.#empty.hidden = live > 0;
    setText(
      this.#empty,
      this.#calls.size === 0
        ? 'No call yet. Place a test call to see how it goes, or let a carrier stream to this address.'
        : 'Nobody is on the line.',
    );
  }

  #drawCall(id) {
    const call = this.#calls.get(id);
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
    const list = call.state === 'ended' ? this.#earlier : this.#live;
    if (row.element.parentElement !== list) insertNewestFirst(list, row.element);
  }

  #seen(entries) {
    for (const { target, isIntersecting } of entries)
      if (isIntersecting) this.#visible.add(target.dataset.id);
      else this.#visible.delete(target.dataset.id);
  }

  /** Only what is on the screen moves: a thousand calls cost no more than those that are seen. */
  #levels(levels) {
    for (const { call_id: id, leg_id: leg, level } of levels)
      if (this.#visible.has(id)) this.#rows.get(id)?.levels.set(leg, level);
  }

  #drawClocks() {
    for (const id of this.#visible) {
      const call = this.#calls.get(id);
      if (call && call.state === 'live') this.#rows.get(id)?.drawClock(call);
    }
  }
}

/** Ids sort by time; the newest stands first. */
function insertNewestFirst(list, element) {
  let before = list.firstElementChild;
  while (before && before.dataset.id > element.dataset.id) before = before.nextElementSibling;
  list.insertBefore(element, before);
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
        h('span', { class: 'party' }, this.#who, this.#how),
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
    this.#drawWords(call.words);
    this.levels.show(call.state === 'live' ? call.legs : []);
    this.drawClock(call);
  }

  drawClock(call) {
    const length = clock(secondsBetween(call.started_at, call.ended_at));
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
