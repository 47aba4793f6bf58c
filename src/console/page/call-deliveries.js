import { get } from './api.js';
import { h, setText } from './dom.js';
import { deliveryStates } from './delivery-words.js';
import { PageState } from './page-state.js';

/** @import { ApiDelivery } from './shapes.ts' */

/**
 * @param {ApiDelivery} delivery
 * @param {readonly ApiDelivery[]} stuck
 */
function told({ endpoint, type, sequence, reason, attempts }, stuck) {
  const behind = stuck.filter((one) => one.endpoint === endpoint && one.sequence > sequence).length;
  const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
  return `${endpoint}: ${type} #${sequence} is not delivered (${tries}): ${reason}.${behind > 0 ? ` ${behind} waiting behind it.` : ''}`;
}

const settleMs = 700;
const everyMs = 5_000;

/**
 * Tells why nothing is being delivered. There are two possible reasons, and one of them is a missing setting.
 * @param {PageState} standing
 */
async function sayWhyNone(standing) {
  try {
    const { items } = await get('/api/deliveries/endpoints');
    standing.ready(
      items.length === 0
        ? 'No webhook is configured.'
        : 'No event of this call goes to an endpoint.',
    );
  } catch (error) {
    standing.failed(error);
  }
}

/**
 * The panel with the delivery of this call's events to the CRM.
 * @param {string} callId
 */
export function callDeliveries(callId) {
  const counts = h('dl', {});
  const problem = h('p', { class: 'error' });
  const standing = new PageState('the deliveries', load);
  const link = h('p', { hidden: true }, h('a', { href: '#/deliveries' }, 'All deliveries'));
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let asked;
  let closed = false;

  async function load() {
    clearTimeout(asked);
    asked = undefined;
    const query = new URLSearchParams({ call_id: callId, limit: '200' });
    const page = await get(`/api/deliveries?${query}`).catch((error) => standing.failed(error));
    if (closed) return;
    if (page) await draw(page.items);
    // A delivery may finish without an event of the call, so its state is requested from time to time.
    const open = page?.items.some(({ state }) => state === 'pending') ?? true;
    clearTimeout(asked);
    asked = setTimeout(load, open ? everyMs : everyMs * 6);
  }

  /** @param {readonly ApiDelivery[]} items */
  async function draw(items) {
    if (items.length > 0) standing.ready();
    else await sayWhyNone(standing);
    link.hidden = items.length === 0;
    const states = Map.groupBy(items, ({ state }) => state);
    const rows = [...states].map(([state, list]) =>
      h(
        'div',
        {},
        h('dt', {}, deliveryStates[state] ?? state),
        h('dd', { dataset: { state } }, String(list.length)),
      ),
    );
    counts.replaceChildren(...rows);
    // The earliest undelivered event holds up all later ones.
    const stuck = items
      .filter(({ state }) => state === 'pending' || state === 'parked')
      .sort((a, b) => a.sequence - b.sequence);
    const blocking = stuck.find(({ reason }) => reason);
    setText(problem, blocking ? told(blocking, stuck) : '');
  }

  const heading = h('h2', { id: 'panel-deliveries' }, 'To the CRM');
  void load();
  return {
    element: h(
      'section',
      { class: 'panel', 'aria-labelledby': 'panel-deliveries' },
      heading,
      counts,
      problem,
      standing.element,
      link,
    ),
    /** A new event is being delivered. The state is requested once it has had time to arrive. */
    changed() {
      clearTimeout(asked);
      asked = setTimeout(load, settleMs);
    },
    close() {
      closed = true;
      standing.close();
      clearTimeout(asked);
    },
  };
}
