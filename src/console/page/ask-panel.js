import { get } from './api.js';
import { articleLink } from './article.js';
import { h, setText } from './dom.js';
import { messageOf } from './failures.js';

/** @import { KnowledgeFound } from './shapes.ts' */

/** A field in which an agent asks the articles, and the passages that answer. */
export class AskPanel {
  #id;
  #field = h('input', { type: 'search', maxlength: '300', autocomplete: 'off' });
  #said = h('p', { class: 'quiet', role: 'status' });
  #found = h('div', { class: 'hints' });
  #asking = 0;
  element = h(
    'section',
    { class: 'panel ask', 'aria-labelledby': 'panel-ask' },
    h('h2', { id: 'panel-ask' }, 'Articles'),
    h(
      'form',
      {
        class: 'ask-form',
        role: 'search',
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          void this.#ask();
        },
      },
      h('label', {}, h('span', { class: 'unseen' }, 'Ask the articles'), this.#field),
      h('button', { type: 'submit' }, 'Ask'),
    ),
    this.#said,
    this.#found,
  );

  /** @param {string} id */
  constructor(id) {
    this.#id = id;
    this.#field.placeholder = 'Ask the articles';
  }

  focus() {
    this.#field.focus();
  }

  async #ask() {
    const question = this.#field.value.trim();
    if (question === '') return;
    const asking = ++this.#asking;
    setText(this.#said, 'Looking …');
    try {
      const path = /** @type {const} */ (`/api/calls/${this.#id}/knowledge?q=${encodeURIComponent(question)}`); // prettier-ignore
      const found = await get(path);
      if (asking === this.#asking) this.#draw(found);
    } catch (error) {
      if (asking === this.#asking) setText(this.#said, `Could not ask: ${messageOf(error)}`);
    }
  }

  /** @param {KnowledgeFound} found */
  #draw({ items }) {
    const sure = items.filter((item) => item.sure);
    setText(
      this.#said,
      items.length === 0
        ? 'No article has these words.'
        : sure.length === 0
          ? 'No article answers that for sure. These come nearest.'
          : '',
    );
    this.#found.replaceChildren(...items.map((item) => card(item)));
  }
}

/** @param {KnowledgeFound['items'][number]} item */
function card({ id, title, heading, text, say, url }) {
  return h(
    'article',
    { class: 'hint' },
    h('h3', {}, title),
    say ? h('p', { class: 'say' }, `“${say}”`) : null,
    h('p', {}, heading === '' ? text : `${heading}: ${text}`),
    articleLink({ title: 'The whole article', url: url ?? `/api/knowledge/articles/${id}` }),
  );
}
