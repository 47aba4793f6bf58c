import { get, useToken } from './api.js';
import { h, setText } from './dom.js';
import { isStatus, messageOf } from './failures.js';
import { awayText, connection } from './page-state.js';
import { PanelCall } from './panel-call.js';
import { Shortcuts } from './shortcuts.js';
import { PanelBoard } from './panel-board.js';
import { TokenFeed } from './token-feed.js';

/** @import { BookedCall, PanelHolder, PanelMessage } from './shapes.ts' */

/*
 * The panel in an agent's desktop. Its token comes behind the # of the address, or from the page around the frame. It
 * stays in memory: no cookie and no storage is used.
 */

const main = /** @type {HTMLElement} */ (document.querySelector('main'));
const status = /** @type {HTMLElement} */ (document.querySelector('#panel-status'));
const who = /** @type {HTMLElement} */ (document.querySelector('#panel-who'));
const tabs = /** @type {HTMLElement} */ (document.querySelector('#panel-calls'));
const origins = (
  document.querySelector('meta[name=trunkline-origins]')?.getAttribute('content') ?? ''
).split(' ');

/** @type {TokenFeed<PanelMessage> | undefined} */
let feed;
/** A supervisor has the board in place of own calls. @type {PanelBoard | undefined} */
let board;
/** @type {Map<string, { call: BookedCall, view: PanelCall }>} */
const calls = new Map();
/** @type {string | undefined} */
let shownId;
/** The page around the frame that handed the token over. Only that page is told of calls. */
let desktop = '';
window.addEventListener('hashchange', () => board?.follow());

new Shortcuts(
  () =>
    board?.shortcuts ?? (shownId === undefined ? [] : (calls.get(shownId)?.view.shortcuts ?? [])),
);
connection.watch(() => setText(status, awayText()));

window.addEventListener('message', ({ origin, source, data }) => {
  if (source !== window.parent || source === window) return;
  if (origin !== location.origin && !origins.includes(origin)) return;
  if (typeof data !== 'object' || data === null || data.type !== 'trunkline.token') return;
  if (typeof data.token !== 'string') return;
  desktop = origin;
  void start(data.token);
});

const given = new URLSearchParams(location.hash.slice(1)).get('t');
// The token leaves the address at once, so that no copied address and no history has it.
if (given) {
  history.replaceState(null, '', location.pathname);
  const around = location.ancestorOrigins?.[0] ?? '';
  if (origins.includes(around) || around === location.origin) desktop = around;
  void start(given);
} else {
  setText(status, 'Waiting for your desktop to open the panel.');
}
// Nothing secret: the page around the frame answers with a token.
if (window.parent !== window) window.parent.postMessage({ type: 'trunkline.ready' }, '*');

/** @param {string} token */
async function start(token) {
  useToken(token);
  feed?.close();
  board?.close();
  board = undefined;
  try {
    const holder = await get('/api/panel/me');
    setText(who, nameOf(holder));
    setText(status, '');
    if (holder.scope === 'supervisor') {
      board = new PanelBoard(main, refused);
      return;
    }
    feed = new TokenFeed('/api/panel/live', take, refused);
    drawCalls();
  } catch (error) {
    if (isStatus(error, 401)) refused(401);
    else setText(status, `Could not open the panel: ${messageOf(error)}`);
  }
}

/** @param {PanelHolder} holder */
function nameOf({ agent, scope, teams }) {
  if (agent) return agent.name ?? agent.id;
  const of = teams === null ? '' : ` · ${teams.join(', ')}`;
  return { agent: '', call: 'One call', supervisor: 'Supervisor', qa: 'Quality' }[scope] + of;
}

/** @param {number} code */
function refused(code) {
  setText(
    status,
    code === 401
      ? 'Your time here is over. Open the panel again from your desktop.'
      : 'This token opens no panel of an agent.',
  );
  if (code === 401) tell({ type: 'trunkline.expired' });
}

/** @param {PanelMessage} message */
function take(message) {
  if (message.type === 'call') return takeCall(message.call);
  if (message.type === 'gone') return drop(message.call_id);
  for (const id of calls.keys())
    if (!message.call_ids.includes(id) && calls.get(id)?.view.isOver === false) drop(id);
  drawCalls();
}

/** @param {BookedCall} call */
function takeCall(call) {
  const known = calls.get(call.id);
  if (known) {
    known.call = call;
    known.view.draw(call);
  } else {
    // A call that is over is no reason to leave the one on the screen.
    if (call.state !== 'live' && calls.size > 0) return;
    dropEnded();
    calls.set(call.id, { call, view: new PanelCall(call) });
    show(call.id);
    setText(status, `Call ${call.from ? `from ${call.from}` : 'began'}`);
    const { id: call_id, from, to, direction, custom_metadata } = call;
    tell({ type: 'trunkline.call', call_id, from, to, direction, custom_metadata });
  }
  drawCalls();
}

/** The record of an ended call stays on the screen until the next call begins. */
function dropEnded() {
  for (const [id, { view }] of calls) if (view.isOver) drop(id);
}

/** @param {string} id */
function drop(id) {
  const known = calls.get(id);
  if (!known) return;
  known.view.close();
  calls.delete(id);
  if (shownId === id) {
    shownId = undefined;
    const next = [...calls.keys()].at(-1);
    if (next !== undefined) show(next);
    else main.replaceChildren();
    setText(status, 'The call is with somebody else now, or was erased.');
  }
  drawCalls();
}

/** @param {string} id */
function show(id) {
  const known = calls.get(id);
  if (!known) return;
  shownId = id;
  main.replaceChildren(known.view.element);
  drawCalls();
}

function drawCalls() {
  tabs.hidden = calls.size < 2;
  tabs.replaceChildren(
    ...[...calls].map(([id, { call }]) =>
      h(
        'button',
        { type: 'button', 'aria-pressed': String(id === shownId), onclick: () => show(id) },
        call.from ?? call.carrier,
      ),
    ),
  );
  if (calls.size === 0 && main.childElementCount === 0)
    main.replaceChildren(h('p', { class: 'empty' }, 'No call now. Your next call shows up here.'));
}

/** @param {{ type: string, [key: string]: unknown }} message */
function tell(message) {
  if (desktop !== '' && window.parent !== window) window.parent.postMessage(message, desktop);
}
