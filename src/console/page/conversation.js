import { voices } from './format.js';

/**
 * What is known of one call, from its events and partials, in order of the call's time. No document, no
 * network: messages in, entries out.
 */
export class Conversation {
  entries = [];
  partials = new Map();
  ended;
  summary;
  #byKey = new Map();
  #seen = new Set();
  #pausedAt;
  #judged = new Set();
  /** By turn: which voice of a leg with several parties, as the call itself tells it; no event does before the end. */
  #speakers = new Map();

  /** Takes a message; answers the entries that changed. */
  take(message) {
    if (message.type === 'partial') return this.#partial(message);
    if (!message.type.startsWith('call.') || this.#seen.has(message.id)) return [];
    this.#seen.add(message.id);
    switch (message.type) {
      case 'call.transcript':
        return this.#final(message);
      case 'call.sentiment':
        return this.#about(message, { sentiments: message.data.results, isTold: true });
      case 'call.entities':
        return this.#about(message, { entities: message.data.results });
      case 'call.translation':
        return this.#translation(message);
      case 'call.gap':
        return [this.#insert({ kind: 'gap', key: message.id, leg: message.leg, ...message.data })];
      case 'call.paused':
        return [this.#paused(message)];
      case 'call.resumed':
        return [this.#resumed(message)];
      case 'call.dtmf':
        return [
          this.#insert({ kind: 'dtmf', key: message.id, ...message.data, start: message.data.at }),
        ];
      case 'call.ended':
        this.ended = message.data;
        this.partials.clear();
        return [];
      case 'call.summary':
        this.summary = message.data;
        return [];
      case 'call.transcript.revised':
        return this.isReplaced(message) ? this.#replaced(message.data) : [];
      default:
        return [];
    }
  }

  /** Utterances whose sentiment is known: of those that were found neutral there is no other word. */
  judged(turnIds) {
    this.#judged = new Set(turnIds);
    return this.utterances.filter((entry) => this.#neutral(entry));
  }

  /** Who says what where all parties share a channel; answers the utterances that have another speaker than before. */
  labelled(turns, { isOver }) {
    for (const { turn_id: id, speaker, speaker_provisional: isProvisional } of turns)
      if (id !== undefined && speaker !== undefined)
        this.#speakers.set(id, {
          speaker,
          ...(isProvisional ? { doubt: isOver ? 'not sure' : 'not yet sure' } : {}),
        });
    return this.utterances.filter((entry) => this.#named(entry));
  }

  #named(entry) {
    const said = this.#speakers.get(entry.turn_id);
    if (!said || (entry.speaker === said.speaker && entry.doubt === said.doubt)) return false;
    Object.assign(entry, { doubt: undefined, ...said, voice: said.speaker % voices });
    return true;
  }

  #neutral(entry) {
    if (entry.isTold || entry.sentiments.length > 0 || !this.#judged.has(entry.turn_id))
      return false;
    const { start, end, text } = entry;
    entry.sentiments = [{ sentiment: 'neutral', emotion: 'neutral', start, end, text }];
    return true;
  }

  get utterances() {
    return this.entries.filter((entry) => entry.kind === 'utterance');
  }

  /** The words of a call that lacked some, or whose speakers shared a channel, read from its recording: they stand in place of what was heard live. */
  isReplaced({ type, data }) {
    return type === 'call.transcript.revised' && data.incomplete !== undefined;
  }

  /** What was read before is read again whenever the feed is open again. */
  isNew({ id }) {
    return !this.#seen.has(id);
  }

  #replaced(data) {
    this.entries = this.entries.filter(({ kind }) => kind === 'pause' || kind === 'dtmf');
    this.#byKey = new Map(this.entries.map((entry) => [entry.key, entry]));
    this.summary = { ...this.summary, ...data };
    const empty = { words: [], entities: [], sentiments: [], translations: [] };
    for (const [at, turn] of data.transcript.entries()) {
      const voice = turn.speaker === undefined ? {} : { voice: turn.speaker % voices };
      this.#insert({ kind: 'utterance', key: `revised:${at}`, ...empty, ...turn, ...voice });
    }
    return this.entries;
  }

  /** Stretches in which nobody can know what was said. */
  get hidden() {
    return this.entries
      .filter(({ kind, end }) => (kind === 'gap' || kind === 'pause') && end !== undefined)
      .map(({ start, end }) => ({ start, end }));
  }

  #partial(message) {
    const { utterance } = message;
    const key = keyOf(utterance.session_id, utterance.utterance_id);
    // A partial that was overtaken by its own final says nothing new.
    if (this.#byKey.has(key)) return [];
    this.partials.set(message.leg_id, { key, role: message.role, ...utterance });
    return [];
  }

  #final({ leg, data }) {
    const key = keyOf(leg.session_id, data.utterance_id);
    const partial = this.partials.get(leg.id);
    if (partial && (partial.key === key || partial.start <= data.end)) this.partials.delete(leg.id);
    const known = this.#byKey.get(key);
    const entry = { kind: 'utterance', key, role: leg.role, legId: leg.id, ...data };
    if (known) return [Object.assign(known, entry)];
    const made = this.#insert({ entities: [], sentiments: [], translations: [], ...entry });
    this.#neutral(made);
    this.#named(made);
    return [made];
  }

  /** Add-ons follow their final; one without (its final was lost) brings the utterance itself. */
  #about(message, found) {
    const { leg, data } = message;
    const key = keyOf(leg.session_id, data.utterance_id);
    const known = this.#byKey.get(key);
    if (known) return [Object.assign(known, found)];
    const changed = this.#final({
      leg,
      data: { utterance_id: data.utterance_id, words: [], ...data.utterance },
    });
    return changed.map((entry) => Object.assign(entry, found));
  }

  #translation(message) {
    const { target_language: language, translated_utterance: utterance } = message.data;
    const [entry] = this.#about(message, {});
    entry.translations = [
      ...entry.translations.filter((other) => other.language !== language),
      { language, text: utterance.text },
    ];
    return [entry];
  }

  #paused(message) {
    this.#pausedAt = this.#insert({
      kind: 'pause',
      key: message.id,
      by: message.data.by,
      start: message.data.at,
    });
    return this.#pausedAt;
  }

  #resumed(message) {
    const { at, duration } = message.data;
    const open = this.#pausedAt;
    this.#pausedAt = undefined;
    if (open) return Object.assign(open, { end: at, duration });
    return this.#insert({
      kind: 'pause',
      key: message.id,
      start: at - duration,
      end: at,
      duration,
    });
  }

  #insert(entry) {
    let at = this.entries.length;
    while (at > 0 && this.entries[at - 1].start > entry.start) at--;
    this.entries.splice(at, 0, entry);
    this.#byKey.set(entry.key, entry);
    return entry;
  }
}

function keyOf(sessionId, utteranceId) {
  return `${sessionId}:${utteranceId}`;
}
