import { h, setText } from './dom.js';
import { zoneName } from './format.js';

/**
 * The fields that narrow a list or a search of calls, named as the parameters of the API. `carriers` is the id of a list
 * with names of carriers.
 * @param {string} carriers
 */
export function callFields(carriers) {
  return [
    field('from_date', 'From day', h('input', { type: 'date' })),
    field('to_date', 'To day', h('input', { type: 'date' })),
    field('carrier', 'Carrier', h('input', { list: carriers, maxlength: '100' }), {
      placeholder: 'Any',
    }),
    field('agent', 'Agent', h('input', { maxlength: '100' }), { placeholder: 'ID of the agent' }),
    select('state', 'State', [
      ['', 'Any'],
      ['live', 'Live'],
      ['finishing', 'Finishing'],
      ['ended', 'Ended'],
    ]),
    select('direction', 'Direction', [
      ['', 'Any'],
      ['inbound', 'Inbound'],
      ['outbound', 'Outbound'],
    ]),
    select('role', 'Words of', [
      ['', 'Anyone'],
      ['customer', 'Customer'],
      ['agent', 'Agent'],
      ['mixed', 'Speakers of one channel'],
    ]),
    field('team', 'Team', h('input', { maxlength: '100' }), { placeholder: 'Any' }),
    field('number', 'Number', h('input', { maxlength: '100' }), { placeholder: 'Of either party' }),
    field('tag', 'Tag', h('input', { maxlength: '100' }), { placeholder: 'Any' }),
    field('disposition', 'Disposition', h('input', { maxlength: '200' }), { placeholder: 'Any' }),
    select('mood', 'Mood', [
      ['', 'Any'],
      ['positive', 'Positive'],
      ['neutral', 'Neutral'],
      ['negative', 'Negative'],
      ['mixed', 'Mixed'],
    ]),
    field('entity', 'Named', h('input', { maxlength: '200' }), {
      placeholder: 'TYPE or TYPE:value',
    }),
    field('rule', 'Rule', h('input', { maxlength: '200' }), { placeholder: 'playbook/rule' }),
    field('min_duration', 'Seconds at least', h('input', { type: 'number', min: '0' })),
    field('max_duration', 'Seconds at most', h('input', { type: 'number', min: '0' })),
    select('incomplete', 'Missing words', [
      ['', 'Any'],
      ['true', 'Some are missing'],
      ['false', 'None are missing'],
    ]),
    select('undelivered', 'CRM and webhooks', [
      ['', 'Any'],
      ['true', 'Did not take all'],
      ['false', 'Took all'],
    ]),
  ];
}

/**
 * @template {HTMLInputElement | HTMLSelectElement} Input
 * @param {string} name
 * @param {string} label
 * @param {Input} input
 * @param {Record<string, string>} [props]
 */
export function field(name, label, input, props = {}) {
  const id = `calls-${name.replaceAll('_', '-')}`;
  for (const [key, value] of Object.entries({ id, name, autocomplete: 'off', ...props }))
    input.setAttribute(key, value);
  const element = h('div', { class: `field field-${name}` }, h('label', { for: id }, label), input);
  return { name, input, element };
}

/**
 * @param {string} name
 * @param {string} label
 * @param {[string, string][]} options
 */
export function select(name, label, options) {
  const made = options.map(([value, text]) => h('option', { value }, text));
  return field(name, label, h('select', {}, made));
}

/** @typedef {ReturnType<typeof field<HTMLInputElement | HTMLSelectElement>>} FilterField */

/**
 * Fields that are folded away, with a line that says whose days their days are.
 * @param {readonly FilterField[]} fields
 */
export function foldedFields(fields) {
  const days = h('p', { class: 'quiet' });
  const elements = fields.map((one) => one.element);
  const element = h(
    'details',
    { class: 'more-filters' },
    h('summary', {}, 'Filters'),
    h('div', { class: 'filter-fields' }, elements, days),
  );
  /** @param {URLSearchParams} query */
  const show = (query) => {
    setText(days, `Days are whole days of ${zoneName()}.`);
    if (fields.some(({ name }) => query.has(name))) element.open = true;
  };
  return { element, show };
}

/**
 * Fills fields from the address. `typed` is the input of a letter that starts its own search: it stays as it is.
 * @param {readonly FilterField[]} fields
 * @param {URLSearchParams} query
 * @param {FilterField['input']} [typed]
 */
export function fillFields(fields, query, typed) {
  for (const { name, input } of fields) {
    const value = query.get(name) ?? '';
    if (input !== typed && input.value.trim() !== value) input.value = value;
    // An option that does not exist would leave the field empty.
    if (input instanceof HTMLSelectElement && input.selectedIndex === -1) input.value = '';
  }
}
