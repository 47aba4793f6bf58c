import { h, setText } from './dom.js';
import { isStatus, isUnanswered, messageOf } from './failures.js';
import { timeOfDay } from './format.js';

/** The connection to Trunkline. Every request and the feed report to it, and every view reads it. */
class Connection {
  /**
   * The time since which nothing answers. Undefined while something does.
   * @type {Date | undefined}
   */
  lostAt;
  /** @type {Set<() => void>} */
  #watchers = new Set();

  lost() {
    if (this.lostAt !== undefined) return;
    this.lostAt = new Date();
    this.#tell();
  }

  back() {
    if (this.lostAt === undefined) return;
    this.lostAt = undefined;
    this.#tell();
  }

  /**
   * Calls the watcher after each change, until the returned function is called.
   * @param {() => void} watcher
   */
  watch(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  #tell() {
    for (const watcher of [...this.#watchers]) watcher();
  }
}

export const connection = new Connection();

/** A text that says since when Trunkline has not answered, and that the page keeps trying. '' while it answers. */
export function awayText() {
  if (connection.lostAt === undefined) return '';
  return `No connection to Trunkline since ${timeOfDay(connection.lostAt)}, trying again …`;
}

/**
 * A placeholder that explains why something is missing: it is being loaded, there is none, nothing answers, or the
 * answer was an error. `what` names the thing ('the words'). `reload` loads it again, from the button of an error or
 * when the connection is back.
 */
export class PageState {
  #what;
  #known = 'loading';
  #told = '';
  #text = h('span');
  #again;
  #unwatch;
  element;

  /**
   * @param {string} what
   * @param {() => unknown} [reload]
   */
  constructor(what, reload) {
    this.#what = what;
    this.#again = h('button', { type: 'button', hidden: true }, 'Try again');
    this.#again.addEventListener('click', () => this.#reload(reload));
    this.element = h('p', { class: 'empty page-state', role: 'status' }, this.#text, this.#again);
    let isAway = connection.lostAt !== undefined;
    this.#unwatch = connection.watch(() => {
      const isBack = isAway && connection.lostAt === undefined;
      isAway = connection.lostAt !== undefined;
      if (isBack) this.#reload(reload);
      else this.#draw();
    });
    this.#draw();
  }

  close() {
    this.#unwatch();
  }

  /** Loading has succeeded. `empty` is the text if there is nothing to see, otherwise ''. */
  ready(empty = '') {
    this.#set(empty === '' ? 'full' : 'empty', empty);
  }

  /**
   * Loading has failed. If there was no answer at all, the connection shows that.
   * @param {unknown} error
   */
  failed(error) {
    if (isUnanswered(error)) this.#draw();
    // Trying again would not help.
    else if (isStatus(error, 403))
      this.#set('refused', `You may not see ${this.#what}. Ask an administrator for the right.`);
    else this.#set('error', `Could not read ${this.#what}: ${messageOf(error)}`);
  }

  /** @param {(() => unknown) | undefined} reload */
  #reload(reload) {
    // Rows on the page stay. Only the text about them is no longer known.
    if (this.#known !== 'full') this.#set('loading', '');
    void reload?.();
  }

  /**
   * @param {string} known
   * @param {string} told
   */
  #set(known, told) {
    this.#known = known;
    this.#told = told;
    this.#draw();
  }

  #draw() {
    const isAway = connection.lostAt !== undefined && this.#known !== 'full';
    const state = isAway ? 'away' : this.#known;
    if (isAway) setText(this.#text, awayText());
    else setText(this.#text, state === 'loading' ? `Loading ${this.#what} …` : this.#told);
    this.element.dataset.state = state;
    this.element.hidden = state === 'full';
    this.#again.hidden = state !== 'error';
  }
}
