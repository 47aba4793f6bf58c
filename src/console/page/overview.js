import { post } from './api.js';
import { h, setText } from './dom.js';
import { standingOf } from './endpoint-health.js';
import { messageOf } from './failures.js';
import { languageName } from './format.js';
import { ModelOffers } from './model-offers.js';

/** @import { Child } from './dom.js' */
/** @import { ApiCarrier } from '../../protocol/api.ts' */
/** @import { ApiEndpoint, Installation } from './shapes.ts' */

/** @typedef {{ state: 'ok' | 'degraded' | 'down' | 'none', name: string, detail: Child, more?: Child }} Line */

/** The model is asked once, however often the view is opened: an answer may cost money. */
/** @type {Promise<ModelTrial> | undefined} */
let trial;
/** @typedef {{ state: Line['state'], text: string }} ModelTrial */

/** All that an installation can do in one look: what is on, what is missing, and the step to it. */
export class Overview {
  #lines = h('ul', { class: 'features', 'aria-label': 'On and missing' });
  /**
   * Only a process with a speech service has models.
   * @type {ModelOffers | undefined}
   */
  #models;
  #drawn = '';
  /** @type {ModelTrial | undefined} */
  #tried;
  /** @type {(() => void) | undefined} */
  #redraw;

  constructor() {
    this.element = h(
      'section',
      { class: 'panel overview', 'aria-labelledby': 'overview-heading', hidden: true },
      h('h2', { id: 'overview-heading' }, 'On and missing'),
      this.#lines,
    );
  }

  close() {
    this.#models?.close();
    this.#redraw = undefined;
  }

  /**
   * @param {Installation} facts
   * @param {readonly ApiCarrier[]} carriers
   * @param {readonly ApiEndpoint[]} endpoints
   */
  draw(facts, carriers, endpoints) {
    this.element.hidden = false;
    if (facts.recogniser !== null && this.#models === undefined) {
      this.#models = new ModelOffers(undefined, { isWhole: true });
      this.element.append(...this.#models.elements);
    }
    this.#redraw = () => this.draw(facts, carriers, endpoints);
    if (facts.features.some(({ name, on }) => name === 'Language model' && on)) this.#tryModel();
    const text = JSON.stringify([
      facts.features,
      facts.recogniser && { ...facts.recogniser, streams: 0 },
      carriers,
      endpoints,
      this.#tried,
    ]);
    if (text === this.#drawn) return;
    this.#drawn = text;
    this.#lines.replaceChildren(
      ...[
        ...recogniserLine(facts),
        carrierLine(carriers),
        ...endpointLines(endpoints),
        ...facts.features.map((feature) => this.#featureLine(feature)),
      ].map(lineElement),
    );
  }

  /**
   * @param {Installation['features'][number]} feature
   * @returns {Line}
   */
  #featureLine({ name, on, detail, setting }) {
    if (name === 'Language model' && on) return this.#modelLine(detail);
    const more = on || setting === null ? null : h('code', {}, setting);
    return { state: on ? 'ok' : 'none', name, detail, more };
  }

  /**
   * @param {string} model
   * @returns {Line}
   */
  #modelLine(model) {
    const { state, text } = this.#tried ?? {
      state: /** @type {const} */ ('none'),
      text: 'is asked …',
    };
    const again = h('button', { type: 'button' }, 'Try it');
    again.addEventListener('click', () => {
      trial = undefined;
      this.#tried = undefined;
      again.disabled = true;
      this.#redraw?.();
    });
    return {
      state,
      name: 'Language model',
      detail: `${model}: ${text}`,
      more: this.#tried === undefined ? null : again,
    };
  }

  #tryModel() {
    if (this.#tried !== undefined) return;
    trial ??= triedModel();
    void trial.then((tried) => {
      if (this.#tried !== undefined || this.#redraw === undefined) return;
      this.#tried = tried;
      this.#redraw();
    });
  }
}

/** @returns {Promise<ModelTrial>} */
async function triedModel() {
  try {
    const { tried } = await post('/api/language-model/trial');
    if (tried === null) return { state: 'none', text: 'is not configured' };
    if (tried.problem === undefined) return { state: 'ok', text: `answered in ${tried.ms} ms` };
    const todo = tried.todo === undefined ? '' : ` To do: ${tried.todo}.`;
    return { state: 'down', text: `${tried.problem}.${todo}` };
  } catch (error) {
    return { state: 'degraded', text: `could not be asked: ${messageOf(error)}` };
  }
}

/**
 * @param {Installation} facts
 * @returns {Line[]}
 */
function recogniserLine({ recogniser }) {
  if (recogniser === null) return [];
  const { state, detail, languages } = recogniser;
  const isReady = state === 'ready';
  const shown = languages.length > 6 ? languages.slice(0, 5) : languages;
  const more = languages.length - shown.length;
  const names = shown.map(languageName).join(', ');
  const spoken = more > 0 ? `${names} and ${more} more languages` : names;
  return [
    {
      state: isReady ? 'ok' : state === 'starting' ? 'degraded' : 'down',
      name: 'Speech recognition',
      detail: isReady ? `${spoken || 'no language'} · ${detail}` : detail,
    },
  ];
}

/**
 * @param {readonly ApiCarrier[]} carriers
 * @returns {Line}
 */
function carrierLine(carriers) {
  const connected = carriers.filter(({ set, last_stream_at: at }) => set.length > 0 || at !== null);
  if (connected.length === 0)
    return {
      state: 'none',
      name: 'Carriers',
      detail: 'No carrier is connected.',
      more: h('a', { href: '#/installation/carriers' }, 'Connect a carrier'),
    };
  return {
    state: 'ok',
    name: 'Carriers',
    detail: connected.map(({ title }) => title).join(', '),
    more: h('a', { href: '#/installation/carriers' }, 'Show'),
  };
}

/**
 * @param {readonly ApiEndpoint[]} endpoints
 * @returns {Line[]}
 */
function endpointLines(endpoints) {
  if (endpoints.length === 0)
    return [
      {
        state: 'none',
        name: 'CRM',
        detail: 'No CRM and no webhook is connected.',
        more: h('a', { href: '#/installation/crm' }, 'Connect a CRM'),
      },
    ];
  return endpoints.map((endpoint) => {
    const { state, word, why } = standingOf(endpoint);
    const isWell = state === 'ok' || state === 'none';
    return {
      state: state === 'none' ? 'ok' : /** @type {Line['state']} */ (state),
      name: endpoint.preset === null ? `Webhook ${endpoint.name}` : `CRM ${endpoint.name}`,
      detail: isWell ? word : `${word}. ${why}`,
      more: h('a', { href: `#/deliveries?endpoint=${encodeURIComponent(endpoint.name)}` }, 'Show'),
    };
  });
}

const marks = { ok: 'On', degraded: 'Look', down: 'Not well', none: 'Off' };

/** @param {Line} line */
function lineElement({ state, name, detail, more = null }) {
  return h(
    'li',
    {},
    h('span', { class: 'state', dataset: { state } }, marks[state]),
    h('strong', {}, name),
    h('span', { class: 'feature-detail' }, detail),
    h('span', { class: 'feature-more' }, more),
  );
}

/** The settings that somebody chose, each with its variable. */
export class SettingsPanel {
  #rows = h('tbody');
  #none = h('p', { class: 'empty', hidden: true }, 'Every setting has its default.');
  #drawn = '';

  constructor() {
    this.element = h(
      'section',
      { class: 'view', hidden: true, 'aria-labelledby': 'settings-heading' },
      h('h2', { id: 'settings-heading' }, 'Settings set by hand'),
      h(
        'div',
        { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Table of settings' },
        h(
          'table',
          { class: 'settings' },
          h(
            'thead',
            {},
            h(
              'tr',
              {},
              ['Variable', 'Value', 'From'].map((name) => h('th', { scope: 'col' }, name)),
            ),
          ),
          this.#rows,
        ),
      ),
      this.#none,
    );
  }

  /** @param {Installation['settings']} settings */
  draw(settings) {
    this.element.hidden = false;
    const text = JSON.stringify(settings);
    if (text === this.#drawn) return;
    this.#drawn = text;
    setText(this.#none, 'Every setting has its default.');
    this.#none.hidden = settings.length > 0;
    this.#rows.replaceChildren(
      ...settings.map(({ name, env, source, value, secret }) =>
        h(
          'tr',
          {},
          h('th', { scope: 'row' }, h('code', {}, env ?? name)),
          h('td', {}, secret ? h('span', { class: 'quiet' }, 'set, secret') : h('code', {}, value)),
          h('td', {}, source === 'file' ? `the file, as ${name}` : 'the environment'),
        ),
      ),
    );
  }
}
