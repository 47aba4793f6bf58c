import { post } from './api.js';
import { AskPanel } from './ask-panel.js';
import { NotesPanel } from './call-notes.js';
import { Conversation } from './conversation.js';
import { h, onNextFrame, setText } from './dom.js';
import { messageOf } from './failures.js';
import { clock, contactText, lengthOf, parties, stateNames } from './format.js';
import { HintsPanel } from './hints-panel.js';
import { SaidSoFarPanel } from './said-so-far.js';
import { TokenFeed } from './token-feed.js';
import { Transcript } from './transcript.js';
import { WrapUpPanel } from './wrap-up.js';

/** @import { ApiCall, BookedCall, LiveFeedMessage, Shortcut } from './shapes.ts' */

/** One call in the panel of an agent: what to do next first, and the words below. */
export class PanelCall {
  #id;
  /** @type {ApiCall | BookedCall} */
  #call;
  #conversation = new Conversation();
  /** A recording cannot be heard here, so a press on a time shows the words of that time. */
  #show = (/** @type {number} */ seconds) => this.#transcript.goTo(seconds);
  #transcript = new Transcript(this.#conversation, this.#show, () => undefined);
  #hints;
  #ask;
  #said = new SaidSoFarPanel(this.#show);
  #notes;
  #wrapUp;
  #heading = h('h1', { tabindex: '-1' });
  #contact = h('p', { class: 'facts', hidden: true });
  #state = h('span', { class: 'state' });
  #clock = h('span', { class: 'clock' });
  #pause = h('button', {
    ...{ type: 'button', class: 'pause', title: 'Key M', 'aria-keyshortcuts': 'M' },
    onclick: () => void this.#togglePause(),
  });
  #problem = h('p', { class: 'error', role: 'alert' });
  /** @type {TokenFeed<LiveFeedMessage>} */
  #feed;
  #ticking;
  #drawSaid = onNextFrame(() => this.#said.draw(this.#conversation.utterances));
  element;

  /** @param {BookedCall} call */
  constructor(call) {
    this.#id = call.id;
    this.#call = call;
    this.#hints = new HintsPanel(call.id, this.#show);
    this.#ask = new AskPanel(call.id);
    this.#notes = new NotesPanel(call.id);
    this.#wrapUp = new WrapUpPanel(call.id, (utterance) => this.#showUtterance(utterance));
    this.element = h(
      'div',
      { class: 'panel-call' },
      h(
        'div',
        { class: 'call-bar' },
        this.#heading,
        this.#contact,
        h('div', { class: 'actions' }, this.#state, this.#clock, this.#pause),
        this.#problem,
      ),
      this.#wrapUp.element,
      this.#hints.element,
      this.#ask.element,
      this.#said.element,
      h(
        'details',
        { class: 'panel-words', open: true },
        h('summary', {}, 'Words'),
        this.#transcript.element,
      ),
      this.#notes.element,
    );
    this.draw(call);
    this.#hints.load();
    this.#feed = new TokenFeed(
      `/api/calls/${call.id}/live`,
      (message) => this.#take(message),
      () => undefined,
    );
    this.#ticking = setInterval(() => this.#drawClock(), 1_000);
  }

  close() {
    this.#feed.close();
    this.#hints.close();
    this.#notes.close();
    this.#transcript.close();
    clearInterval(this.#ticking);
  }

  get isOver() {
    return this.#call.state === 'ended';
  }

  focus() {
    this.#heading.focus({ preventScroll: true });
  }

  /** @param {ApiCall | BookedCall} call */
  draw(call) {
    this.#call = call;
    setText(this.#heading, parties(call));
    const contact = 'contact' in call ? contactText(call.contact) : '';
    if (contact !== '') setText(this.#contact, contact);
    this.#contact.hidden = this.#contact.textContent === '';
    const isLive = call.state === 'live';
    const state = call.paused && isLive ? 'paused' : call.state;
    this.#state.dataset['state'] = state;
    setText(this.#state, state === 'paused' ? 'Paused' : stateNames[call.state]);
    this.#pause.disabled = this.#pause.hidden = !isLive;
    setText(this.#pause, call.paused && isLive ? 'Resume' : 'Pause');
    this.#transcript.follow(isLive);
    if ('transcript' in call && call.transcript)
      this.#transcript.changed(
        this.#conversation.labelled(call.transcript, { isOver: this.isOver }),
      );
    this.#notes.draw({ notes: null, tags: [], ...call });
    if (this.isOver) this.#wrapUp.offer(call.ended_at);
    this.#drawClock();
  }

  /** @param {LiveFeedMessage} message */
  #take(message) {
    switch (message.type) {
      case 'call':
        this.#transcript.loaded();
        return this.draw(message.call);
      case 'levels':
      case 'reset':
      case 'listening':
      case 'call-deleted':
        return;
      default:
        this.#transcript.changed(this.#conversation.take(message));
        this.#transcript.loaded();
        this.#hints.event(message.type);
        if (message.type === 'call.wrapped' && this.#conversation.wrapUp)
          this.#wrapUp.draw(this.#conversation.wrapUp);
        this.#drawSaid();
    }
  }

  /** @returns {Shortcut[]} */
  get shortcuts() {
    /** @param {'useful' | 'not_useful' | 'dismissed'} verdict */
    const judge = (verdict) => () => this.#hints.judgeNewest(verdict);
    return [
      { key: 'm', name: 'Pause or resume', run: () => (this.#pause.disabled ? false : void this.#togglePause()) }, // prettier-ignore
      { key: 'u', name: 'The newest hint is useful', run: judge('useful') },
      { key: 'n', name: 'The newest hint is not useful', run: judge('not_useful') },
      { key: 'x', name: 'Dismiss the newest hint', run: judge('dismissed') },
      { key: '/', name: 'Ask the articles', run: () => this.#ask.focus() },
    ];
  }

  #drawClock() {
    setText(this.#clock, clock(lengthOf(this.#call)));
  }

  /** @param {string} utteranceId */
  #showUtterance(utteranceId) {
    const said = this.#conversation.utterances.find(({ utterance_id: id }) => id === utteranceId);
    if (said) this.#show(said.start);
  }

  async #togglePause() {
    const verb = this.#call.paused ? 'resume' : 'pause';
    setText(this.#problem, '');
    try {
      this.draw(await post(`/api/calls/${this.#id}/${verb}`));
    } catch (error) {
      setText(this.#problem, `Could not ${verb}: ${messageOf(error)}`);
    }
  }
}
