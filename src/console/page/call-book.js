import { get } from './api.js';

const pageItems = 50;

/** Every call this page knows of, kept current by the one feed while views come and go. */
export class CallBook {
  calls = new Map();
  /** Whether the newest page was ever read, and what came in its way since. */
  isLoaded = false;
  problem;
  /** Where the next page begins, of all calls and of the incomplete ones; null where there is none. */
  #cursors = { all: null, incomplete: null };
  #watchers = new Set();

  watch(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  take(message) {
    switch (message.type) {
      case 'call':
        return this.#put(message.call);
      case 'call-deleted':
        this.calls.delete(message.call_id);
        return this.#changed(message.call_id);
      case 'partial':
        return this.#patch(message.call_id, words(message.role, message.utterance.text, true));
      case 'call.transcript':
        return this.#patch(message.call.id, words(message.leg.role, message.data.text, false));
      case 'call.ended':
        // Said here too: after a time without connection there is no other word of it.
        return this.#patch(message.call.id, {
          state: 'ended',
          ended_at: message.data.ended_at,
          hung_up_at: message.call.hung_up_at,
          duration: message.data.duration,
          incomplete: message.data.incomplete,
        });
      case 'reset':
        return this.#reset();
      default:
        return undefined;
    }
  }

  /** The newest page: what is already known is known better from the feed. */
  async loadNewest() {
    await this.#load('all', '');
  }

  async loadIncomplete() {
    await this.#load('incomplete', '');
  }

  /** Whether there are older calls to ask for. */
  hasOlder(incomplete) {
    return this.#cursors[incomplete ? 'incomplete' : 'all'] !== null;
  }

  /** Whether the pages of all calls go back to this one: an incomplete call may have come by itself. */
  isListed(id) {
    return this.#cursors.all === null || id >= this.#cursors.all;
  }

  async loadOlder(incomplete) {
    const which = incomplete ? 'incomplete' : 'all';
    const cursor = this.#cursors[which];
    if (cursor) await this.#load(which, `&cursor=${encodeURIComponent(cursor)}`);
  }

  async #load(which, cursor) {
    const only = which === 'incomplete' ? '&incomplete=true' : '';
    const page = await get(`/api/calls?limit=${pageItems}${only}${cursor}`).catch((error) => {
      this.problem = error;
      this.#changed(undefined);
    });
    if (!page) return;
    this.isLoaded = true;
    this.problem = undefined;
    if (cursor || this.#cursors[which] === null) this.#cursors[which] = page.next_cursor;
    for (const call of page.items) {
      const known = this.calls.get(call.id);
      if (!known || (known.state !== 'ended' && call.state === 'ended')) this.#put(call);
    }
    this.#changed(undefined);
  }

  #put(call) {
    const known = this.calls.get(call.id);
    // The feed tells of a call with its transcript, the longest part; a list shows the last words alone.
    const { transcript, last_turn: last, ...rest } = call;
    const turn = transcript?.at(-1) ?? last;
    const said = turn ? words(turn.role, turn.text, false) : {};
    this.calls.set(call.id, { ...rest, ...(known?.words ? { words: known.words } : said) });
    this.#changed(call.id);
  }

  #patch(id, change) {
    const call = this.calls.get(id);
    if (!call) return;
    Object.assign(call, change);
    this.#changed(id);
  }

  #reset() {
    const ids = [...this.calls.keys()];
    this.calls.clear();
    this.#cursors = { all: null, incomplete: null };
    for (const id of ids) this.#changed(id);
    void this.loadNewest();
  }

  #changed(id) {
    for (const watcher of this.#watchers) watcher(id);
  }
}

function words(role, text, partial) {
  return { words: { role, text, partial } };
}
