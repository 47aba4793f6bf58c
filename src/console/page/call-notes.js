import { patch } from './api.js';
import { h, setText } from './dom.js';
import { messageOf } from './failures.js';

/** @import { ApiCall } from './shapes.ts' */

const maxTags = 50;
const maxTagLength = 100;
const maxNotesLength = 20_000;

/**
 * Notes and tags that people write about a call. They are saved when the field is left, and text that is being edited
 * is never overwritten.
 */
export class NotesPanel {
  #id;
  #notes = h('textarea', { id: 'notes', rows: 3, maxlength: maxNotesLength });
  #tags = h('ul', { class: 'tags', 'aria-label': 'Tags' });
  #newTag = h('input', {
    ...{ id: 'new-tag', maxlength: maxTagLength, autocomplete: 'off', spellcheck: 'false' },
  });
  #save = h('button', { type: 'button', hidden: true }, 'Save notes');
  #said = h('p', { class: 'quiet', role: 'status' });
  #problem = h('p', { class: 'error', role: 'alert' });
  /** @type {{ notes: string, tags: string[] }} */
  #known = { notes: '', tags: [] };
  /**
   * Notes that are being saved. A press of the button also leaves the field, which would save them a second time.
   * @type {string | undefined}
   */
  #sending;
  element;

  /** @param {string} id */
  constructor(id) {
    this.#id = id;
    this.#notes.addEventListener('input', () => this.#drawSave());
    this.#notes.addEventListener('change', () => void this.#keepNotes());
    this.#save.addEventListener('click', () => void this.#keepNotes());
    const add = h('button', { type: 'submit' }, 'Add');
    const form = h('form', { class: 'new-tag' }, this.#newTag, add);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#addTag(this.#newTag.value.trim());
    });
    this.element = h(
      'section',
      { class: 'panel notes', 'aria-labelledby': 'panel-notes' },
      h('h2', { id: 'panel-notes' }, 'Notes and tags'),
      h('label', { for: 'notes' }, 'Notes'),
      this.#notes,
      this.#save,
      h('label', { for: 'new-tag' }, 'Add a tag'),
      form,
      this.#tags,
      this.#said,
      this.#problem,
    );
  }

  /** Unsaved words are saved when the view closes. */
  close() {
    void this.#keepNotes();
  }

  /** @param {Pick<ApiCall, 'notes' | 'tags'>} call */
  draw(call) {
    const isWritten = this.#isChanged();
    this.#known = { notes: call.notes ?? '', tags: call.tags ?? [] };
    if (!isWritten) this.#notes.value = this.#known.notes;
    this.#drawSave();
    this.#drawTags();
  }

  #isChanged() {
    return this.#notes.value !== this.#known.notes;
  }

  #drawSave() {
    this.#save.hidden = !this.#isChanged();
  }

  #drawTags() {
    const drawn = JSON.stringify(this.#known.tags);
    if (this.#tags.dataset.drawn === drawn) return;
    this.#tags.dataset.drawn = drawn;
    this.#tags.replaceChildren(
      ...this.#known.tags.map((tag) => {
        const remove = h('button', { type: 'button', 'aria-label': `Remove tag ${tag}` }, '×');
        remove.addEventListener('click', () => {
          void this.#keep({ tags: this.#known.tags.filter((one) => one !== tag) }, 'Tag removed.');
          this.#newTag.focus();
        });
        return h('li', {}, h('span', {}, tag), remove);
      }),
    );
  }

  /** @param {string} tag */
  async #addTag(tag) {
    const { tags } = this.#known;
    if (tag === '') return;
    if (tags.length >= maxTags)
      return setText(this.#problem, `A call has at most ${maxTags} tags.`);
    const isKept = tags.includes(tag) || (await this.#keep({ tags: [...tags, tag] }, 'Tag added.'));
    if (isKept && this.#newTag.value.trim() === tag) this.#newTag.value = '';
  }

  async #keepNotes() {
    const notes = this.#notes.value;
    if (!this.#isChanged() || this.#sending === notes) return;
    this.#sending = notes;
    await this.#keep({ notes }, 'Notes saved.');
    this.#sending = undefined;
  }

  /**
   * @param {{ notes?: string, tags?: string[] }} change
   * @param {string} said
   */
  async #keep(change, said) {
    setText(this.#said, '');
    setText(this.#problem, '');
    try {
      this.draw(await patch(`/api/calls/${this.#id}`, change));
      setText(this.#said, said);
      return true;
    } catch (error) {
      setText(this.#problem, `Could not save: ${messageOf(error)}`);
      return false;
    }
  }
}
