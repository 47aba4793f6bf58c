import { h } from './dom.js';
import { entityName } from './entity-names.js';
import { clock, gapCauses, legNames, roleNames, personName } from './format.js';
import { moodOf } from './figures.js';
import { wordPlaces } from './word-places.js';

/** @import { ConversationEntry, PageEntity, Role, SpokenEntry } from './shapes.ts' */

/**
 * The text of an utterance with its words and entities marked. The element's text is exactly the
 * utterance's: the style sheet draws an entity's type above the line, outside the text's flow.
 * @param {string} text
 * @param {SpokenEntry['words']} words
 * @param {readonly PageEntity[]} entities
 */
export function markedText(text, words, entities) {
  const wordSpans = wordPlaces(text, words);
  const entitySpans = spansOf(text, entities, (entity) => entity.text.trim());
  /** @type {(Node | string)[]} */
  const parts = [];
  let at = 0;
  for (const { start, end, item } of entitySpans) {
    parts.push(...wordNodes(text, at, start, wordSpans));
    const type = entityName(item.entity_type);
    const mark = { class: 'entity', dataset: { type }, title: type };
    parts.push(h('mark', mark, wordNodes(text, start, end, wordSpans)));
    at = end;
  }
  parts.push(...wordNodes(text, at, text.length, wordSpans));
  return parts;
}

/**
 * The position of each item in the text, searched in order. An item that is not found is left out.
 * @template {{ start: number }} Item
 * @param {string} text
 * @param {readonly Item[]} items
 * @param {(item: Item) => string} textOf
 */
export function spansOf(text, items, textOf) {
  const lower = text.toLowerCase();
  const spans = [];
  let from = 0;
  for (const item of items.toSorted((a, b) => a.start - b.start)) {
    const wanted = textOf(item).toLowerCase();
    const start = wanted === '' ? -1 : lower.indexOf(wanted, from);
    if (start < 0) continue;
    from = start + wanted.length;
    spans.push({ start, end: from, item });
  }
  return spans;
}

/**
 * @param {string} text
 * @param {number} from
 * @param {number} to
 * @param {readonly { start: number, end: number, item: { start: number } }[]} wordSpans
 */
function wordNodes(text, from, to, wordSpans) {
  /** @type {(Node | string)[]} */
  const nodes = [];
  let at = from;
  for (const span of wordSpans) {
    // A word may cross the border of an entity, for example with its full stop. Each part then becomes a word.
    const start = Math.max(span.start, at);
    const end = Math.min(span.end, to);
    if (start >= end) continue;
    if (start > at) nodes.push(text.slice(at, start));
    const heardAt = { at: span.item.start };
    nodes.push(h('span', { class: 'word', dataset: heardAt }, text.slice(start, end)));
    at = end;
  }
  if (at < to) nodes.push(text.slice(at, to));
  return nodes;
}

/**
 * One entry of the conversation as a list item. It is redrawn when something about it changes.
 * @param {ConversationEntry} entry
 * @param {HTMLElement} [element]
 */
export function entryElement(entry, element = h('li')) {
  // Classes are added, not replaced: the list puts a class of its own on the item, for a repeated role.
  element.classList.add('entry', entry.kind);
  element.dataset['start'] = String(entry.start);
  if (entry.kind === 'utterance') drawUtterance(element, entry);
  else element.replaceChildren(time(entry.start), h('p', {}, noteOf(entry)));
  return element;
}

/**
 * @param {HTMLElement} element
 * @param {SpokenEntry} entry
 */
function drawUtterance(element, entry) {
  if (entry.role !== undefined) element.dataset['role'] = entry.role;
  if (entry.voice !== undefined) element.dataset['voice'] = String(entry.voice);
  const { role, speaker, doubt } = entry;
  const name = entry.name ?? personName({ role, speaker });
  const mood = moodOf(entry.sentiments);
  element.replaceChildren(
    time(entry.start, true),
    h(
      'div',
      {},
      name
        ? h(
            'span',
            { class: 'role' },
            name,
            doubt ? h('span', { class: 'doubt' }, ` · ${doubt}`) : null,
          )
        : null,
      h(
        'p',
        { class: 'text', lang: entry.language },
        markedText(entry.text, entry.words, entry.entities),
      ),
      entry.translations.map(({ language, text }) =>
        h('p', { class: 'translation quiet', lang: language }, text),
      ),
    ),
    mood ? h('span', { class: 'mood', dataset: { sentiment: mood } }, mood) : h('span'),
  );
}

/**
 * Plays from the clicked word or time, unless the reader is selecting text.
 * @param {(seconds: number) => void} onHear
 */
export function hearFrom(onHear) {
  /** @param {MouseEvent} event */
  return ({ target }) => {
    const place = target instanceof Element ? target.closest('[data-at]') : null;
    const at = place instanceof HTMLElement ? place.dataset['at'] : undefined;
    if (at !== undefined && getSelection()?.isCollapsed !== false) onHear(Number(at));
  };
}

/**
 * A partial in grey. Screen readers skip it, since it changes several times a second until it is final.
 * @param {{ role: Role, start: number, text: string }} partial
 */
export function partialElement(
  partial,
  element = h('li', { class: 'entry utterance partial', 'aria-hidden': 'true' }),
) {
  element.dataset['role'] = partial.role;
  const text = element.querySelector('.text');
  if (text) {
    if (text.textContent !== partial.text) text.textContent = partial.text;
    return element;
  }
  element.append(
    time(partial.start),
    h(
      'div',
      {},
      h('span', { class: 'role' }, roleNames[partial.role]),
      h('p', { class: 'text' }, partial.text),
    ),
    h('span'),
  );
  return element;
}

/**
 * The time of an entry. With a recording it is a button, so that the keyboard can do what a click on a word does.
 * @param {number} seconds
 */
function time(seconds, isPlayable = false) {
  const text = clock(seconds);
  if (!isPlayable) return h('span', { class: 'time' }, text);
  return h(
    'button',
    { type: 'button', class: 'time', dataset: { at: seconds }, 'aria-label': `Hear from ${text}` },
    text,
  );
}

/**
 * @param {Exclude<ConversationEntry, SpokenEntry>} entry
 * @returns {string}
 */
function noteOf(entry) {
  switch (entry.kind) {
    case 'gap': {
      const who = entry.leg ? `${legNames[entry.leg.role]}: ` : '';
      return `${who}${entry.duration.toFixed(1)} s without words, ${entry.detail ?? gapCauses[entry.cause] ?? entry.cause}`;
    }
    case 'pause':
      return entry.duration === undefined
        ? 'Paused: nothing is heard or kept'
        : `Paused for ${clock(entry.duration)}: nothing was heard or kept`;
    case 'dtmf':
      return `Key pressed: ${entry.digit}`;
  }
}
