import { h } from './dom.js';
import { clock, fullMoment, languageName, lengthOf, titleOf, zoneName } from './format.js';

/** @import { ApiCall } from './shapes.ts' */

/** The facts of a call: times, parties, names, and the data that the carrier or the API's caller sent along. */
export class DetailsPanel {
  #list = h('dl', {});
  #zone = h('p', { class: 'quiet' });
  element = h(
    'section',
    { class: 'panel details', 'aria-labelledby': 'panel-details' },
    h('h2', { id: 'panel-details' }, 'Details'),
    this.#list,
    this.#zone,
  );

  /** @param {ApiCall} call */
  draw(call) {
    const isOver = call.state !== 'live';
    /** @type {Map<string, unknown>} */
    const facts = new Map(Object.entries(call));
    const rows = [
      ['Started', fullMoment(call.started_at)],
      ['Ended', fullMoment(call.hung_up_at ?? call.ended_at)],
      ['Length', isOver ? clock(lengthOf(call)) : ''],
      ['From', call.from],
      ['To', call.to],
      ['Direction', titleOf(call.direction ?? '')],
      ['Carrier', call.carrier],
      ['Language', spokenIn(call)],
      // The bridge adds its own facts for the speech service. They are already shown above.
      ...Object.entries(call.custom_metadata ?? {})
        .filter(([name, value]) => facts.get(name === 'call_id' ? 'id' : name) !== value)
        .flatMap(([name, value]) => rowsOf(name, value)),
    ].filter(([, value]) => value !== null && value !== undefined && value !== '');
    const drawn = JSON.stringify([rows, zoneName()]);
    if (this.#list.dataset.drawn === drawn) return;
    this.#list.dataset.drawn = drawn;
    this.#list.replaceChildren(
      ...rows.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, String(value)))),
    );
    this.#zone.textContent = `Times are in ${zoneName()}.`;
  }
}

/**
 * The languages of the parties in words. One that changed is told in its order: "English, then Spanish".
 * @param {ApiCall} call
 */
function spokenIn({ legs }) {
  const spoken = legs.flatMap(({ role, languages = [] }) =>
    languages.length === 0 ? [] : [{ role, names: languages.map(languageName).join(', then ') }],
  );
  const all = new Set(spoken.map(({ names }) => names));
  if (all.size === 1) return [...all].join('');
  return spoken.map(({ role, names }) => `${names} (${role})`).join(', ');
}

/**
 * Values in a group, such as a carrier's own ids, have a row each.
 * @param {string} name
 * @param {unknown} value
 * @returns {[string, string][]}
 */
function rowsOf(name, value) {
  if (typeof value !== 'object' || value === null) return [[name, String(value)]];
  return Object.entries(value).map(([inner, one]) => [
    inner,
    typeof one === 'object' ? JSON.stringify(one) : String(one),
  ]);
}
