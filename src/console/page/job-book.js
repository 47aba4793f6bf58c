import { get } from './api.js';
import { isStatus } from './failures.js';

/** @import { ShownJob, ListedJob } from './shapes.ts' */

const base = '/v2/pre-recorded';
const pageItems = 20;
const mostItems = 100;
const everyMs = { working: 2_000, idle: 6_000, away: 3_000 };
/** Jobs that ended since the last look, read one by one: the rest follow with the next look. */
const maxEndedPerLook = 20;

/** Why there are no jobs in this process, in words that say what to do; undefined where there is a speech service. */
export async function whyNoJobs() {
  const { roles } = await get('/api/installation');
  if (roles.includes('speech')) return undefined;
  return (
    `No speech service runs in this process, only ${roles.join(' and ')}, so there are no jobs here. ` +
    'Start it with speech among TRUNKLINE_ROLES, or send files to the speech service that it uses.'
  );
}

/**
 * The jobs this page knows of, newest first, asked for while somebody looks at them. A page of finished jobs with
 * their transcripts is large, so it is read once; after that only unfinished and newer ones are asked for.
 */
export class JobBook {
  /** @type {Map<string, ListedJob>} */
  jobs = new Map();
  /** `loading`, `ready`, `absent` (no service here) or `away` (it does not answer); `problem` says more: a text, or the error. */
  state = 'loading';
  /** @type {unknown} */
  problem;
  /** Why there are no jobs here; '' where there are. */
  absence = '';
  hasOlder = false;
  #isRead = false;
  /** @type {Set<() => void>} */
  #watchers = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {Promise<void> | undefined} */
  #looking;

  /**
   * Calls the watcher after each change, until the answer is called.
   * @param {() => void} watcher
   */
  watch(watcher) {
    this.#watchers.add(watcher);
    void this.look();
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) clearTimeout(this.#timer);
    };
  }

  /** One look at a time: who asks while one is going on gets that one. */
  look() {
    clearTimeout(this.#timer);
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
      if (this.#watchers.size > 0) this.#timer = setTimeout(() => this.#next(), this.#waitMs());
    });
    return this.#looking;
  }

  /**
   * Reads one job anew, for example one that was just begun.
   * @param {string} id
   */
  async lookAt(id) {
    const job = await get(`${base}/${id}`).catch((error) => {
      if (isStatus(error, 404)) this.forget(id);
      return undefined;
    });
    if (job) this.put(job);
  }

  /** @param {ShownJob} job */
  put({ result: _, ...job }) {
    this.jobs.set(job.id, job);
    this.#tell();
  }

  /** @param {string} id */
  forget(id) {
    if (this.jobs.delete(id)) this.#tell();
  }

  async loadOlder() {
    const oldest = Math.min(...this.#times());
    await this.#read(`before_date=${iso(oldest + 1)}&limit=${pageItems + 1}`, true);
    this.#tell();
  }

  #next() {
    if (document.visibilityState === 'visible') return void this.look();
    this.#timer = setTimeout(() => this.#next(), this.#waitMs());
  }

  #waitMs() {
    if (this.state === 'away') return everyMs.away;
    return this.#unfinished().length > 0 ? everyMs.working : everyMs.idle;
  }

  async #look() {
    try {
      if (this.#isRead) await this.#refresh();
      else await this.#readFirst();
    } catch (error) {
      this.state = 'away';
      this.problem = error;
    }
    this.#tell();
  }

  async #readFirst() {
    const absent = await whyNoJobs();
    this.state = absent === undefined ? 'loading' : 'absent';
    this.absence = absent ?? '';
    if (absent !== undefined) return;
    await this.#read(`limit=${pageItems}`, true);
    this.#isRead = true;
    this.#isWell();
  }

  async #refresh() {
    // Before anything is read: what the first answer brings must not hide what is older and yet new here.
    const newest = Math.max(0, ...this.#times());
    const open = await this.#read('status=queued,processing&limit=100');
    const newer = newest > 0 ? `after_date=${iso(newest - 1)}&` : '';
    const { next } = await this.#read(`${newer}limit=${mostItems}`);
    // More came than one answer holds: between them and what is known here there would be a hole.
    if (next !== null) {
      this.jobs.clear();
      await this.#read(`limit=${pageItems}`, true);
    }
    const isOpen = new Set(open.items.map(({ id }) => id));
    const ended = this.#unfinished().filter(({ id }) => !isOpen.has(id));
    for (const { id } of ended.slice(0, maxEndedPerLook)) await this.lookAt(id);
    this.#isWell();
  }

  #isWell() {
    this.state = 'ready';
    this.problem = undefined;
  }

  /** @param {string} query */
  async #read(query, isPage = false) {
    const page = await get(`${base}?${query}`);
    if (isPage) this.hasOlder = page.next !== null;
    for (const { result: _, ...job } of page.items) this.jobs.set(job.id, job);
    return page;
  }

  #unfinished() {
    return [...this.jobs.values()].filter(isUnfinished);
  }

  #times() {
    return [...this.jobs.values()].map((job) => Date.parse(job.created_at));
  }

  #tell() {
    for (const watcher of this.#watchers) watcher();
  }
}

/** @param {Pick<ShownJob, 'status'>} job */
export function isUnfinished({ status }) {
  return status === 'queued' || status === 'processing';
}

/**
 * A person's name for the job: its file, else the source of the file, else its id.
 * @param {ListedJob} job
 */
export function nameOf({ id, file, request_params: params }) {
  const address = params?.['audio_url'];
  return file?.filename || file?.source || (typeof address === 'string' && address) || id;
}

/** @param {number} ms */
function iso(ms) {
  return encodeURIComponent(new Date(ms).toISOString());
}
