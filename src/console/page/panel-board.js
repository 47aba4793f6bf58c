import { get } from './api.js';
import { BoardView } from './board-view.js';
import { h, setText } from './dom.js';
import { messageOf } from './failures.js';
import { PanelCall } from './panel-call.js';
import { TokenFeed } from './token-feed.js';

/** The board in a supervisor's desktop, and one call of it at a time. The address after the # says which. */
export class PanelBoard {
  #main;
  #onRefused;
  /** @type {BoardView | undefined} */
  #board;
  /** @type {PanelCall | undefined} */
  #call;
  #problem = h('p', { class: 'error', role: 'alert' });
  #asked = 0;

  /**
   * @param {HTMLElement} main
   * @param {(status: number) => void} onRefused
   */
  constructor(main, onRefused) {
    this.#main = main;
    this.#onRefused = onRefused;
    main.classList.add('is-watching');
    if (!/^#\/(?:board|calls)/.test(location.hash)) history.replaceState(null, '', '#/board');
    this.follow();
  }

  get shortcuts() {
    return this.#board?.shortcuts ?? this.#call?.shortcuts ?? [];
  }

  close() {
    this.#asked++;
    this.#closeViews();
    this.#main.classList.remove('is-watching');
    this.#main.replaceChildren();
  }

  follow() {
    const id = /^#\/calls\/([\w-]+)/.exec(location.hash)?.[1];
    if (id !== undefined) void this.#open(id);
    else if (this.#board?.follow(location.hash) !== true) this.#showBoard();
  }

  #showBoard() {
    this.#asked++;
    this.#closeViews();
    this.#board = new BoardView((told) => new TokenFeed('/api/board/live', told, this.#onRefused));
    this.#main.replaceChildren(this.#problem, this.#board.element);
    this.#main.focus({ preventScroll: true });
  }

  /** @param {string} id */
  async #open(id) {
    const asked = ++this.#asked;
    setText(this.#problem, '');
    try {
      const call = await get(`/api/calls/${id}`);
      if (asked !== this.#asked) return;
      this.#closeViews();
      this.#call = new PanelCall(call);
      const back = h('a', { href: '#/board', class: 'back' }, 'All calls');
      this.#main.replaceChildren(back, this.#problem, this.#call.element);
      this.#call.focus();
    } catch (error) {
      if (asked !== this.#asked) return;
      setText(this.#problem, `Could not open the call: ${messageOf(error)}`);
      if (this.#board === undefined) this.#showBoard();
    }
  }

  #closeViews() {
    this.#board?.close();
    this.#call?.close();
    this.#board = undefined;
    this.#call = undefined;
  }
}
