import { get, post } from './api.js';
import { h, setText } from './dom.js';
import { ApiError, messageOf } from './failures.js';
import { languageName, percent } from './format.js';

/** @import { ApiModel } from './shapes.ts' */

const everyMs = { installing: 700, calm: 10_000 };

/** Models that a feature needs and that are not installed here, each with the button that installs it. */
export class ModelOffers {
  element = h('ul', { class: 'offers', 'aria-label': 'Models to install', hidden: true });
  /** @type {ApiModel[]} */
  items = [];
  /** Resolves when it is known which models are installed, or that this process does not say. */
  known;
  #problem = h('p', { class: 'error', role: 'alert' });
  #onChange;
  #isWhole;
  /** @type {Map<string, Offer>} */
  #offers = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #closed = false;

  /**
   * `isWhole` lists installed models too.
   * @param {() => void} [onChange]
   * @param {{ isWhole?: boolean }} [options]
   */
  constructor(onChange = () => undefined, { isWhole = false } = {}) {
    this.#onChange = onChange;
    this.#isWhole = isWhole;
    if (isWhole) this.element.setAttribute('aria-label', 'Models');
    this.elements = [this.element, this.#problem];
    this.known = this.#load();
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /**
   * A model that is not spoken of is not missed: another service may hear the recordings.
   * @param {string} name
   */
  lacks(name) {
    return this.items.some((one) => one.name === name && one.state !== 'installed');
  }

  async #load() {
    clearTimeout(this.#timer);
    try {
      const { items } = await get('/api/models');
      if (!this.#closed) this.#draw(items);
    } catch (error) {
      // A process without a speech service has no such list.
      if (error instanceof ApiError && error.status === 404) return;
    }
    if (this.#closed) return;
    const isBusy = this.items.some(({ state }) => state === 'installing');
    this.#timer = setTimeout(() => void this.#load(), isBusy ? everyMs.installing : everyMs.calm);
  }

  /** @param {ApiModel[]} items */
  #draw(items) {
    this.items = items;
    for (const item of items) {
      const offer =
        this.#offers.get(item.name) ?? new Offer((name) => this.#install(name), this.#isWhole);
      if (!this.#offers.has(item.name)) {
        this.#offers.set(item.name, offer);
        this.element.append(offer.element);
      }
      offer.draw(item);
    }
    const isShown = this.#isWhole || items.some(({ state }) => state !== 'installed');
    this.element.hidden = items.length === 0 || !isShown;
    this.#onChange();
  }

  /** @param {string} name */
  async #install(name) {
    setText(this.#problem, '');
    try {
      await post(`/api/models/${encodeURIComponent(name)}/install`);
    } catch (error) {
      setText(this.#problem, `Could not install ${name}: ${messageOf(error)}`);
    }
    await this.#load();
  }
}

class Offer {
  #bar = h('progress', { max: '1' });
  #told = h('span', { class: 'quiet', role: 'status' });
  #name = h('strong');
  #gain = h('span');
  #cost = h('span', { class: 'quiet' });
  #count = h('summary');
  #names = h('p', { class: 'quiet' });
  #languages = h('details', { class: 'heard-languages' }, this.#count, this.#names);
  #button = h('button', { type: 'button' });
  #shown = '';
  #isWhole;

  /**
   * @param {(name: string) => Promise<void>} install
   * @param {boolean} isWhole
   */
  constructor(install, isWhole) {
    this.#isWhole = isWhole;
    this.#button.addEventListener('click', () => {
      this.#button.disabled = true;
      void install(this.#shown);
    });
    this.element = h(
      'li',
      {},
      h('span', { class: 'offered' }, this.#name, this.#gain, this.#cost),
      this.#languages,
      this.#bar,
      this.#told,
      this.#button,
    );
  }

  /** @param {ApiModel} model */
  draw({ name, gain, cost = '', languages = [], megabytes, state, share, detail }) {
    this.#shown = name;
    const isInstalled = state === 'installed';
    this.element.hidden = isInstalled && !this.#isWhole;
    setText(this.#name, name);
    setText(this.#gain, gain);
    setText(this.#cost, this.#isWhole ? cost : '');
    this.#languages.hidden = languages.length === 0 || !this.#isWhole;
    setText(this.#count, `${languages.length} languages`);
    setText(this.#names, languages.map(languageName).sort().join(', '));
    this.#bar.setAttribute('aria-label', `Installing ${name}`);
    this.#bar.hidden = state !== 'installing';
    this.#bar.value = share ?? 0;
    const told = isInstalled ? 'Installed' : (detail ?? '');
    setText(this.#told, state === 'installing' ? percent(share ?? 0) : told);
    this.#told.classList.toggle('error', state === 'failed');
    this.#button.hidden = state === 'installing' || state === 'installed';
    this.#button.disabled = false;
    const verb = state === 'failed' ? 'Try again' : 'Install';
    setText(this.#button, `${verb}, ${megabytes} MB`);
    this.#button.setAttribute('aria-label', `${verb}, ${megabytes} MB: ${name}`);
  }
}
