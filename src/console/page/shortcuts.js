import { choice, choose } from './choices.js';
import { h } from './dom.js';

/** @import { Shortcut } from './shapes.ts' */

/** Elements that handle keys themselves. */
const typing = 'input, textarea, select, audio, [contenteditable]';
const pressing = 'button, a, summary, [role=button]';

/**
 * The page's keyboard shortcuts. Each is `{ key, shown, name, run }`, and `run` returns false if the key has no meaning
 * at the moment. `ofView` returns those of the open view. They can be switched off, because dictation may type letters
 * by accident.
 */
export class Shortcuts {
  #ofView;
  /** @type {Shortcut[]} */
  #general = [
    { key: '?', name: 'Show these shortcuts', run: () => this.show() },
    { key: '/', name: 'Search', run: focusSearch },
  ];

  /** @param {() => readonly Shortcut[]} ofView */
  constructor(ofView) {
    this.#ofView = ofView;
    document.addEventListener('keydown', (event) => this.#take(event));
  }

  /** @param {KeyboardEvent} event */
  #take(event) {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    if (event.defaultPrevented || ctrlKey || metaKey || altKey) return;
    if (choice('shortcuts') === 'off' && key !== '?') return;
    if (!(target instanceof Element)) return;
    if (target.closest(typing) || document.querySelector('dialog[open]')) return;
    if ((key === ' ' || key === 'Enter') && target.closest(pressing)) return;
    const known = [...this.#general, ...this.#ofView()].find(
      (one) => one.key === key.toLowerCase(),
    );
    if (known && known.run() !== false) event.preventDefault();
  }

  show() {
    const isOn = h('input', { type: 'checkbox', checked: choice('shortcuts') !== 'off' });
    isOn.addEventListener('change', () => choose('shortcuts', isOn.checked ? '' : 'off'));
    const close = h('button', { type: 'button', class: 'primary' }, 'Close');
    const dialog = h(
      'dialog',
      { class: 'panel', 'aria-labelledby': 'shortcuts-heading' },
      h('h2', { id: 'shortcuts-heading' }, 'Keyboard shortcuts'),
      list('Anywhere', this.#general),
      list('On this page', this.#ofView()),
      h('p', {}, h('label', {}, isOn, ' Use these keys')),
      h('p', {}, close),
    );
    close.addEventListener('click', () => dialog.close());
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }
}

/**
 * @param {string} title
 * @param {readonly Shortcut[]} shortcuts
 */
function list(title, shortcuts) {
  if (shortcuts.length === 0) return null;
  return h(
    'section',
    {},
    h('h3', {}, title),
    h(
      'dl',
      {},
      shortcuts.map(({ key, shown = key.toUpperCase(), name }) =>
        h('div', {}, h('dt', {}, name), h('dd', {}, h('kbd', {}, shown))),
      ),
    ),
  );
}

function focusSearch() {
  const field = document.querySelector('main input[type=search]');
  if (!(field instanceof HTMLElement)) return false;
  field.focus();
  return true;
}
