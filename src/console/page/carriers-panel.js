import { copyText } from './clipboard.js';
import { h, setText } from './dom.js';
import { messageOf } from './failures.js';
import { moment } from './format.js';
import { testCallButton } from './test-call-button.js';

/** @import { Child } from './dom.js' */

/** @import { ApiCarrier } from '../../protocol/api.ts' */

/** For this many milliseconds a button says that it copied. */
const copiedMs = 2_000;

/** The carriers: which settings are present or missing, what to configure at the carrier, and whether a stream came. */
export class CarriersPanel {
  #list = h('div', { class: 'carriers' });
  #local = h(
    'p',
    { class: 'quiet', hidden: true },
    'These addresses are for this machine alone: set ',
    h('code', {}, 'TRUNKLINE_PUBLIC_URL'),
    ' to the one by which carriers reach you.',
  );
  /** @type {Map<string, CarrierRow>} */
  #rows = new Map();
  #drawn = '';
  #none = h(
    'p',
    { hidden: true },
    'No carrier is connected. Choose yours to see what to enter there.',
  );
  #choice = h('select', { id: 'carrier-choice' });
  #chooser = h(
    'div',
    { class: 'field carrier-choice' },
    h('label', { for: 'carrier-choice' }, 'Connect a carrier'),
    this.#choice,
  );
  /** Carriers that this reader chose stay visible. */
  #chosen = /** @type {Set<string>} */ (new Set());
  #placeTestCall;

  /**
   * `placeTestCall` plays a carrier's side in this process and shows the call.
   * @param {(carrier?: string) => Promise<void>} placeTestCall
   */
  constructor(placeTestCall) {
    this.#placeTestCall = placeTestCall;
    this.#choice.addEventListener('change', () => this.#choose(this.#choice.value));
    this.element = h(
      'section',
      { class: 'view', hidden: true, 'aria-labelledby': 'carriers-heading' },
      h('h2', { id: 'carriers-heading' }, 'Carriers'),
      this.#none,
      this.#local,
      this.#list,
      this.#chooser,
    );
  }

  /** @param {readonly ApiCarrier[]} items */
  draw(items) {
    this.element.hidden = false;
    this.#local.hidden = !items.some(({ address }) => address.startsWith('ws:'));
    // Rows are redrawn only if a setting changed. Sections that a reader opened stay open.
    const text = JSON.stringify(
      items.map(({ last_stream_at: _, last_refused: __, ...settled }) => settled),
    );
    if (text !== this.#drawn) {
      this.#drawn = text;
      const open = new Set(
        [...this.#rows].filter(([, { element }]) => element.open).map(([name]) => name),
      );
      this.#rows = new Map(
        items.map((item) => [item.name, new CarrierRow(item, this.#placeTestCall)]),
      );
      for (const [name, { element }] of this.#rows) element.open = open.has(name);
      this.#list.replaceChildren(...[...this.#rows.values()].map(({ element }) => element));
    }
    for (const item of items) this.#rows.get(item.name)?.light(item);
    this.#sort(items);
  }

  /**
   * Shows rows only for carriers with something to see. The others are in the chooser.
   * @param {readonly ApiCarrier[]} items
   */
  #sort(items) {
    const isSeen = (
      /** @type {ApiCarrier} */ { name, set, last_stream_at: at, last_refused: refused },
    ) => set.length > 0 || at !== null || refused !== null || this.#chosen.has(name);
    for (const item of items) {
      const row = this.#rows.get(item.name);
      if (row) row.element.hidden = !isSeen(item);
    }
    const others = items.filter((item) => !isSeen(item));
    this.#none.hidden = others.length < items.length;
    this.#chooser.hidden = others.length === 0;
    const names = others.map(({ name }) => name).join();
    if (this.#choice.dataset['names'] === names) return;
    this.#choice.dataset['names'] = names;
    this.#choice.replaceChildren(
      h('option', { value: '' }, 'Choose …'),
      ...others.map(({ name, title }) => h('option', { value: name }, title)),
    );
  }

  /** @param {string} name */
  #choose(name) {
    const row = this.#rows.get(name);
    if (row === undefined) return;
    this.#chosen.add(name);
    row.element.hidden = false;
    row.element.open = true;
    row.element.querySelector('summary')?.focus();
    this.#choice.value = '';
  }
}

class CarrierRow {
  #light = h('span', { class: 'state' });
  #refused = h('dd');
  #refusedRow = h('div', { hidden: true }, h('dt', {}, 'Last refused'), this.#refused);

  /**
   * @param {ApiCarrier} item
   * @param {(carrier?: string) => Promise<void>} placeTestCall
   */
  constructor(item, placeTestCall) {
    const { name, title, set, missing, address, voice, status_address: status, steps } = item;
    const forVoice = (voice?.missing ?? []).filter((name) => !missing.includes(name));
    this.element = h(
      'details',
      { class: 'panel' },
      h('summary', {}, h('strong', {}, title), ' ', this.#light),
      h(
        'dl',
        {},
        row('Stream address', ...copyable(address, `the stream address of ${title}`)),
        voice && row('Voice address', ...copyable(voice.address, `the voice address of ${title}`)),
        status !== null &&
          row('Status address', ...copyable(status, `the status address of ${title}`)),
        set.length > 0 && row('Set', ...names(set)),
        missing.length > 0 && row('Missing', ...names(missing)),
        forVoice.length > 0 && row('Missing for voice', ...names(forVoice)),
        this.#refusedRow,
      ),
      h(
        'ol',
        {},
        steps.map((step) => h('li', {}, step)),
      ),
      testCallButton(() => placeTestCall(name), `Place a test call of ${title}`),
    );
  }

  /** @param {ApiCarrier} item */
  light({ state, last_stream_at: at, last_refused: refused }) {
    const lit = at !== null;
    // A stream that was refused since the last accepted one is what the reader is looking for.
    const isRefused = refused !== null && !(lit && Date.parse(at) > Date.parse(refused.at));
    this.#refusedRow.hidden = refused === null;
    if (refused !== null) setText(this.#refused, `${moment(refused.at)}: ${refused.reason}`);
    const [light, text] = isRefused
      ? ['failed', `Refused ${moment(refused.at)}: open to see why`]
      : lit
        ? ['ok', `Stream came ${moment(at)}`]
        : state === 'ready'
          ? ['starting', 'Set, no stream yet']
          : ['none', 'Not connected'];
    this.#light.dataset.state = light;
    setText(this.#light, text);
  }
}

/**
 * @param {string} name
 * @param {...Child} value
 */
function row(name, ...value) {
  return h('div', {}, h('dt', {}, name), h('dd', {}, ...value));
}

/** @param {readonly string[]} all */
function names(all) {
  return all.flatMap((name, at) => [at > 0 ? ', ' : '', h('code', {}, name)]);
}

/**
 * @param {string} text
 * @param {string} what
 */
function copyable(text, what) {
  const said = h('span', { class: 'quiet', role: 'status' });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @param {string} words */
  const say = (words) => {
    setText(said, words);
    clearTimeout(timer);
    timer = setTimeout(() => setText(said, ''), copiedMs);
  };
  const copy = () =>
    copyText(text).then(
      () => say('Copied.'),
      (error) => say(`Could not copy: ${messageOf(error)}`),
    );
  const label = `Copy ${what}`;
  return [
    h('code', {}, text),
    ' ',
    h('button', { type: 'button', 'aria-label': label, onclick: () => void copy() }, 'Copy'),
    ' ',
    said,
  ];
}
