import { deliveryStates, eventKinds } from './delivery-words.js';
import { h } from './dom.js';

const names = ['endpoint', 'state', 'type', 'from_date', 'to_date', 'call_id', 'open'];

/**
 * The query in the address of the deliveries, by the names of /api/deliveries/calls. `#/deliveries/parked` is an
 * older form of `#/deliveries?state=parked`. Other names would be refused by the API.
 * @param {string} hash
 */
export function deliveryQueryOf(hash) {
  const [, state = '', text = ''] = /^#\/deliveries(?:\/(\w+))?(?:\?(.*))?$/.exec(hash) ?? [];
  const given = new URLSearchParams(text);
  const query = new URLSearchParams();
  if (state in deliveryStates) query.set('state', state);
  for (const name of names) {
    const value = given.get(name);
    if (value) query.set(name, value);
  }
  return query;
}

/** @param {URLSearchParams} query */
export function deliveriesAddress(query) {
  const text = query.toString();
  return text === '' ? '#/deliveries' : `#/deliveries?${text}`;
}

/** The form above the list of deliveries. Every field is part of the address. */
export class DeliveryFilters {
  #endpoint = field('endpoint', 'Endpoint', h('select', {}, option('', 'All')));
  #fields = [
    this.#endpoint,
    field(
      'state',
      'State',
      h(
        'select',
        {},
        option('', 'All'),
        Object.entries(deliveryStates)
          .filter(([state]) => state !== 'skipped')
          .map(([state, name]) => option(state, name)),
      ),
    ),
    field(
      'type',
      'With event',
      h(
        'select',
        {},
        option('', 'Any'),
        eventKinds.map(([type, name]) => option(type, `${name} (${type})`)),
      ),
    ),
    field('from_date', 'From day', h('input', { type: 'date' })),
    field('to_date', 'To day', h('input', { type: 'date' })),
  ];
  #clear = h('a', { href: '#/deliveries', hidden: true }, 'Clear filters');

  constructor() {
    this.element = h(
      'form',
      { class: 'delivery-filters', role: 'search', 'aria-label': 'Deliveries' },
      this.#fields.map(({ element }) => element),
      this.#clear,
    );
    this.element.addEventListener('submit', (event) => event.preventDefault());
    for (const { name, input } of this.#fields)
      input.addEventListener('change', () => {
        const query = deliveryQueryOf(location.hash);
        if (input.value === '') query.delete(name);
        else query.set(name, input.value);
        location.hash = deliveriesAddress(query);
      });
  }

  /**
   * Fills the fields from the address.
   * @param {URLSearchParams} query
   */
  show(query) {
    const endpoint = query.get('endpoint');
    if (endpoint !== null) this.offer([endpoint]);
    for (const { name, input } of this.#fields) {
      const value = query.get(name) ?? '';
      if (input.value !== value) input.value = value;
    }
    this.#clear.hidden = !this.#fields.some(({ name }) => query.has(name)) && !query.has('call_id');
  }

  /**
   * Adds endpoints to choose from. One that the address names stays, also if nobody configures it any more.
   * @param {readonly string[]} endpoints
   */
  offer(endpoints) {
    const { input } = this.#endpoint;
    const known = [...input.querySelectorAll('option')].map(({ value }) => value);
    const added = endpoints.filter((name) => !known.includes(name));
    if (added.length > 0) input.append(...added.map((name) => option(name, name)));
  }
}

/**
 * @param {string} value
 * @param {string} name
 */
function option(value, name) {
  return h('option', { value }, name);
}

/**
 * @template {HTMLInputElement | HTMLSelectElement} Input
 * @param {string} name
 * @param {string} label
 * @param {Input} input
 */
function field(name, label, input) {
  input.id = `deliveries-${name.replaceAll('_', '-')}`;
  input.setAttribute('autocomplete', 'off');
  return {
    name,
    input,
    element: h('div', { class: 'field' }, h('label', { for: input.id }, label), input),
  };
}
