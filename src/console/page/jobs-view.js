import { h, onNextFrame, setText } from './dom.js';
import { messageOf } from './failures.js';
import { age, bytes, clock, jobStateNames, moment, percent } from './format.js';
import { nameOf } from './job-book.js';
import { JobCallbacks } from './job-callbacks.js';
import { ModelOffers } from './model-offers.js';
import { PageState } from './page-state.js';
import { extras, maxUploads } from './uploads.js';

/** @import { JobBook } from './job-book.js' */

/** @import { Uploads } from './uploads.js' */

/** @import { Upload } from './uploads.js' */

/** @import { ListedJob } from './shapes.ts' */

const agesEveryMs = 20_000;
const speakersFlag = 'diarization';
const voiceModel = 'voice-encoder';

/** Sends files and shows transcripts: current uploads, and all jobs with the newest first. */
export class JobsView {
  title = 'Jobs';
  #jobs;
  #uploads;
  /** @type {Map<string, JobRow>} */
  #rows = new Map();
  /** @type {Map<Upload, UploadRow>} */
  #uploadRows = new Map();
  #wanted = new Set(extras.map(([flag]) => flag));
  #problem = h('p', { class: 'error', role: 'alert' });
  #standing = new PageState('the jobs', () => this.#jobs.look());
  #uploadList = h('ol', { class: 'calls uploads', 'aria-label': 'Uploads' });
  #list = h('ol', { class: 'calls jobs', 'aria-label': 'All jobs' });
  #older = h('button', { type: 'button', hidden: true, onclick: () => void this.#loadOlder() });
  #zone = h('div', { class: 'drop' });
  #intake = h('section', { class: 'panel intake', 'aria-label': 'New job', hidden: true });
  #draw = onNextFrame(() => this.#drawAll());
  #callbacks = new JobCallbacks({ onChange: this.#draw });
  #ages = setInterval(this.#draw, agesEveryMs);
  #stop = new AbortController();
  #unwatch;
  #speakers = h('input', { type: 'checkbox', name: speakersFlag, checked: true });
  #lacksSpeakers = false;
  #offers = new ModelOffers(() => this.#offered());

  /** @param {{ jobs: JobBook, uploads: Uploads }} page */
  constructor({ jobs, uploads }) {
    this.#jobs = jobs;
    this.#uploads = uploads;
    setText(this.#older, 'Older jobs');
    this.#buildIntake();
    this.element = h(
      'div',
      { class: 'view' },
      h('div', { class: 'heading' }, h('h1', {}, 'Jobs')),
      this.#intake,
      this.#problem,
      ...this.#callbacks.elements,
      this.#uploadList,
      this.#standing.element,
      this.#list,
      this.#older,
    );
    this.#listenForDrops();
    this.#drawAll();
    const unwatch = [jobs.watch(this.#draw), uploads.watch(this.#draw)];
    this.#unwatch = () => unwatch.forEach((stop) => stop());
  }

  close() {
    this.#unwatch();
    this.#standing.close();
    this.#callbacks.close();
    this.#offers.close();
    this.#stop.abort();
    clearInterval(this.#ages);
  }

  #buildIntake() {
    const input = h('input', {
      ...{ type: 'file', multiple: true, hidden: true, 'aria-label': 'Audio or video files' },
      onchange: () => {
        void this.#addFiles([...(input.files ?? [])]);
        // Allows the same file to be chosen again.
        input.value = '';
      },
    });
    const choose = h(
      'button',
      { type: 'button', class: 'primary', onclick: () => input.click() },
      'Choose files',
    );
    this.#zone.append(choose, h('span', { class: 'quiet' }, 'or drop audio or video here'), input);
    const offers = this.#offers.elements;
    this.#intake.append(this.#zone, this.#addressForm(), this.#choices(), ...offers);
  }

  #addressForm() {
    const address = h('input', {
      ...{ id: 'job-address', name: 'address', type: 'url', required: true },
      ...{ autocomplete: 'off', spellcheck: 'false', placeholder: 'https://' },
    });
    const form = h(
      'form',
      { class: 'address' },
      h('label', { for: 'job-address' }, 'Address of a file'),
      address,
      h('button', { type: 'submit' }, 'Transcribe'),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#addAddress(address);
    });
    return form;
  }

  #choices() {
    /** @param {[string, string]} extra */
    const box = ([flag, name]) => {
      const input =
        flag === speakersFlag
          ? this.#speakers
          : h('input', { type: 'checkbox', name: flag, checked: true });
      input.addEventListener('change', () => {
        if (input.checked) this.#wanted.add(flag);
        else this.#wanted.delete(flag);
      });
      return h('label', {}, input, name);
    };
    return h('fieldset', { class: 'extras' }, h('legend', {}, 'Also find'), extras.map(box));
  }

  /** Speakers cannot be asked for before their model is here. They are wanted as soon as it is. */
  #offered() {
    const lacks = this.#offers.lacks(voiceModel);
    this.#speakers.disabled = lacks;
    if (lacks === this.#lacksSpeakers) return;
    this.#lacksSpeakers = lacks;
    this.#speakers.checked = !lacks;
    if (lacks) this.#wanted.delete(speakersFlag);
    else this.#wanted.add(speakersFlag);
  }

  /** Accepts drops anywhere on the page, because a file dropped beside the field would otherwise replace the page. */
  #listenForDrops() {
    const { signal } = this.#stop;
    /** @param {boolean} isOver */
    const over = (isOver) => this.#zone.classList.toggle('over', isOver);
    /** @param {DragEvent} event */
    const carriesFiles = ({ dataTransfer }) => dataTransfer?.types.includes('Files');
    addEventListener(
      'dragover',
      (event) => {
        if (!carriesFiles(event)) return;
        event.preventDefault();
        over(!this.#intake.hidden);
      },
      { signal },
    );
    // Without a related element, the file was dragged out of the window.
    /** @param {DragEvent} event */
    const left = ({ relatedTarget }) => relatedTarget === null && over(false);
    addEventListener('dragleave', left, { signal });
    addEventListener(
      'drop',
      (event) => {
        if (!carriesFiles(event)) return;
        event.preventDefault();
        over(false);
        if (!this.#intake.hidden) void this.#addFiles([...(event.dataTransfer?.files ?? [])]);
      },
      { signal },
    );
  }

  /** @param {HTMLInputElement} address */
  async #addAddress(address) {
    await this.#offers.known;
    const isTaken = this.#uploads.addAddress(address.value.trim(), new Set(this.#wanted));
    setText(this.#problem, isTaken ? '' : tooMany);
    if (isTaken) address.value = '';
  }

  /** @param {readonly File[]} files */
  async #addFiles(files) {
    await this.#offers.known;
    const refused = this.#uploads.addFiles(files, new Set(this.#wanted));
    setText(this.#problem, refused === 0 ? '' : `${refused} files were not added. ${tooMany}`);
  }

  async #loadOlder() {
    this.#older.disabled = true;
    await this.#jobs.loadOlder().catch((error) => setText(this.#problem, messageOf(error)));
    this.#older.disabled = false;
  }

  #drawAll() {
    const { state, jobs, hasOlder } = this.#jobs;
    if (state === 'ready') this.#callbacks.start();
    this.#intake.hidden = state === 'absent';
    this.#older.hidden = !hasOlder || state === 'absent';
    this.#drawStanding();
    drawList(this.#uploadList, this.#uploadRows, this.#uploads.items, {
      keyOf: (item) => item,
      newRow: (item) => new UploadRow(item, this.#uploads),
    });
    const newestFirst = [...jobs.values()].sort(
      (a, b) => Date.parse(b.created_at) - Date.parse(a.created_at) || (a.id < b.id ? 1 : -1),
    );
    drawList(this.#list, this.#rows, newestFirst, {
      keyOf: ({ id }) => id,
      newRow: ({ id }) => new JobRow(id, () => this.#parkedOf(id)),
    });
  }

  /** @param {string} id */
  #parkedOf(id) {
    return this.#callbacks.items.find(({ job_id: jobId }) => jobId === id);
  }

  #drawStanding() {
    const { state, problem, absence, jobs } = this.#jobs;
    if (state === 'away') return this.#standing.failed(problem);
    if (state === 'absent') return this.#standing.ready(absence);
    if (state === 'loading') return;
    const isEmpty = jobs.size === 0 && this.#uploads.items.length === 0;
    this.#standing.ready(isEmpty ? 'No jobs yet. Drop a recording here to transcribe it.' : '');
  }
}

const tooMany = `At most ${maxUploads} files can wait at once; add more when some are done.`;

/**
 * Draws a list. Rows keep their elements while they stay in the list, so that a reader keeps the place and the focus.
 * @template Item, Key
 * @template {{ element: HTMLElement, draw(item: Item): void }} Row
 * @param {HTMLElement} list
 * @param {Map<Key, Row>} rows
 * @param {readonly Item[]} items
 * @param {{ keyOf: (item: Item) => Key, newRow: (item: Item) => Row }} make
 */
function drawList(list, rows, items, { keyOf, newRow }) {
  const keys = new Set(items.map(keyOf));
  for (const [key, row] of rows)
    if (!keys.has(key)) {
      row.element.remove();
      rows.delete(key);
    }
  items.forEach((item, at) => {
    const key = keyOf(item);
    const row = rows.get(key) ?? newRow(item);
    rows.set(key, row);
    row.draw(item);
    if (list.children[at] !== row.element)
      list.insertBefore(row.element, list.children[at] ?? null);
  });
}

class JobRow {
  #state = h('span', { class: 'state' });
  #name = h('span', { class: 'who' });
  #how = h('span', { class: 'how quiet' });
  #bar = h('progress', { 'aria-label': 'Progress' });
  #told = h('span', { class: 'words' });
  #clock = h('span', { class: 'clock' });
  #parked;

  /**
   * `parked` returns the job's callback that was given up, if there is one.
   * @param {string} id
   * @param {() => { reason: string | null } | undefined} parked
   */
  constructor(id, parked) {
    this.#parked = parked;
    this.element = h(
      'li',
      { dataset: { id } },
      h(
        'a',
        { href: `#/jobs/${id}` },
        this.#state,
        h('span', { class: 'party' }, this.#name, this.#how),
        h('span', { class: 'going' }, this.#bar, this.#told),
        this.#clock,
      ),
    );
  }

  /** @param {ListedJob} job */
  draw(job) {
    const { status, file, created_at: createdAt } = job;
    this.#state.dataset.state = status;
    setText(this.#state, jobStateNames[status]);
    setText(this.#name, nameOf(job));
    const seconds = file?.audio_duration;
    setText(this.#how, seconds == null ? '' : clock(seconds));
    drawProgress(this.#bar, job);
    const parked = this.#parked();
    const lost = parked ? `Callback given up: ${parked.reason}` : '';
    setText(this.#told, [toldOf(job), lost].filter(Boolean).join(' · '));
    this.#told.classList.toggle('error', status === 'error' || lost !== '');
    setText(this.#clock, age(createdAt));
    this.#clock.title = moment(createdAt);
  }
}

/**
 * Shows the progress of a job. A job that reports none has no bar.
 * @param {HTMLProgressElement} bar
 * @param {Pick<ListedJob, 'status' | 'progress'>} job
 */
export function drawProgress(bar, { status, progress }) {
  bar.hidden = status !== 'processing' || !progress;
  if (bar.hidden || !progress) return;
  bar.max = Math.max(progress.seconds, 0.001);
  bar.value = Math.min(progress.seconds_done, bar.max);
}

/**
 * The text about a job beside its state.
 * @param {Pick<ListedJob, 'status' | 'progress' | 'error_code' | 'error_message'>} job
 */
export function toldOf({ status, progress, error_code: code, error_message: message }) {
  switch (status) {
    case 'queued':
      return 'Waiting for its turn';
    case 'processing':
      return progress
        ? `${clock(progress.seconds_done)} of ${clock(progress.seconds)} done`
        : 'Fetching and decoding …';
    case 'error':
      return [message, code == null ? '' : `(${code})`].filter(Boolean).join(' ');
    default:
      return '';
  }
}

class UploadRow {
  #state = h('span', { class: 'state' });
  #bar = h('progress', {});
  #told = h('span', { class: 'words' });
  #retry;

  /**
   * @param {Upload} item
   * @param {Uploads} uploads
   */
  constructor(item, uploads) {
    this.#retry = h('button', { type: 'button', onclick: () => uploads.retry(item) }, 'Try again');
    const remove = h('button', { type: 'button', onclick: () => uploads.remove(item) }, 'Remove');
    for (const button of [this.#retry, remove])
      button.setAttribute('aria-label', `${button.textContent}: ${item.name}`);
    this.#bar.setAttribute('aria-label', `Sent of ${item.name}`);
    this.element = h(
      'li',
      {},
      h(
        'div',
        { class: 'row' },
        this.#state,
        h('span', { class: 'party' }, h('span', { class: 'who' }, item.name)),
        h('span', { class: 'going' }, this.#bar, this.#told),
        h('span', { class: 'actions' }, this.#retry, remove),
      ),
    );
  }

  /** @param {Upload} upload */
  draw(upload) {
    const { state, sent, file } = upload;
    this.#state.dataset.state = state;
    setText(this.#state, uploadStates[state]);
    this.#retry.hidden = state !== 'failed';
    const size = state === 'sending' ? (file?.size ?? 0) : 0;
    this.#bar.hidden = size === 0;
    if (size > 0) {
      this.#bar.max = size;
      this.#bar.value = sent;
    }
    setText(this.#told, uploadTold(upload));
    this.#told.classList.toggle('error', state === 'failed');
  }
}

const uploadStates = {
  waiting: 'Waiting',
  sending: 'Sending',
  starting: 'Starting',
  failed: 'Failed',
};

/** @param {Upload} upload */
function uploadTold({ state, sent, file, problem }) {
  if (state === 'failed') return problem ?? '';
  if (!file) return '';
  if (state !== 'sending') return bytes(file.size);
  // After the last byte the service checks the file.
  if (sent >= file.size) return 'Sent; checking the file …';
  return `${percent(sent / file.size)} of ${bytes(file.size)}`;
}
