import type { LanguageRunner } from '../../language/runner.ts';
import type {
  Covered,
  RedactInput,
  RedactionState,
  Redacted,
} from '../../language/redaction/redact.ts';
import { surroundingsIn } from '../../language/timing.ts';
import type { Utterance, Word } from '../../protocol/addons.ts';
import type { BridgeConfig } from '../config.ts';
import {
  withText,
  type EntityOfResult,
  type FinalResult,
  type Result,
} from '../records/timeline.ts';
import { valueContextOf } from '../records/value-context.ts';
import type { CallRecord } from '../records/call-record.ts';

/** Replaces a text that the language thread could not redact. Text that nobody has checked must not be sent out. */
const unseen = '[REDACTED]';
/** At most this many finals of a speaker are remembered for their add-ons, which arrive within moments. */
export const maxFinalsRemembered = 16;
/**
 * At most this many ends of finals are remembered. A final that was lost with a socket is fetched later, and is
 * compared with these ends to find the final before it.
 */
export const maxTailsRemembered = 32;

export type Final = FinalResult;
export type AddOn = Exclude<Result, { type: 'call.transcript' }>;

/**
 * The last words of one speaker (one channel of a leg). If a number continues in the speaker's next final, it began in
 * these words.
 */
export class Speaker {
  readonly recent = new Map<string, { raw: string; redacted: Redacted }>();
  readonly tails: { end: number; text: string }[] = [];
  held: Final[] = [];
  /** The words of the other party before the examined finals. They may contain the question. */
  asked: readonly string[] = [];
  state: Omit<RedactionState, 'numbers'> = {};
  /** The call time up to which finals have arrived. */
  end = 0;

  constructor(tail: string | undefined) {
    if (tail !== undefined) this.state = { tail };
  }

  holds(addOn: AddOn): boolean {
    return this.held.some((final) => utteranceOf(final) === utteranceOf(addOn));
  }
}

export type Step = { released: Final[]; holdMs: number };

/** The parties may become known during the call, and with them the country that amounts are said in. */
type RedactedCall = Pick<CallRecord, 'id' | 'startedAt' | 'direction' | 'from' | 'to'>;

/**
 * Removes the configured entity types from every text of a result before it is stored or sent. Each call has one
 * redactor, because an entity keeps its number (`[NAME_1]`) through the call, whoever says it. Steps run one after the
 * other, because each needs the state after the previous one.
 */
export class Redactor {
  readonly #language: LanguageRunner;
  readonly #call: RedactedCall;
  readonly #types: string[];
  readonly #form: 'MARKER' | 'MASK';
  #failed: (error: unknown) => void = () => undefined;
  #numbers: RedactionState['numbers'] = {};

  private constructor(
    language: LanguageRunner,
    call: RedactedCall,
    types: string[],
    form: 'MARKER' | 'MASK',
  ) {
    this.#call = call;
    this.#language = language;
    this.#types = types;
    this.#form = form;
  }

  /** Returns undefined if nothing is to be redacted. */
  static from(
    language: LanguageRunner,
    call: RedactedCall,
    config: BridgeConfig,
  ): Redactor | undefined {
    if (config.redactEntities.length === 0) return undefined;
    return new Redactor(language, call, [...config.redactEntities], config.redactForm);
  }

  /** Sets the function that is called with a bug of ours. The finals in question are released completely hidden. */
  onFailure(failed: (error: unknown) => void): void {
    this.#failed = failed;
  }

  /** The highest number used for each kind of entity. After a restart it keeps a number from being used twice. */
  get used(): Record<string, number> {
    return Object.fromEntries(
      Object.entries(this.#numbers).map(([label, keys]) => [label, Object.keys(keys).length]),
    );
  }

  restoreUsed(used: Record<string, number>): void {
    for (const [label, count] of Object.entries(used)) {
      const keys = (this.#numbers[label] ??= {});
      for (let number = Object.keys(keys).length + 1; number <= count; number++)
        keys[`#${number}`] = number;
    }
  }

  /** Takes a final. Returns the finals that may leave now, in order; the others stay in the speaker's `held`. */
  async final(speaker: Speaker, final: Final, asked: readonly string[] = []): Promise<Step> {
    // A final that was lost with a socket arrives late. It continues the final that precedes it in time, not the newest
    // one.
    const isLate = final.end < speaker.end;
    const before = isLate ? await this.flush(speaker) : [];
    if (speaker.held.length === 0 || asked.length > 0) speaker.asked = asked;
    const newest = speaker.state.tail;
    if (isLate) speaker.state = tailState(speaker.tails.findLast(({ end }) => end <= final.end));
    const { text, words } = final.data;
    speaker.held.push(final);
    const step = await this.#step(speaker, { text, words, mayHold: true });
    if (isLate && step.holdMs === 0) speaker.state = newest === undefined ? {} : { tail: newest };
    else speaker.end = Math.max(speaker.end, final.end);
    return { released: [...before, ...step.released], holdMs: step.holdMs };
  }

  /**
   * Releases the held finals and redacts them as they are. No continuation will come: their deadline has passed, or the
   * speaker is finished. `asked` has a question that was reported after its answer, too.
   */
  async flush(speaker: Speaker, asked: readonly string[] = speaker.asked): Promise<Final[]> {
    if (speaker.held.length === 0) return [];
    speaker.asked = asked;
    return (await this.#step(speaker, { text: '', flush: true })).released;
  }

  async addOn(speaker: Speaker, addOn: AddOn): Promise<AddOn> {
    const known = speaker.recent.get(utteranceOf(addOn));
    switch (addOn.type) {
      case 'call.sentiment': {
        const { data } = addOn;
        const utterance = await this.#utterance(data.utterance, known);
        const results = await this.#each(data.results, known);
        return { ...addOn, data: { ...data, utterance, results } };
      }
      case 'call.entities': {
        const { data } = addOn;
        const utterance = await this.#utterance(data.utterance, known);
        const results = await this.#entities(speaker, data.results, known);
        return { ...addOn, data: { ...data, utterance, results } };
      }
      case 'call.translation': {
        const { data } = addOn;
        const utterance = await this.#utterance(data.utterance, known);
        const { text, words } = data.translated_utterance;
        const translated = await this.#strange(text, known, words);
        const translated_utterance = { ...data.translated_utterance, ...translated };
        return { ...addOn, data: { ...data, utterance, translated_utterance } };
      }
    }
  }

  async #step(
    speaker: Speaker,
    input: Pick<RedactInput, 'text' | 'words' | 'mayHold' | 'flush'>,
  ): Promise<Step> {
    const waiting = [...speaker.held];
    try {
      return await this.#released(speaker, input);
    } catch (error) {
      this.#failed(error);
      return hideAll(speaker, waiting);
    }
  }

  async #released(
    speaker: Speaker,
    input: Pick<RedactInput, 'text' | 'words' | 'mayHold' | 'flush'>,
  ): Promise<Step> {
    const language = speaker.held.at(-1)?.data.language ?? 'en';
    const results = await this.#run({
      ...input,
      write: { language, callingCode: valueContextOf(this.#call).callingCode },
      asked: speaker.asked,
      state: { ...speaker.state, numbers: this.#numbers },
    });
    if (results === null) return hideAll(speaker, speaker.held);
    const { numbers: _numbers, ...state } = results.state;
    speaker.state = state;
    const { tail } = state;
    const finals = speaker.held.splice(0, results.released.length);
    const end = finals.at(-1)?.end;
    if (tail !== undefined && tail !== '' && end !== undefined) {
      speaker.tails.push({ end, text: tail });
      if (speaker.tails.length > maxTailsRemembered) speaker.tails.shift();
    }
    const released = finals.map((final, i) => {
      const redacted = results.released[i] ?? nothingSeen;
      remember(speaker, final, redacted);
      return redactedFinal(final, redacted);
    });
    return { released, holdMs: results.holdMs };
  }

  /**
   * Redacts an utterance of an add-on. If it repeats its final, it gets the final's redacted text; any other text is
   * redacted on its own.
   */
  async #utterance(utterance: Utterance, known: Known): Promise<Utterance> {
    const { text, words } =
      known?.raw === utterance.text ? known.redacted : await this.#alone(utterance);
    return { ...utterance, text, words };
  }

  async #each<Item extends { text: string }>(
    items: readonly Item[],
    known: Known,
  ): Promise<Item[]> {
    const redacted: Item[] = [];
    for (const item of items) {
      const part = known && coverPart(item.text, known.raw, known.redacted.covered);
      redacted.push({ ...item, text: part ?? (await this.#strange(item.text, known)).text });
    }
    return redacted;
  }

  /** If any word of an entity was redacted, in any of its finals, only the entity's type is kept. */
  async #entities(
    speaker: Speaker,
    entities: readonly EntityOfResult[],
    known: Known,
  ): Promise<EntityOfResult[]> {
    const redacted: EntityOfResult[] = [];
    for (const entity of entities) {
      const hidden = coverOf(speaker, entity);
      const [shown] = await this.#each([entity], known);
      const text = hidden ?? shown?.text ?? unseen;
      const { value: _value, currency: _currency, valid: _valid, ...others } = entity;
      redacted.push({ ...(text === entity.text ? entity : others), text });
    }
    return redacted;
  }

  /**
   * Redacts a translation or a normalised value twice: as a text of its own, and for digits that were redacted in the
   * final.
   */
  async #strange(
    text: string,
    known: Known,
    words: Word[] = [],
  ): Promise<{ text: string; words: Word[] }> {
    const alone = await this.#alone({ text, words });
    if (known === undefined) return { text: alone.text, words: alone.words };
    const all = coverFollowing(alone.text, known.raw, known.redacted.covered);
    return { text: all, words: all === alone.text ? alone.words : [] };
  }

  async #alone({ text, words, language }: Alone): Promise<Redacted> {
    const state = { numbers: this.#numbers };
    const results = await this.#run({ text, words, language, state });
    return results?.released[0] ?? nothingSeen;
  }

  async #run(input: Omit<RedactInput, 'entityTypes' | 'form'>) {
    const { results } = await this.#language.run(
      'redact',
      { ...input, entityTypes: this.#types, form: this.#form },
      { owner: this.#call.id },
    );
    if (results !== null) this.#numbers = results.state.numbers;
    return results;
  }
}

type Alone = { text: string; words: Word[]; language?: string | undefined };

type Known = { raw: string; redacted: Redacted } | undefined;

const nothingSeen: Redacted = { text: unseen, words: [], covered: [] };

/**
 * Hides and releases all waiting finals, because no answer came and nobody knows what the texts reveal. If one stayed,
 * it would get the next final's answer.
 */
function hideAll(speaker: Speaker, waiting: readonly Final[]): Step {
  const released = waiting.map((final) => redactedFinal(final, nothingSeen));
  speaker.held = [];
  speaker.state = {};
  return { released, holdMs: 0 };
}

function tailState(tail: { text: string } | undefined): Speaker['state'] {
  return tail === undefined ? {} : { tail: tail.text };
}

/** A new field of a final is named here if it holds no spoken word. Otherwise `redactedFinal` must redact it. */
type WithoutSpokenWords = 'utterance_id' | 'start' | 'end' | 'language' | 'confidence' | 'channel';
type Unjudged = Exclude<keyof Final['data'], WithoutSpokenWords | 'text' | 'words'>;
/** `never`, which nothing satisfies, while a field is neither. */
type JudgedData = [Unjudged] extends [never] ? Final['data'] : never;

function redactedFinal(final: Final, redacted: Redacted): Final {
  const { text, words, written = text } = redacted;
  const hidden = hiddenIn(final, redacted);
  const spoken = { ...final, text, data: { ...final.data, text, words } satisfies JudgedData };
  return { ...withText(spoken, written), ...(hidden.length === 0 ? {} : { hidden }) };
}

/** The times of the redacted words, up to their neighbours. For a final that was not checked, the whole final. */
function hiddenIn({ data }: Final, { text, covered }: Redacted): { start: number; end: number }[] {
  if (text === unseen) return [{ start: data.start, end: data.end }];
  const at = surroundingsIn(data);
  return covered.map(({ start, end }) => at(start, end));
}

function remember(speaker: Speaker, final: Final, redacted: Redacted): void {
  speaker.recent.set(utteranceOf(final), { raw: final.data.text, redacted });
  if (speaker.recent.size <= maxFinalsRemembered) return;
  for (const oldest of speaker.recent.keys()) {
    speaker.recent.delete(oldest);
    break;
  }
}

function utteranceOf({ sessionId, data }: Result): string {
  return `${sessionId} ${data.utterance_id}`;
}

/** The replacement for the first redacted words of an entity. Undefined if none of its words was redacted. */
function coverOf({ recent }: Speaker, { parts = [] }: EntityOfResult): string | undefined {
  for (const { session, of_session, from, to } of parts) {
    const covered = recent.get(`${session} ${of_session}`)?.redacted.covered ?? [];
    const over = covered.find(({ start, end }) => start < to && from < end);
    if (over !== undefined) return over.shown;
  }
  return undefined;
}

/**
 * Redacts a part of an utterance (a sentence or an entity) like the whole utterance. Undefined if the part does not
 * occur in the utterance. Pure.
 */
function coverPart(part: string, raw: string, covered: readonly Covered[]): string | undefined {
  const from = part === '' ? -1 : raw.indexOf(part);
  if (from < 0) return undefined;
  const to = from + part.length;
  let text = '';
  let at = from;
  for (const { start, end, shown } of covered) {
    if (end <= from || start >= to) continue;
    text += raw.slice(at, Math.max(at, start));
    // A mask is as long as the text it hides, so the part gets only its own share of the mask.
    const own = raw.slice(Math.max(start, from), Math.min(end, to));
    text += shown.startsWith('[') ? shown : own.replace(/\S/gu, '#');
    at = Math.min(end, to);
  }
  return text + raw.slice(at, to);
}

/** A translation or a normalised entity may write redacted digits in another form. They are redacted there too. */
function coverFollowing(text: string, raw: string, covered: readonly Covered[]): string {
  if (covered.length === 0) return text;
  return text.replace(/(?<![_\d])\d(?:[\s.-]*\d)+/g, (run) => {
    const digits = digitsOf(run);
    const over = covered.find(({ start, end }) => {
      const hidden = digitsOf(raw.slice(start, end));
      return hidden.length > 1 && (hidden.includes(digits) || digits.includes(hidden));
    });
    if (over === undefined) return run;
    return over.shown.startsWith('[') ? over.shown : run.replace(/\S/g, '#');
  });
}

function digitsOf(text: string): string {
  return text.replace(/\D/g, '');
}
