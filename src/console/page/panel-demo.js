import { get, post, putAgent } from './api.js';
import { setText } from './dom.js';
import { isStatus, messageOf } from './failures.js';

/* A page that shows how a desktop uses the panel. It acts as a desktop's own server and page would. */

const agent = 'demo';
/** A test call that did not begin after this many seconds has failed. */
const triesForCall = 30;
const frame = /** @type {HTMLIFrameElement} */ (document.querySelector('#trunkline'));
const said = /** @type {HTMLElement} */ (document.querySelector('#demo-said'));
const told = /** @type {HTMLElement} */ (document.querySelector('#demo-told'));

window.addEventListener('message', ({ origin, source, data }) => {
  if (origin !== location.origin || source !== frame.contentWindow) return;
  if (data.type === 'trunkline.ready' || data.type === 'trunkline.expired') void handOver();
  if (data.type === 'trunkline.call') setText(told, JSON.stringify(data, null, 2));
});
// Only now, so that the first word of the panel is heard.
frame.src = '/panel';

document.querySelector('#demo-call')?.addEventListener('click', () => void placeCall());

/** In your desktop, your server asks for the token with its key. */
async function handOver() {
  try {
    const { token } = await post('/api/panel/tokens', { scope: 'agent', agent, life_s: 3_600 });
    frame.contentWindow?.postMessage({ type: 'trunkline.token', token }, location.origin);
  } catch (error) {
    setText(said, whyNoToken(error));
  }
}

/** @param {unknown} error */
function whyNoToken(error) {
  if (isStatus(error, 401)) return 'Sign in on the main page first, then load this page again.';
  if (isStatus(error, 403))
    return 'You may not make a token for a panel. Ask an administrator for the right.';
  return `Could not make a token: ${messageOf(error)}`;
}

/**
 * The id of a call that had not begun when it was placed.
 * @param {string} carrierCallId
 */
async function idOf(carrierCallId) {
  for (let tries = 0; tries < triesForCall; tries++) {
    const { items } = await get(`/api/calls?carrier_call_id=${encodeURIComponent(carrierCallId)}`);
    if (items[0]) return items[0].id;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  throw new Error('it did not begin');
}

async function placeCall() {
  try {
    const placed = await post('/api/test-call', {});
    const id = placed.call_id ?? (await idOf(placed.carrier_call_id));
    await putAgent(`/api/calls/${id}/agent`, { id: agent });
    setText(said, 'The test call goes on for a minute.');
  } catch (error) {
    setText(said, `Could not place the call: ${messageOf(error)}`);
  }
}
