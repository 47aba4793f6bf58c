import { get, post } from './api.js';
import { h, setText } from './dom.js';
import { messageOf } from './failures.js';
import { fullMoment, moment } from './format.js';

/** @import { ApiEndpoint } from './shapes.ts' */

/** The endpoints, each with its health: whether it takes what it is sent, and why not. */
export class EndpointHealth {
  element = h('ul', { class: 'endpoints', 'aria-label': 'Endpoints' });
  #none = h(
    'p',
    { class: 'quiet', hidden: true },
    'No endpoint is configured. ',
    h('a', { href: '#/installation/crm' }, 'Connect a CRM'),
    ' or set TRUNKLINE_WEBHOOK_URL and its secret.',
  );
  #told = h('p', { class: 'told', role: 'status' });
  #drawn = '';
  #onNames;

  /** @param {(names: readonly string[]) => void} onNames Called with the names of the endpoints. */
  constructor(onNames) {
    this.#onNames = onNames;
    this.elements = [this.element, this.#none, this.#told];
  }

  async load() {
    const page = await get('/api/deliveries/endpoints').catch(() => undefined);
    if (!page) return;
    this.#none.hidden = page.items.length > 0;
    this.#onNames(page.items.map(({ name }) => name));
    const text = JSON.stringify(page.items);
    if (text === this.#drawn) return;
    this.#drawn = text;
    this.element.replaceChildren(...page.items.map((item) => this.#card(item)));
  }

  /** @param {ApiEndpoint} endpoint */
  #card(endpoint) {
    const { name, host, preset, disabled_at: offAt, last_failure: failure } = endpoint;
    const { state, word, why } = standingOf(endpoint);
    const query = new URLSearchParams({ endpoint: name });
    return h(
      'li',
      { class: 'panel endpoint', dataset: { name } },
      h(
        'p',
        { class: 'endpoint-name' },
        h('strong', {}, name),
        ' ',
        h('span', { class: 'state', dataset: { state } }, word),
      ),
      h('p', { class: 'quiet' }, [preset, host].filter(Boolean).join(' · ')),
      h(
        'dl',
        {},
        fact('Last success', at(endpoint.last_success_at) ?? 'none yet'),
        fact('Waiting', calls(endpoint.waiting_calls, `${query}&state=pending`)),
        fact('Parked', calls(endpoint.parked_calls, `${query}&state=parked`)),
      ),
      why !== '' && h('p', { class: 'blocked' }, why),
      failure !== null &&
        why !== '' &&
        offAt === null &&
        h('a', { href: `#/deliveries?open=${failure.call_id}.${name}` }, 'Inspect'),
      offAt !== null && this.#switch(name),
    );
  }

  /** @param {string} name */
  #switch(name) {
    const button = h('button', { type: 'button' }, `Switch ${name} on`);
    button.addEventListener('click', async () => {
      button.disabled = true;
      setText(this.#told, '');
      try {
        await post(`/api/deliveries/endpoints/${encodeURIComponent(name)}/enable`);
      } catch (error) {
        setText(this.#told, `Could not switch ${name} on: ${messageOf(error)}`);
      }
      this.#drawn = '';
      await this.load();
    });
    return button;
  }
}

/**
 * The state of an endpoint in a word, and the reason why it takes nothing.
 * @param {ApiEndpoint} endpoint
 */
export function standingOf({
  disabled_at: offAt,
  reason,
  last_success_at: taken,
  last_failure: failed,
  parked_calls: parked,
}) {
  if (offAt !== null)
    return {
      state: 'down',
      word: 'Switched off',
      why: `Since ${moment(offAt)}: ${reason ?? 'it asked for it'}`,
    };
  if (failed !== null && (taken === null || taken <= failed.at))
    return {
      state: 'down',
      word: 'Takes nothing',
      why: `${moment(failed.at)}: ${failed.reason ?? 'no reason is known'}`,
    };
  if (failed !== null)
    return {
      state: 'degraded',
      word: parked > 0 ? 'Refused some calls' : 'Refuses some events',
      why: `${moment(failed.at)}: ${failed.reason ?? 'no reason is known'}`,
    };
  if (taken === null) return { state: 'none', word: 'Nothing sent yet', why: '' };
  return { state: 'ok', word: 'Takes its events', why: '' };
}

/** @param {string | null} iso */
function at(iso) {
  return iso === null ? undefined : h('time', { title: fullMoment(iso) }, moment(iso));
}

/**
 * @param {number} count
 * @param {string} query
 */
function calls(count, query) {
  if (count === 0) return 'none';
  return h('a', { href: `#/deliveries?${query}` }, count === 1 ? '1 call' : `${count} calls`);
}

/**
 * @param {string} name
 * @param {Node | string} value
 */
function fact(name, value) {
  return h('div', {}, h('dt', {}, name), h('dd', {}, value));
}
