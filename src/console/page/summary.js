import { h } from './dom.js';
import { clock } from './format.js';

/** @import { ShownSummary } from './shapes.ts' */

/**
 * The summary of a call and its chapters.
 * @param {ShownSummary} data
 * @param {(seconds: number) => void} onHear
 */
export function summaryElement(data, onHear) {
  const errors = data.errors ?? [];
  const { text } = data.summary;
  const isEmpty = !text && errors.length === 0 && data.chapters.length === 0;
  // A single chapter covers the whole call. Beside a summary it would repeat the same.
  const repeats = data.chapters.length === 1 && text !== '';
  return h(
    'section',
    { class: 'summary', 'aria-labelledby': 'summary-heading' },
    h('h2', { id: 'summary-heading' }, 'Summary'),
    text ? summaryText(data.summary) : null,
    isEmpty ? h('p', { class: 'quiet' }, 'No summary: no words were heard.') : null,
    errors.map(({ part, message }) => h('p', { class: 'quiet' }, `No ${part}: ${message}`)),
    data.chapters.length > 0 && !repeats ? chapters(data.chapters, onHear) : null,
  );
}

/** @param {ShownSummary['summary']} summary */
function summaryText({ type, text }) {
  if (type !== 'bullet_points') return h('p', {}, text);
  const points = text.split('\n').map((line) => line.replace(/^\s*[-•*]\s*/, ''));
  return h(
    'ul',
    {},
    points.filter(Boolean).map((point) => h('li', {}, point)),
  );
}

/**
 * @param {ShownSummary['chapters']} list
 * @param {(seconds: number) => void} onHear
 */
function chapters(list, onHear) {
  return h(
    'ol',
    { class: 'chapters', 'aria-label': 'Chapters' },
    list.map((chapter) =>
      h(
        'li',
        {},
        h(
          'button',
          {
            type: 'button',
            class: 'time',
            'aria-label': `Hear from ${clock(chapter.start)}`,
            onclick: () => onHear(chapter.start),
          },
          clock(chapter.start),
        ),
        h(
          'div',
          {},
          h('strong', {}, chapter.headline),
          chapter.summary && chapter.summary !== chapter.headline
            ? h('p', { class: 'quiet' }, chapter.summary)
            : null,
        ),
      ),
    ),
  );
}
