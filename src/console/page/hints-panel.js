import { get, post } from './api.js';
import { articleLink } from './article.js';
import { h, setText } from './dom.js';
import { messageOf } from './failures.js';
import { clock, personName } from './format.js';

/** @import { CallAssistance, HintVerdict } from './shapes.ts' */

/** @typedef {CallAssistance['hits'][number]} HitOfCall */
/** @typedef {Extract<HitOfCall['did'][number], { kind: 'hint' }>} Hint */

/** An agent who speaks reads no more than this many hints. */
const shownAtOnce = 3;
/** Events come in bursts: the hints are read again once for each. */
const settleMs = 60;
const assistEvents = new Set([
  'call.hint',
  'call.alert',
  'call.checklist',
  'call.tagged',
  'call.signal',
]);

/** Hints of the playbooks, the newest first, and the checklists of the call. */
export class HintsPanel {
  #id;
  #onHear;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #reading;
  #closed = false;
  /** @type {Map<string, HTMLElement>} */
  #links = new Map();
  #drawn = '';
  /** @type {string | undefined} */
  #newest;
  #hints = h('div', { class: 'hints', role: 'status' });
  #earlier = h('details', { hidden: true });
  #checklists = h('div', { class: 'checklists' });
  #problem = h('p', { class: 'error', role: 'alert' });
  element = h(
    'section',
    { class: 'panel hints-panel', 'aria-labelledby': 'panel-hints', hidden: true },
    h('h2', { id: 'panel-hints' }, 'Hints'),
    this.#problem,
    this.#hints,
    this.#earlier,
    this.#checklists,
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
    clearTimeout(this.#reading);
  }

  /**
   * Says this of the newest hint that is open. Returns false if there is none.
   * @param {HintVerdict} verdict
   */
  judgeNewest(verdict) {
    if (this.#newest === undefined) return false;
    return void this.#say(this.#newest, verdict);
  }

  /** @param {string} type */
  event(type) {
    if (assistEvents.has(type)) this.load();
  }

  load() {
    clearTimeout(this.#reading);
    this.#reading = setTimeout(() => void this.#load(), settleMs);
  }

  async #load() {
    try {
      const assist = await get(`/api/calls/${this.#id}/assist`);
      if (!this.#closed) this.#draw(assist);
    } catch (error) {
      // A process of an older version has no playbooks, and an erased call no hints.
      setText(
        this.#problem,
        this.element.hidden ? '' : `Could not read the hints: ${messageOf(error)}`,
      );
    }
  }

  /** @param {CallAssistance} assist */
  #draw({ hits, checklists }) {
    const drawn = JSON.stringify([hits, checklists]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    setText(this.#problem, '');
    const hints = hits
      .flatMap((hit) =>
        hit.did.flatMap((done) => (done.kind === 'hint' ? [{ hit, hint: done }] : [])),
      )
      .toReversed();
    const open = hints
      .filter(({ hit: { verdict } }) => verdict !== 'dismissed' && verdict !== 'not_useful')
      .slice(0, shownAtOnce);
    this.#newest = open[0]?.hit.hit_id;
    const others = hints.filter((one) => !open.includes(one));
    const focused = document.activeElement?.getAttribute('aria-label');
    this.element.hidden = hints.length === 0 && checklists.length === 0;
    this.#hints.replaceChildren(...open.map(({ hit, hint }) => this.#card(hit, hint)));
    this.#earlier.hidden = others.length === 0;
    this.#earlier.replaceChildren(
      h('summary', {}, `${others.length} earlier`),
      ...others.map(({ hit, hint }) => this.#card(hit, hint)),
    );
    this.#checklists.replaceChildren(
      ...checklists.map(({ title, steps }) =>
        h(
          'section',
          {},
          h('h3', {}, `${title} ${steps.filter(({ done }) => done).length}/${steps.length}`),
          h(
            'ul',
            {},
            steps.map(({ title: step, done, required }) =>
              h(
                'li',
                { data: { done } },
                h('span', { 'aria-hidden': 'true' }, done ? '✓' : '○'),
                h(
                  'span',
                  {},
                  step,
                  required && !done ? h('small', { class: 'quiet' }, ' needed') : null,
                ),
                h('span', { class: 'unseen' }, done ? ' done' : ' not done'),
              ),
            ),
          ),
        ),
      ),
    );
    if (this.element.isConnected) this.#focus(focused);
  }

  /**
   * Gives the focus back to the button that had it, in the list that was drawn anew.
   * @param {string | null | undefined} label
   */
  #focus(label) {
    const buttons = [...this.element.querySelectorAll('button')];
    if (label)
      buttons
        .find((one) => one.getAttribute('aria-label') === label)
        ?.focus({ preventScroll: true });
  }

  /**
   * An article that was opened stays open when the hints are drawn anew.
   * @param {string} hitId
   * @param {{ title: string, url: string }} link
   */
  #link(hitId, link) {
    const key = `${hitId} ${link.url}`;
    const element = this.#links.get(key) ?? articleLink(link);
    this.#links.set(key, element);
    return element;
  }

  /**
   * @param {HitOfCall} hit
   * @param {Hint} hint
   */
  #card(hit, { title, text, say, links = [] }) {
    const { cause, verdict } = hit;
    const who = cause.role === undefined ? '' : personName({ role: cause.role });
    const why = cause.matched === undefined ? '' : `${who}: “${cause.matched}”`;
    return h(
      'article',
      { class: 'hint' },
      h('h3', {}, title),
      say ? h('p', { class: 'say' }, `“${say}”`) : null,
      text ? h('p', {}, text) : null,
      ...links.map((link) => this.#link(hit.hit_id, link)),
      h(
        'p',
        { class: 'quiet why' },
        h(
          'button',
          {
            type: 'button',
            class: 'time',
            'aria-label': `${title}: hear from ${clock(cause.start)}`,
            onclick: () => this.#onHear(cause.start),
          },
          clock(cause.start),
        ),
        ` ${why}`,
      ),
      h(
        'p',
        { class: 'verdicts' },
        this.#verdict(hit, 'useful', 'Useful', verdict),
        this.#verdict(hit, 'not_useful', 'Not useful', verdict),
        verdict === null ? this.#verdict(hit, 'dismissed', 'Dismiss', verdict) : null,
      ),
    );
  }

  /**
   * @param {HitOfCall} hit
   * @param {HintVerdict} verdict
   * @param {string} name
   * @param {HintVerdict | null} given
   */
  #verdict({ hit_id, title }, verdict, name, given) {
    return h(
      'button',
      {
        type: 'button',
        'aria-pressed': String(given === verdict),
        'aria-label': `${name}: ${title}`,
        onclick: () => void this.#say(hit_id, verdict),
      },
      name,
    );
  }

  /**
   * @param {string} hitId
   * @param {HintVerdict} verdict
   */
  async #say(hitId, verdict) {
    try {
      const body = { hit_id: hitId, verdict };
      this.#draw(await post(`/api/calls/${this.#id}/assist/feedback`, body));
    } catch (error) {
      setText(this.#problem, `Could not keep that: ${messageOf(error)}`);
    }
  }
}
