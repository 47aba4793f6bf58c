import { erase, get, post, put } from './api.js';
import { copyText } from './clipboard.js';
import { h, setText } from './dom.js';
import { ApiError, messageOf } from './failures.js';
import { moment } from './format.js';
import { Sure } from './sure.js';

/** @import { ApiConnection, ApiCrmPreset } from './shapes.ts' */

/** @typedef {{ name: string, label: string, secret?: boolean, required?: boolean }} ProofField */

/**
 * The proofs for a CRM that takes no plain token, each with the fields that a person fills in.
 * @type {Record<string, { title: string, fields: ProofField[] }>}
 */
const proofs = {
  client_credentials: {
    title: 'Client credentials',
    fields: [
      { name: 'clientId', label: 'Client ID', required: true },
      { name: 'clientSecret', label: 'Client secret', secret: true, required: true },
      { name: 'scope', label: 'Scope' },
      { name: 'tokenUrl', label: 'Address of tokens' },
    ],
  },
  oauth_refresh: {
    title: 'Refresh token (OAuth)',
    fields: [
      { name: 'clientId', label: 'Client ID', required: true },
      { name: 'clientSecret', label: 'Client secret', secret: true, required: true },
      { name: 'refreshToken', label: 'Refresh token', secret: true, required: true },
      { name: 'tokenUrl', label: 'Address of tokens' },
    ],
  },
};
/** The choice that stands for an address of one's own, which gets signed events. */
const webhook = 'webhook';

/** Connects a CRM or a webhook without a restart: choose, fill in, try, connect. */
export class ConnectCrm {
  #items = h('ul', { class: 'connections', 'aria-label': 'Connected here' });
  #choice = h('select', { id: 'crm-choice' }, h('option', { value: '' }, 'Choose …'));
  #form = h('form', { class: 'panel connect-form', hidden: true, 'aria-label': 'Connection' });
  #told = h('div', { role: 'status' });
  /** @type {ApiCrmPreset[]} */
  #presets = [];
  #drawn = '';
  #isLoaded = false;
  #onChange;

  /** @param {() => void} onChange Called when something was connected or removed. */
  constructor(onChange) {
    this.#onChange = onChange;
    this.#choice.addEventListener('change', () => this.#choose(this.#choice.value));
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#connect();
    });
    this.element = h(
      'section',
      { class: 'view', hidden: true, 'aria-labelledby': 'crm-heading' },
      h('h2', { id: 'crm-heading' }, 'CRM and webhooks'),
      this.#items,
      h(
        'div',
        { class: 'field carrier-choice' },
        h('label', { for: 'crm-choice' }, 'Connect a CRM or a webhook'),
        this.#choice,
      ),
      this.#form,
      this.#told,
    );
  }

  /** Only a process with a bridge has connections. */
  async load() {
    try {
      if (!this.#isLoaded) {
        const { items } = await get('/api/crm-presets');
        this.#isLoaded = true;
        this.#presets = items;
        this.#choice.append(
          ...items.map(({ name, title }) => h('option', { value: name }, title)),
          h('option', { value: webhook }, 'A webhook: signed events to an address of yours'),
        );
      }
      const { items } = await get('/api/connections');
      this.element.hidden = false;
      this.#draw(items);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return;
      setText(this.#told, `Could not read the connections: ${messageOf(error)}`);
    }
  }

  /** @param {readonly ApiConnection[]} items */
  #draw(items) {
    const text = JSON.stringify(items);
    if (text === this.#drawn) return;
    this.#drawn = text;
    this.#items.hidden = items.length === 0;
    this.#items.replaceChildren(...items.map((item) => this.#itemOf(item)));
  }

  /** @param {ApiConnection} item */
  #itemOf({ name, preset, host, changed_at: at, state, detail }) {
    const title = this.#presets.find((one) => one.name === preset)?.title ?? preset ?? 'Webhook';
    const button = h('button', { type: 'button' }, `Disconnect ${name}`);
    const sure = new Sure(button, {
      question: `Nothing more is sent to ${name}. Sure?`,
      yes: 'Disconnect',
      no: 'Keep it',
      run: () => void this.#remove(name),
    });
    const words = {
      connected: `connected ${moment(at)}`,
      shadowed: 'not used',
      unreadable: 'not usable',
    };
    return h(
      'li',
      { class: 'panel' },
      h(
        'p',
        {},
        h('strong', {}, name),
        ' ',
        h('span', { class: 'quiet' }, `${title} · ${host} · ${words[state]}`),
      ),
      detail !== null && h('p', { class: 'blocked' }, detail),
      h('div', { class: 'actions' }, button, sure.element),
    );
  }

  /** @param {string} name */
  #choose(name) {
    this.#told.replaceChildren();
    this.#form.hidden = name === '';
    const preset = this.#presets.find((one) => one.name === name);
    const buttons = h(
      'div',
      { class: 'actions' },
      h('button', { type: 'button', onclick: () => void this.#try() }, 'Try it'),
      h('button', { type: 'submit', class: 'primary' }, 'Connect'),
    );
    const fields = preset === undefined ? webhookFields() : presetFields(preset);
    this.#form.replaceChildren(...fields, buttons);
    const first = this.#form.querySelector('input, select');
    if (first instanceof HTMLElement) first.focus();
  }

  /** The name and the fields of an endpoint, as the API takes them. */
  #setting() {
    const data = new FormData(this.#form);
    /** @param {string} name */
    const text = (name) => String(data.get(name) ?? '').trim();
    /** @type {Record<string, string>} */
    const options = {};
    /** @type {Record<string, string>} */
    const auth = {};
    for (const [name, value] of data) {
      if (String(value).trim() === '') continue;
      if (name.startsWith('option:')) options[name.slice('option:'.length)] = String(value).trim();
      if (name.startsWith('auth:')) auth[name.slice('auth:'.length)] = String(value).trim();
    }
    const isWebhook = this.#choice.value === webhook;
    return {
      name: text('name'),
      setting: {
        ...(isWebhook ? { events: text('events') } : { preset: this.#choice.value }),
        ...(text('url') === '' ? {} : { url: text('url') }),
        ...(text('token') === '' ? {} : { token: text('token') }),
        ...(Object.keys(options).length === 0 ? {} : { options }),
        ...(Object.keys(auth).length === 0 ? {} : { auth }),
      },
    };
  }

  /** @param {boolean} [withSetup] Makes the field for the id of a call at the CRM first. */
  async #try(withSetup = false) {
    if (!this.#form.reportValidity()) return;
    await this.#busy('Trying …', async () => {
      const { ok, lines } = await post(
        /** @type {'/api/connections/trial'} */ (
          `/api/connections/trial${withSetup ? '?setup=true' : ''}`
        ),
        this.#setting().setting,
      );
      const preset = this.#presets.find((one) => one.name === this.#choice.value);
      this.#told.replaceChildren(
        h('p', {}, ok ? 'Everything is in place. You can connect it.' : 'Something is missing:'),
        h(
          'ul',
          { class: 'trial', 'aria-label': 'Result' },
          lines.map(({ ok: isWell, text }) =>
            h(
              'li',
              {},
              h(
                'span',
                { class: 'state', dataset: { state: isWell ? 'ok' : 'failed' } },
                isWell ? 'OK' : 'No',
              ),
              ' ',
              text,
            ),
          ),
        ),
        ...(ok || withSetup || !preset?.has_setup
          ? []
          : [
              h(
                'button',
                { type: 'button', onclick: () => void this.#try(true) },
                `Make what is missing at ${preset.title}, and try again`,
              ),
            ]),
      );
    });
  }

  async #connect() {
    const { name, setting } = this.#setting();
    await this.#busy('Connecting …', async () => {
      const path = /** @type {const} */ (`/api/connections/${encodeURIComponent(name)}`);
      const { secret } = await put(path, setting);
      this.#form.hidden = true;
      this.#choice.value = '';
      this.#told.replaceChildren(
        h('p', {}, `${name} is connected. It gets each call from now on.`),
        ...(secret === undefined ? [] : [secretElement(secret)]),
      );
      this.#form.replaceChildren();
      await this.load();
      this.#onChange();
    });
  }

  /** @param {string} name */
  async #remove(name) {
    await this.#busy('Disconnecting …', async () => {
      await erase(`/api/connections/${encodeURIComponent(name)}`);
      this.#told.replaceChildren(h('p', {}, `${name} is disconnected.`));
      await this.load();
      this.#onChange();
    });
  }

  /**
   * @param {string} words
   * @param {() => Promise<void>} run
   */
  async #busy(words, run) {
    const buttons = this.#form.querySelectorAll('button');
    for (const button of buttons) button.disabled = true;
    this.#told.replaceChildren(h('p', { class: 'quiet' }, words));
    try {
      await run();
    } catch (error) {
      this.#told.replaceChildren(
        h('p', { class: 'error' }, `That did not work: ${messageOf(error)}`),
      );
    }
    for (const button of buttons) button.disabled = false;
  }
}

/** @param {string} secret */
function secretElement(secret) {
  const said = h('span', { class: 'quiet', role: 'status' });
  const copy = () =>
    copyText(secret).then(
      () => setText(said, 'Copied.'),
      (error) => setText(said, `Could not copy: ${messageOf(error)}`),
    );
  return h(
    'p',
    {},
    'Its events are signed with this secret, which is shown this once: ',
    h('code', {}, secret),
    ' ',
    h('button', { type: 'button', onclick: () => void copy() }, 'Copy'),
    ' ',
    said,
  );
}

function webhookFields() {
  return [
    field('name', 'Name', { value: 'hook', required: true, pattern: '[a-z0-9][a-z0-9_\\-]{0,63}' }),
    field('url', 'Address', { type: 'url', required: true, placeholder: 'https://…' }),
    choiceField('events', 'Events', [
      ['completed', 'One event for each call, at its end'],
      ['live', 'Everything that is told during a call'],
      ['all', 'All events'],
    ]),
  ];
}

/** @param {string} value */
function choiceWord(value) {
  return { true: 'Yes', false: 'No' }[value] ?? value;
}

/** @param {ApiCrmPreset} preset */
function presetFields({ title, needs, needs_token: isToken, needs_url: isUrl, options }) {
  return [
    h('h3', {}, title),
    h(
      'ul',
      { class: 'needs' },
      needs.map((need) => h('li', {}, need)),
    ),
    field('name', 'Name', { value: 'crm', required: true, pattern: '[a-z0-9][a-z0-9_\\-]{0,63}' }),
    ...(isToken
      ? [field('token', 'Token or key', { type: 'password', required: true })]
      : [proofFields()]),
    field('url', isUrl ? 'Address of its API' : 'Address of its API, if it is not the usual one', {
      type: 'url',
      required: isUrl,
      placeholder: 'https://…',
    }),
    ...options.map(({ name, description, required, default: usual, values }) =>
      values === null
        ? field(`option:${name}`, description, { required, placeholder: usual ?? '' })
        : choiceField(`option:${name}`, description, [
            ...(required
              ? []
              : /** @type {[string, string][]} */ ([['', choiceWord(usual ?? 'not set')]])),
            ...values
              .filter((one) => one !== usual)
              .map((one) => /** @type {[string, string]} */ ([one, choiceWord(one)])),
          ]),
    ),
  ];
}

function proofFields() {
  const [first = ''] = Object.keys(proofs);
  const kind = choiceField(
    'auth:kind',
    'Proof',
    Object.entries(proofs).map(([name, { title }]) => [name, title]),
  );
  const fields = h('div', { class: 'proof' });
  /** @param {string} name */
  const show = (name) => {
    fields.replaceChildren(
      ...(proofs[name]?.fields ?? []).map(({ name: one, label, secret, required }) =>
        field(`auth:${one}`, label, { type: secret ? 'password' : 'text', required }),
      ),
    );
  };
  const select = kind.querySelector('select');
  select?.addEventListener('change', () => show(select.value));
  show(first);
  return h('div', { class: 'proof' }, kind, fields);
}

/**
 * @param {string} name
 * @param {string} label
 * @param {Record<string, string | boolean | undefined>} props
 */
function field(name, label, props) {
  const id = `connect-${name.replace(/\W/g, '-')}`;
  const input = h('input', { id, name, autocomplete: 'off', type: 'text', ...props });
  return h('div', { class: 'field' }, h('label', { for: id }, label), input);
}

/**
 * @param {string} name
 * @param {string} label
 * @param {[string, string][]} options
 */
function choiceField(name, label, options) {
  const id = `connect-${name.replace(/\W/g, '-')}`;
  const made = options.map(([value, text]) => h('option', { value }, text));
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    h('select', { id, name }, made),
  );
}
