import { addressOf, changed } from './call-query.js';
import { h, setText } from './dom.js';

/**
 * For each heading: the order that it shows, the arrow of that order, and the order that a click brings.
 * @type {Record<string, Record<string, [string, string, string, string]>>}
 */
const sorts = {
  Started: {
    '': ['newest first', '↓', 'oldest', 'oldest first'],
    oldest: ['oldest first', '↑', '', 'newest first'],
    other: ['', '', '', 'newest first'],
  },
  Length: {
    longest: ['longest first', '↓', 'shortest', 'shortest first'],
    shortest: ['shortest first', '↑', 'longest', 'longest first'],
    other: ['', '', 'longest', 'longest first'],
  },
};

/**
 * The headings of a list of calls. The headings of times sort it. Like every filter, the order is part of the address.
 */
export class CallHeadings {
  #links = Object.keys(sorts).map((name) => {
    const arrow = h('span', { 'aria-hidden': 'true' });
    return { name, arrow, link: h('a', {}, name, ' ', arrow) };
  });
  element = h(
    'div',
    { class: 'call-headings', role: 'group', 'aria-label': 'Order of the calls' },
    h(
      'span',
      { class: 'clock' },
      this.#links.flatMap(({ link }, at) => (at === 0 ? [link] : [' · ', link])),
    ),
  );

  /** @param {URLSearchParams} query */
  show(query) {
    const sort = query.get('sort') ?? '';
    for (const { name, arrow, link } of this.#links) {
      const [now, sign, next, nextWords] =
        sorts[name]?.[sort === 'newest' ? '' : sort] ?? sorts[name]?.['other'] ?? [];
      setText(arrow, sign ?? '');
      link.href = addressOf(changed(query, 'sort', next ?? ''));
      link.setAttribute(
        'aria-label',
        [name, now, `show the ${nextWords}`].filter(Boolean).join(', '),
      );
      if (now) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  }
}
