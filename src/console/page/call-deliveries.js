import { get } from './api.js';
import { h, setText } from './dom.js';
import { deliveryStates } from './deliveries-view.js';

const settleMs = 700;
const everyMs = 5_000;

/** Where this call's events stand on their way to the CRM. */
export function callDeliveries(callId) {
  const counts = h('dl', {});
  const problem = h('p', { class: 'error' });
  const none = h('p', { class: 'quiet' }, 'No webhook is configured.');
  const link = h('p', {}, h('a', { href: '#/deliveries' }, 'All deliveries'));
  let asked;
  let closed = false;

  async function load() {
    clearTimeout(asked);
    asked = undefined;
    const query = new URLSearchParams({ call_id: callId, limit: '200' });
    const page = await get(`/api/deliveries?${query}`).catch(() => undefined);
    if (closed) return;
    if (page) draw(page.items);
    // A delivery settles without an event of the call, so it is asked for now and then.
    const open = page?.items.some(({ state }) => state === 'pending') ?? true;
    asked = setTimeout(load, open ? everyMs : everyMs * 6);
  }

  function draw(items) {
    none.hidden = items.length > 0;
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
    const parked = items.find(({ state, reason }) => state === 'parked' && reason);
    setText(problem, parked ? `${parked.endpoint}: ${parked.reason}` : '');
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
      none,
      link,
    ),
    /** A new event is on its way: look once it has had time to arrive. */
    changed() {
      clearTimeout(asked);
      asked = setTimeout(load, settleMs);
    },
    close() {
      closed = true;
      clearTimeout(asked);
    },
  };
}
