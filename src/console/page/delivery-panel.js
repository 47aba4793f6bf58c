import { get, post } from './api.js';
import { deliveryStates } from './delivery-words.js';
import { h, setText } from './dom.js';
import { messageOf } from './failures.js';
import { moment, parties } from './format.js';
import { PageState } from './page-state.js';

/** @import { ApiExchange } from '../../protocol/delivery-reports.ts' */

/** @import { ApiDelivery } from './shapes.ts' */

/** @typedef {'retry' | 'release' | 'from'} Verb */

const everyMs = 4_000;
const maxEvents = 200;
/** As in the style sheet. */
const besideList = matchMedia('(min-width: 66.01rem)');

/** The events of one call at one endpoint, with the attempts of one of them and the actions that help. */
export class DeliveryPanel {
  #heading = h('h2', { id: 'inspect-heading' });
  #call = h('a', { href: '#/calls' }, 'Open the call');
  #told = h('p', { class: 'told', role: 'status' });
  #list = h('ol', { class: 'event-list', 'aria-label': 'Events' });
  #more = h(
    'p',
    { class: 'quiet', hidden: true },
    `Only the newest ${maxEvents} events of the call are listed.`,
  );
  #detail = h('div', { class: 'inspect' });
  #standing = new PageState('the events', () => this.#load());
  #onClose;
  #onChange;
  /** @type {{ callId: string, endpoint: string } | undefined} */
  #lane;
  /** @type {ApiDelivery[]} */
  #items = [];
  /** The event that somebody chose; the one that the others wait for until then. */
  #chosen = '';
  #shown = '';
  /** True until the events of an opened panel are drawn. */
  #isOpened = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {{ onClose: () => void, onChange: () => void }} page */
  constructor({ onClose, onChange }) {
    this.#onClose = onClose;
    this.#onChange = onChange;
    this.element = h(
      'aside',
      {
        class: 'panel delivery-panel',
        'aria-labelledby': 'inspect-heading',
        tabindex: '-1',
        hidden: true,
      },
      h(
        'div',
        { class: 'panel-head' },
        this.#heading,
        h('button', { type: 'button', onclick: () => this.#onClose() }, 'Close'),
      ),
      this.#call,
      this.#told,
      this.#list,
      this.#more,
      this.#standing.element,
      this.#detail,
    );
    this.element.addEventListener('keydown', ({ key }) => {
      if (key === 'Escape') this.#onClose();
    });
  }

  close() {
    clearTimeout(this.#timer);
    this.#standing.close();
    this.#lane = undefined;
  }

  /** @param {{ callId: string, endpoint: string } | undefined} lane */
  show(lane) {
    if (lane?.callId === this.#lane?.callId && lane?.endpoint === this.#lane?.endpoint) return;
    clearTimeout(this.#timer);
    this.#lane = lane;
    this.#items = [];
    this.#chosen = '';
    this.#shown = '';
    this.element.hidden = lane === undefined;
    this.#list.replaceChildren();
    this.#detail.replaceChildren();
    setText(this.#told, '');
    if (lane === undefined) return;
    setText(this.#heading, `Call to ${lane.endpoint}`);
    void this.#name(lane);
    this.#call.href = `#/calls/${lane.callId}`;
    this.element.focus({ preventScroll: true });
    this.#isOpened = true;
    void this.#load();
  }

  /**
   * Names the call by its parties, as the list does.
   * @param {{ callId: string, endpoint: string }} lane
   */
  async #name(lane) {
    const call = await get(`/api/calls/${lane.callId}`).catch(() => undefined);
    if (call && lane === this.#lane) setText(this.#heading, `${parties(call)} to ${lane.endpoint}`);
  }

  async #load() {
    clearTimeout(this.#timer);
    const lane = this.#lane;
    if (lane === undefined) return;
    const query = new URLSearchParams({ call_id: lane.callId, endpoint: lane.endpoint });
    const pages = await Promise.all([
      get(`/api/deliveries?${query}&limit=${maxEvents}`),
      // The event that the others wait for may be older than all that are listed, in a long call.
      get(`/api/deliveries?${query}&by=call&limit=1`),
    ]).catch((error) => this.#standing.failed(error));
    if (lane !== this.#lane) return;
    this.#timer = setTimeout(() => void this.#load(), everyMs);
    if (!pages) return;
    const [page, heads] = pages;
    const listed = new Map([...heads.items, ...page.items].map((item) => [item.id, item]));
    this.#items = [...listed.values()].toSorted((a, b) => a.sequence - b.sequence);
    this.#more.hidden = page.next_cursor === null;
    this.#standing.ready(page.items.length > 0 ? '' : 'No event of this call is kept any more.');
    this.#draw();
    if (!this.#isOpened) return;
    this.#isOpened = false;
    // The panel takes the place of the list, below the endpoints, if there is no room beside it.
    if (!besideList.matches) this.element.scrollIntoView({ block: 'start' });
  }

  #draw() {
    const head = this.#items.find(({ state }) => state === 'parked' || state === 'pending');
    const chosen = this.#items.find(({ id }) => id === this.#chosen) ?? head ?? this.#items.at(-1);
    const text = JSON.stringify([this.#items, chosen?.id]);
    if (text === this.#shown || chosen === undefined) return;
    this.#shown = text;
    const hadFocus = this.#list.contains(document.activeElement);
    this.#list.replaceChildren(
      ...this.#items.map((item) =>
        h(
          'li',
          {},
          h(
            'button',
            {
              type: 'button',
              'aria-pressed': String(item.id === chosen.id),
              onclick: () => this.#choose(item.id),
            },
            h('span', {}, `${item.sequence} ${item.type}`),
            h(
              'span',
              { class: 'state', dataset: { state: item.state } },
              deliveryStates[item.state],
            ),
          ),
        ),
      ),
    );
    const pressed = this.#list.querySelector('[aria-pressed=true]');
    if (hadFocus && pressed instanceof HTMLElement) pressed.focus();
    pressed?.scrollIntoView({ block: 'nearest' });
    void this.#inspect(chosen);
  }

  /** @param {string} id */
  #choose(id) {
    this.#chosen = id;
    this.#draw();
  }

  /**
   * Shows one event, and its attempts once they are loaded.
   * @param {ApiDelivery} item
   */
  async #inspect(item) {
    const past = h('div');
    this.#detail.replaceChildren(
      h('h3', {}, `${item.type} #${item.sequence}`),
      this.#actions(item),
      facts(item),
      past,
    );
    const { history = [], exchanges = [] } =
      (await get(`/api/deliveries/${encodeURIComponent(item.id)}`).catch(() => undefined)) ?? {};
    if (history.length === 0) return;
    past.replaceChildren(
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

  /** @param {ApiDelivery} item */
  #actions(item) {
    /** @param {Verb} verb @param {string} name */
    const button = (verb, name) =>
      h('button', { type: 'button', onclick: () => void this.#act(verb, item) }, name);
    return h(
      'div',
      { class: 'actions' },
      button('retry', item.state === 'delivered' ? 'Send again' : 'Retry now'),
      item.state === 'parked' ? button('release', 'Release the call') : null,
      button('from', 'Send again from here'),
    );
  }

  /**
   * @param {Verb} verb
   * @param {ApiDelivery} item
   */
  async #act(verb, item) {
    setText(this.#told, '');
    try {
      const { changed = 1 } = (await ask(verb, item)) ?? {};
      const count = changed === 1 ? 'One event is' : `${changed} events are`;
      setText(this.#told, `${count} on the way.`);
    } catch (error) {
      setText(this.#told, `That did not work: ${messageOf(error)}`);
    }
    this.#onChange();
    await this.#load();
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

/** @param {ApiDelivery} item */
function facts(item) {
  /** @type {[string, unknown][]} */
  const rows = [
    ['State', deliveryStates[item.state]],
    ['Reason', item.state === 'delivered' ? null : item.reason],
    ['Status', item.status],
    ['Attempts', item.attempts],
    ['Last attempt', moment(item.last_attempt_at)],
    ['Next attempt', moment(item.next_attempt_at)],
    ['Answer', item.answer],
    ['Event', item.event_id],
  ];
  return h(
    'dl',
    {},
    rows
      .filter(([, value]) => value !== null && value !== undefined && value !== '')
      .map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, String(value)))),
  );
}
