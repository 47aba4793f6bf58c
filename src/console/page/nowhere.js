import { h } from './dom.js';

/** The view for an address that names no view, such as a link that was cut. */
export class NowhereView {
  title = 'Page not found';
  element = h(
    'div',
    { class: 'view' },
    h('h1', {}, 'Page not found'),
    h('p', {}, 'No page has this address. The link may have been cut on its way.'),
    h('p', {}, h('a', { href: '#/calls' }, 'Show the calls')),
  );
}
