import { post } from './api.js';
import { h, setText } from './dom.js';
import { isStatus, messageOf } from './failures.js';

/** Asks for the API key once. Only a cookie that no script can read is kept. */
export class SignInView {
  title = 'Sign in';

  /** @param {() => void} onSignedIn */
  constructor(onSignedIn) {
    const key = h('input', {
      ...{ id: 'key', name: 'key', type: 'password', required: true },
      ...{ autocomplete: 'off', spellcheck: 'false', 'aria-describedby': 'key-help key-error' },
    });
    const error = h('p', { id: 'key-error', class: 'error', role: 'alert' });
    const button = h('button', { type: 'submit', class: 'primary' }, 'Sign in');
    const form = h(
      'form',
      { class: 'sign-in' },
      h('h1', {}, 'Sign in'),
      h('label', { for: 'key' }, 'API key'),
      key,
      h(
        'p',
        { id: 'key-help', class: 'quiet' },
        'One of TRUNKLINE_API_KEYS. It is not stored in the browser.',
      ),
      error,
      button,
    );
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      button.disabled = true;
      setText(error, '');
      try {
        await post('/api/session', { key: key.value });
        key.value = '';
        onSignedIn();
      } catch (failure) {
        setText(error, isStatus(failure, 401) ? 'This API key is not valid.' : messageOf(failure));
        button.disabled = false;
        key.focus();
        key.select();
      }
    });
    this.element = form;
    requestAnimationFrame(() => key.focus());
  }
}
