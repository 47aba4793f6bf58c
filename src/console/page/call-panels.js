import { h, setText, svg } from './dom.js';
import { figuresOf, sentimentCourse } from './figures.js';
import { bytes, clock, missingOf, percent, roleNames } from './format.js';

const roles = ['customer', 'agent'];
const interrupting = roles.map((role) => `Interruptions by ${role}`);
const chart = { width: 320, height: 88, margin: 10 };

function panel(title, ...children) {
  const id = `panel-${title.toLowerCase().replaceAll(' ', '-')}`;
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': id },
    h('h2', { id }, title),
    ...children,
  );
}

/** How each side felt over time: up is good, down is bad. */
export class ChartPanel {
  #svg = svg('svg', {
    viewBox: `0 0 ${chart.width} ${chart.height}`,
    role: 'img',
    class: 'course',
  });
  #none = h('p', { class: 'quiet' }, 'No sentiment yet.');
  #key = h(
    'p',
    { class: 'key quiet' },
    roles.map((role) => h('span', { dataset: { role } }, roleNames[role])),
  );
  element = panel('Sentiment', this.#svg, this.#key, this.#none);

  draw(utterances, lengthS) {
    const courses = roles.map((role) => [role, sentimentCourse(utterances, role)]);
    const hasPoints = courses.some(([, points]) => points.length > 0);
    this.#none.hidden = hasPoints;
    this.#svg.classList.toggle('hidden', !hasPoints);
    this.#key.hidden = !hasPoints;
    if (!hasPoints) return;
    const { width, height, margin } = chart;
    const x = (at) =>
      margin + (Math.min(at, lengthS) / Math.max(lengthS, 1)) * (width - 2 * margin);
    const y = (value) => height / 2 - value * (height / 2 - margin);
    const middle = svg('line', { x1: 0, x2: width, y1: y(0), y2: y(0), class: 'middle' });
    const drawn = courses.flatMap(([role, points]) => this.#course(role, points, x, y));
    this.#svg.replaceChildren(middle, ...drawn);
    this.#svg.setAttribute('aria-label', courses.map(spoken).filter(Boolean).join('. '));
  }

  #course(role, points, x, y) {
    if (points.length === 0) return [];
    const places = points.map(({ at, value }) => [x(at), y(value)]);
    const path = places.map(
      ([px, py], i) => `${i === 0 ? 'M' : 'L'}${px.toFixed(1)} ${py.toFixed(1)}`,
    );
    const dots = points.map(({ sentiment }, i) =>
      svg('circle', {
        cx: places[i][0].toFixed(1),
        cy: places[i][1].toFixed(1),
        r: 3,
        class: `${role} ${sentiment}`,
      }),
    );
    return [svg('path', { d: path.join(''), class: role }), ...dots];
  }
}

function spoken([role, points]) {
  if (points.length === 0) return '';
  const count = (wanted) => points.filter(({ sentiment }) => sentiment === wanted).length;
  const parts = ['positive', 'neutral', 'mixed', 'negative'].map((name) => [count(name), name]);
  const told = parts.filter(([n]) => n > 0).map(([n, name]) => `${n} ${name}`);
  return `${roleNames[role]}: ${told.join(', ')}, last ${points.at(-1).sentiment}`;
}

/** Who talked, who cut in, how long nobody spoke. */
export class FiguresPanel {
  #bar = h(
    'div',
    { class: 'ratio', 'aria-hidden': 'true' },
    roles.map((role) => h('i', { dataset: { role } })),
  );
  #values = new Map();
  #figures = this.#list();
  #unknown = h('p', { class: 'quiet', hidden: true }, 'Too much is missing for talk figures.');
  element = panel('Talk time', this.#bar, this.#figures, this.#unknown);

  #list() {
    const rows = ['Customer', 'Agent', ...interrupting, 'Dead air'];
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

  /** What is `hidden` by gaps and pauses is no silence. Without figures nothing false is shown. */
  draw(utterances, lengthS, ended, hidden) {
    const figures = ended ?? figuresOf(utterances, lengthS, hidden);
    const isKnown = figures.talk !== null;
    this.#figures.hidden = !isKnown;
    this.#bar.hidden = !isKnown;
    this.#unknown.hidden = isKnown;
    if (!isKnown) return;
    const { talk, talk_ratio: ratio, interruptions, dead_air: deadAir } = figures;
    roles.forEach((role, at) => {
      this.#bar.children[at].style.flexGrow = String(ratio[role]);
      const name = roleNames[role];
      setText(this.#values.get(name), `${percent(ratio[role])} · ${clock(talk[role])}`);
      setText(this.#values.get(interrupting[at]), String(interruptions[role]));
    });
    const longest = deadAir.count > 0 ? ` · longest ${deadAir.longest.toFixed(0)} s` : '';
    setText(this.#values.get('Dead air'), `${deadAir.total.toFixed(0)} s${longest}`);
  }
}

const legStates = {
  waiting: 'waiting for a session',
  live: 'live',
  resuming: 'resuming',
  finishing: 'finishing',
  done: 'done',
  failed: 'without a session',
};

/** Says above everything else that words are missing, how many seconds of them and why. */
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

  /** `again` orders the recording to be read once more. */
  constructor(again) {
    this.#again.addEventListener('click', async () => {
      this.#again.disabled = true;
      setText(this.#said, '');
      try {
        await again();
        this.#again.hidden = true;
        setText(this.#said, 'Transcribing the recording again; the new words appear here.');
      } catch (error) {
        setText(this.#said, error.message);
      }
      this.#again.disabled = false;
    });
  }

  draw(call) {
    const missing = missingOf(call);
    this.element.hidden = missing === undefined;
    setText(this.#text, missing === undefined ? '' : `${missing}.`);
    if (!call.recording) this.#again.hidden = true;
  }
}

/** What the operator should know about this call; without anything to know there is no panel. */
export class WarningsPanel {
  #list = h('ul', {});
  element = panel('Warnings', this.#list);

  constructor() {
    this.element.hidden = true;
  }

  draw(warnings) {
    const told = Array.isArray(warnings) ? warnings : [];
    this.element.hidden = told.length === 0;
    if (this.#list.childElementCount === told.length) return;
    this.#list.replaceChildren(...told.map(({ message }) => h('li', {}, message)));
  }
}

/** Every byte accounted for: received = acknowledged + paused + gaps, and what is still under way. */
export class LedgerPanel {
  #legs = h('div', { class: 'ledger' });
  element = panel('Audio', this.#legs);

  draw(legs) {
    const text = JSON.stringify(legs);
    if (this.#legs.dataset.drawn === text) return;
    this.#legs.dataset.drawn = text;
    this.#legs.replaceChildren(...legs.map(legElement));
  }
}

function legElement(leg) {
  const { received, acknowledged, gaps, paused } = leg.ledger;
  const details = [leg.track, leg.encoding, legStates[leg.state] ?? ''].filter(Boolean).join(' · ');
  const counts = [
    ['Received', received],
    ['Acknowledged', acknowledged],
    ['Paused', paused],
    ['Gaps', gaps],
  ];
  return h(
    'section',
    { dataset: { role: leg.role } },
    h('h3', {}, roleNames[leg.role], h('small', { class: 'quiet' }, ` ${details}`)),
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
