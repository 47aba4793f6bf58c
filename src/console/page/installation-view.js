import { get } from './api.js';
import { CarriersPanel } from './carriers-panel.js';
import { ConnectCrm } from './connect-crm.js';
import { h } from './dom.js';
import { bytes, clock, legNames, moment, parties, titleOf } from './format.js';
import { NodesPanel } from './nodes-panel.js';
import { Overview, SettingsPanel } from './overview.js';
import { PageState } from './page-state.js';

/** @import { Child } from './dom.js' */

/** @import { CallItem } from '../../protocol/api.ts' */

/** @import { Installation } from './shapes.ts' */

const everyMs = 5_000;

const recogniserStates = {
  ready: 'Ready',
  starting: 'Starting',
  'no-model': 'Waiting for its model',
  failed: 'Failed',
};

/** The state of the installation, with advice on how to correct problems. */
export class InstallationView {
  title = 'Installation';
  #cards = h('div', { class: 'cards' });
  #sessions = h('tbody');
  #none = h('p', { class: 'empty', hidden: true }, 'No open sessions.');
  #standing = new PageState('the installation', () => this.#load());
  #carriers;
  #nodes = new NodesPanel();
  #overview = new Overview();
  #crm = new ConnectCrm(() => void this.#load());
  #settings = new SettingsPanel();
  /** The section that the address names. It is scrolled to once it is there. */
  #section;
  #speech = h('section', { class: 'view', hidden: true });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #closed = false;
  #drawn = '';

  /**
   * @param {{ placeTestCall: (carrier?: string) => Promise<void> }} page
   * @param {string} [section]
   */
  constructor({ placeTestCall }, section) {
    this.#section = section;
    this.#carriers = new CarriersPanel(placeTestCall);
    this.element = h(
      'div',
      { class: 'view' },
      h('div', { class: 'heading' }, h('h1', {}, 'Installation')),
      this.#standing.element,
      this.#overview.element,
      this.#carriers.element,
      this.#crm.element,
      this.#cards,
      this.#nodes.element,
      this.#settings.element,
      this.#speech,
    );
    this.#speech.append(
      h('h2', { id: 'sessions-heading' }, 'Speech sessions'),
      h(
        'div',
        { class: 'wide', tabindex: '0', role: 'region', 'aria-labelledby': 'sessions-heading' },
        h(
          'table',
          {},
          h(
            'thead',
            {},
            h(
              'tr',
              {},
              ['Call', 'Leg', 'Audio', 'Session', 'State'].map((name) =>
                h('th', { scope: 'col' }, name),
              ),
            ),
          ),
          this.#sessions,
        ),
      ),
      this.#none,
    );
    void this.#load();
  }

  close() {
    this.#closed = true;
    this.#standing.close();
    this.#overview.close();
    clearTimeout(this.#timer);
  }

  /**
   * A link to a section of this view scrolls to it.
   * @param {string} hash
   */
  follow(hash) {
    const [, section] = /^#\/installation(?:\/(\w+))?$/.exec(hash) ?? [];
    if (section === undefined) return false;
    this.#section = section;
    this.#goToSection();
    return true;
  }

  #goToSection() {
    const { element } = this.#section === 'crm' ? this.#crm : this.#carriers;
    if (this.#section === undefined || element.hidden) return;
    this.#section = undefined;
    element.scrollIntoView({ block: 'start' });
    const first = element.querySelector('select, input, summary');
    if (first instanceof HTMLElement) first.focus({ preventScroll: true });
  }

  async #load() {
    clearTimeout(this.#timer);
    try {
      const [facts, carriers, endpoints, nodes, live, finishing] = await Promise.all([
        get('/api/installation'),
        get('/api/carriers'),
        get('/api/deliveries/endpoints'),
        get('/api/nodes'),
        get('/api/calls?state=live&limit=100'),
        get('/api/calls?state=finishing&limit=100'),
      ]);
      if (!this.#closed) {
        this.#draw(facts, [...live.items, ...finishing.items]);
        this.#overview.draw(facts, carriers.items, endpoints.items);
        this.#carriers.draw(carriers.items);
        this.#settings.draw(facts.settings);
        if (facts.roles.includes('bridge')) await this.#crm.load();
        this.#goToSection();
        this.#nodes.draw(nodes.items);
      }
    } catch (error) {
      this.#standing.failed(error);
    }
    clearTimeout(this.#timer);
    if (!this.#closed) this.#timer = setTimeout(() => void this.#next(), everyMs);
  }

  #next() {
    if (document.visibilityState === 'visible') return this.#load();
    this.#timer = setTimeout(() => void this.#next(), everyMs);
  }

  /**
   * @param {Installation} facts
   * @param {readonly CallItem[]} calls
   */
  #draw(facts, calls) {
    this.#standing.ready();
    this.#speech.hidden = false;
    const text = JSON.stringify([facts.health, facts.recogniser, facts.public_url]);
    // Cards are redrawn only if something in them changed, so that a reader keeps the place.
    if (text !== this.#drawn) {
      this.#drawn = text;
      this.#cards.replaceChildren(
        healthCard(facts.health),
        ...(facts.recogniser ? [recogniserCard(facts.recogniser)] : []),
        addressCard(facts.public_url, facts.roles),
        processCard(facts),
      );
    }
    const rows = calls.flatMap((call) => call.legs.map((leg) => sessionRow(call, leg)));
    this.#sessions.replaceChildren(...rows);
    this.#none.hidden = rows.length > 0;
  }
}

/**
 * @param {string} title
 * @param {...(Child | readonly Child[])} children
 */
function card(title, ...children) {
  return h('section', { class: 'panel', 'aria-label': title }, h('h2', {}, title), ...children);
}

/** @param {[string, ...Child[]][]} rows */
function list(rows) {
  return h(
    'dl',
    {},
    rows.map(([name, ...value]) => h('div', {}, h('dt', {}, name), h('dd', {}, ...value))),
  );
}

const healthNames = { ok: 'OK', degraded: 'Degraded', down: 'Down' };

/** @param {Installation['health']} health */
function healthCard(health) {
  return card(
    'Health',
    list(
      Object.entries(health).map(([name, { state, detail }]) => [
        titleOf(name),
        h('span', { class: 'state', dataset: { state } }, healthNames[state]),
        detail ? h('small', { class: 'quiet' }, detail) : '',
      ]),
    ),
  );
}

/** @param {NonNullable<Installation['recogniser']>} recogniser */
function recogniserCard({ state, detail, model, languages, streams, capacity }) {
  const meter = h('meter', {
    min: 0,
    max: Math.max(capacity, 1),
    value: streams,
    'aria-label': 'Streams in use',
  });
  return card(
    'Recogniser',
    list([
      [
        'State',
        h(
          'span',
          { class: 'state', dataset: { state: state === 'ready' ? 'ok' : 'degraded' } },
          recogniserStates[state],
        ),
      ],
      ['Model', model ?? 'none'],
      ['Languages', languages.length > 8 ? `${languages.length}` : languages.join(', ') || 'none'],
      ['Streams', `${streams} of ${capacity} `, meter],
    ]),
    detail ? h('p', { class: 'quiet' }, detail) : null,
  );
}

/**
 * @param {string} base
 * @param {readonly string[]} roles
 */
function addressCard(base, roles) {
  const sockets = base.replace(/^http/, 'ws');
  /** @type {([string, ...Child[]] | undefined)[]} */
  const rows = [
    roles.includes('bridge')
      ? ['Carriers', h('code', {}, `${sockets}/carriers/<name>`)]
      : undefined,
    roles.includes('speech') ? ['Speech API', h('code', {}, `${base}/v2/live`)] : undefined,
    ['API', h('a', { href: '/docs' }, 'Documentation')],
  ];
  return card('Addresses', list(rows.filter((one) => one !== undefined)));
}

/** @param {Installation} facts */
function processCard({ version, node, roles, started_at: started, memory_bytes: memory }) {
  return card(
    'Process',
    list([
      ['Version', `${version} on Node ${node.replace(/^v/, '')}`],
      ['Parts', roles.join(', ')],
      ['Running since', moment(started)],
      ['Memory', bytes(memory)],
    ]),
  );
}

/**
 * @param {CallItem} call
 * @param {CallItem['legs'][number]} leg
 */
function sessionRow(call, leg) {
  const seconds =
    leg.ledger.received /
    Math.max(1, leg.sample_rate * leg.channels * (/pcm/.test(leg.encoding) ? 2 : 1));
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, h('a', { href: `#/calls/${call.id}` }, parties(call))),
    h('td', {}, legNames[leg.role]),
    h('td', {}, `${leg.encoding} · ${clock(seconds)}`),
    h('td', {}, leg.session_id ? h('code', {}, leg.session_id.slice(0, 8)) : 'none yet'),
    h('td', {}, leg.state ?? call.state),
  );
}
