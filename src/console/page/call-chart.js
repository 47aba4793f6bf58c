import { h, setText, svg } from './dom.js';
import { sentimentCourse } from './figures.js';
import { clock, roleNames } from './format.js';

/** @import { Mood } from './figures.js' */
/** @import { Role, SpokenEntry } from './shapes.ts' */

/** @type {Role[]} */
const roles = ['customer', 'agent', 'mixed'];
/**
 * The class of a role. `mixed` is already the class of a feeling, so the role gets another name.
 * @param {Role} role
 */
const classOf = (role) => (role === 'mixed' ? 'shared' : role);
const size = { width: 320, height: 136 };
/** The area of the lines. Names of feelings stand to its left, times below it. */
const field = { left: 54, right: 312, top: 12, bottom: 112 };
/** @type {[number, string][]} */
const levels = [
  [1, 'Positive'],
  [0, 'Neutral'],
  [-1, 'Negative'],
];
const stepsS = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400];
const mostTicks = 5;

/** @typedef {{ role: Role, at: number, start: number, value: number, text: string, mood: Mood }} Point */
/** @typedef {Point & { x: number, y: number }} PlacedPoint */

/** The mood of each side over time. A point shows its words and plays them when clicked. */
export class ChartPanel {
  #onHear;
  #svg = svg('svg', {
    viewBox: `0 0 ${size.width} ${size.height}`,
    role: 'group',
    class: 'course',
  });
  #tip = h('p', { class: 'tip', hidden: true });
  #chart = h('div', { class: 'chart' }, this.#svg, this.#tip);
  #none = h('p', { class: 'quiet' });
  #keys = roles.map((role) => h('span', { dataset: { role } }, roleNames[role]));
  #mixedKey = this.#keys[roles.indexOf('mixed')];
  #key = h('p', { class: 'key quiet' }, this.#keys);
  /** @type {PlacedPoint[]} */
  #points = [];
  /** @type {SVGGElement[]} */
  #dots = [];
  #at = 0;
  #drawn = '';
  element = h(
    'section',
    { class: 'panel', 'aria-labelledby': 'panel-sentiment' },
    h('h2', { id: 'panel-sentiment' }, 'Sentiment'),
    this.#chart,
    this.#key,
    this.#none,
  );

  /** @param {(seconds: number) => void} onHear */
  constructor(onHear) {
    this.#onHear = onHear;
    this.#svg.addEventListener('pointermove', (event) => this.#show(this.#nearest(event)));
    this.#svg.addEventListener('pointerleave', () => this.#hide());
    this.#svg.addEventListener('click', (event) => this.#hear(this.#nearest(event)));
    this.#svg.addEventListener('focusin', ({ target }) =>
      this.#show(this.#dots.findIndex((one) => one === target)),
    );
    this.#svg.addEventListener('focusout', () => this.#hide());
    this.#svg.addEventListener('keydown', (event) => this.#press(event));
  }

  /**
   * @param {readonly SpokenEntry[]} utterances
   * @param {number} lengthS
   * @param {boolean} isOver
   */
  draw(utterances, lengthS, isOver) {
    const points = roles
      .flatMap((role) => sentimentCourse(utterances, role).map((point) => ({ role, ...point })))
      .sort((a, b) => a.at - b.at);
    if (this.#mixedKey) this.#mixedKey.hidden = !points.some(({ role }) => role === 'mixed');
    const hasPoints = points.length > 0;
    this.#none.hidden = hasPoints;
    setText(this.#none, isOver ? 'No sentiment was found.' : 'No sentiment yet.');
    this.#chart.hidden = !hasPoints;
    this.#key.hidden = !hasPoints;
    const drawn = JSON.stringify([points, Math.ceil(lengthS)]);
    if (!hasPoints || drawn === this.#drawn) return;
    this.#drawn = drawn;
    this.#drawPoints(points, Math.max(lengthS, 1));
  }

  /**
   * @param {readonly Point[]} points
   * @param {number} lengthS
   */
  #drawPoints(points, lengthS) {
    const hadFocus = this.#svg.contains(document.activeElement);
    /** @param {number} at */
    const x = (at) => field.left + (Math.min(at, lengthS) / lengthS) * (field.right - field.left);
    /** @param {number} value */
    const y = (value) =>
      (field.top + field.bottom) / 2 - value * ((field.bottom - field.top) / 2 - 8);
    this.#points = points.map((point) => ({ ...point, x: x(point.at), y: y(point.value) }));
    this.#dots = this.#points.map((point) => dot(point));
    this.#at = Math.min(this.#at, this.#dots.length - 1);
    this.#dots[this.#at]?.setAttribute('tabindex', '0');
    this.#svg.replaceChildren(
      ...levels.flatMap(([value, name]) => line(y(value), name)),
      ...ticks(lengthS).flatMap((at) => tick(x(at), at)),
      ...roles.map((role) => course(role, this.#points)),
      ...this.#dots,
    );
    const told = roles.map((role) => spoken(role, this.#points)).filter(Boolean);
    this.#svg.setAttribute('aria-label', `Sentiment over time. ${told.join('. ')}`);
    if (hadFocus) this.#dots[this.#at]?.focus();
  }

  /**
   * The point nearest in time to the pointer, so that small points need no precise aim.
   * @param {MouseEvent} event
   */
  #nearest({ clientX, clientY }) {
    const box = this.#svg.getBoundingClientRect();
    const px = ((clientX - box.left) / box.width) * size.width;
    const py = ((clientY - box.top) / box.height) * size.height;
    /** @param {PlacedPoint} point */
    const far = ({ x, y }) => Math.hypot(x - px, (y - py) / 3);
    const distances = this.#points.map(far);
    return distances.indexOf(Math.min(...distances));
  }

  /** @param {number} at */
  #show(at) {
    const point = this.#points[at];
    if (!point) return;
    this.#dots.forEach((one, i) => one.classList.toggle('shown', i === at));
    this.#tip.textContent = told(point);
    this.#tip.hidden = false;
    this.#tip.classList.toggle('to-left', point.x > size.width / 2);
    this.#tip.style.left = `${((point.x / size.width) * 100).toFixed(1)}%`;
    this.#tip.style.top = `${((point.y / size.height) * 100).toFixed(1)}%`;
  }

  #hide() {
    this.#tip.hidden = true;
    for (const one of this.#dots) one.classList.remove('shown');
  }

  /** @param {number} at */
  #hear(at) {
    const point = this.#points[at];
    if (point) this.#onHear(point.start);
  }

  /**
   * The chart is one stop of the Tab key, and the arrow keys go from point to point.
   * @param {KeyboardEvent} event
   */
  #press(event) {
    const at = this.#dots.findIndex((one) => one === event.target);
    if (at < 0) return;
    /** @type {Partial<Record<string, number>>} */
    const moves = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: this.#dots.length - 1 };
    const next = moves[event.key];
    if (event.key === 'Enter' || event.key === ' ') this.#hear(at);
    else if (event.key === 'Escape') this.#hide();
    else if (next !== undefined) this.#moveTo(next);
    else return;
    event.preventDefault();
  }

  /** @param {number} at */
  #moveTo(at) {
    const dot = this.#dots[at];
    if (dot === undefined) return;
    this.#dots[this.#at]?.setAttribute('tabindex', '-1');
    this.#at = at;
    dot.setAttribute('tabindex', '0');
    dot.focus();
  }
}

/**
 * The label of a point: `0:07 Customer, negative: “My order arrived damaged.”`
 * @param {Point} point
 */
function told({ role, at, mood, text }) {
  const said = text ? `: “${text}”` : '';
  return `${clock(at)} ${roleNames[role]}, ${mood}${said}`;
}

/** @param {PlacedPoint} point */
function dot(point) {
  const place = { cx: point.x.toFixed(1), cy: point.y.toFixed(1) };
  return svg(
    'g',
    { role: 'button', tabindex: '-1', class: 'dot', 'aria-label': `${told(point)}. Play` },
    svg('circle', { ...place, r: 9, class: 'reach' }),
    svg('circle', { ...place, r: 3.5, class: `${classOf(point.role)} ${point.mood}` }),
  );
}

/**
 * @param {Role} role
 * @param {readonly PlacedPoint[]} points
 */
function course(role, points) {
  const own = points.filter((point) => point.role === role);
  const path = own.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`);
  return svg('path', { d: path.join(''), class: classOf(role), 'aria-hidden': 'true' });
}

/**
 * @param {string} text
 * @param {Record<string, string | number>} props
 */
function label(text, props) {
  return svg('text', { class: 'axis', 'aria-hidden': 'true', ...props }, text);
}

/**
 * @param {number} y
 * @param {string} name
 */
function line(y, name) {
  return [
    svg('line', { x1: field.left, x2: field.right, y1: y, y2: y, class: 'middle' }),
    label(name, { x: field.left - 6, y: y + 3.5, 'text-anchor': 'end' }),
  ];
}

/**
 * @param {number} x
 * @param {number} at
 */
function tick(x, at) {
  return [
    svg('line', { x1: x, x2: x, y1: field.bottom, y2: field.bottom + 4, class: 'middle' }),
    label(clock(at), { x, y: field.bottom + 16, 'text-anchor': 'middle' }),
  ];
}

/** @param {number} lengthS */
function ticks(lengthS) {
  const step = stepsS.find((one) => lengthS / one <= mostTicks) ?? Math.ceil(lengthS / mostTicks);
  return Array.from({ length: Math.floor(lengthS / step) + 1 }, (_, i) => i * step);
}

/**
 * @param {Role} role
 * @param {readonly Point[]} points
 */
function spoken(role, points) {
  const own = points.filter((point) => point.role === role);
  const last = own.at(-1);
  if (last === undefined) return '';
  /** @param {string} wanted */
  const count = (wanted) => own.filter(({ mood }) => mood === wanted).length;
  const counted = ['positive', 'neutral', 'negative'].flatMap((name) =>
    count(name) > 0 ? [`${count(name)} ${name}`] : [],
  );
  return `${roleNames[role]}: ${counted.join(', ')}, last ${last.mood}`;
}
