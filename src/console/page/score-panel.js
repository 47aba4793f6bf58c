import { get, post, putScore } from './api.js';
import { h, setText } from './dom.js';
import { isUnanswered, messageOf } from './failures.js';
import { clock, fullMoment, personName } from './format.js';
import { may } from './who.js';

/** @import { CallScore, Role } from './shapes.ts' */

/** @typedef {CallScore['items'][number]} ScoreItem */

const stateNames = { auto: 'By rules', reviewed: 'Reviewed', disputed: 'Disputed', settled: 'Settled' }; // prettier-ignore
/** A call is judged some seconds after its end. */
const lookMs = 10_000;
const maxLooks = 6;
const roles = ['customer', 'agent', 'mixed'];

/** The scores of an ended call: answers with their evidence, a reviewer's choices and notes, and disputes. */
export class ScorePanel {
  #id;
  #onHear;
  #closed = false;
  #tries = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #looking;
  #cards = h('div', { class: 'score-cards' });
  #problem = h('p', { class: 'error', role: 'alert' });
  #said = h('p', { class: 'quiet', role: 'status' });
  element = h(
    'section',
    { class: 'panel score-panel', 'aria-labelledby': 'panel-scores', hidden: true },
    h('h2', { id: 'panel-scores' }, 'Score'),
    this.#problem,
    this.#said,
    this.#cards,
  );

  /**
   * @param {string} id
   * @param {(seconds: number) => void} onHear
   */
  constructor(id, onHear) {
    this.#id = id;
    this.#onHear = onHear;
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#looking);
  }

  async load() {
    clearTimeout(this.#looking);
    if (!may('scores.read')) return;
    try {
      const { items } = await get(`/api/calls/${this.#id}/scores`);
      if (this.#closed) return;
      this.element.hidden = items.length === 0;
      if (items.length === 0 && this.#tries++ < maxLooks) this.#looking = setTimeout(() => void this.load(), lookMs); // prettier-ignore
      this.#cards.replaceChildren(...items.map((score) => this.#card(score)));
    } catch (error) {
      // A process of an older version has no scores, and the view tells of an erased call.
      if (!this.element.hidden && !isUnanswered(error))
        setText(this.#problem, `Could not read the score: ${messageOf(error)}`);
    }
  }

  /** @param {CallScore} score */
  #card(score) {
    const sections = Map.groupBy(score.items, ({ section }) => section);
    const form = h('form', { class: 'score' });
    const percent = score.percent === null ? 'No score yet' : `${score.percent} %`;
    const open = score.open === 0 ? '' : ` · ${score.open} open`;
    form.append(
      h('h3', {}, score.title),
      h(
        'p',
        { class: 'score-total' },
        h('strong', { dataset: { failed: score.critical_failed } }, percent),
        ` ${score.points} of ${score.of} points · ${stateNames[score.state]}${open}`,
        score.critical_failed ? ' · a critical question failed' : '',
      ),
      ...[...sections].map(([title, items]) =>
        h('fieldset', {}, h('legend', {}, title), ...items.map((item) => this.#item(score, item))),
      ),
    );
    for (const dispute of score.disputes) form.append(disputeLines(dispute));
    if (may('scores.review')) form.append(...this.#reviewing(score, form));
    if (may('scores.dispute') && score.state !== 'disputed') form.append(this.#disputing(score));
    return form;
  }

  /**
   * @param {CallScore} score
   * @param {ScoreItem} item
   */
  #item({ scorecard }, item) {
    const { id, question, answer, points, share, critical, evidence, note } = item;
    const field = `score-${scorecard}-${id}`;
    const isReviewer = may('scores.review');
    const choices = item.answers.map((one) => one.answer);
    const others = answer !== null && !choices.includes(answer) ? [answer] : [];
    const got = share === null ? `– / ${points}` : `${Math.round(share * points * 10) / 10} / ${points}`; // prettier-ignore
    return h(
      'div',
      { class: 'score-item', dataset: { item: id, by: item.by ?? '' } },
      h('label', { for: field }, question, critical ? h('em', {}, ' critical') : null),
      isReviewer
        ? h(
            'select',
            { id: field, name: id, dataset: { was: answer ?? '' } },
            ...['', ...others, ...choices].map(
              (value) =>
              h('option', { value, selected: value === (answer ?? '') }, value === '' ? 'Open' : value), // prettier-ignore
            ),
          )
        : h('output', { id: field }, answer ?? 'Open'),
      h('span', { class: 'quiet score-points' }, got),
      h(
        'p',
        { class: 'quiet score-evidence' },
        ...evidence.flatMap(({ at, role, matched }) => [
          h(
            'button',
            {
              type: 'button',
              class: 'time',
              'aria-label': `${question} Hear from ${clock(at)}`,
              onclick: () => this.#onHear(at),
            },
            clock(at),
          ),
          matched === undefined ? ' ' : ` ${whoIs(role)}“${matched}” `,
        ]),
      ),
      isReviewer
        ? h('input', {
            ...{ name: `${id}-note`, maxlength: '500', placeholder: 'Note', value: note ?? '' },
            'aria-label': `Note: ${question}`,
            dataset: { was: note ?? '' },
          })
        : note && h('p', { class: 'score-note' }, note),
    );
  }

  /**
   * @param {CallScore} score
   * @param {HTMLFormElement} form
   */
  #reviewing(score, form) {
    const isDisputed = score.state === 'disputed';
    const answer = h('textarea', { id: `settle-${score.scorecard}`, rows: 2, maxlength: 2_000 });
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const items = score.items.map((item) => ({
        id: item.id,
        answer: valueIn(form, item.id) || null,
        note: valueIn(form, `${item.id}-note`) || undefined,
      }));
      const text = answer.value.trim();
      void this.#send(() =>
        putScore(`/api/calls/${this.#id}/scores/${score.scorecard}`, {
          revision: score.revision,
          items,
          ...(isDisputed && text ? { dispute: { text } } : {}),
        }),
      );
    });
    return [
      isDisputed && h('label', { for: answer.id }, 'Answer to the dispute'),
      isDisputed && answer,
      h('button', { type: 'submit' }, isDisputed ? 'Keep and settle' : 'Keep the review'),
    ].filter((one) => one instanceof HTMLElement);
  }

  /** @param {CallScore} score */
  #disputing(score) {
    const reason = h('textarea', { id: `dispute-${score.scorecard}`, rows: 2, maxlength: 2_000 });
    const send = () => {
      const text = reason.value.trim();
      if (text === '') {
        reason.focus();
        return;
      }
      void this.#send(() =>
        post(`/api/calls/${this.#id}/scores/${score.scorecard}/dispute`, {
          revision: score.revision,
          reason: text,
        }),
      );
    };
    return h(
      'details',
      {},
      h('summary', {}, 'Dispute this score'),
      h('label', { for: reason.id }, 'Reason'),
      reason,
      h('button', { type: 'button', onclick: send }, 'Send the dispute'),
    );
  }

  /** @param {() => Promise<unknown>} send */
  async #send(send) {
    setText(this.#problem, '');
    setText(this.#said, '');
    try {
      await send();
      await this.load();
      setText(this.#said, 'Kept.');
    } catch (error) {
      setText(this.#problem, `Could not keep that: ${messageOf(error)}`);
    }
  }
}

/** @param {CallScore['disputes'][number]} dispute */
function disputeLines({ by, at, reason, answer }) {
  return h(
    'div',
    { class: 'score-dispute' },
    h('p', {}, h('strong', {}, `${by} disputes: `), reason),
    answer ? h('p', {}, h('strong', {}, `${answer.by}: `), answer.text) : null,
    h('p', { class: 'quiet' }, fullMoment(answer?.at ?? at)),
  );
}

/**
 * @param {HTMLFormElement} form
 * @param {string} name
 */
function valueIn(form, name) {
  const field = form.elements.namedItem(name);
  return field instanceof HTMLInputElement || field instanceof HTMLSelectElement ? field.value.trim() : ''; // prettier-ignore
}

/** @param {string | undefined} role */
function whoIs(role) {
  if (role === undefined || !roles.includes(role)) return '';
  return `${personName({ role: /** @type {Role} */ (role) })}: `;
}
