import { copyText } from './clipboard.js';
import { h, setText } from './dom.js';
import { entityName } from './entity-names.js';
import { messageOf } from './failures.js';
import { clock, personName, valueInWords } from './format.js';

/** @import { PageEntity, SpokenEntry } from './shapes.ts' */

/** @typedef {{ type: string, value: string, said: string, who: string, start: number }} Fact */

/**
 * Facts that an agent copies into another program, by kind. Other types are only marked in the words.
 * @type {[string, RegExp][]}
 */
const groups = [
  ['Names', /^NAME(?:_|$)/],
  ['Phone and email', /^(?:PHONE_NUMBER|EMAIL_ADDRESS)$/],
  [
    'Numbers',
    /^(?:NUMERICAL_PII|ACCOUNT_NUMBER|BANK_ACCOUNT|ROUTING_NUMBER|ORGANIZATION_ID|VEHICLE_ID|HEALTHCARE_NUMBER|PASSPORT_NUMBER|DRIVER_LICENSE)$/,
  ],
  ['Amounts', /^MONEY$/],
  ['Dates', /^(?:DATE|DATE_INTERVAL|DAY|DOB|TIME)$/],
  ['Addresses', /^LOCATION(?:_|$)/],
];
/** At most this many of a group are shown, the newest ones. An hour of talk names more than anybody reads. */
const maxPerGroup = 12;

/** Names, numbers, amounts, dates and addresses that were said, each with its value and a button that copies it. */
export class SaidSoFarPanel {
  #onHear;
  #list = h('div', { class: 'facts-said' });
  #said = h('p', { class: 'quiet', role: 'status' });
  #drawn = '';
  element = h(
    'section',
    { class: 'panel said', 'aria-labelledby': 'panel-said', hidden: true },
    h('h2', { id: 'panel-said' }, 'Said so far'),
    this.#list,
    this.#said,
  );

  /** @param {(seconds: number) => void} onHear */
  constructor(onHear) {
    this.#onHear = onHear;
  }

  /** @param {readonly SpokenEntry[]} utterances */
  draw(utterances) {
    const told = factsOf(utterances);
    const drawn = JSON.stringify(told);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    this.element.hidden = told.length === 0;
    this.#list.replaceChildren(
      ...told.map(({ name, facts }) =>
        h(
          'section',
          {},
          h('h3', {}, name),
          h(
            'ul',
            {},
            facts.map((fact) => this.#row(fact)),
          ),
        ),
      ),
    );
  }

  /** @param {Fact} fact */
  #row({ type, value, said, who, start }) {
    const told = said === value ? '' : `“${said}”`;
    const hear = `${clock(start)} ${who}`;
    return h(
      'li',
      {},
      h(
        'span',
        {},
        h('strong', { title: entityName(type) }, valueInWords(value)),
        told ? h('small', { class: 'quiet' }, ` ${told}`) : null,
      ),
      h(
        'button',
        {
          type: 'button',
          class: 'time',
          'aria-label': `${value}: hear from ${hear}`,
          onclick: () => this.#onHear(start),
        },
        clock(start),
      ),
      h(
        'button',
        { type: 'button', 'aria-label': `Copy ${value}`, onclick: () => void this.#copy(value) },
        'Copy',
      ),
    );
  }

  /** @param {string} value */
  async #copy(value) {
    try {
      await copyText(value);
      setText(this.#said, `Copied ${value}.`);
    } catch (error) {
      setText(this.#said, `Could not copy: ${messageOf(error)}`);
    }
  }
}

/**
 * The facts that were said, by group, newest last. A repeated value counts once, at its first time.
 * @param {readonly SpokenEntry[]} utterances
 */
export function factsOf(utterances) {
  /** @type {Map<string, Map<string, Fact>>} */
  const found = new Map();
  for (const { entities, ...said } of utterances)
    for (const entity of entities) {
      const name = groups.find(([, types]) => types.test(entity.entity_type))?.[0];
      if (name === undefined) continue;
      const facts = found.get(name) ?? new Map();
      found.set(name, facts);
      const value = valueOf(entity);
      const key = value.toLowerCase();
      if (facts.has(key)) continue;
      const { start, text, entity_type: type } = entity;
      facts.set(key, { type, value, said: text.trim(), who: said.name ?? personName(said), start });
    }
  return groups.flatMap(([name]) => {
    const facts = found.get(name);
    return facts ? [{ name, facts: [...facts.values()].slice(-maxPerGroup) }] : [];
  });
}

/**
 * The value if the service gives one, otherwise the words.
 * @param {PageEntity} entity
 */
function valueOf({ text, value }) {
  if (typeof value === 'string' || typeof value === 'number') return String(value).trim();
  if (typeof value !== 'object' || value === null) return text.trim();
  if ('amount' in value && 'currency' in value) return `${value.amount} ${value.currency}`;
  const only = Object.values(value).filter((one) => typeof one === 'string');
  return only.join(', ') || text.trim();
}
