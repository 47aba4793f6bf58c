import { get, post } from './api.js';
import { deliveryStates } from './delivery-words.js';
import { h, setText } from './dom.js';
import { messageOf } from './failures.js';
import { moment } from './format.js';

/** @import { ApiJobCallback } from './shapes.ts' */

const everyMs = { pending: 3_000, calm: 10_000 };
const mostShown = 100;

/**
 * Callbacks that did not arrive: those of one job, or of all jobs with a callback that waits for a person. `onChange`
 * is called when they change.
 */
export class JobCallbacks {
  /** @type {ApiJobCallback[]} */
  items = [];
  #jobId;
  #onChange;
  /** @type {ReturnType<typeof setTimeout> | 0 | undefined} */
  #timer;
  #closed = false;
  #list = h('ol', { class: 'calls uploads', 'aria-label': 'Callbacks that did not arrive' });
  #told = h('p', { class: 'told', role: 'status' });

  /** @param {{ jobId?: string, onChange?: () => void }} options */
  constructor({ jobId, onChange = () => undefined }) {
    this.#jobId = jobId;
    this.#onChange = onChange;
    this.elements = [this.#list, this.#told];
  }

  /** Starts requesting them. */
  start() {
    if (this.#timer === undefined) void this.#load();
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #load() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const query = new URLSearchParams({ limit: String(mostShown) });
    if (this.#jobId) query.set('job_id', this.#jobId);
    else query.set('state', 'parked');
    const page = await get(`/api/job-callbacks?${query}`).catch(() => undefined);
    if (this.#closed) return;
    if (page) this.#draw(page);
    const isPending = this.items.some(({ state }) => state === 'pending');
    this.#loadLater(isPending ? everyMs.pending : everyMs.calm);
  }

  /**
   * Nothing is requested while nobody looks.
   * @param {number} waitMs
   */
  #loadLater(waitMs) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (document.visibilityState === 'visible') void this.#load();
      else this.#loadLater(waitMs);
    }, waitMs);
  }

  /** @param {{ items: ApiJobCallback[], next_cursor: string | null }} page */
  #draw({ items, next_cursor: next }) {
    // A callback without any attempt so far is no problem.
    const shown = items.filter(({ reason }) => reason !== null);
    if (JSON.stringify(shown) === JSON.stringify(this.items)) return;
    this.items = shown;
    this.#list.replaceChildren(...shown.map((item) => this.#row(item)));
    if (next !== null) setText(this.#told, `The newest ${mostShown} are shown.`);
    this.#onChange();
  }

  /** @param {ApiJobCallback} item */
  #row(item) {
    const { state, event, job_id: jobId, host, can_retry: canRetry } = item;
    const text = `Callback ${event}`;
    const name = this.#jobId ? text : h('a', { href: `#/jobs/${jobId}` }, text);
    const label = `Try again: ${event} to ${host ?? 'its address'}`;
    const retry = h('button', { type: 'button', 'aria-label': label }, 'Try again');
    retry.addEventListener('click', () => void this.#retry(item, retry));
    return h(
      'li',
      { dataset: { id: item.id } },
      h(
        'div',
        { class: 'row' },
        h('span', { class: 'state', dataset: { state } }, deliveryStates[state] ?? state),
        h(
          'span',
          { class: 'party' },
          h('span', { class: 'who' }, name),
          h('span', { class: 'how quiet' }, host === null ? '' : `to ${host}`),
        ),
        h('span', { class: 'going' }, h('span', { class: 'words' }, whyOf(item))),
        h(
          'span',
          { class: 'actions' },
          state === 'parked' && canRetry ? retry : null,
          canRetry ? null : h('span', { class: 'quiet' }, 'Cannot be sent again'),
        ),
      ),
    );
  }

  /**
   * @param {ApiJobCallback} callback
   * @param {HTMLButtonElement} button
   */
  async #retry({ id }, button) {
    button.disabled = true;
    try {
      await post(`/api/job-callbacks/${encodeURIComponent(id)}/retry`);
      setText(this.#told, 'Sent again. It leaves this list once it arrives.');
      await this.#load();
    } catch (error) {
      setText(this.#told, `Could not send it again: ${messageOf(error)}`);
    }
    button.disabled = false;
  }
}

/**
 * The reason why it did not arrive, the number of attempts, and the next step.
 * @param {ApiJobCallback} callback
 */
function whyOf({ reason, attempts, parked_at: parkedAt, next_attempt_at: nextAt }) {
  const tried = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
  const when = parkedAt ? `given up ${moment(parkedAt)}` : `next ${moment(nextAt)}`;
  return [reason, tried, when].join(' · ');
}
