import { h, setText } from './dom.js';
import { callMoodIn } from './figures.js';
import {
  clock,
  languageName,
  lengthOf,
  missingOf,
  moment,
  parties,
  personName,
  stateNames,
  titleOf,
} from './format.js';
import { LevelBars } from './levels.js';

/** @import { BookedCall } from './shapes.ts' */

/** A call in a list, on one line. The whole row is a link to it. */
export class CallRow {
  levels = new LevelBars();
  /** The state of a running call. After the end its mood stands in this place. */
  #state = h('span', { class: 'state' });
  #mood = h('span', { class: 'mood' });
  #who = h('span', { class: 'who' });
  #how = h('span', { class: 'how quiet' });
  #agent = h('span', { class: 'agent quiet' });
  #incomplete = h('span', { class: 'incomplete', hidden: true }, 'Incomplete');
  #undelivered = h('span', { class: 'undelivered', hidden: true }, 'Not in the CRM');
  #tags = h('span', { class: 'tags quiet' });
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
        h('span', { class: 'standing' }, this.#state, this.#mood),
        h('span', { class: 'party' }, this.#who, this.#how),
        this.#words,
        h(
          'span',
          { class: 'flags' },
          this.levels.element,
          this.#agent,
          this.#tags,
          this.#incomplete,
          this.#undelivered,
        ),
        this.#clock,
      ),
    );
  }

  /**
   * @param {BookedCall} call
   * @param {{ isUndelivered: boolean }} facts
   */
  draw(call, { isUndelivered }) {
    const isOver = call.state === 'ended';
    const isPaused = call.paused === true && call.state === 'live';
    this.#state.dataset['state'] = isPaused ? 'paused' : call.state;
    // Almost every row is a finished call, which shows no state.
    setText(this.#state, isOver ? '' : isPaused ? 'Paused' : stateNames[call.state]);
    const mood = isOver ? (callMoodIn(call.mood) ?? '') : '';
    this.#mood.dataset['sentiment'] = mood;
    setText(this.#mood, titleOf(mood));
    setText(this.#who, parties(call));
    setText(
      this.#how,
      [call.carrier, call.direction, languageName(call.language)].filter(Boolean).join(' · '),
    );
    setText(this.#agent, agentOf(call));
    setText(this.#tags, (call.tags ?? []).join(' · '));
    const missing = missingOf(call);
    this.#incomplete.hidden = missing === undefined;
    this.#incomplete.title = missing ?? '';
    this.#undelivered.hidden = !isUndelivered;
    this.#drawWords(call);
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

  /**
   * The line about the call: its summary, or the latest words until there is one.
   * @param {BookedCall} call
   */
  #drawWords({ words, summary }) {
    const about = aboutOf(summary);
    const isPartial = about === '' && words?.partial === true;
    this.#words.classList.toggle('partial', isPartial);
    this.#words.dataset['role'] = words?.role ?? '';
    setText(this.#words, about || (words ? `${personName(words)}: ${words.text}` : ''));
  }
}

/**
 * The text of the summary on one line, without its list markup.
 * @param {unknown} summary
 */
function aboutOf(summary) {
  if (typeof summary !== 'object' || summary === null || !('text' in summary)) return '';
  const lines = String(summary.text).split('\n');
  return lines
    .map((line) => line.replace(/^\s*[-•*]\s*/, '').trim())
    .filter(Boolean)
    .join(' ');
}

/**
 * The agent who has the call, or else the name that the carrier or the API's caller gave.
 * @param {BookedCall} call
 */
function agentOf({ agent, custom_metadata: given }) {
  if (agent) return agent.name ?? agent.id;
  const name = given['agent_name'] ?? given['agent'] ?? given['agent_id'];
  return typeof name === 'string' || typeof name === 'number' ? String(name) : '';
}
