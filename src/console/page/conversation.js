import { voices } from './format.js';

/** @import { AboutCall, CallEvent, ConversationEntry, LiveMessage, PauseEntry, Role, ShownSummary, ShownWrapUp, Turn, SpokenEntry } from './shapes.ts' */

/**
 * One call as told by its events and partials, in order of the call's time. It uses no document and no network:
 * messages go in, entries come out.
 */
export class Conversation {
  /** @type {ConversationEntry[]} */
  entries = [];
  /** @type {Map<string, { key: string, role: Role } & LiveMessage<'partial'>['utterance']>} */
  partials = new Map();
  /** @type {AboutCall<'call.ended'>['data'] | undefined} */
  ended;
  /** @type {ShownSummary | undefined} */
  summary;
  /** @type {ShownWrapUp | undefined} */
  wrapUp;
  /** @type {Map<string, ConversationEntry>} */
  #byKey = new Map();
  /** @type {Set<string>} */
  #seen = new Set();
  /** @type {PauseEntry | undefined} */
  #pausedAt;
  /** @type {Set<string>} */
  #judged = new Set();
  /**
   * For each turn, its voice in a leg with several parties. The call record tells this; no event does before the end.
   * @type {Map<string, { speaker: number, doubt?: string }>}
   */
  #speakers = new Map();

  /**
   * Takes a message and returns the entries that changed.
   * @param {CallEvent | LiveMessage<'partial'>} message
   * @returns {ConversationEntry[]}
   */
  take(message) {
    if (message.type === 'partial') return this.#partial(message);
    if (!message.type.startsWith('call.') || this.#seen.has(message.id)) return [];
    this.#seen.add(message.id);
    switch (message.type) {
      case 'call.transcript':
        return this.#final(message, message.data);
      case 'call.sentiment':
        return this.#about(message, { sentiments: message.data.results, isTold: true });
      case 'call.entities':
        return this.#about(message, { entities: message.data.results });
      case 'call.translation':
        return this.#translation(message);
      case 'call.gap':
        return [
          this.#insert({
            ...{ kind: /** @type {const} */ ('gap'), key: message.id, leg: message.leg },
            ...message.data,
          }),
        ];
      case 'call.paused':
        return [this.#paused(message)];
      case 'call.resumed':
        return [this.#resumed(message)];
      case 'call.dtmf':
        return [
          this.#insert({
            ...{ kind: /** @type {const} */ ('dtmf'), key: message.id },
            ...{ digit: message.data.digit, start: message.data.at },
          }),
        ];
      case 'call.ended':
        this.ended = message.data;
        this.partials.clear();
        return [];
      case 'call.summary':
        this.summary = message.data;
        return [];
      case 'call.wrapped':
        this.wrapUp = message.data;
        return [];
      case 'call.transcript.revised':
        return this.isReplaced(message) ? this.#replaced(message.data) : [];
      default:
        return [];
    }
  }

  /**
   * Marks utterances whose sentiment is known. For neutral ones there is no other message.
   * @param {readonly string[]} turnIds
   */
  judged(turnIds) {
    this.#judged = new Set(turnIds);
    return this.utterances.filter((entry) => this.#neutral(entry));
  }

  /**
   * Takes the speakers of a channel that all parties share, and returns the utterances whose speaker changed.
   * @param {readonly Turn[]} turns
   * @param {{ isOver: boolean }} state
   */
  labelled(turns, { isOver }) {
    for (const { utterance_id: id, speaker, speaker_provisional: isProvisional } of turns)
      if (id !== undefined && speaker !== undefined)
        this.#speakers.set(id, {
          speaker,
          ...(isProvisional ? { doubt: isOver ? 'not sure' : 'not yet sure' } : {}),
        });
    return this.utterances.filter((entry) => this.#named(entry));
  }

  /** @param {SpokenEntry} entry */
  #named(entry) {
    const said = this.#speakers.get(entry.utterance_id ?? '');
    if (!said || (entry.speaker === said.speaker && entry.doubt === said.doubt)) return false;
    Object.assign(entry, { doubt: undefined, ...said, voice: said.speaker % voices });
    return true;
  }

  /** @param {SpokenEntry} entry */
  #neutral(entry) {
    if (entry.isTold || entry.sentiments.length > 0 || !this.#judged.has(entry.utterance_id ?? ''))
      return false;
    const { start, end, text } = entry;
    entry.sentiments = [{ sentiment: 'neutral', emotion: 'neutral', start, end, text }];
    return true;
  }

  get utterances() {
    return this.entries.filter((entry) => entry.kind === 'utterance');
  }

  /**
   * True for words that were read from a recording, because some were missing or the speakers shared a channel. They
   * replace the live words.
   * @param {CallEvent | LiveMessage<'partial'>} message
   * @returns {message is AboutCall<'call.transcript.revised'>}
   */
  isReplaced(message) {
    return message.type === 'call.transcript.revised' && message.data.incomplete !== undefined;
  }

  /**
   * Returns false for an event that was seen already, since all events are read again whenever the feed opens.
   * @param {CallEvent | LiveMessage<'partial'>} message
   */
  isNew(message) {
    return message.type === 'partial' || !this.#seen.has(message.id);
  }

  /** @param {AboutCall<'call.transcript.revised'>['data']} data */
  #replaced(data) {
    this.entries = this.entries.filter(({ kind }) => kind === 'pause' || kind === 'dtmf');
    this.#byKey = new Map(
      this.entries.flatMap((entry) => (entry.key === undefined ? [] : [[entry.key, entry]])),
    );
    this.summary = { ...this.summary, ...data };
    for (const [at, turn] of data.transcript.entries()) {
      const voice = turn.speaker === undefined ? {} : { voice: turn.speaker % voices };
      const entry = utterance({ key: `revised:${at}`, ...turn, ...voice });
      this.#insert(entry);
    }
    return this.entries;
  }

  /** The periods in which nobody can know what was said. */
  get hidden() {
    return this.entries.flatMap((entry) =>
      (entry.kind === 'gap' || entry.kind === 'pause') && entry.end !== undefined
        ? [{ start: entry.start, end: entry.end }]
        : [],
    );
  }

  /**
   * @param {LiveMessage<'partial'>} message
   * @returns {ConversationEntry[]}
   */
  #partial(message) {
    const { utterance: said } = message;
    const key = keyOf(said.session_id, said.utterance_id);
    // A partial that arrives after its own final tells nothing new.
    if (this.#byKey.has(key)) return [];
    this.partials.set(message.leg_id, { key, role: message.role, ...said });
    return [];
  }

  /**
   * @param {Pick<CallEvent, 'leg'>} about
   * @param {Said} said
   */
  #final({ leg }, said) {
    if (leg === undefined) return [];
    const key = keyOf(leg.session_id, said.utterance_id);
    const partial = this.partials.get(leg.id);
    if (partial && (partial.key === key || partial.start <= said.end)) this.partials.delete(leg.id);
    const { start, end, text, language, words = [], utterance_id } = said;
    const entry = {
      key,
      role: leg.role,
      legId: leg.id,
      start,
      end,
      text,
      language,
      words,
      utterance_id,
    };
    const known = this.#known(key);
    if (known) return [Object.assign(known, entry)];
    const made = this.#insert(utterance(entry));
    this.#neutral(made);
    this.#named(made);
    return [made];
  }

  /**
   * Adds the result of an add-on to its utterance. If the final was lost, the add-on brings the utterance itself.
   * @param {AboutCall<'call.entities' | 'call.sentiment' | 'call.translation'>} message
   * @param {Partial<SpokenEntry>} found
   */
  #about(message, found) {
    const { leg, data } = message;
    const known = leg && this.#known(keyOf(leg.session_id, data.utterance_id));
    if (known) return [Object.assign(known, found)];
    const { utterance_id } = data;
    const changed = this.#final(message, { ...data.utterance, utterance_id });
    return changed.map((entry) => Object.assign(entry, found));
  }

  /** @param {AboutCall<'call.translation'>} message */
  #translation(message) {
    const { target_language: language, translated_utterance: translated } = message.data;
    const entries = this.#about(message, {});
    for (const entry of entries)
      entry.translations = [
        ...entry.translations.filter((other) => other.language !== language),
        { language, text: translated.text },
      ];
    return entries;
  }

  /** @param {AboutCall<'call.paused'>} message */
  #paused({ id, data }) {
    /** @type {PauseEntry} */
    const pause = { kind: 'pause', key: id, by: data.by, start: data.at };
    this.#pausedAt = this.#insert(pause);
    return pause;
  }

  /** @param {AboutCall<'call.resumed'>} message */
  #resumed(message) {
    const { at, duration } = message.data;
    const open = this.#pausedAt;
    this.#pausedAt = undefined;
    if (open) return Object.assign(open, { end: at, duration });
    /** @type {PauseEntry} */
    const pause = { kind: 'pause', key: message.id, start: at - duration, end: at, duration };
    return this.#insert(pause);
  }

  /** @param {string} key */
  #known(key) {
    const entry = this.#byKey.get(key);
    return entry?.kind === 'utterance' ? entry : undefined;
  }

  /**
   * @template {ConversationEntry} One
   * @param {One} entry
   * @returns {One}
   */
  #insert(entry) {
    const before = this.entries.findLastIndex(({ start }) => start <= entry.start);
    this.entries.splice(before + 1, 0, entry);
    if (entry.key !== undefined) this.#byKey.set(entry.key, entry);
    return entry;
  }
}

/** @typedef {Omit<AboutCall<'call.transcript'>['data'], 'words'> & { words?: SpokenEntry['words'] }} Said */

/**
 * @param {Omit<SpokenEntry, 'kind' | 'words' | 'entities' | 'sentiments' | 'translations'> & { words?: SpokenEntry['words'] }} said
 * @returns {SpokenEntry}
 */
function utterance(said) {
  return {
    kind: 'utterance',
    ...{ words: [], entities: [], sentiments: [], translations: [] },
    ...said,
  };
}

/**
 * @param {string | null} sessionId
 * @param {string} utteranceId
 */
function keyOf(sessionId, utteranceId) {
  return `${sessionId}:${utteranceId}`;
}
