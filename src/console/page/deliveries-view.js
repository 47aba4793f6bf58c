import { get } from './api.js';
import { startOfDay } from './days.js';
import { DeliveryFilters, deliveriesAddress, deliveryQueryOf } from './delivery-filters.js';
import { DeliveryPanel } from './delivery-panel.js';
import { deliveryStates } from './delivery-words.js';
import { h } from './dom.js';
import { EndpointHealth } from './endpoint-health.js';
import { fullMoment, moment, zoneNow } from './format.js';
import { PageState } from './page-state.js';

/** @import { ApiCallDelivery } from './shapes.ts' */

const everyMs = 4_000;
const pageItems = 50;

/**
 * The calls on their way to each endpoint: the endpoint's health on top, then a row for each call and endpoint. The
 * address holds the filters and the call that is inspected.
 */
export class DeliveriesView {
  title = 'Deliveries';
  #query = deliveryQueryOf(location.hash);
  /** @type {Map<string, ApiCallDelivery>} */
  #items = new Map();
  /** @type {Map<string, CallDeliveryRow>} */
  #rows = new Map();
  /** @type {string | null} */
  #cursor = null;
  /** Counts the lists that were asked for: an answer to an earlier list is not shown. */
  #asked = 0;
  #body = h('tbody');
  #standing = new PageState('the deliveries', () => this.#load(false));
  #older = h(
    'button',
    { type: 'button', hidden: true, onclick: () => void this.#load(true) },
    'Older calls',
  );
  #filters = new DeliveryFilters();
  #endpoints = new EndpointHealth((names) => this.#filters.offer(names));
  #panel = new DeliveryPanel({
    onClose: () => this.#open(undefined),
    onChange: () => void this.#reload(),
  });
  #parts;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #closed = false;

  constructor() {
    this.#parts = h(
      'div',
      { class: 'inspecting' },
      h(
        'div',
        { class: 'listed' },
        h(
          'div',
          { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Calls' },
          h('table', { class: 'deliveries' }, h('thead', {}, headings()), this.#body),
        ),
        this.#standing.element,
        this.#older,
      ),
      this.#panel.element,
    );
    this.element = h(
      'div',
      { class: 'view' },
      h('div', { class: 'heading' }, h('h1', {}, 'Deliveries')),
      ...this.#endpoints.elements,
      this.#filters.element,
      this.#parts,
    );
    this.#show();
    void this.#reload();
  }

  close() {
    this.#closed = true;
    this.#standing.close();
    this.#panel.close();
    clearTimeout(this.#timer);
  }

  /**
   * Another filter, or another call to inspect: the rows that are there stay until others come.
   * @param {string} hash
   */
  follow(hash) {
    if (!/^#\/deliveries(?:[/?]|$)/.test(hash)) return false;
    const before = listOf(this.#query).toString();
    this.#query = deliveryQueryOf(hash);
    this.#show();
    if (listOf(this.#query).toString() === before) return true;
    this.#items.clear();
    void this.#load(false);
    return true;
  }

  #show() {
    this.#filters.show(this.#query);
    const open = this.#query.get('open') ?? '';
    const dot = open.indexOf('.');
    this.#panel.show(
      dot < 1 ? undefined : { callId: open.slice(0, dot), endpoint: open.slice(dot + 1) },
    );
    this.#parts.classList.toggle('is-open', dot >= 1);
    for (const [name, row] of this.#rows) row.isOpen(name === open);
  }

  /** @param {ApiCallDelivery | undefined} item */
  #open(item) {
    const query = new URLSearchParams(this.#query);
    if (item === undefined) query.delete('open');
    else query.set('open', nameOf(item));
    location.hash = deliveriesAddress(query);
    const name = item === undefined ? undefined : nameOf(item);
    if (name === undefined) this.#body.querySelector('button')?.focus();
  }

  async #reload() {
    await Promise.all([this.#load(false), this.#endpoints.load()]);
  }

  /** @param {boolean} older */
  async #load(older) {
    clearTimeout(this.#timer);
    const asked = ++this.#asked;
    const query = listOf(this.#query);
    query.set('limit', String(pageItems));
    if (older && this.#cursor) query.set('cursor', this.#cursor);
    const page = await get(`/api/deliveries/calls?${query}`).catch((error) =>
      this.#standing.failed(error),
    );
    if (this.#closed || asked !== this.#asked) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#refresh(), everyMs);
    if (!page) return;
    if (older || this.#items.size <= pageItems) {
      this.#cursor = page.next_cursor;
      this.#older.hidden = page.next_cursor === null;
    }
    if (!older && this.#items.size <= pageItems) this.#items.clear();
    for (const item of page.items) this.#items.set(nameOf(item), item);
    this.#draw();
  }

  /** Nothing is requested while nobody looks. */
  #refresh() {
    if (document.visibilityState === 'visible') return this.#reload();
    this.#timer = setTimeout(() => void this.#refresh(), everyMs);
  }

  #draw() {
    for (const [name, row] of this.#rows)
      if (!this.#items.has(name)) {
        row.element.remove();
        this.#rows.delete(name);
      }
    const open = this.#query.get('open');
    const sorted = [...this.#items.values()].toSorted(byCall);
    for (const [at, item] of sorted.entries()) {
      const name = nameOf(item);
      const row = this.#rows.get(name) ?? new CallDeliveryRow((one) => this.#open(one));
      this.#rows.set(name, row);
      row.draw(item);
      row.isOpen(name === open);
      if (this.#body.children[at] !== row.element)
        this.#body.insertBefore(row.element, this.#body.children[at] ?? null);
    }
    const isFiltered = listOf(this.#query).size > 0;
    const none = isFiltered ? 'No call is like this.' : 'No deliveries yet.';
    this.#standing.ready(this.#items.size > 0 ? '' : none);
  }
}

/** @param {Pick<ApiCallDelivery, 'call_id' | 'endpoint'>} item */
function nameOf({ call_id: call, endpoint }) {
  return `${call}.${endpoint}`;
}

/** @type {(a: ApiCallDelivery, b: ApiCallDelivery) => number} */
function byCall(a, b) {
  return a.call_id === b.call_id
    ? a.endpoint.localeCompare(b.endpoint)
    : a.call_id < b.call_id
      ? 1
      : -1;
}

/**
 * The query for the list, without the call that is inspected. Days become whole days of the displayed time zone.
 * @param {URLSearchParams} query
 */
function listOf(query) {
  const asked = new URLSearchParams(query);
  asked.delete('open');
  for (const [name, daysOn] of /** @type {[string, number][]} */ ([
    ['from_date', 0],
    ['to_date', 1],
  ])) {
    const day = asked.get(name) ?? '';
    if (/^\d{4}-\d{2}-\d{2}$/.test(day) && !Number.isNaN(Date.parse(day)))
      asked.set(name, startOfDay(day, zoneNow(), daysOn));
  }
  return asked;
}

function headings() {
  const names = ['State', 'Call', 'Endpoint', 'Events', 'When'];
  return h(
    'tr',
    {},
    names.map((name) => h('th', { scope: 'col' }, name)),
    h('td', {}),
  );
}

class CallDeliveryRow {
  element = h('tr');
  #drawn = '';
  #open;
  #button = h('button', { type: 'button' }, 'Inspect');
  /** @type {ApiCallDelivery | undefined} */
  #item;

  /** @param {(item: ApiCallDelivery) => void} open */
  constructor(open) {
    this.#open = open;
    this.#button.addEventListener('click', () => {
      if (this.#item) this.#open(this.#item);
    });
  }

  /** @param {boolean} isOpen */
  isOpen(isOpen) {
    this.element.classList.toggle('is-open', isOpen);
    this.#button.setAttribute('aria-pressed', String(isOpen));
  }

  /** @param {ApiCallDelivery} item */
  draw(item) {
    const text = JSON.stringify(item);
    if (text === this.#drawn) return;
    this.#drawn = text;
    this.#item = item;
    const { state, endpoint, head } = item;
    const who = partiesOf(item);
    const label = `Inspect ${who} to ${endpoint}`;
    this.#button.setAttribute('aria-label', label);
    const next = head?.next_attempt_at;
    const at = state === 'delivered' ? item.delivered_at : item.last_attempt_at;
    this.element.replaceChildren(
      h('td', {}, h('span', { class: 'state', dataset: { state } }, deliveryStates[state])),
      h(
        'th',
        { scope: 'row' },
        item.test ? who : h('a', { href: `#/calls/${item.call_id}` }, who),
        h('small', { class: 'quiet' }, item.test ? 'Example' : moment(item.started_at)),
        blockedBy(item),
      ),
      h('td', {}, endpoint),
      h('td', {}, eventsOf(item)),
      h(
        'td',
        {},
        at === null ? 'not tried yet' : h('time', { title: fullMoment(at) }, moment(at)),
        state === 'pending' && next && head.attempts > 0
          ? h('small', { class: 'quiet' }, `next ${moment(next)}`)
          : null,
      ),
      h('td', {}, this.#button),
    );
  }
}

/** @param {ApiCallDelivery} item */
function partiesOf({ from, to, call_id: id }) {
  if (from || to) return `${from ?? 'unknown'} → ${to ?? 'unknown'}`;
  return `Call …${id.slice(-6)}`;
}

/** @param {ApiCallDelivery} item */
function eventsOf({ counts: { delivered, pending, parked, skipped } }) {
  const all = delivered + pending + parked + skipped;
  const skips = skipped > 0 ? `, ${skipped} skipped` : '';
  return delivered === all ? String(all) : `${delivered} of ${all} delivered${skips}`;
}

/**
 * The reason why the call is not delivered.
 * @param {ApiCallDelivery} item
 */
function blockedBy({ head, counts: { pending, parked } }) {
  if (!head?.reason) return null;
  const behind = pending + parked - 1;
  const waits = behind > 0 ? `; ${behind} more ${behind === 1 ? 'waits' : 'wait'} behind it` : '';
  return h('div', { class: 'blocked' }, `${head.type} #${head.sequence}: ${head.reason}${waits}`);
}
