import { erase } from './api.js';
import { h } from './dom.js';
import { menu } from './menu.js';

/** @import { SignInState } from './shapes.ts' */

/** The style sheet hides elements with these needs from somebody who lacks the right. The server refuses them all the same. */
const needs = [
  ...['calls.erase', 'calls.control', 'calls.note', 'calls.hear', 'calls.test', 'calls.again'],
  ...[
    'board.watch',
    'scores.read',
    'assist.change',
    'calls.inspect',
    'deliveries.read',
    'installation.read',
    'jobs',
    'people',
    'searches.read',
  ],
];

/** @type {SignInState['may']} */
let rights = {};

/** @param {SignInState} session */
export function showRights(session) {
  rights = session.may;
  for (const need of needs)
    document.documentElement.classList.toggle(`no-${need.replace('.', '-')}`, !may(need));
}

/** @param {string} right */
export function may(right) {
  return rights[right] !== undefined;
}

/**
 * Shows who is signed in, and the way out. Nothing where nobody has to sign in.
 * @param {SignInState} session
 * @param {() => void} onSignedOut
 */
export function whoMenu({ who, key_needed: isNeeded }, onSignedOut) {
  if (who === undefined || !isNeeded) return undefined;
  const is = who.kind === 'person' ? who.roles : who.scopes;
  const leave = async () => {
    const signedOut = await erase('/api/session').catch(() => undefined);
    // Somebody whom a provider signed in is signed out there too, or the next person at this desk would be them.
    if (signedOut?.continue_at === undefined) onSignedOut();
    else location.assign(signedOut.continue_at);
  };
  const element = menu(
    who.kind === 'person' ? who.name : 'Signed in',
    h('p', {}, who.name),
    h('p', { class: 'quiet' }, is.join(', ')),
    h('button', { type: 'button', onclick: () => void leave() }, 'Sign out'),
  );
  element.classList.add('who');
  return element;
}
