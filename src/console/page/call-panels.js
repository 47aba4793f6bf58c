import { h, setText } from './dom.js';
import { messageOf } from './failures.js';
import { figuresOf } from './figures.js';
import { bytes, clock, legNames, missingOf, percents, roleNames } from './format.js';

/** @import { Child } from './dom.js' */

/** @import { ApiCall, CallFigures, Party, SpokenEntry } from './shapes.ts' */

/** @type {Party[]} */
const roles = ['customer', 'agent'];
/** @param {Party} role */
const interruptionsBy = (role) => `Interruptions by ${role}`;

/**
 * @param {string} title
 * @param {...(Child | readonly Child[])} children
 */
function panel(title, ...children) {
  const id = `panel-${title.toLowerCase().replaceAll(' ', '-')}`;
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': id },
    h('h2', { id }, title),
    ...children,
  );
}

/** The talk time of each side, interruptions, and silence of both. */
export class FiguresPanel {
  #bars = roles.map((role) => h('i', { dataset: { role } }));
  #bar = h('div', { class: 'ratio', 'aria-hidden': 'true' }, this.#bars);
  /** @type {Map<string, HTMLElement>} */
  #values = new Map();
  #figures = this.#list();
  #unknown = h('p', { class: 'quiet', hidden: true });
  element = panel('Talk time', this.#bar, this.#figures, this.#unknown);

  #list() {
    const rows = ['Customer', 'Agent', ...roles.map(interruptionsBy), 'Dead air'];
    return h(
      'dl',
      {},
      rows.map((name) => {
        const value = h('dd', {}, '–');
        this.#values.set(name, value);
        return h('div', {}, h('dt', {}, name), value);
      }),
    );
  }

  /**
   * @param {string} name
   * @param {string} text
   */
  #set(name, text) {
    const value = this.#values.get(name);
    if (value) setText(value, text);
  }

  /**
   * Time that a gap or a pause hides does not count as silence. The panel is empty if there are no figures.
   * @param {readonly SpokenEntry[]} utterances
   * @param {number} lengthS
   * @param {CallFigures | null | undefined} ended
   * @param {readonly { start: number, end: number }[]} hidden
   */
  draw(utterances, lengthS, ended, hidden) {
    const figures = ended ?? figuresOf(utterances, lengthS, hidden);
    const isKnown = figures.talk !== null;
    this.#figures.hidden = !isKnown;
    this.#bar.hidden = !isKnown;
    this.#unknown.hidden = isKnown;
    const isMixed = utterances.some(({ role }) => role === 'mixed');
    setText(
      this.#unknown,
      isMixed
        ? 'All speakers share one channel: nobody can tell who talked how long.'
        : 'Too much is missing for talk figures.',
    );
    const { talk, talk_ratio: ratio, interruptions, dead_air: deadAir } = figures;
    if (talk === null || ratio === null || interruptions === null || deadAir === null) return;
    const told = percents(roles.map((role) => ratio[role]));
    roles.forEach((role, at) => {
      const bar = this.#bars[at];
      if (bar) bar.style.flexGrow = String(ratio[role]);
      const name = roleNames[role];
      this.#set(name, `${told[at]} · ${clock(talk[role])}`);
      this.#set(interruptionsBy(role), String(interruptions[role]));
    });
    const longest = deadAir.count > 0 ? ` · longest ${deadAir.longest.toFixed(0)} s` : '';
    this.#set('Dead air', `${deadAir.total.toFixed(0)} s${longest}`);
  }
}

/** @type {Partial<Record<string, string>>} */
const legStates = {
  waiting: 'waiting for a session',
  live: 'live',
  resuming: 'resuming',
  finishing: 'finishing',
  done: 'done',
  failed: 'without a session',
};

/** A note above everything else that words are missing, how many seconds, and why. */
export class MissingNote {
  #text = h('span');
  #again = h('button', { type: 'button' }, 'Transcribe again');
  #said = h('span', { class: 'quiet', role: 'status' });
  element = h(
    'p',
    { class: 'missing', hidden: true },
    h('span', { class: 'incomplete' }, 'Incomplete'),
    this.#text,
    this.#again,
    this.#said,
  );

  /**
   * `again` requests another reading of the recording.
   * @param {() => Promise<unknown>} again
   */
  constructor(again) {
    this.#again.addEventListener('click', async () => {
      this.#again.disabled = true;
      setText(this.#said, '');
      try {
        await again();
        this.#again.hidden = true;
        setText(this.#said, 'Transcribing the recording again; the new words will appear here.');
      } catch (error) {
        setText(this.#said, messageOf(error));
      }
      this.#again.disabled = false;
    });
  }

  /** @param {ApiCall} call */
  draw(call) {
    const missing = missingOf(call);
    this.element.hidden = missing === undefined;
    setText(this.#text, missing === undefined ? '' : `${missing}.`);
    if (!call.recording) this.#again.hidden = true;
  }
}

/** The warnings about this call. The panel is hidden if there are none. */
export class WarningsPanel {
  #list = h('ul', {});
  element = panel('Warnings', this.#list);

  constructor() {
    this.element.hidden = true;
  }

  /** @param {unknown} warnings */
  draw(warnings) {
    const told = Array.isArray(warnings) ? warnings : [];
    this.element.hidden = told.length === 0;
    if (this.#list.childElementCount === told.length) return;
    this.#list.replaceChildren(...told.map(({ message }) => h('li', {}, message)));
  }
}

/**
 * Evidence that no audio was lost: an account of every byte (received = acknowledged + paused + gaps + under way), and
 * the ids.
 */
export class EvidencePanel {
  #legs = h('div', { class: 'ledger' });
  #ids = h('dl', {});
  element = h(
    'details',
    { class: 'panel evidence' },
    h('summary', {}, h('h2', {}, 'Evidence')),
    this.#legs,
    this.#ids,
  );

  /** @param {ApiCall} call */
  draw({ id, carrier_call_id: carrierId, end_reason: reason, legs }) {
    const rows = [
      ['Call', id],
      ['At the carrier', carrierId],
      ...legs.map((leg) => [`Session of the ${leg.role}`, leg.session_id]),
      ['Ended by', reason],
    ].filter(([, value]) => value);
    const text = JSON.stringify([legs, rows]);
    if (this.#legs.dataset.drawn === text) return;
    this.#legs.dataset.drawn = text;
    this.#legs.replaceChildren(...legs.map(legElement));
    this.#ids.replaceChildren(
      ...rows.map(([name, value]) =>
        h('div', {}, h('dt', {}, name), h('dd', {}, h('code', {}, value))),
      ),
    );
  }
}

/** @param {ApiCall['legs'][number]} leg */
function legElement(leg) {
  const { received, acknowledged, gaps, paused } = leg.ledger;
  const details = [leg.track, leg.encoding, legStates[leg.state ?? ''] ?? '']
    .filter(Boolean)
    .join(' · ');
  /** @type {[string, number][]} */
  const counts = [
    ['Received', received],
    ['Acknowledged', acknowledged],
    ['Paused', paused],
    ['Gaps', gaps],
  ];
  return h(
    'section',
    { dataset: { role: leg.role } },
    h('h3', {}, legNames[leg.role], h('small', { class: 'quiet' }, ` ${details}`)),
    h(
      'dl',
      {},
      counts.map(([name, count]) =>
        h(
          'div',
          {},
          h('dt', {}, name),
          h('dd', { class: name === 'Gaps' && count > 0 ? 'bad' : null }, bytes(count)),
        ),
      ),
    ),
  );
}
