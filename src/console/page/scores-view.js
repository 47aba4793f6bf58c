import { get } from './api.js';
import { h, svg } from './dom.js';
import { field, select } from './filter-fields.js';
import { changed, queryOf } from './call-query.js';
import { PageState } from './page-state.js';

/** @import { ScoreReport } from './shapes.ts' */

const course = { width: 90, height: 24 };

/** Scores over time by agent or team, the lowest first, and the calls that wait for a person. */
export class ScoresView {
  title = 'Scores';
  #state = new PageState('the scores', () => this.#load());
  #rows = h('div');
  #waiting = h('div');
  #query = new URLSearchParams();
  #asked = 0;
  #by = select('by', 'By', [
    ['agent', 'Agent'],
    ['team', 'Team'],
  ]);
  #days = field('last_days', 'Days', h('input', { type: 'number', min: '1', max: '365' }));
  element = h(
    'div',
    { class: 'view scores-view' },
    h('h1', {}, 'Scores'),
    h(
      'form',
      { class: 'call-filters', 'aria-label': 'Scores' },
      h('div', { class: 'filter-line' }, this.#by.element, this.#days.element),
    ),
    this.#state.element,
    this.#rows,
    this.#waiting,
  );

  constructor() {
    for (const { name, input } of [this.#by, this.#days])
      input.addEventListener('change', () => {
        if (!input.checkValidity()) return;
        location.hash = `#/scores?${changed(this.#query, name, input.value)}`;
      });
    this.element.querySelector('form')?.addEventListener('submit', (event) => event.preventDefault()); // prettier-ignore
    this.follow(location.hash);
  }

  close() {
    this.#asked++;
    this.#state.close();
  }

  /** @param {string} hash */
  follow(hash) {
    if (!/^#\/scores(?:\?|$)/.test(hash)) return false;
    this.#query = queryOf(hash);
    this.#by.input.value = this.#query.get('by') === 'team' ? 'team' : 'agent';
    this.#days.input.value = this.#query.get('last_days') ?? '30';
    void this.#load();
    return true;
  }

  async #load() {
    const asked = ++this.#asked;
    const query = new URLSearchParams({ by: this.#by.input.value, last_days: this.#days.input.value }); // prettier-ignore
    try {
      const report = await get(`/api/scores?${query}`);
      if (asked === this.#asked) this.#draw(report);
    } catch (error) {
      if (asked === this.#asked) this.#state.failed(error);
    }
  }

  /** @param {ScoreReport} report */
  #draw({ by, rows, waiting, agreement, left_out: isMore }) {
    this.#state.ready(rows.length === 0 ? 'No call has a score yet. Calls are judged when they end.' : ''); // prettier-ignore
    const headings = [by === 'agent' ? 'Agent' : 'Team', 'Scorecard', 'Score', 'By week', 'Calls', 'Critical failed', 'Reviewed', 'Disputed']; // prettier-ignore
    this.#rows.replaceChildren(
      table(
        by === 'agent' ? 'By agent' : 'By team',
        headings,
        rows.map((row) => [
          row.name ?? 'Nobody known',
          row.scorecard,
          percentOf(row.percent),
          weeksOf(row.weeks),
          ...[row.calls, row.critical_failed, row.reviewed, row.disputed].map(String),
        ]),
      ),
    );
    if (isMore) this.#rows.append(h('p', { class: 'quiet' }, 'There are more scores than one report reads: choose fewer days.')); // prettier-ignore
    this.#waiting.replaceChildren(
      table(
        'Rules and reviewers',
        ['Scorecard', 'Question', 'Answers', 'The same', 'Kappa'],
        agreement.map(({ scorecard, question, answers, agreed, kappa }) => [
          ...[scorecard, question ?? 'All automatic questions', String(answers)],
          `${Math.round((100 * agreed) / answers)} %`,
          kappa === null ? 'Unknown: one answer alone' : kappa.toFixed(2),
        ]),
      ),
      table(
        'Waiting for a person',
        ['Call', 'Scorecard', 'Agent', 'Score', 'Why'],
        waiting.map(({ call_id: id, scorecard, agent, percent, state, open }) => [
          h('a', { href: `#/calls/${id}` }, id),
          scorecard,
          agent ?? '',
          percentOf(percent),
          state === 'disputed'
            ? 'Disputed'
            : `${open} open ${open === 1 ? 'question' : 'questions'}`,
        ]),
      ),
    );
  }
}

/** @param {number | null} percent */
function percentOf(percent) {
  return percent === null ? 'None' : `${percent} %`;
}

/**
 * A line of the weeks for the eye, and their numbers for everybody.
 * @param {ScoreReport['rows'][number]['weeks']} weeks
 */
function weeksOf(weeks) {
  const told = weeks.map(({ from, percent, calls }) => `Week of ${from}: ${percentOf(percent)} in ${calls} ${calls === 1 ? 'call' : 'calls'}`).join(', '); // prettier-ignore
  const known = weeks.flatMap(({ percent }) => percent ?? []);
  if (known.length < 2) return h('span', {}, told);
  const wide = (course.width - 4) / (known.length - 1);
  const points = known.map((percent, at) => `${2 + at * wide},${course.height - 2 - (percent / 100) * (course.height - 4)}`).join(' '); // prettier-ignore
  return svg(
    'svg',
    { ...{ class: 'score-course', viewBox: `0 0 ${course.width} ${course.height}` }, role: 'img', 'aria-label': told }, // prettier-ignore
    svg('title', {}, told),
    svg('polyline', { points }),
  );
}

/**
 * @param {string} name
 * @param {readonly string[]} headings
 * @param {readonly (string | Node)[][]} rows
 */
function table(name, headings, rows) {
  const id = `scores-${name.replaceAll(' ', '-').toLowerCase()}`;
  if (rows.length === 0) return h('section');
  return h(
    'section',
    {},
    h('h2', { id }, name),
    h(
      'div',
      { class: 'wide', tabindex: '0', role: 'region', 'aria-labelledby': id },
      h(
        'table',
        {},
        h('thead', {}, h('tr', {}, headings.map((one) => h('th', { scope: 'col' }, one)))), // prettier-ignore
        h('tbody', {}, rows.map((row) => h('tr', {}, row.map((cell) => h('td', {}, cell))))), // prettier-ignore
      ),
    ),
  );
}
