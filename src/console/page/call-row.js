import { h, setText } from './dom.js';
import { clock, lengthOf, missingOf, moment, parties, personName, stateNames } from './format.js';
import { LevelBars } from './levels.js';

/** @import { BookedCall } from './shapes.ts' */

/** A call in a list: the whole row is a link to it. */
export class CallRow {
  levels = new LevelBars();
  #state = h('span', { class: 'state' });
  #who = h('span', { class: 'who' });
  #how = h('span', { class: 'how quiet' });
  #incomplete = h('span', { class: 'incomplete', hidden: true }, 'Incomplete');
  #tags = h('span', { class: 'how tags quiet' });
  #words = h('span', { class: 'words' });
  #clock = h('span', { class: 'clock' });

  /** @param {string} id */
  constructor(id) {
    this.element = h(
      'li',
      { dataset: { id } },
      h(
        'a',
        { href: `#/calls/${id}` },
        this.#state,
        h('span', { class: 'party' }, this.#who, this.#how, this.#tags, this.#incomplete),
        this.#words,
        this.levels.element,
        this.#clock,
      ),
    );
  }

  /** @param {BookedCall} call */
  draw(call) {
    this.#state.dataset.state = call.paused && call.state === 'live' ? 'paused' : call.state;
    setText(this.#state, call.paused && call.state === 'live' ? 'Paused' : stateNames[call.state]);
    setText(this.#who, parties(call));
    setText(this.#how, [call.carrier, call.direction].filter(Boolean).join(' · '));
    setText(this.#tags, (call.tags ?? []).join(' · '));
    const missing = missingOf(call);
    this.#incomplete.hidden = missing === undefined;
    this.#incomplete.title = missing ?? '';
    this.#drawWords(call.words);
    this.levels.show(call.state === 'live' ? call.legs : []);
    this.drawClock(call);
  }

  /** @param {BookedCall} call */
  drawClock(call) {
    const length = clock(lengthOf(call));
    setText(
      this.#clock,
      call.state === 'ended' ? `${moment(call.started_at)} · ${length}` : length,
    );
  }

  /** @param {BookedCall['words']} words */
  #drawWords(words) {
    this.#words.classList.toggle('partial', words?.partial === true);
    this.#words.dataset.role = words?.role ?? '';
    setText(this.#words, words ? `${personName(words)}: ${words.text}` : '');
  }
}
