import { erase, get, post } from './api.js';
import { saveFile } from './clipboard.js';
import { h, setText } from './dom.js';
import { isStatus, messageOf } from './failures.js';
import { age, clock, jobStateNames } from './format.js';
import { isUnfinished, nameOf, whyNoJobs } from './job-book.js';
import { JobCallbacks } from './job-callbacks.js';
import { panelsOf } from './job-panels.js';
import { chaptersOf, downloadsOf, entriesOf, failuresOf } from './job-result.js';
import { JobSound } from './job-sound.js';
import { JobTranscript } from './job-transcript.js';
import { drawProgress, toldOf } from './jobs-view.js';
import { PageState } from './page-state.js';
import { summaryElement } from './summary.js';
import { Sure } from './sure.js';

/** @import { JobBook } from './job-book.js' */

/** @import { ShownJob } from './shapes.ts' */

const everyMs = { working: 1_500, away: 3_000 };

/** One job: its progress, then its transcript to read, play, save and delete. */
export class JobView {
  title = 'Job';
  #id;
  #jobs;
  /** @type {ShownJob | undefined} */
  #job;
  /** @type {JobSound | undefined} */
  #sound;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #closed = false;
  /** @param {number} seconds */
  #hear = (seconds) => this.#sound?.hear(seconds);
  #transcript = new JobTranscript(this.#hear);
  #heading = h('h1', {}, 'Job');
  #facts = h('p', { class: 'facts quiet' });
  #state = h('span', { class: 'state' });
  #bar = h('progress', { 'aria-label': 'Progress', hidden: true });
  #told = h('p', { class: 'quiet', role: 'status' });
  #standing = new PageState('the job', () => this.#load());
  #problem = h('p', { class: 'error', role: 'alert' });
  #saves = h('div', { class: 'actions', role: 'group', 'aria-label': 'Save as', hidden: true });
  #cancel = h('button', { type: 'button', hidden: true }, 'Cancel');
  #delete = h('button', { type: 'button', hidden: true }, 'Delete');
  #sure = new Sure(this.#delete, {
    question: 'Delete this job with its audio and transcript?',
    ...{ yes: 'Delete for good', no: 'Keep it' },
    run: () => void this.#change(() => this.#deleteJob()),
  });
  #callbacks;
  #body = h('div', {});

  /**
   * @param {string} id
   * @param {JobBook} jobs
   */
  constructor(id, jobs) {
    this.#id = id;
    this.#jobs = jobs;
    this.#callbacks = new JobCallbacks({ jobId: id });
    this.#cancel.addEventListener('click', () => void this.#change(() => this.#cancelJob()));
    this.element = h(
      'div',
      { class: 'view job-view' },
      h(
        'div',
        { class: 'heading' },
        h(
          'div',
          {},
          h('a', { class: 'back', href: '#/jobs' }, '‹ Jobs'),
          this.#heading,
          this.#facts,
        ),
        h('div', { class: 'actions' }, this.#state, this.#saves, this.#cancel, this.#delete),
      ),
      this.#sure.element,
      this.#problem,
      this.#standing.element,
      this.#bar,
      this.#told,
      ...this.#callbacks.elements,
      this.#body,
    );
    void this.#load();
  }

  close() {
    this.#closed = true;
    this.#standing.close();
    clearTimeout(this.#timer);
    this.#sound?.close();
    this.#callbacks.close();
  }

  async #load() {
    clearTimeout(this.#timer);
    let waitMs = everyMs.working;
    try {
      const job = await get(`/v2/pre-recorded/${this.#id}`);
      if (this.#closed) return;
      this.#standing.ready();
      this.#jobs.put(job);
      this.#show(job);
      this.#callbacks.start();
    } catch (error) {
      if (this.#closed) return;
      if (isStatus(error, 404)) return void this.#missing();
      this.#standing.failed(error);
      waitMs = everyMs.away;
    }
    if (!this.#job || isUnfinished(this.#job)) this.#loadLater(waitMs);
  }

  /** @param {number} waitMs */
  #loadLater(waitMs) {
    this.#timer = setTimeout(() => {
      if (document.visibilityState === 'visible') void this.#load();
      else this.#loadLater(waitMs);
    }, waitMs);
  }

  async #missing() {
    this.#jobs.forget(this.#id);
    const absent = await whyNoJobs().catch(() => undefined);
    if (!this.#closed)
      this.#gone(absent ?? 'Job not found. It may have been deleted, or was never kept.');
  }

  /**
   * Removes a deleted job from the open page.
   * @param {string} text
   */
  #gone(text) {
    this.close();
    this.title = 'Job';
    document.title = `${this.title} · Trunkline`;
    const back = h('a', { class: 'back', href: '#/jobs' }, '‹ Jobs');
    this.element.replaceChildren(back, this.#problem);
    setText(this.#problem, text);
    back.focus();
  }

  /** @param {ShownJob} job */
  #show(job) {
    const { status, file, created_at: createdAt } = job;
    const hasEnded = this.#job?.status !== status && !isUnfinished(job);
    this.#job = job;
    this.title = nameOf(job);
    document.title = `${this.title} · Trunkline`;
    setText(this.#heading, this.title);
    const length = file?.audio_duration == null ? '' : clock(file.audio_duration);
    setText(this.#facts, [length, age(createdAt)].filter(Boolean).join(' · '));
    this.#state.dataset.state = status;
    setText(this.#state, jobStateNames[status]);
    this.#cancel.hidden = !isUnfinished(job);
    this.#delete.hidden = isUnfinished(job);
    drawProgress(this.#bar, job);
    setText(this.#told, toldOf(job));
    this.#told.classList.toggle('error', status === 'error');
    this.#told.hidden = this.#told.textContent === '';
    if (hasEnded && status === 'done') this.#showResult(job);
  }

  /** @param {ShownJob} job */
  #showResult(job) {
    const { result } = job;
    const entries = entriesOf(result);
    this.#transcript.draw(entries);
    this.#sound = new JobSound(this.#id, (seconds) => this.#transcript.heard(seconds));
    this.element.classList.add('has-recording');
    this.#saves.replaceChildren(...downloadsOf(job).map(saveButton));
    this.#saves.hidden = false;
    this.#body.replaceChildren(
      h(
        'div',
        { class: 'columns' },
        h(
          'div',
          { class: 'story' },
          summaryOf(result, this.#hear),
          this.#sound.element,
          this.#transcript.element,
        ),
        h(
          'aside',
          { class: 'panels', 'aria-label': 'About this job' },
          panelsOf(job, entries, this.#hear),
        ),
      ),
    );
  }

  async #cancelJob() {
    await post(`/v2/pre-recorded/${this.#id}/cancel`);
    await this.#load();
  }

  async #deleteJob() {
    await erase(`/v2/pre-recorded/${this.#id}`);
    this.#jobs.forget(this.#id);
    this.#gone('The job was deleted with its audio and transcript.');
  }

  /** @param {() => Promise<void>} run */
  async #change(run) {
    const buttons = [this.#cancel, ...this.#sure.element.querySelectorAll('button')];
    for (const button of buttons) button.disabled = true;
    setText(this.#problem, '');
    try {
      await run();
    } catch (error) {
      setText(this.#problem, messageOf(error));
    }
    for (const button of buttons) button.disabled = false;
  }
}

/**
 * The summary and chapters. Nothing if neither was requested and nothing failed.
 * @param {ShownJob['result']} result
 * @param {(seconds: number) => void} onHear
 */
function summaryOf(result, onHear) {
  const errors = failuresOf(result);
  const chapters = chaptersOf(result);
  const text = result?.summarization?.results ?? '';
  const isAsked = result?.summarization !== undefined || result?.chapterization !== undefined;
  if (!isAsked && errors.length === 0) return null;
  const type = text.includes('\n') ? 'bullet_points' : 'general';
  return summaryElement({ summary: { type, text }, chapters, errors }, onHear);
}

/** @param {{ format: string, name: string, type: string, text: string }} file */
function saveButton({ format, ...file }) {
  const label = { 'aria-label': `Save as ${format}` };
  return h('button', { type: 'button', ...label, onclick: () => saveFile(file) }, format);
}
