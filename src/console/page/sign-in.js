import { post } from './api.js';
import { h, setText } from './dom.js';
import { isStatus, messageOf } from './failures.js';

/** @import { SignInState } from './shapes.ts' */

/** Asks for a name and a password, or for the API key. Only a cookie that no script can read is kept. */
export class SignInView {
  title = 'Sign in';

  /**
   * @param {() => void} onSignedIn
   * @param {Pick<SignInState, 'by_password'>} session
   */
  constructor(onSignedIn, session) {
    const forms = session.by_password
      ? [withPassword(onSignedIn), otherWay(withKey(onSignedIn))]
      : [withKey(onSignedIn)];
    this.element = h('div', { class: 'sign-in' }, h('h1', {}, 'Sign in'), forms);
    requestAnimationFrame(() => this.element.querySelector('input')?.focus());
  }
}

/** @param {HTMLElement} form */
function otherWay(form) {
  return h('details', {}, h('summary', {}, 'Use an API key'), form);
}

/** @param {() => void} onSignedIn */
function withPassword(onSignedIn) {
  const login = h('input', {
    ...{ id: 'login', name: 'login', required: true, autocomplete: 'username' },
    ...{ spellcheck: 'false', autocapitalize: 'none', 'aria-describedby': 'password-error' },
  });
  const password = h('input', {
    ...{ id: 'password', name: 'password', type: 'password', required: true },
    ...{ autocomplete: 'current-password', 'aria-describedby': 'password-error' },
  });
  return form({
    ...{ onSignedIn, secret: password, errorId: 'password-error' },
    wrong: 'The name or the password is wrong.',
    proof: () => ({ login: login.value, password: password.value }),
    fields: [
      h('label', { for: 'login' }, 'Name'),
      login,
      h('label', { for: 'password' }, 'Password'),
      password,
    ],
  });
}

/** @param {() => void} onSignedIn */
function withKey(onSignedIn) {
  const key = h('input', {
    ...{ id: 'key', name: 'key', type: 'password', required: true },
    ...{ autocomplete: 'off', spellcheck: 'false', 'aria-describedby': 'key-help key-error' },
  });
  const help = 'A named key, or one of TRUNKLINE_API_KEYS. It is not stored in the browser.';
  return form({
    ...{ onSignedIn, secret: key, errorId: 'key-error' },
    wrong: 'This API key is not valid.',
    proof: () => ({ key: key.value }),
    fields: [
      h('label', { for: 'key' }, 'API key'),
      key,
      h('p', { id: 'key-help', class: 'quiet' }, help),
    ],
  });
}

/**
 * @param {{ onSignedIn: () => void, secret: HTMLInputElement, errorId: string, wrong: string, proof: () => object, fields: HTMLElement[] }} options
 */
function form({ onSignedIn, secret, errorId, wrong, proof, fields }) {
  const error = h('p', { id: errorId, class: 'error', role: 'alert' });
  const button = h('button', { type: 'submit', class: 'primary' }, 'Sign in');
  const element = h('form', {}, fields, error, button);
  element.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    setText(error, '');
    try {
      await post('/api/session', proof());
      secret.value = '';
      onSignedIn();
    } catch (failure) {
      setText(error, isStatus(failure, 401) ? wrong : messageOf(failure));
      button.disabled = false;
      secret.focus();
      secret.select();
    }
  });
  return element;
}
