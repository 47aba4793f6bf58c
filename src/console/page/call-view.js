import { get, post } from './api.js';
import { callDeliveries } from './call-deliveries.js';
import { CallActions } from './call-actions.js';
import { ChartPanel } from './call-chart.js';
import { DetailsPanel } from './call-details.js';
import { NotesPanel } from './call-notes.js';
import { EvidencePanel, FiguresPanel, MissingNote, WarningsPanel } from './call-panels.js';
import { Conversation } from './conversation.js';
import { h, onNextFrame, setText } from './dom.js';
import { isStatus, messageOf } from './failures.js';
import { callMoodIn, moodOf } from './figures.js';
import {
  clock,
  contactText,
  fullMoment,
  lengthOf,
  parties,
  stateNames,
  titleOf,
} from './format.js';
import { HintsPanel } from './hints-panel.js';
import { ScorePanel } from './score-panel.js';
import { LevelBars } from './levels.js';
import { connection, PageState } from './page-state.js';
import { Recording } from './recording.js';
import { SaidSoFarPanel } from './said-so-far.js';
import { summaryElement } from './summary.js';
import { Transcript } from './transcript.js';
import { WrapUpPanel } from './wrap-up.js';

/** @import { SpokenEntry, ApiCall, CallFigures, LiveFeedMessage, LiveMessage, Shortcut, CallEvent } from './shapes.ts' */

const ledgerEveryTicks = 3;
const jumpS = 5;

/** One call, from its first word to its summary. */
export class CallView {
  title = 'Call';
  #id;
  /** @type {ApiCall | undefined} */
  #call;
  #conversation = new Conversation();
  /**
   * The second of the call that a link leads to. Undefined once it was shown.
   * @type {number | undefined}
   */
  #startAt;
  /** @param {number} seconds */
  #hear = (seconds) => this.#recording?.hear(seconds);
  #transcript = new Transcript(this.#conversation, this.#hear, () => this.#loadEvents());
  /** @type {Recording | undefined} */
  #recording;
  #levels = new LevelBars();
  #mood = h('span', { class: 'mood' });
  #said = new SaidSoFarPanel(this.#hear);
  #hints;
  #scores;
  #warnings = new WarningsPanel();
  #notes;
  #details = new DetailsPanel();
  #actions;
  #chart = new ChartPanel(this.#hear);
  #figures = new FiguresPanel();
  #evidence = new EvidencePanel();
  #deliveries;
  #heading = h('h1', {}, 'Call');
  #facts = h('p', { class: 'facts quiet' });
  #contact = h('p', { class: 'facts', hidden: true });
  #state = h('span', { class: 'state' });
  #clock = h('span', { class: 'clock' });
  #pause = h('button', {
    ...{ type: 'button', hidden: true, 'data-needs': 'calls.control' },
    onclick: () => void this.#togglePause(),
  });
  #loading = new PageState('the call', () => this.#loadCall());
  #problem = h('p', { class: 'error', role: 'alert' });
  #missing = new MissingNote(() => post(`/api/calls/${this.#id}/transcribe`));
  #summary = h('div');
  #wrapUp;
  #sound = h('div');
  #player = h('div', { class: 'player-place' });
  #panels = h('aside', { class: 'panels', 'aria-label': 'About this call' });
  #columns = h(
    'div',
    { class: 'columns' },
    h('div', { class: 'story' }, this.#summary, this.#sound, this.#transcript.element),
    this.#panels,
  );
  #ticking;
  #ticks = 0;
  #closed = false;
  /** True once all events so far were read. Figures from only some of them would be wrong. */
  #hasEvents = false;
  #draw = onNextFrame(() => this.#drawPanels());

  /**
   * `at` is the second of the call to show first.
   * @param {string} id
   * @param {number} [at]
   */
  constructor(id, at) {
    this.#id = id;
    this.#startAt = at;
    this.#deliveries = callDeliveries(id);
    this.#deliveries.element.dataset['needs'] = 'deliveries.read';
    this.#evidence.element.dataset['needs'] = 'calls.inspect';
    this.#notes = new NotesPanel(id);
    this.#hints = new HintsPanel(id, this.#hear);
    this.#scores = new ScorePanel(id, this.#hear);
    this.#wrapUp = new WrapUpPanel(id, (utteranceId) => this.#hearUtterance(utteranceId));
    this.#summary.after(this.#wrapUp.element);
    this.#actions = new CallActions(id, {
      placeOf: () => this.#recording?.place ?? 0,
      utterancesOf: () => this.#conversation.utterances,
      onErased: (text) => this.#gone(text),
    });
    this.#panels.append(
      this.#hints.element,
      this.#scores.element,
      this.#said.element,
      this.#warnings.element,
      this.#chart.element,
      this.#figures.element,
      this.#notes.element,
      this.#details.element,
      this.#deliveries.element,
      this.#evidence.element,
    );
    this.element = h(
      'div',
      { class: 'view call-view' },
      h('p', {}, h('a', { class: 'back', href: '#/calls' }, '‹ Calls')),
      h(
        'div',
        { class: 'call-bar' },
        h(
          'div',
          { class: 'heading' },
          this.#heading,
          h(
            'div',
            { class: 'actions' },
            this.#levels.element,
            this.#mood,
            this.#state,
            this.#clock,
            this.#pause,
          ),
        ),
        this.#player,
      ),
      this.#facts,
      this.#contact,
      ...this.#actions.elements,
      this.#problem,
      this.#loading.element,
      this.#missing.element,
      this.#columns,
    );
    this.#columns.hidden = true;
    this.#chart.element.hidden = true;
    this.#figures.element.hidden = true;
    this.#ticking = setInterval(() => this.#tick(), 1_000);
  }

  close() {
    this.#closed = true;
    clearInterval(this.#ticking);
    this.#recording?.close();
    this.#transcript.close();
    this.#loading.close();
    this.#notes.close();
    this.#hints.close();
    this.#scores.close();
    this.#deliveries.close();
  }

  /** The page was opened, or the feed is open again. Earlier events are read from the start. */
  connected() {
    this.#hints.load();
    void this.#scores.load();
    void this.#loadCall().then(() => this.#loadEvents());
  }

  async #loadCall() {
    try {
      const call = await get(`/api/calls/${this.#id}`);
      if (!this.#closed) this.#show(call);
    } catch (error) {
      if (isStatus(error, 404) && !this.#closed)
        return this.#gone(
          'Call not found. It may have been erased, or it is not one of those that you may see.',
        );
      this.#loading.failed(error);
    }
  }

  async #loadEvents() {
    if (this.#closed) return;
    try {
      let cursor = '';
      do {
        const page = await get(`/api/calls/${this.#id}/events?limit=500${cursor}`);
        if (this.#closed) return;
        for (const event of page.items) this.#event(event);
        cursor = page.next_cursor === null ? '' : `&cursor=${encodeURIComponent(page.next_cursor)}`;
      } while (cursor);
      this.#hasEvents = true;
      this.#transcript.loaded();
      this.#goToStart();
      this.#draw();
    } catch (error) {
      this.#transcript.failed(error);
    }
  }

  /**
   * Removes an erased call from the open page.
   * @param {string} text
   */
  #gone(text) {
    this.close();
    this.title = 'Call';
    document.title = `${this.title} · Trunkline`;
    const back = h('a', { class: 'back', href: '#/calls' }, '‹ Calls');
    const told = h('span', { class: 'error', role: 'alert' }, text);
    this.element.replaceChildren(back, h('h1', {}, told));
    // The focus was on a button that no longer exists.
    back.focus({ preventScroll: true });
  }

  /** @param {LiveFeedMessage} message */
  take(message) {
    if (this.#closed) return;
    switch (message.type) {
      case 'levels':
        return this.#showLevels(message.levels);
      case 'reset':
        return this.connected();
      case 'listening':
        return;
      case 'partial':
      case 'call-deleted':
        if (message.call_id !== this.#id) return;
        if (message.type === 'call-deleted') this.#gone('This call was erased.');
        else this.#event(message);
        return;
      default:
        if (message.call.id !== this.#id) return;
        if (message.type === 'call') this.#show(message.call);
        else this.#event(message);
    }
  }

  /** @param {LiveMessage<'levels'>['levels']} levels */
  #showLevels(levels) {
    for (const { call_id: id, leg_id: leg, level } of levels)
      if (id === this.#id) this.#levels.set(leg, level);
  }

  /** @param {CallEvent | LiveMessage<'partial'>} message */
  #event(message) {
    const isReplaced = this.#conversation.isNew(message) && this.#conversation.isReplaced(message);
    const changed = this.#conversation.take(message);
    if (isReplaced) this.#transcript.clear();
    this.#transcript.changed(changed);
    if (message.type === 'partial') return;
    if (this.#hasEvents) this.#hints.event(message.type);
    if (message.type === 'call.summary') void this.#scores.load();
    this.#draw();
    if (message.type === 'call.summary' || isReplaced) this.#drawSummary();
    if (message.type === 'call.wrapped' && this.#conversation.wrapUp)
      this.#wrapUp.draw(this.#conversation.wrapUp);
    this.#deliveries.changed();
  }

  /** @param {ApiCall} call */
  #show(call) {
    this.#call = call;
    this.#loading.ready();
    this.#columns.hidden = false;
    setText(this.#heading, parties(call));
    this.title = parties(call);
    document.title = `${this.title} · Trunkline`;
    const facts = [call.carrier, call.direction, fullMoment(call.started_at)];
    setText(this.#facts, facts.filter(Boolean).join(' · '));
    const contact = contactText(call.contact);
    this.#contact.hidden = contact === '';
    setText(this.#contact, contact);
    const state = call.paused && call.state === 'live' ? 'paused' : call.state;
    this.#state.dataset.state = state;
    setText(this.#state, state === 'paused' ? 'Paused' : stateNames[call.state]);
    this.#pause.hidden = call.state !== 'live';
    setText(this.#pause, call.paused ? 'Resume' : 'Pause');
    this.#pause.title = 'Key M';
    this.#pause.setAttribute('aria-keyshortcuts', 'M');
    this.#transcript.follow(call.state !== 'ended');
    this.#levels.show(call.state === 'live' ? call.legs : []);
    this.#evidence.draw(call);
    this.#details.draw(call);
    this.#actions.draw(call);
    // A process of an older version has no notes.
    this.#notes.element.hidden = call.notes === undefined;
    if (call.notes !== undefined) this.#notes.draw(call);
    this.#missing.draw(call);
    // The feed sends calls without them.
    if (call.transcript) this.#label(call);
    if (call.judged_turns) this.#transcript.changed(this.#conversation.judged(call.judged_turns));
    this.#warnings.draw(call.warnings);
    this.#drawClock();
    this.#openRecording();
    this.#draw();
  }

  /** @param {ApiCall} call */
  #label({ transcript, state }) {
    const isOver = state === 'ended';
    this.#transcript.changed(this.#conversation.labelled(transcript, { isOver }));
  }

  #openRecording() {
    const call = this.#call;
    if (this.#recording || !call?.recording || call.state === 'live') return;
    this.#recording = new Recording(call, (seconds) => this.#transcript.heard(seconds));
    this.#sound.replaceChildren(this.#recording.element);
    this.#player.replaceChildren(this.#recording.player);
    if (this.#startAt !== undefined) this.#recording.goTo(this.#startAt);
    this.element.classList.add('has-recording');
  }

  /** Scrolls, once, to the words at the second that a link names. */
  #goToStart() {
    const at = this.#startAt;
    if (at === undefined) return;
    this.#startAt = undefined;
    requestAnimationFrame(() => this.#transcript.goTo(at));
  }

  /**
   * The keyboard shortcuts of this view. Those that need a recording return false without one.
   * @returns {Shortcut[]}
   */
  get shortcuts() {
    /** @param {(sound: Recording) => unknown} run */
    const withSound = (run) => () => (this.#recording ? run(this.#recording) : false);
    /** @param {number} s */
    const jump = (s) => withSound((sound) => sound.goTo(sound.place + s));
    /** @param {(seconds: number) => number | undefined} placeFrom */
    const step = (placeFrom) =>
      withSound((sound) => {
        const place = placeFrom(sound.place);
        if (place !== undefined) sound.hear(place);
      });
    /** @param {number} seconds @param {number} steps */
    const words = (seconds, steps) => this.#transcript.wordFrom(seconds, steps);
    /** @param {number} seconds @param {number} steps */
    const turns = (seconds, steps) => this.#transcript.turnFrom(seconds, steps);
    return [
      {
        key: ' ',
        shown: 'Space',
        name: 'Play or pause',
        run: withSound((sound) => sound.toggle()),
      },
      { key: 'arrowleft', shown: '←', name: `${jumpS} seconds back`, run: jump(-jumpS) },
      { key: 'arrowright', shown: '→', name: `${jumpS} seconds on`, run: jump(jumpS) },
      { key: ',', name: 'Play from the word before', run: step((s) => words(s, -1)) },
      { key: '.', name: 'Play from the next word', run: step((s) => words(s, 1)) },
      { key: 'p', name: 'Play from the turn before', run: step((s) => turns(s, -1)) },
      { key: 'n', name: 'Play from the next turn', run: step((s) => turns(s, 1)) },
      {
        key: 'm',
        name: 'Pause or resume the recording and the transcript',
        run: () => (this.#call?.state === 'live' ? void this.#togglePause() : false),
      },
      { key: 'l', name: 'Copy a link to this second', run: () => void this.#actions.copyLink() },
      { key: 'c', name: 'Copy the transcript', run: () => void this.#actions.copyWords() },
    ];
  }

  /** The byte counts change with every frame. Showing them from time to time is enough. */
  #tick() {
    // While Trunkline does not answer, nobody knows how the call continues.
    if (connection.lostAt !== undefined) return;
    this.#drawClock();
    const isOver = this.#call?.state === 'ended';
    if (isOver || document.visibilityState === 'hidden') return;
    if (++this.#ticks % ledgerEveryTicks === 0) void this.#loadCall();
  }

  #drawClock() {
    if (!this.#call) return;
    setText(this.#clock, clock(this.#lengthS()));
  }

  #lengthS() {
    if (this.#conversation.ended) return this.#conversation.ended.duration;
    const said = this.#conversation.utterances.at(-1)?.end ?? 0;
    if (!this.#call) return said;
    return Math.max(said, lengthOf(this.#call));
  }

  #drawPanels() {
    if (!this.#hasEvents) return;
    this.#chart.element.hidden = false;
    this.#figures.element.hidden = false;
    const { utterances, ended, hidden } = this.#conversation;
    this.#said.draw(utterances);
    this.#drawMood(utterances);
    this.#chart.draw(utterances, this.#lengthS(), this.#call?.state === 'ended');
    // Silence at the end of a running call may yet contain words, so it is not counted. A call that was read again has
    // other figures than those of its end.
    const again = /** @type {CallFigures | null | undefined} */ (this.#call?.statistics);
    const figures = ended && (again ?? ended);
    this.#figures.draw(utterances, utterances.at(-1)?.end ?? 0, figures, hidden);
  }

  /**
   * Draws the bar: the mood of the whole call after its end, and before that the mood of the customer's latest words.
   * @param {readonly SpokenEntry[]} utterances
   */
  #drawMood(utterances) {
    const latest = utterances.findLast(
      ({ role, sentiments }) => role !== 'agent' && moodOf(sentiments) !== undefined,
    );
    const mood = callMoodIn(this.#call?.mood) ?? (latest && moodOf(latest.sentiments));
    this.#mood.dataset['sentiment'] = mood ?? '';
    setText(this.#mood, titleOf(mood ?? ''));
    this.#mood.title = mood === undefined ? '' : 'Mood of the call';
  }

  #drawSummary() {
    const { summary } = this.#conversation;
    if (!summary) return;
    this.#summary.replaceChildren(summaryElement(summary, this.#hear));
    this.#wrapUp.offer(this.#call?.ended_at);
  }

  /** @param {string} utteranceId */
  #hearUtterance(utteranceId) {
    const said = this.#conversation.utterances.find(({ utterance_id: id }) => id === utteranceId);
    if (!said) return;
    // Without a recording the words are shown at least.
    this.#hear(said.start);
    this.#transcript.goTo(said.start);
  }

  async #togglePause() {
    const verb = this.#call?.paused ? 'resume' : 'pause';
    this.#pause.disabled = true;
    setText(this.#problem, '');
    try {
      this.#show(await post(`/api/calls/${this.#id}/${verb}`));
    } catch (error) {
      setText(this.#problem, messageOf(error));
    }
    this.#pause.disabled = false;
  }
}
