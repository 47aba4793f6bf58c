import { h } from './dom.js';
import { clock, lengthOf, moment, parties, roleNames } from './format.js';

/** @import { FoundCall, FoundPlace } from './shapes.ts' */

/** @type {Record<string, string>} */
const kinds = {
  note: 'Note',
  summary: 'Summary',
  'wrap-up': 'Wrap-up',
  tag: 'Tags',
  parameter: 'Parameters',
};

/** A call that a search found, with the lines in which the words stand. */
export class FoundWords {
  /**
   * `onHear` gets the place whose button was pressed.
   * @param {FoundCall} found
   * @param {(place: FoundPlace, button: HTMLButtonElement) => void} onHear
   */
  constructor({ call, hits }, onHear) {
    this.carrier = call.carrier;
    const how = [call.carrier, call.direction].filter(Boolean).join(' · ');
    this.element = h(
      'li',
      { dataset: { id: call.id } },
      h(
        'h2',
        {},
        h('a', { href: `#/calls/${call.id}` }, parties(call)),
        h('span', { class: 'quiet' }, ` ${how} · ${moment(call.started_at)} · ${clock(lengthOf(call))}`), // prettier-ignore
      ),
      h(
        'ul',
        { class: 'places' },
        hits.map((place) => placeElement(call.id, place, call.recording === true, onHear)),
      ),
    );
  }
}

/**
 * @param {string} callId
 * @param {FoundPlace} place
 * @param {boolean} isHeard
 * @param {(place: FoundPlace, button: HTMLButtonElement) => void} onHear
 */
function placeElement(callId, place, isHeard, onHear) {
  const { start, role, kind } = place;
  const who = kinds[kind] ?? (isRole(role) ? roleNames[role] : 'Speaker');
  const at = start === null ? '' : clock(start);
  const address = `#/calls/${callId}${start === null ? '' : `?t=${Math.floor(start * 10) / 10}`}`;
  const line = h('a', { class: 'text', href: address }, markedLine(place));
  const name = h('span', { class: 'role', dataset: { role: role ?? '' } }, who);
  if (start === null || !isHeard)
    return h('li', { class: 'place' }, h('span', { class: 'time' }, at), name, line);
  const button = h(
    'button',
    { type: 'button', class: 'time', 'aria-label': `Hear the words from ${at}` },
    `▶ ${at}`,
  );
  button.addEventListener('click', () => onHear(place, button));
  return h('li', { class: 'place' }, button, name, line);
}

/** @param {string | null} role @returns {role is keyof typeof roleNames} */
function isRole(role) {
  return role !== null && Object.hasOwn(roleNames, role);
}

/** @param {FoundPlace} place */
function markedLine({ text, marks }) {
  /** @type {(Node | string)[]} */
  const parts = [];
  let at = 0;
  for (const [from, to] of marks) {
    parts.push(text.slice(at, from), h('mark', {}, text.slice(from, to)));
    at = to;
  }
  parts.push(text.slice(at));
  return parts;
}
