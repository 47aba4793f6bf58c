import { post } from './api.js';
import { h, setText } from './dom.js';
import { isStatus, messageOf } from './failures.js';

/** @import { SignInState } from './shapes.ts' */

/** Sentences for somebody whom the provider sent back without a sign-in. */
const problems = /** @type {Record<string, string>} */ ({
  away: 'The provider does not answer. Try again in a moment.',
  refused: 'The provider did not sign you in.',
  busy: 'Many people are signing in. Try again in a moment.',
  wrong:
    'The provider’s answer could not be believed. Ask those who run Trunkline to look at its log.',
  'begun-elsewhere': 'This sign-in began in another window, or too long ago. Sign in again.',
  'no-role': 'The provider gives you no role here. Ask for one.',
  unclear:
    'The provider’s words about you could not be used. Ask those who run Trunkline to look at its log.',
  failed: 'The sign-in failed. Ask those who run Trunkline to look at its log.',
});

/** Asks for a name and a password, or for the API key, or leads to the provider. Only a cookie that no script can read is kept. */
export class SignInView {
  title = 'Sign in';

  /**
   * @param {() => void} onSignedIn
   * @param {Pick<SignInState, 'by_password' | 'provider' | 'provider_at'>} session
   */
  constructor(onSignedIn, session) {
    const { by_password: byPassword, provider, provider_at: providerAt } = session;
    const key = withKey(onSignedIn);
    const forms = byPassword
      ? [withPassword(onSignedIn), otherWay(key)]
      : [providerAt === null ? key : otherWay(key)];
    this.element = h(
      'div',
      { class: 'sign-in' },
      h('h1', {}, 'Sign in'),
      problemSaid(),
      providerAt !== null && withProvider(provider ?? '', providerAt),
      forms,
    );
    requestAnimationFrame(() =>
      /** @type {HTMLElement | null} */ (
        this.element.querySelector('.to-provider, input')
      )?.focus(),
    );
  }
}

/** Says once why the provider sent somebody back, and takes it out of the address. */
function problemSaid() {
  const address = new URL(location.href);
  const reason = address.searchParams.get('sign-in');
  if (reason === null) return false;
  address.searchParams.delete('sign-in');
  history.replaceState(history.state, '', address);
  return h('p', { class: 'error', role: 'alert' }, problems[reason] ?? problems['failed'] ?? '');
}

/**
 * A link and no button: the browser leaves the page for the provider, and comes back to the view it left.
 * @param {string} name
 * @param {string} at
 */
function withProvider(name, at) {
  const href = `${at}?to=${encodeURIComponent(location.hash)}`;
  return h('a', { class: 'to-provider', href }, `Sign in with ${name}`);
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
