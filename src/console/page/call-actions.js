import { erase, getText } from './api.js';
import { copyText, saveFile } from './clipboard.js';
import { h, setText, tryAction } from './dom.js';
import { clock, personName } from './format.js';
import { menu } from './menu.js';
import { Sure } from './sure.js';
import { transcriptFormats } from './transcript-formats.js';

/** @import { ApiCall, SpokenEntry } from './shapes.ts' */

/** The buttons for a whole call: copy it, save it, share a link to this second, erase it. */
export class CallActions {
  #id;
  #placeOf;
  #utterancesOf;
  #said = h('span', { class: 'quiet', role: 'status' });
  #problem = h('span', { class: 'error', role: 'alert' });
  #eraseButton = h(
    'button',
    { type: 'button', hidden: true, 'data-needs': 'calls.erase' },
    'Erase',
  );
  #linksButton = h(
    'button',
    { type: 'button', hidden: true, 'data-needs': 'calls.erase' },
    'Close its links',
  );
  #menu;
  #sure;
  #linksSure;
  /** The buttons. The result of a press and the question before an erasure appear below them. */
  elements;

  /**
   * @param {string} id
   * @param {{ placeOf: () => number, utterancesOf: () => readonly SpokenEntry[], onErased: (text: string) => void }} call
   */
  constructor(id, { placeOf, utterancesOf, onErased }) {
    this.#id = id;
    this.#placeOf = placeOf;
    this.#utterancesOf = utterancesOf;
    /** @param {string} name @param {() => void} run */
    const button = (name, run) => h('button', { type: 'button', onclick: run }, name);
    this.#menu = this.#downloads();
    this.#sure = new Sure(this.#eraseButton, {
      question:
        'Erase this call with its recording, words and events? What a CRM has of it stays there, unless its endpoint is set to delete it (on_erase).',
      ...{ yes: 'Erase for good', no: 'Keep it' },
      run: () => void this.#do(() => this.#erase(onErased)),
    });
    this.#linksSure = new Sure(this.#linksButton, {
      question:
        'Close every link of this call that the CRM and others have? Only a sign-in opens it then.',
      ...{ yes: 'Close them for good', no: 'Keep them' },
      run: () => void this.#do(() => this.#closeLinks()),
    });
    this.elements = [
      h(
        'div',
        { class: 'actions', role: 'group', 'aria-label': 'This call' },
        button('Copy link', () => void this.copyLink()),
        button('Copy transcript', () => void this.copyWords()),
        this.#menu,
        this.#linksButton,
        this.#eraseButton,
      ),
      this.#linksSure.element,
      this.#sure.element,
      h('p', { class: 'told' }, this.#said, this.#problem),
    ];
  }

  /**
   * A live call cannot be erased: the rest of it has not been said yet.
   * @param {Pick<ApiCall, 'state'>} call
   */
  draw({ state }) {
    this.#eraseButton.hidden = state === 'live' || !this.#sure.element.hidden;
    // The links are told when a call has ended.
    this.#linksButton.hidden = state !== 'ended' || !this.#linksSure.element.hidden;
  }

  copyLink() {
    const at = Math.floor(this.#placeOf() * 10) / 10;
    const address = `${location.origin}/#/calls/${this.#id}${at > 0 ? `?t=${at}` : ''}`;
    const where = at > 0 ? ` It opens the call at ${clock(at)}.` : '';
    return this.#do(async () => {
      await copyText(address);
      setText(this.#said, `Link copied.${where}`);
    });
  }

  copyWords() {
    return this.#do(async () => {
      const lines = this.#utterancesOf().map(
        (entry) => `${clock(entry.start)} ${entry.name ?? personName(entry)}: ${entry.text}\n`,
      );
      if (lines.length === 0) throw new Error('there are no words to copy');
      await copyText(lines.join(''));
      setText(this.#said, 'Transcript copied.');
    });
  }

  #downloads() {
    return menu(
      'Download',
      transcriptFormats.map(([format, name, type]) =>
        h('button', { type: 'button', onclick: () => void this.#save(format, type) }, name),
      ),
    );
  }

  /**
   * @param {string} format
   * @param {string} type
   */
  #save(format, type) {
    this.#menu.open = false;
    const name = `${this.#id}.${format}`;
    return this.#do(async () => {
      const text = await getText(`/api/calls/${this.#id}/transcript?format=${format}`);
      saveFile({ name, type, text });
      setText(this.#said, `Saved as ${name}.`);
    });
  }

  async #closeLinks() {
    await erase(`/api/calls/${this.#id}/links`);
    this.#linksSure.ask(false);
    setText(this.#said, 'Its links are closed. They no longer open the call.');
  }

  /** @param {(text: string) => void} onErased */
  async #erase(onErased) {
    const answer = await erase(`/api/calls/${this.#id}`);
    onErased(
      answer?.status === 'pending'
        ? 'This call was erased. Its last traces leave the log of the database when other readers are done.'
        : 'This call was erased.',
    );
  }

  /** @param {() => Promise<void>} run */
  #do(run) {
    return tryAction({ said: this.#said, problem: this.#problem }, run);
  }
}
