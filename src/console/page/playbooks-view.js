import { deletePlaybook, get, preview, putPlaybook } from './api.js';
import { h, setText } from './dom.js';
import { isStatus, messageOf } from './failures.js';
import { PageState } from './page-state.js';
import { playbookHits } from './playbook-hits.js';
import { Sure } from './sure.js';
import { YamlEditor } from './yaml-editor.js';

/** @import { PlaybookFileList } from './shapes.ts' */

/** The server tries no longer text while somebody types. */
const mostTried = 131_072;
/** Typing rests this long before the text is checked and tried. */
const restMs = 500;
/** So many rules are named before a playbook goes. */
const mostNamed = 8;
const newName = 'new.yaml';
const newText = `id: my-playbook
status: draft
rules:
  - id: asks-for-refund
    title: Asks for a refund
    when: { phrase: { role: customer, any: [my money back, want a refund] } }
    then: [{ hint: { title: Offer the refund form } }]
`;

/**
 * Texts that were changed and not saved, by the name of their file: a look at a call and back loses nothing.
 * @type {Map<string, { text: string, digest: string | null, name: string }>}
 */
const drafts = new Map();
export const hasDrafts = () => drafts.size > 0;

/** The playbooks of the installation, and an editor that says what a text would do. */
export class PlaybooksView {
  title = 'Playbooks';
  #state = new PageState('the playbooks', () => this.#load());
  #files = h('select', { id: 'playbook-file' });
  #name = h('input', { id: 'playbook-name', maxlength: '100', autocomplete: 'off' });
  #editor = new YamlEditor('Text of the playbook', () => this.#typed());
  #save = h('button', { type: 'button', class: 'primary' }, 'Save');
  #again = h('button', { type: 'button', hidden: true }, 'Read it again');
  #sure = new Sure(this.#again, { question: 'Your changes are lost.', yes: 'Read it again', no: 'Keep my text', run: () => void this.#readAgain() }); // prettier-ignore
  #delete = h('button', { type: 'button', hidden: true }, 'Delete');
  #whatGoes = h('p', { class: 'what-goes' });
  #sureToDelete = new Sure(this.#delete, { question: 'Delete this playbook?', yes: 'Delete it', no: 'Keep it', run: () => void this.#deleteNow() }); // prettier-ignore
  #said = h('p', { class: 'told', role: 'status' });
  #problem = h('p', { class: 'error', role: 'alert' });
  #place = h('p', { class: 'quiet' });
  #trying = h('p', { class: 'quiet', role: 'status' });
  #hits = h('div', { class: 'playbook-hits' });
  #work = h('div', { class: 'playbook-work', hidden: true });
  /** @type {PlaybookFileList['files']} */
  #list = [];
  #chosen = '';
  /** The digest of the text that the editor began with. Null: the file does not exist yet. @type {string | null} */
  #digest = null;
  #isClosed = false;
  /** Nothing can be written where the playbooks are. */
  #isReadOnly = false;
  /** @type {AbortController | undefined} */
  #asking;
  #timer = 0;
  element;

  constructor() {
    this.#files.addEventListener('change', () => void this.#open(this.#files.value));
    this.#save.addEventListener('click', () => void this.#saveNow());
    this.#name.addEventListener('input', () => this.#keepDraft());
    this.#delete.addEventListener('click', () => this.#askToDelete());
    this.#sureToDelete.element.prepend(this.#whatGoes);
    this.#work.append(
      h('div', { class: 'filter-line' }, h('div', { class: 'field' }, h('label', { for: 'playbook-file' }, 'Playbook'), this.#files), h('div', { class: 'field' }, h('label', { for: 'playbook-name' }, 'File'), this.#name)), // prettier-ignore
      this.#editor.element,
      h('div', { class: 'actions' }, this.#save, this.#again, this.#delete, this.#sure.element),
      this.#sureToDelete.element,
      ...[this.#said, this.#problem, this.#place],
      h('section', { 'aria-label': 'Hits on past calls' }, h('h2', {}, 'On past calls'), this.#trying, this.#hits), // prettier-ignore
    );
    this.element = h('div', { class: 'view playbooks-view' }, h('h1', {}, 'Playbooks'), this.#state.element, this.#work); // prettier-ignore
    void this.#load();
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#state.close();
  }

  async #load() {
    try {
      const [list, schema] = await Promise.all([
        get('/api/assist/files'),
        get('/api/assist/schema'),
      ]);
      if (this.#isClosed) return;
      this.#editor.schema = schema;
      this.#showList(list);
      this.#work.hidden = false;
      this.#state.ready();
      if (this.#chosen === '') await this.#open(drafts.keys().next().value ?? this.#list[0]?.name ?? newName); // prettier-ignore
    } catch (error) {
      this.#state.failed(error);
    }
  }

  /** @param {PlaybookFileList} list */
  #showList({ files, folder, closed }) {
    this.#list = files;
    this.#files.replaceChildren(
      ...files.map(({ name, id, status, starter, mistakes }) => {
        const told = mistakes.length > 0 ? 'has mistakes' : [id, status, starter ? 'comes with Trunkline' : ''].filter(Boolean).join(', '); // prettier-ignore
        return h('option', { value: name }, `${name} (${told})`);
      }),
      h('option', { value: newName }, 'A new playbook'),
    );
    this.#files.value = this.#chosen || this.#files.value;
    this.#isReadOnly = closed !== null;
    this.#save.disabled = this.#isReadOnly;
    setText(this.#place, closed ?? `Save writes into ${folder} of the node that answers this page. Calls that begin there use it at once; other nodes that read the same folder follow within ten seconds.`); // prettier-ignore
  }

  /** @param {string} name */
  async #open(name) {
    this.#chosen = name;
    this.#files.value = name;
    this.#told({});
    const draft = drafts.get(name);
    if (draft !== undefined) return this.#show(draft);
    if (name === newName && !this.#list.some((one) => one.name === newName))
      return this.#show({ name: '', text: newText, digest: null });
    try {
      const { text, digest, starter } = await get(`/api/assist/files/${name}`);
      if (this.#chosen === name) this.#show({ name, text, digest: starter ? null : digest });
    } catch (error) {
      this.#told({ problem: `Could not read ${name}: ${messageOf(error)}` });
    }
  }

  /** @param {{ name: string, text: string, digest: string | null }} file */
  #show({ name, text, digest }) {
    this.#digest = digest;
    this.#name.value = name;
    // A file keeps its name: a save under another one would leave two of the same playbook.
    this.#name.readOnly = digest !== null;
    this.#delete.hidden = digest === null || this.#isReadOnly;
    this.#editor.text = text;
    this.#editor.showMistakes([]);
    this.#hits.replaceChildren();
    this.#wait(0);
  }

  #typed() {
    this.#told({});
    this.#keepDraft();
    this.#wait(restMs);
  }

  #keepDraft() {
    drafts.set(this.#chosen, { name: this.#name.value, text: this.#editor.text, digest: this.#digest }); // prettier-ignore
  }

  /** @param {number} ms */
  #wait(ms) {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#timer = setTimeout(() => void this.#try(), ms);
  }

  async #try() {
    if (this.#editor.text.length > mostTried) {
      setText(this.#trying, 'A text of more than 128 KiB is checked when it is saved, not while you type.'); // prettier-ignore
      return;
    }
    const asking = new AbortController();
    this.#asking = asking;
    setText(this.#trying, 'Trying it on past calls …');
    try {
      const { mistakes, trial } = await preview({ playbook: this.#editor.text }, asking.signal);
      if (asking.signal.aborted) return;
      this.#editor.showMistakes(mistakes);
      if (trial === null)
        setText(this.#trying, 'The text has mistakes. Below is what it did before.');
      else {
        const { told, element } = playbookHits(trial);
        setText(this.#trying, told);
        this.#hits.replaceChildren(element);
      }
    } catch (error) {
      if (asking.signal.aborted) return;
      const isElsewhere = isStatus(error, 409);
      setText(this.#trying, isElsewhere ? 'You try a playbook in another window too.' : `Could not try it: ${messageOf(error)}`); // prettier-ignore
    }
  }

  async #saveNow() {
    const name = this.#name.value.trim();
    const { text } = this.#editor;
    if (name === '') {
      this.#told({ problem: 'Give the file a name, such as shop.yaml.' });
      this.#name.focus();
      return;
    }
    this.#save.disabled = true;
    try {
      const { file, mistakes } = await putPlaybook(`/api/assist/files/${encodeURIComponent(name)}`, { text, digest: this.#digest }); // prettier-ignore
      this.#editor.showMistakes(mistakes);
      if (file === null) this.#told({ problem: 'Not saved: the text has mistakes.' });
      else await this.#saved(name, file.digest, text);
    } catch (error) {
      this.#told({ problem: messageOf(error), isOld: isStatus(error, 409) });
    } finally {
      this.#save.disabled = false;
    }
  }

  #askToDelete() {
    const rules = this.#list.find(({ name }) => name === this.#chosen)?.rules ?? [];
    const named = rules.length > mostNamed ? [...rules.slice(0, mostNamed), `${rules.length - mostNamed} more`] : rules; // prettier-ignore
    const what = rules.length === 0 ? 'It has no rules that are in use.' : `Calls that begin from then on do without ${rules.length === 1 ? 'its rule' : `its ${rules.length} rules`}: ${named.join('; ')}.`; // prettier-ignore
    setText(this.#whatGoes, `${this.#chosen} goes from the disk. ${what}`);
  }

  async #deleteNow() {
    const name = this.#chosen;
    try {
      const { back } = await deletePlaybook(`/api/assist/files/${encodeURIComponent(name)}?digest=${encodeURIComponent(this.#digest ?? '')}`); // prettier-ignore
      drafts.delete(name);
      this.#chosen = '';
      this.#showList(await get('/api/assist/files'));
      await this.#open(back ?? this.#list[0]?.name ?? newName);
      this.#told({ said: `${name} is deleted.${back === null ? '' : ` ${back}, which comes with Trunkline, is in use again.`}` }); // prettier-ignore
      this.#files.focus();
    } catch (error) {
      this.#told({ problem: messageOf(error), isOld: isStatus(error, 409) });
    }
  }

  /**
   * @param {string} name
   * @param {string} digest
   * @param {string} text
   */
  async #saved(name, digest, text) {
    drafts.delete(this.#chosen);
    this.#chosen = name;
    this.#digest = digest;
    this.#name.readOnly = true;
    this.#delete.hidden = false;
    // Somebody may have typed on meanwhile.
    if (this.#editor.text !== text) this.#keepDraft();
    this.#showList(await get('/api/assist/files'));
    this.#told({ said: `Saved as ${name}. Calls that begin from now on use it.` });
  }

  async #readAgain() {
    drafts.delete(this.#chosen);
    this.#sure.ask(false);
    await this.#load();
    await this.#open(this.#chosen);
  }

  /** @param {{ said?: string, problem?: string, isOld?: boolean }} told */
  #told({ said = '', problem = '', isOld = false }) {
    setText(this.#said, said);
    setText(this.#problem, problem);
    this.#again.hidden = !isOld;
    this.#sure.element.hidden = true;
    this.#sureToDelete.element.hidden = true;
    this.#delete.hidden = this.#digest === null || this.#isReadOnly;
  }
}
