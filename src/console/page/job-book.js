import { get } from './api.js';
import { isStatus } from './failures.js';

/** @import { ShownJob, ListedJob } from './shapes.ts' */

const base = '/v2/pre-recorded';
const pageItems = 20;
const mostItems = 100;
const everyMs = { working: 2_000, idle: 6_000, away: 3_000 };
/** At most this many ended jobs are read per refresh. The rest follow with the next one. */
const maxEndedPerLook = 20;

/** The reason why this process has no jobs, with advice. Undefined if there is a speech service. */
export async function whyNoJobs() {
  const { roles } = await get('/api/installation');
  if (roles.includes('speech')) return undefined;
  return (
    `No speech service runs in this process, only ${roles.join(' and ')}, so there are no jobs here. ` +
    'Start it with speech among TRUNKLINE_ROLES, or send files to the speech service that it uses.'
  );
}

/**
 * The jobs that this page knows, newest first, requested while somebody looks at them. A page of finished jobs with
 * transcripts is large, so it is read once. After that only unfinished and newer jobs are requested.
 */
export class JobBook {
  /** @type {Map<string, ListedJob>} */
  jobs = new Map();
  /**
   * `loading`, `ready`, `absent` (no service here) or `away` (it does not answer). `problem` gives more detail: a text,
   * or the error.
   */
  state = 'loading';
  /** @type {unknown} */
  problem;
  /** The reason why there are no jobs here, or '' if there are. */
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
   * Calls the watcher after each change, until the returned function is called.
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

  /** Refreshes the jobs, one refresh at a time. A call during a refresh joins it. */
  look() {
    clearTimeout(this.#timer);
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
      if (this.#watchers.size > 0) this.#timer = setTimeout(() => this.#next(), this.#waitMs());
    });
    return this.#looking;
  }

  /**
   * Reads one job again, for example one that was just created.
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
    // Computed before anything is read: the first answer must not hide older jobs that are new to this page.
    const newest = Math.max(0, ...this.#times());
    const open = await this.#read('status=queued,processing&limit=100');
    const newer = newest > 0 ? `after_date=${iso(newest - 1)}&` : '';
    const { next } = await this.#read(`${newer}limit=${mostItems}`);
    // More jobs came than one answer holds. The jobs between them and the known ones would be missing.
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
 * A readable name of the job: its file, the source of the file, or its id.
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
