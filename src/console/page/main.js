import { get, post, whenSignedOut } from './api.js';
import { BoardView } from './board-view.js';
import { CallBook } from './call-book.js';
import { CallView } from './call-view.js';
import { CallsView } from './calls-view.js';
import { DeliveriesView } from './deliveries-view.js';
import { displayMenu } from './display.js';
import { setText } from './dom.js';
import { Feed } from './feed.js';
import { titleOf } from './format.js';
import { InstallationView } from './installation-view.js';
import { JobBook } from './job-book.js';
import { JobView } from './job-view.js';
import { JobsView } from './jobs-view.js';
import { awayText, connection as wire, PageState } from './page-state.js';
import { NowhereView } from './nowhere.js';
import { PeopleView } from './people-view.js';
import { hasDrafts, PlaybooksView } from './playbooks-view.js';
import { ScoresView } from './scores-view.js';
import { SearchView } from './search-view.js';
import { Shortcuts } from './shortcuts.js';
import { SignInView } from './sign-in.js';
import { Uploads } from './uploads.js';
import { may, showRights, whoMenu } from './who.js';

/** @import { Installation, LiveFeedMessage, View } from './shapes.ts' */

/**
 * The page: one feed, one book of calls, and one view at a time, named by the address after the #. Nothing of a call is
 * stored in the browser beyond the open page.
 */
const main = part('main');
const connection = part('connection');
const away = part('away');
const insecure = part('insecure');
const parked = part('parked');
const parkedCallbacks = part('parked-callbacks');
const trouble = part('trouble');
const parkedEveryMs = 10_000;
const startEveryMs = 2_000;
const opening = new PageState('the console');
/** During a problem the state is requested more often, so that the notice disappears soon after it. */
const lookEveryMs = { calm: 10_000, trouble: 3_000 };

/** Uploads continue while other views are open. */
const jobs = new JobBook();
const uploads = new Uploads((id) => jobs.lookAt(id));
let book = new CallBook();
/** @type {Feed | undefined} */
let feed;
/** @type {View | undefined} */
let view;
let isLive = false;
/** Only a process with a speech service has callbacks of jobs. */
let hasJobs = false;
let isFirstView = true;
/** @type {HTMLElement | undefined} */
let who;

/** @type {[RegExp, string, (...details: (string | undefined)[]) => View][]} */
const views = [
  [
    /^#\/calls\/([\w-]+)(?:\?t=(\d+(?:\.\d+)?))?$/,
    'calls',
    (id = '', at) => new CallView(id, at === undefined ? undefined : Number(at)),
  ],
  [/^#\/search(?:\?.*)?$/, 'search', () => new SearchView()],
  [/^#\/jobs\/([\w-]+)$/, 'jobs', (id = '') => new JobView(id, jobs)],
  [/^#\/jobs$/, 'jobs', () => new JobsView({ jobs, uploads })],
  [/^#\/deliveries(?:\/\w+)?(?:\?.*)?$/, 'deliveries', () => new DeliveriesView()],
  [/^#\/board(?:\?.*)?$/, 'board', () => new BoardView()],
  [/^#\/scores(?:\?.*)?$/, 'scores', () => new ScoresView()],
  [/^#\/playbooks$/, 'playbooks', () => new PlaybooksView()],
  [/^#\/people$/, 'people', () => new PeopleView()],
  [
    /^#\/installation(?:\/(\w+))?$/,
    'installation',
    (section) => new InstallationView({ placeTestCall }, section),
  ],
  [/^(?:#\/?(?:calls\/?)?(?:\?.*)?)?$/, 'calls', () => new CallsView({ book, placeTestCall })],
  [/^/, '', () => new NowhereView()],
];

function show() {
  if (!feed) return;
  for (const [pattern, name, open] of views) {
    const found = pattern.exec(location.hash);
    if (found === null) continue;
    const [, ...details] = found;
    replace(open(...details)).connected?.();
    showIsHere(name);
    return;
  }
}

/** @param {string} name */
function showIsHere(name) {
  for (const link of document.querySelectorAll('nav a[data-view]'))
    if (link.getAttribute('data-view') === name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
}

/**
 * The reader's place in each list, by the list's address, to return to after viewing a call.
 * @type {Map<string, number>}
 */
const places = new Map();
const maxPlaces = 100;
let shownHash = location.hash;
// The browser would scroll before the rows of the list exist.
history.scrollRestoration = 'manual';

function keepPlace() {
  if (places.size >= maxPlaces) places.clear();
  places.set(shownHash, window.scrollY);
}

/** @param {View} next */
function replace(next) {
  keepPlace();
  const place = places.get(location.hash) ?? 0;
  shownHash = location.hash;
  view?.close?.();
  view = next;
  main.replaceChildren(next.element);
  document.title = `${next.title} · Trunkline`;
  if (next.goTo && place > 0) next.goTo(place);
  else window.scrollTo(0, 0);
  // Moves the focus to the new view for people who use the keyboard or a screen reader. The first view needs no move.
  if (!isFirstView) main.focus({ preventScroll: true });
  isFirstView = false;
  return next;
}

/** @type {Partial<Record<string, string>>} */
const states = { live: 'Live', connecting: 'Connecting …', away: 'No live updates' };

/** @param {string} state */
function onState(state) {
  if (state === 'signed-out') return void askForKey();
  isLive = state === 'live';
  connection.dataset['state'] = state;
  setText(connection, wire.lostAt ? 'No connection' : (states[state] ?? ''));
  // Without live updates the list can still be loaded, or its answer gives the reason.
  if (isLive || (state === 'away' && !book.isLoaded)) void book.loadNewest();
  if (isLive) view?.connected?.();
}

/** Shown on every view: the contents are as old as the connection. */
function showAway() {
  const text = awayText();
  document.documentElement.classList.toggle('is-away', text !== '');
  away.hidden = text === '';
  setText(away, text && `${text} What you see is from then.`);
}

/** @param {LiveFeedMessage} message */
function onMessage(message) {
  book.take(message);
  view?.take?.(message);
}

/**
 * Places a test call and shows it, so that its words appear without another click.
 * @param {string} [carrier]
 */
async function placeTestCall(carrier) {
  const call = await post('/api/test-call', carrier === undefined ? {} : { carrier });
  const id = call.call_id ?? (await callId(call));
  if (id) location.hash = `#/calls/${id}`;
}

/** @param {{ carrier: string, carrier_call_id: string }} call */
async function callId({ carrier, carrier_call_id: id }) {
  const query = new URLSearchParams({ carrier, carrier_call_id: id });
  const found = await get(`/api/calls?${query}`);
  return found.items[0]?.id;
}

async function countParked() {
  if (document.visibilityState === 'hidden' || !feed) return;
  await countUndelivered();
  if (hasJobs) await countCallbacks();
}

/** The badge counts calls, because a hundred events behind one refused event are a single problem. */
async function countUndelivered() {
  if (!may('deliveries.read')) return;
  const found = await get('/api/deliveries?state=parked&by=call&limit=100').catch(() => undefined);
  if (found === undefined) return;
  const ids = new Set(found.items.map((delivery) => delivery.call_id));
  book.tellUndelivered(ids);
  showBadge(parked, ids.size, found.next_cursor !== null, ids.size === 1 ? 'call' : 'calls');
}

/**
 * @param {HTMLElement} badge
 * @param {number} count
 * @param {boolean} isMore
 * @param {string} of
 */
function showBadge(badge, count, isMore, of) {
  badge.hidden = count === 0;
  setText(badge, count === 0 ? '' : `${count}${isMore ? '+' : ''} ${of}`);
}

async function countCallbacks() {
  const found = await get('/api/job-callbacks?state=parked&limit=100').catch(() => undefined);
  if (found === undefined) return;
  showBadge(parkedCallbacks, found.items.length, found.next_cursor !== null, 'parked');
}

async function askForKey() {
  if (view instanceof SignInView) return;
  feed?.close();
  feed = undefined;
  isLive = false;
  connection.dataset['state'] = '';
  setText(connection, '');
  const session = await get('/api/session').catch(() => undefined);
  if (feed !== undefined || view instanceof SignInView) return;
  who?.remove();
  replace(
    new SignInView(start, session ?? { by_password: false, provider: null, provider_at: null }),
  );
}

async function start() {
  const session = await get('/api/session').catch((error) => void opening.failed(error));
  if (session === undefined) {
    main.replaceChildren(opening.element);
    setTimeout(start, startEveryMs);
    return;
  }
  opening.close();
  if (!session.signed_in) return askForKey();
  showRights(session);
  who?.remove();
  who = whoMenu(session, () => void askForKey());
  if (who !== undefined) document.querySelector('.bar')?.append(who);
  book = new CallBook();
  feed = new Feed('/api/live', onMessage, onState);
  show();
  void lookAtInstallation().then(countParked);
}

/** Updates the notices on every view: who may call, and that no speech can be recognised. */
async function lookAtInstallation() {
  if (!feed || !may('installation.read')) return;
  const isSeen = document.visibilityState === 'visible';
  const facts = isSeen ? await get('/api/installation').catch(() => undefined) : undefined;
  if (facts) {
    hasJobs = facts.roles.includes('speech');
    insecure.hidden = !facts.insecure;
    const told = troublesOf(facts);
    trouble.hidden = told.length === 0;
    setText(trouble, told.join(' '));
  }
  const everyMs = trouble.hidden ? lookEveryMs.calm : lookEveryMs.trouble;
  setTimeout(() => void lookAtInstallation(), everyMs);
}

/**
 * The problems to show on every view: no recogniser, or components that are down. Other problems are shown in their own
 * views.
 * @param {Installation} facts
 */
function troublesOf({ recogniser, health }) {
  const isDeaf = recogniser !== null && recogniser.state !== 'ready';
  const parts = Object.entries(health).flatMap(([name, { state, detail }]) => {
    const known = `${titleOf(name)}: ${detail ?? state}.`;
    if (name === 'speech' && state !== 'ok')
      return [
        `${known} Audio is kept and transcribed later. “Transcribe again” reads a call that ended without words.`,
      ];
    if (name === 'delivery') return [`${known} The events wait in order and are tried again.`];
    return state === 'down' && !(isDeaf && name === 'recogniser') ? [known] : [];
  });
  const deaf = `No words yet: ${recogniser?.detail}. Calls are kept and transcribed once it is there.`;
  return isDeaf ? [deaf, ...parts] : parts;
}

const shortcuts = new Shortcuts(() => view?.shortcuts ?? []);
document
  .querySelector('.bar')
  ?.append(displayMenu({ onZone: () => show(), onShortcuts: () => shortcuts.show() }));
wire.watch(showAway);
whenSignedOut(() => void askForKey());
// Leaving the page ends its uploads and loses what was not saved, so the browser asks first.
window.addEventListener('beforeunload', (event) => {
  if (uploads.isSending || hasDrafts()) event.preventDefault();
});
window.addEventListener('hashchange', () => {
  // A view that handles the new address itself keeps its fields and the focus.
  const before = shownHash;
  if (feed && view?.follow) keepPlace();
  if (!feed || !view?.follow?.(location.hash)) show();
  else if (before !== location.hash) shownHash = location.hash;
});
setInterval(() => void countParked(), parkedEveryMs);
void start();

/**
 * An element that index.html contains.
 * @param {string} id
 */
function part(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`index.html has no #${id}`);
  return element;
}
