import { h } from './dom.js';

/** @import { ApiNode } from '../../protocol/api.ts' */

const states = { here: 'Here', draining: 'Stopping', left: 'Stopped', lost: 'Lost' };
const lights = { here: 'ok', draining: 'degraded', left: 'degraded', lost: 'down' };

/** The processes that share the database. Hidden if there is only one. */
export class NodesPanel {
  #rows = h('tbody');

  constructor() {
    this.element = h(
      'div',
      { class: 'view nodes', hidden: true },
      h('h2', { id: 'nodes-heading' }, 'Nodes'),
      h(
        'div',
        { class: 'wide', tabindex: '0', role: 'region', 'aria-labelledby': 'nodes-heading' },
        h(
          'table',
          {},
          h(
            'thead',
            {},
            h(
              'tr',
              {},
              [
                'Node',
                'State',
                'Legs',
                'Speech channels',
                'Runs',
                'Version',
                'Last sign of life',
              ].map((name) => h('th', { scope: 'col' }, name)),
            ),
          ),
          this.#rows,
        ),
      ),
      h(
        'p',
        { class: 'quiet' },
        'The calls of a lost node go on at the others. A node that starts again on its own disk comes back.',
      ),
    );
  }

  /** @param {readonly ApiNode[]} items */
  draw(items) {
    this.element.hidden = items.length < 2;
    this.#rows.replaceChildren(...items.map(nodeRow));
  }
}

/** @param {ApiNode} node */
function nodeRow(node) {
  const { id, self, state, legs, capacity, speech, roles, version } = node;
  const { silent_seconds: silent } = node;
  return h(
    'tr',
    {},
    h('td', { title: id }, id.slice(0, 8), self ? ' (this one)' : ''),
    h('td', {}, h('span', { class: 'state', dataset: { state: lights[state] } }, states[state])),
    h('td', {}, roles.includes('bridge') ? `${legs} of ${capacity}` : ''),
    h('td', {}, speech === null ? '' : `${speech.used} of ${speech.capacity}`),
    h('td', {}, roles.join(', ')),
    h('td', {}, version),
    h('td', {}, silent < 1 ? 'Now' : `${Math.round(silent)} s ago`),
  );
}
