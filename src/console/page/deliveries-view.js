import { get, post } from './api.js';
import { h, setText } from './dom.js';
import { messageOf } from './failures.js';
import { moment } from './format.js';
import { PageState } from './page-state.js';

/** @import { ApiExchange } from '../../protocol/api.ts' */

/** @import { ApiDelivery } from './shapes.ts' */

/** @type {Record<ApiDelivery['state'], string>} */
export const deliveryStates = {
  pending: 'Pending',
  delivered: 'Delivered',
  parked: 'Parked',
  skipped: 'Skipped',
};

const everyMs = 4_000;
const pageItems = 50;

/** @typedef {'retry' | 'release' | 'from'} Verb */

/** Every event on its way to the CRM: waiting events, parked ones with their reason, and the actions that help. */
export class DeliveriesView {
  title = 'Deliveries';
  #state;
  /** @type {Map<string, ApiDelivery>} */
  #items = new Map();
  /** @type {Map<string, DeliveryRow>} */
  #rows = new Map();
  /** @type {string | null} */
  #cursor = null;
  #body = h('tbody');
  #standing = new PageState('the deliveries', () => this.#load(false));
  #told = h('p', { class: 'told', role: 'status' });
  #older = h(
    'button',
    { type: 'button', hidden: true, onclick: () => void this.#load(true) },
    'Older deliveries',
  );
  #endpoints = h('div', { class: 'endpoints' });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #closed = false;

  /** @param {string} [state] */
  constructor(state) {
    this.#state = state !== undefined && state in deliveryStates ? state : undefined;
    this.element = h(
      'div',
      { class: 'view' },
      h('div', { class: 'heading' }, h('h1', {}, 'Deliveries'), this.#filters()),
      this.#endpoints,
      this.#told,
      h(
        'div',
        { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Deliveries' },
        h('table', { class: 'deliveries' }, h('thead', {}, headings()), this.#body),
      ),
      this.#standing.element,
      this.#older,
    );
    void this.#load(false);
    void this.#loadEndpoints();
  }

  close() {
    this.#closed = true;
    this.#standing.close();
    clearTimeout(this.#timer);
  }

  #filters() {
    const names = [
      ['', 'All'],
      ...Object.entries(deliveryStates).filter(([name]) => name !== 'skipped'),
    ];
    return h(
      'ul',
      { class: 'filters', 'aria-label': 'State' },
      names.map(([state, name]) => {
        const isOn = (this.#state ?? '') === state;
        const href = `#/deliveries${state && `/${state}`}`;
        return h('li', {}, h('a', { href, 'aria-current': isOn ? 'true' : null }, name));
      }),
    );
  }

  /** Shown if something must be done: no endpoint is configured, or one was switched off. */
  async #loadEndpoints() {
    const page = await get('/api/deliveries/endpoints').catch(() => undefined);
    if (!page || this.#closed) return;
    const none = h(
      'p',
      { class: 'quiet' },
      'No webhook is configured: set TRUNKLINE_WEBHOOK_URL and its secret.',
    );
    const off = page.items.filter((endpoint) => endpoint.disabled_at !== null);
    this.#endpoints.replaceChildren(
      ...(page.items.length === 0 ? [none] : off.map((endpoint) => this.#switchedOff(endpoint))),
    );
  }

  /** @param {{ name: string, disabled_at: string | null, reason: string | null }} endpoint */
  #switchedOff({ name, disabled_at: since, reason }) {
    const button = h('button', { type: 'button' }, `Switch ${name} on`);
    button.addEventListener('click', async () => {
      button.disabled = true;
      await this.#tell(() => post(`/api/deliveries/endpoints/${encodeURIComponent(name)}/enable`));
      await this.#loadEndpoints();
    });
    const why = `${name} has been switched off since ${moment(since)}: ${reason ?? 'it asked for it'}`;
    return h('p', {}, h('span', { class: 'error' }, why), ' ', button);
  }

  /** @param {boolean} older */
  async #load(older) {
    clearTimeout(this.#timer);
    const query = new URLSearchParams({ limit: String(pageItems) });
    if (this.#state) query.set('state', this.#state);
    // Blocked events are grouped by call: a hundred events behind one refused event are a single problem.
    if (this.#state === 'pending' || this.#state === 'parked') query.set('by', 'call');
    if (older && this.#cursor) query.set('cursor', this.#cursor);
    const page = await get(`/api/deliveries?${query}`).catch((error) =>
      this.#standing.failed(error),
    );
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#refresh(), everyMs);
    if (!page) return;
    if (older || this.#items.size <= pageItems) {
      this.#cursor = page.next_cursor;
      this.#older.hidden = page.next_cursor === null;
    }
    if (!older && this.#items.size <= pageItems) this.#items.clear();
    for (const item of page.items) this.#items.set(item.id, item);
    this.#draw();
  }

  /** Nothing is requested while nobody looks. */
  #refresh() {
    if (document.visibilityState === 'visible') return this.#load(false);
    this.#timer = setTimeout(() => void this.#refresh(), everyMs);
  }

  #draw() {
    for (const [id, row] of this.#rows)
      if (!this.#items.has(id)) {
        row.element.remove();
        this.#rows.delete(id);
      }
    let at = 0;
    for (const item of this.#items.values()) {
      const row = this.#rows.get(item.id) ?? new DeliveryRow((verb, one) => this.#act(verb, one));
      this.#rows.set(item.id, row);
      row.draw(item);
      if (this.#body.children[at] !== row.element)
        this.#body.insertBefore(row.element, this.#body.children[at] ?? null);
      at++;
    }
    const none = this.#state ? `No ${this.#state} deliveries.` : 'No deliveries yet.';
    this.#standing.ready(this.#items.size > 0 ? '' : none);
  }

  /**
   * @param {Verb} verb
   * @param {ApiDelivery} item
   */
  async #act(verb, item) {
    await this.#tell(() => ask(verb, item));
    await this.#load(false);
  }

  /** @param {() => Promise<{ changed?: number } | undefined>} ask */
  async #tell(ask) {
    setText(this.#told, '');
    try {
      const { changed = 1 } = (await ask()) ?? {};
      const count = changed === 1 ? 'One delivery is' : `${changed} deliveries are`;
      setText(this.#told, `${count} on the way.`);
    } catch (error) {
      setText(this.#told, `That did not work: ${messageOf(error)}`);
    }
  }
}

/**
 * @param {Verb} verb
 * @param {ApiDelivery} item
 * @returns {Promise<{ changed?: number } | undefined>}
 */
function ask(verb, { id, call_id: call, sequence, endpoint }) {
  if (verb === 'retry') return post(`/api/deliveries/${encodeURIComponent(id)}/retry`);
  if (verb === 'release') return post(`/api/calls/${call}/deliveries/release`, { endpoint });
  return post(`/api/calls/${call}/deliveries/retry`, { from: sequence, endpoint });
}

function headings() {
  const names = ['State', 'Event', 'Call', 'Endpoint', 'Attempts', 'When'];
  return h(
    'tr',
    {},
    names.map((name) => h('th', { scope: 'col' }, name)),
    h('td', {}),
  );
}

class DeliveryRow {
  element = h('tr');
  #drawn = '';
  #act;

  /** @param {(verb: Verb, item: ApiDelivery) => Promise<void>} act */
  constructor(act) {
    this.#act = act;
  }

  /** @param {ApiDelivery} item */
  draw(item) {
    const text = JSON.stringify(item);
    if (text === this.#drawn) return;
    const wasOpen = this.element.querySelector('details')?.open ?? false;
    this.#drawn = text;
    const when =
      item.delivered_at ?? item.next_attempt_at ?? item.last_attempt_at ?? item.created_at;
    this.element.replaceChildren(
      h(
        'td',
        {},
        h('span', { class: 'state', dataset: { state: item.state } }, deliveryStates[item.state]),
      ),
      h(
        'th',
        { scope: 'row' },
        item.type,
        h('small', { class: 'quiet' }, ` #${item.sequence}`),
        blockedBy(item),
      ),
      h('td', {}, h('a', { href: `#/calls/${item.call_id}` }, `…${item.call_id.slice(-6)}`)),
      h('td', {}, item.endpoint),
      h('td', {}, String(item.attempts)),
      h(
        'td',
        {},
        item.state === 'pending' && item.next_attempt_at ? `next ${moment(when)}` : moment(when),
      ),
      h('td', {}, this.#details(item, wasOpen)),
    );
  }

  /**
   * @param {ApiDelivery} item
   * @param {boolean} open
   */
  #details(item, open) {
    const label = `${item.type} #${item.sequence} to ${item.endpoint}`;
    /** @param {Verb} verb @param {string} name */
    const button = (verb, name) =>
      h(
        'button',
        {
          type: 'button',
          'aria-label': `${name}: ${label}`,
          onclick: () => void this.#act(verb, item),
        },
        name,
      );
    const past = h('div');
    const details = h(
      'details',
      { open },
      h('summary', { 'aria-label': `Inspect ${label}` }, 'Inspect'),
      h(
        'div',
        { class: 'inspect' },
        facts(item),
        past,
        h(
          'div',
          { class: 'actions' },
          button('retry', item.state === 'delivered' ? 'Send again' : 'Retry now'),
          item.state === 'parked' ? button('release', 'Release the call') : null,
          button('from', 'Send again from here'),
        ),
      ),
    );
    details.addEventListener('toggle', () => {
      if (details.open) void showHistory(item.id, past);
    });
    return details;
  }
}

/**
 * Shows the attempts one by one. They are loaded only when somebody opens them.
 * @param {string} id
 * @param {HTMLElement} element
 */
async function showHistory(id, element) {
  const { history = [], exchanges = [] } =
    (await get(`/api/deliveries/${encodeURIComponent(id)}`).catch(() => undefined)) ?? {};
  if (history.length === 0) return;
  element.replaceChildren(
    h(
      'ol',
      { class: 'history', 'aria-label': 'Attempts' },
      history.map(({ at, ms, status, error }) =>
        h('li', {}, `${moment(at)} · ${status ?? error ?? 'no answer'} · ${Math.round(ms)} ms`),
      ),
    ),
    ...exchanges.flatMap(exchangeElements),
  );
}

/**
 * The request of the last attempt, and the answer to it.
 * @param {ApiExchange} exchange
 */
function exchangeElements({ step, request, response, failure }) {
  const sent = `${request.method} ${request.url}\n${headerLines(request.headers)}`;
  const name = step === undefined ? 'Sent' : `Sent by step ${step}`;
  return [
    message(name, sent, request.body),
    response
      ? message('Came back', `${response.status}\n${headerLines(response.headers)}`, response.body)
      : message('Came back', failure ?? 'Nothing.', null),
  ];
}

/**
 * @param {string} name
 * @param {string} head
 * @param {string | null} body
 */
function message(name, head, body) {
  return h(
    'figure',
    { class: 'message' },
    h('figcaption', {}, name),
    h('pre', { tabindex: '0', 'aria-label': name }, body ? `${head}\n\n${pretty(body)}` : head),
  );
}

/** @param {Record<string, string>} headers */
function headerLines(headers) {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

/**
 * JSON with line breaks. A text that was cut or is no JSON stays as it came.
 * @param {string} body
 */
function pretty(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

/**
 * The reason why the event is not delivered, and what waits for it.
 * @param {ApiDelivery} delivery
 */
function blockedBy({ state, reason, behind = 0 }) {
  if (state === 'delivered') return null;
  const waiting =
    behind === 0 ? '' : `${behind} more of the call ${behind === 1 ? 'waits' : 'wait'} behind it`;
  const text = [reason, waiting].filter(Boolean).join('; ');
  return text === '' ? null : h('div', { class: 'blocked' }, text);
}

/** @param {ApiDelivery} item */
function facts(item) {
  /** @type {[string, unknown][]} */
  const rows = [
    ['Event', item.event_id],
    ['Reason', item.reason],
    ['Status', item.status],
    ['Last attempt', moment(item.last_attempt_at)],
    ['Next attempt', moment(item.next_attempt_at)],
    ['Answer', item.answer],
  ];
  return h(
    'dl',
    {},
    rows
      .filter(([, value]) => value !== null && value !== undefined && value !== '')
      .map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, String(value)))),
  );
}
