import { get, post } from './api.js';
import { h, setText } from './dom.js';
import { ApiError, messageOf } from './failures.js';
import { percent } from './format.js';

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
  /** @type {Map<string, Offer>} */
  #offers = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #closed = false;

  /** @param {() => void} [onChange] */
  constructor(onChange = () => undefined) {
    this.#onChange = onChange;
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
      const offer = this.#offers.get(item.name) ?? new Offer((name) => this.#install(name));
      if (!this.#offers.has(item.name)) {
        this.#offers.set(item.name, offer);
        this.element.append(offer.element);
      }
      offer.draw(item);
    }
    this.element.hidden = items.every(({ state }) => state === 'installed');
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
  #button = h('button', { type: 'button' });
  #shown = '';

  /** @param {(name: string) => Promise<void>} install */
  constructor(install) {
    this.#button.addEventListener('click', () => {
      this.#button.disabled = true;
      void install(this.#shown);
    });
    this.element = h(
      'li',
      {},
      h('span', { class: 'offered' }, this.#name, this.#gain),
      this.#bar,
      this.#told,
      this.#button,
    );
  }

  /** @param {ApiModel} model */
  draw({ name, gain, megabytes, state, share, detail }) {
    this.#shown = name;
    this.element.hidden = state === 'installed';
    setText(this.#name, name);
    setText(this.#gain, gain);
    this.#bar.setAttribute('aria-label', `Installing ${name}`);
    this.#bar.hidden = state !== 'installing';
    this.#bar.value = share ?? 0;
    setText(this.#told, state === 'installing' ? percent(share ?? 0) : (detail ?? ''));
    this.#told.classList.toggle('error', state === 'failed');
    this.#button.hidden = state === 'installing' || state === 'installed';
    this.#button.disabled = false;
    const verb = state === 'failed' ? 'Try again' : 'Install';
    setText(this.#button, `${verb}, ${megabytes} MB`);
    this.#button.setAttribute('aria-label', `${verb}, ${megabytes} MB: ${name}`);
  }
}
