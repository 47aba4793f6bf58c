import { h, setText } from './dom.js';
import { messageOf } from './failures.js';

/**
 * The button for a call without a phone. It shows that the call is starting, or what went wrong.
 * @param {() => Promise<void>} placeTestCall
 */
export function testCallButton(placeTestCall, label = 'Place a test call') {
  const status = h('span', { class: 'error', role: 'alert' });
  const button = h('button', { type: 'button', class: 'primary' }, label);
  button.addEventListener('click', async () => {
    button.disabled = true;
    setText(button, 'Placing the test call …');
    setText(status, '');
    try {
      await placeTestCall();
    } catch (error) {
      setText(status, messageOf(error));
    }
    setText(button, label);
    button.disabled = false;
  });
  return h('div', { class: 'actions', 'data-needs': 'calls.test' }, status, button);
}
