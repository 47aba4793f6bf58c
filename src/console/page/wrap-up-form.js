import { h } from './dom.js';

/** @import { WrapUp } from './shapes.ts' */

const longest = 1_000;

/** The fields of a record that people change. An entry whose words stay keeps its proof. */
export class WrapUpForm {
  #record;
  #reason;
  #done;
  #outcome;
  #disposition;
  /** @type {{ promise: WrapUp['promises'][number] | undefined, who: HTMLSelectElement, what: HTMLInputElement, until: HTMLInputElement }[]} */
  #promises = [];
  #promiseRows = h('ul', { class: 'promise-rows' });
  element;

  /**
   * @param {WrapUp} record
   * @param {{ dispositions: readonly string[], onSave: (changed: object) => void, onCancel: () => void }} options
   */
  constructor(record, { dispositions, onSave, onCancel }) {
    this.#record = record;
    this.#reason = h('input', { id: 'wrap-up-reason', maxlength: longest });
    this.#reason.value = record.reason?.text ?? '';
    this.#done = h('textarea', { id: 'wrap-up-done', rows: Math.max(2, record.done.length) });
    this.#done.value = record.done.map(({ text }) => text).join('\n');
    this.#outcome = choice('wrap-up-outcome', record.outcome.value, [
      ['resolved', 'Resolved'],
      ['open', 'Open'],
      ['unknown', 'Not known'],
    ]);
    this.#disposition = dispositionField(record, dispositions);
    for (const promise of record.promises) this.#addPromise(promise);
    const add = h('button', { type: 'button', onclick: () => this.#addPromise() }, 'Add a promise');
    this.element = h(
      'form',
      { class: 'wrap-up-form' },
      labelled('Reason', this.#reason),
      labelled('Done, one a line', this.#done),
      labelled('Outcome', this.#outcome),
      h('p', { class: 'label' }, 'Promises'),
      this.#promiseRows,
      add,
      labelled('Disposition', this.#disposition),
      h(
        'div',
        { class: 'actions' },
        h('button', { type: 'submit', class: 'primary' }, 'Save and send'),
        h('button', { type: 'button', onclick: () => onCancel() }, 'Cancel'),
      ),
    );
    this.element.addEventListener('submit', (event) => {
      event.preventDefault();
      onSave(this.#changed());
    });
  }

  focus() {
    this.#reason.focus();
  }

  /** @param {WrapUp['promises'][number]} [promise] */
  #addPromise(promise) {
    const place = this.#promises.length + 1;
    const who = choice('', promise?.who ?? 'agent', [
      ['agent', 'Agent'],
      ['customer', 'Customer'],
    ]);
    who.setAttribute('aria-label', `Promise ${place}: who`);
    const what = h('input', { maxlength: longest, 'aria-label': `Promise ${place}: what` });
    what.value = promise?.what ?? '';
    const until = h('input', { type: 'date', 'aria-label': `Promise ${place}: until` });
    until.value = promise?.until ?? '';
    this.#promises.push({ promise, who, what, until });
    this.#promiseRows.append(h('li', {}, who, what, until));
    if (promise === undefined) what.focus();
  }

  /** The fields for the request. A promise whose words were deleted is left out. */
  #changed() {
    const reason = this.#reason.value.trim();
    const lines = this.#done.value.split('\n').map((line) => line.trim()).filter(Boolean); // prettier-ignore
    const record = this.#record;
    const outcome = this.#outcome.value;
    return {
      reason: reason === '' ? null : (record.reason?.text === reason ? record.reason : { text: reason }), // prettier-ignore
      done: lines.map((text) => record.done.find((one) => one.text === text) ?? { text }),
      outcome: record.outcome.value === outcome ? record.outcome : { value: outcome },
      promises: this.#promises.flatMap(({ promise, who, what, until }) => {
        const words = what.value.trim();
        if (words === '') return [];
        const isSame = promise?.what === words && promise.who === who.value;
        return [
          {
            ...(promise === undefined ? {} : { id: promise.id }),
            who: who.value,
            what: words,
            until: until.value === '' ? null : until.value,
            utterance_ids: isSame ? promise.utterance_ids : [],
          },
        ];
      }),
      disposition: this.#disposition.value.trim() || null,
    };
  }
}

/**
 * The list of the installation, with the suggestion marked. A disposition of an earlier list stays a choice. Without a
 * list any words may be written.
 * @param {WrapUp} record
 * @param {readonly string[]} list
 */
function dispositionField({ disposition, disposition_by: by }, list) {
  const id = 'wrap-up-disposition';
  if (list.length === 0) {
    const field = h('input', { id, maxlength: longest });
    field.value = disposition ?? '';
    return field;
  }
  const names = disposition === null || list.includes(disposition) ? list : [...list, disposition];
  const isSuggested = by === 'meaning' || by === 'words';
  return choice(id, disposition ?? '', [
    ['', 'None'],
    ...names.map((name) => /** @type {[string, string]} */ ([name, isSuggested && name === disposition ? `${name} (suggested)` : name])), // prettier-ignore
  ]);
}

/**
 * @param {string} text
 * @param {HTMLElement} field
 */
function labelled(text, field) {
  return h('div', {}, h('label', { for: field.id }, text), field);
}

/**
 * @param {string} id
 * @param {string} value
 * @param {[value: string, text: string][]} choices
 */
function choice(id, value, choices) {
  return h(
    'select',
    id === '' ? {} : { id },
    choices.map(([one, text]) => h('option', { value: one, selected: one === value }, text)),
  );
}
