import { get, putWrapUp } from './api.js';
import { h, setText } from './dom.js';
import { messageOf } from './failures.js';
import { titleOf, valueInWords } from './format.js';
import { WrapUpForm } from './wrap-up-form.js';

/** @import { Child } from './dom.js' */
/** @import { CallWrapUp, ShownWrapUp } from './shapes.ts' */

const outcomes = { resolved: 'Resolved', open: 'Open', unknown: 'Not known' };
const kinds = {
  ...{ name: 'Name', number: 'Number', amount: 'Amount', date: 'Date', time: 'Time' },
  ...{ phone: 'Phone', email: 'Email', address: 'Address' },
};

/** A call that ended within this time has a record in the store. */
const recentMs = 10 * 60_000;

/**
 * The record of an ended call. A press on a field plays the words that prove it. People edit it here before it goes out,
 * or afterwards.
 */
export class WrapUpPanel {
  #id;
  #hear;
  /** @type {ShownWrapUp | undefined} */
  #shown;
  /**
   * The list of dispositions, once an answer brought it: events do not.
   * @type {readonly string[] | undefined}
   */
  #dispositions;
  #body = h('div', { class: 'wrap-up-fields' });
  #open = h('button', { type: 'button' }, 'Show wrap-up');
  #edit = h('button', { type: 'button', hidden: true }, 'Edit wrap-up');
  #said = h('p', { class: 'quiet', role: 'status' });
  #problem = h('p', { class: 'error', role: 'alert' });
  #isEditing = false;
  #hasLoaded = false;
  element;

  /**
   * @param {string} id
   * @param {(utteranceId: string) => void} hear
   */
  constructor(id, hear) {
    this.#id = id;
    this.#hear = hear;
    this.#open.addEventListener('click', () => void this.#load());
    this.#edit.addEventListener('click', () => void this.#startEdit());
    this.element = h(
      'section',
      { class: 'summary wrap-up', 'aria-labelledby': 'wrap-up-heading', hidden: true },
      h('h2', { id: 'wrap-up-heading' }, 'Wrap-up'),
      this.#body,
      h('div', { class: 'actions' }, this.#open, this.#edit),
      this.#said,
      this.#problem,
    );
  }

  /**
   * The call has a summary, so it has a record too. That of a call that just ended is shown at once. An older call may
   * have none yet, and a language model would make it anew for each reader: it is made when somebody asks.
   * @param {string | null | undefined} endedAt
   */
  offer(endedAt) {
    this.element.hidden = false;
    const isRecent = endedAt != null && Date.now() - Date.parse(endedAt) < recentMs;
    if (!isRecent || this.#shown || this.#hasLoaded) return;
    this.#hasLoaded = true;
    this.#open.hidden = true;
    void this.#load();
  }

  /**
   * The record as an event told it. A form that somebody fills in is not overwritten.
   * @param {ShownWrapUp} data
   */
  draw(data) {
    if (this.#shown && data.revision < this.#shown.revision) return;
    this.#shown = data;
    this.element.hidden = false;
    this.#open.hidden = true;
    if (this.#isEditing) return;
    this.#edit.hidden = false;
    this.#body.replaceChildren(...this.#fields(data));
  }

  async #load() {
    setText(this.#problem, '');
    this.#open.disabled = true;
    try {
      const answer = await get(`/api/calls/${this.#id}/wrap-up`);
      this.#dispositions = answer.dispositions;
      this.draw(answer);
      setText(this.#said, stateOf(answer));
    } catch (error) {
      setText(this.#problem, `Could not read the wrap-up: ${messageOf(error)}`);
      this.#open.hidden = false;
    }
    this.#open.disabled = false;
  }

  /** @param {ShownWrapUp} data */
  #fields({ wrap_up: record, edits }) {
    const {
      reason,
      done,
      outcome,
      promises,
      facts,
      disposition,
      disposition_by: by,
      mood,
    } = record;
    const isSuggested = by === 'meaning' || by === 'words';
    const who = { agent: 'Agent', customer: 'Customer' };
    const editors = [...new Set(edits.flatMap(({ by }) => by ?? []))];
    return [
      h(
        'dl',
        {},
        row('Reason', reason && this.#told(reason.text, reason)),
        row('Done', list(done.map((one) => this.#told(one.text, one)))),
        row('Outcome', this.#told(outcomes[outcome.value], outcome)),
        row(
          'Promises',
          list(
            promises.map((one) =>
              this.#told(
                `${who[one.who]}: ${one.what}${one.until ? `, by ${valueInWords(one.until)}` : ''}`,
                one,
              ),
            ),
          ),
        ),
        row('Facts', list(facts.map((one) => this.#told(`${kinds[one.kind]}: ${valueInWords(one.value, one.currency)}`, one)))), // prettier-ignore
        row('Disposition', disposition && (isSuggested ? `${disposition} (suggested)` : disposition)), // prettier-ignore
        row('Mood', mood && this.#told(`${titleOf(mood.from)} → ${mood.to}`, mood)),
      ),
      edits.length > 0
        ? h(
            'p',
            { class: 'quiet' },
            `Edited${editors.length > 0 ? ` by ${editors.join(', ')}` : ''}.`,
          )
        : null,
    ].filter((one) => one !== null);
  }

  /**
   * A field that words prove is a button that plays them.
   * @param {string} text
   * @param {{ utterance_ids: readonly string[] }} field
   */
  #told(text, { utterance_ids: ids }) {
    const [first] = ids;
    if (first === undefined) return h('span', {}, text);
    const title = 'Hear the words that prove it';
    return h(
      'button',
      { type: 'button', class: 'proof', title, onclick: () => this.#hear(first) },
      text,
    );
  }

  async #startEdit() {
    if (!this.#shown || this.#isEditing) return;
    this.#isEditing = true;
    try {
      this.#dispositions ??= (await get(`/api/calls/${this.#id}/wrap-up`)).dispositions;
    } catch (error) {
      this.#isEditing = false;
      setText(this.#problem, `Could not read the list of dispositions: ${messageOf(error)}`);
      return;
    }
    setText(this.#problem, '');
    this.#edit.hidden = true;
    setText(this.#said, '');
    const { revision, wrap_up: record } = this.#shown;
    const form = new WrapUpForm(record, {
      dispositions: this.#dispositions,
      onSave: (changed) => void this.#save(revision, changed),
      onCancel: () => this.#endEdit(),
    });
    this.#body.replaceChildren(form.element);
    form.focus();
  }

  #endEdit() {
    this.#isEditing = false;
    setText(this.#problem, '');
    if (this.#shown) this.draw(this.#shown);
    this.#edit.focus();
  }

  /**
   * @param {number} revision
   * @param {object} changed
   */
  async #save(revision, changed) {
    setText(this.#problem, '');
    try {
      const answer = await putWrapUp(`/api/calls/${this.#id}/wrap-up`, {
        revision,
        wrap_up: changed,
      });
      this.#isEditing = false;
      this.draw(answer);
      setText(this.#said, 'Wrap-up saved and sent.');
      this.#edit.focus();
    } catch (error) {
      setText(this.#problem, `Could not save: ${messageOf(error)}`);
    }
  }
}

/** @param {CallWrapUp} answer */
function stateOf({ state }) {
  if (state === 'waiting') return 'Nobody has edited it yet. It is sent by itself in a moment.';
  return state === 'draft' ? 'A draft from the words so far.' : '';
}

/**
 * @param {string} name
 * @param {Child} value
 */
function row(name, value) {
  return h(
    'div',
    {},
    h('dt', {}, name),
    h('dd', {}, value ?? h('span', { class: 'quiet' }, 'None')),
  );
}

/** @param {HTMLElement[]} items */
function list(items) {
  if (items.length === 0) return null;
  return h(
    'ul',
    {},
    items.map((item) => h('li', {}, item)),
  );
}
