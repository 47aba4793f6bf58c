import { h } from './dom.js';

/** @import { Child } from './dom.js' */

/**
 * A button that opens a small panel. A click elsewhere or Escape closes it.
 * @param {string} name
 * @param {...(Child | readonly Child[])} children
 */
export function menu(name, ...children) {
  const summary = h('summary', {}, name);
  const panel = h('div', { class: 'panel' }, ...children);
  const element = h('details', { class: 'menu' }, summary, panel);
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !element.open) return;
    element.open = false;
    summary.focus();
  });
  element.addEventListener('focusout', ({ relatedTarget }) => {
    if (relatedTarget instanceof Node && !element.contains(relatedTarget)) element.open = false;
  });
  /** @param {MouseEvent} event */
  const away = ({ target }) => {
    if (target instanceof Node && !element.contains(target)) element.open = false;
  };
  // The event `toggle` would be too late: a frame may have been painted with the panel outside the window.
  new MutationObserver(() => {
    document.removeEventListener('click', away);
    if (!element.open) return;
    // The panel opens to the side with room, since a menu may stand at either edge of a narrow window.
    panel.classList.remove('to-right');
    panel.classList.toggle('to-right', panel.getBoundingClientRect().left < 0);
    document.addEventListener('click', away);
  }).observe(element, { attributeFilter: ['open'] });
  return element;
}
