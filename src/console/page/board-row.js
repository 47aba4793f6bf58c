import { agentShare, needsOf, secondsSince, silenceOf } from './board-order.js';
import { h, setText, svg } from './dom.js';
import { clock, percent, roleNames } from './format.js';

/** @import { BoardCard } from './shapes.ts' */

const trends = { falling: '↘ falling', steady: '→ steady', rising: '↗ rising' };
const moodPicture = { width: 66, height: 18 };
/** Shorter silences are breaths. */
const silenceShownS = 5;
const needsShown = 3;

/** A running call on the board. The whole row is a link to the call. */
export class BoardRow {
  #needs = h('span', { class: 'board-needs' });
  #who = h('span', { class: 'who' });
  #agent = h('span', { class: 'agent quiet' });
  #line = svg('polyline', { points: '' });
  #mood = h('span', { class: 'board-mood' });
  #moodText = h('span', {});
  #said = h('span', { class: 'words' });
  #talk = h('span', { class: 'board-talk quiet' });
  #silence = h('span', { class: 'board-silence' });
  #steps = h('span', { class: 'board-steps quiet' });
  #clock = h('span', { class: 'clock' });
  #told = '';

  constructor() {
    const picture = svg(
      'svg',
      { viewBox: `0 0 ${moodPicture.width} ${moodPicture.height}`, 'aria-hidden': 'true' },
      this.#line,
    );
    this.#mood.append(picture, this.#moodText);
    this.link = h(
      'a',
      { href: '#/board' },
      this.#needs,
      h('span', { class: 'party' }, this.#who, this.#agent),
      this.#mood,
      this.#said,
      h('span', { class: 'board-figures' }, this.#talk, this.#silence, this.#steps),
      this.#clock,
    );
    this.element = h('li', {}, this.link);
  }

  /**
   * @param {BoardCard} card
   * @param {{ place: number, of: number, nowMs: number, isOver: boolean }} shown
   */
  draw(card, { place, of, nowMs, isOver }) {
    const { element } = this;
    if (element.dataset['id'] !== card.call_id) {
      element.dataset['id'] = card.call_id;
      this.link.setAttribute('href', `#/calls/${card.call_id}`);
    }
    element.setAttribute('aria-posinset', String(place + 1));
    element.setAttribute('aria-setsize', String(of));
    element.classList.toggle('is-over', isOver);
    const { contact, from, to, agent, teams, mood, said, steps } = card;
    const other = card.direction === 'outbound' ? to : from;
    setText(this.#who, contact ?? other ?? to ?? card.call_id);
    const name = agent ? (agent.name ?? agent.id) : 'No agent known';
    setText(this.#agent, [name, ...teams].join(' · '));
    setText(this.#moodText, mood.trend ? trends[mood.trend] : '');
    this.#mood.dataset['sentiment'] = mood.now === null ? '' : mood.now <= -0.3 ? 'negative' : mood.now >= 0.3 ? 'positive' : 'neutral'; // prettier-ignore
    const points = mood.points.map((point, at) => `${3 + at * 5.5},${9 - point * 7}`).join(' ');
    if (this.#line.getAttribute('points') !== points) this.#line.setAttribute('points', points);
    this.#said.dataset['role'] = said?.role ?? '';
    setText(this.#said, said ? `${roleNames[said.role]}: ${said.text}` : '');
    const share = agentShare(card);
    setText(this.#talk, share === undefined ? '' : `Agent ${percent(share)}`);
    setText(this.#steps, steps.of === 0 ? '' : `${steps.done}/${steps.of} steps`);
    this.drawClocks(card, nowMs, isOver);
  }

  /**
   * The parts of a row that change by themselves.
   * @param {BoardCard} card
   * @param {number} nowMs
   * @param {boolean} isOver
   */
  drawClocks(card, nowMs, isOver) {
    if (isOver) {
      setText(this.#clock, 'Ended');
      return;
    }
    setText(this.#clock, clock(secondsSince(card.started_at, nowMs)));
    const silence = silenceOf(card, nowMs);
    const paused = secondsSince(card.paused_at, nowMs);
    setText(
      this.#silence,
      card.paused_at !== null ? `Paused ${clock(paused)}` : silence >= silenceShownS ? `Silent ${clock(silence)}` : '', // prettier-ignore
    );
    const needs = needsOf(card, nowMs).slice(0, needsShown);
    const told = needs.map(({ level, text }) => level + text).join('|');
    if (told === this.#told) return;
    this.#told = told;
    this.#needs.replaceChildren(
      ...needs.map(({ level, text }) => h('span', { dataset: { level } }, text)),
    );
  }
}
