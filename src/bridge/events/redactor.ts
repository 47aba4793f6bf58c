import type { LanguageRunner } from '../../language/runner.ts';
import type {
  Covered,
  RedactInput,
  RedactionState,
  Redacted,
} from '../../language/redaction/redact.ts';
import type { Utterance, Word } from '../../protocol/addons.ts';
import type { BridgeConfig } from '../config.ts';
import type { Result } from './timeline.ts';

/** What stands for a text that could not be looked through: nothing unseen leaves. */
const unseen = '[REDACTED]';
/** Finals of a speaker that are remembered for the add-ons about them, which come within moments. */
const recentLimit = 16;
/** Ends of finals that are remembered for what a lost socket swallowed and GET brings later. */
const tailLimit = 32;

export type Final = Extract<Result, { type: 'call.transcript' }>;
export type AddOn = Exclude<Result, { type: 'call.transcript' }>;

/** What one speaker (a leg's channel) said last: only there can a number that goes on have begun. */
export class Speaker {
  readonly recent = new Map<string, { raw: string; redacted: Redacted }>();
  readonly tails: { end: number; text: string }[] = [];
  held: Final[] = [];
  state: Pick<RedactionState, 'tail' | 'held'> = {};
  /** Call time up to which finals have come. */
  end = 0;

  constructor(tail: string | undefined) {
    if (tail !== undefined) this.state = { tail };
  }

  holds(addOn: AddOn): boolean {
    return this.held.some((final) => utteranceOf(final) === utteranceOf(addOn));
  }
}

export type Step = { released: Final[]; holdMs: number };

/**
 * Takes the configured entity types out of everything that a result says, before it is stored or sent.
 * One per call: an entity keeps its number from one utterance to the next, whoever says it. Its steps must
 * be taken one after the other.
 */
export class Redactor {
  readonly #language: LanguageRunner;
  readonly #types: string[];
  readonly #form: 'MARKER' | 'MASK';
  #numbers: RedactionState['numbers'] = {};

  private constructor(language: LanguageRunner, types: string[], form: 'MARKER' | 'MASK') {
    this.#language = language;
    this.#types = types;
    this.#form = form;
  }

  /** Undefined when nothing is to be redacted. */
  static from(language: LanguageRunner, config: BridgeConfig): Redactor | undefined {
    if (config.redactEntities.length === 0) return undefined;
    return new Redactor(language, [...config.redactEntities], config.redactForm);
  }

  /** How many entities of each kind have a number: all that a restart needs to give out no number twice. */
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

  /** The finals that may leave now, in order. Those that may not are the speaker's `held`. */
  async final(speaker: Speaker, final: Final): Promise<Step> {
    // One that a lost socket swallowed belongs behind what was said before it, not behind the newest.
    const isLate = final.end < speaker.end;
    const before = isLate ? await this.flush(speaker) : [];
    const newest = speaker.state.tail;
    if (isLate) speaker.state = tailState(speaker.tails.findLast(({ end }) => end <= final.end));
    const { text, words } = final.data;
    speaker.held.push(final);
    const step = await this.#step(speaker, { text, words, mayHold: true });
    if (isLate && step.holdMs === 0) speaker.state = newest === undefined ? {} : { tail: newest };
    else speaker.end = Math.max(speaker.end, final.end);
    return { released: [...before, ...step.released], holdMs: step.holdMs };
  }

  /** No more can come of what is held, or not in time. */
  async flush(speaker: Speaker): Promise<Final[]> {
    if (speaker.held.length === 0) return [];
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
        const results = await this.#each(data.results, known);
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
    const results = await this.#run({
      ...input,
      state: { ...speaker.state, numbers: this.#numbers },
    });
    if (results === null) {
      // Without an answer nobody knows what these texts show; what was held goes the same way.
      const released = speaker.held.splice(0).map((final) => redactedFinal(final, nothingSeen));
      speaker.state = {};
      return { released, holdMs: 0 };
    }
    const { tail, held } = results.state;
    speaker.state = {
      ...(tail === undefined ? {} : { tail }),
      ...(held === undefined ? {} : { held }),
    };
    const finals = speaker.held.splice(0, results.released.length);
    const end = finals.at(-1)?.end;
    if (tail !== undefined && tail !== '' && end !== undefined) {
      speaker.tails.push({ end, text: tail });
      if (speaker.tails.length > tailLimit) speaker.tails.shift();
    }
    const released = finals.map((final, i) => {
      const redacted = results.released[i] ?? nothingSeen;
      remember(speaker, final, redacted);
      return redactedFinal(final, redacted);
    });
    return { released, holdMs: results.holdMs };
  }

  /** The words of a final that was looked through are those of the final; others are looked at alone. */
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

  /** What says an utterance in other words: looked at alone, and for the digits that were covered in it. */
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

  async #alone({ text, words }: { text: string; words: Word[] }): Promise<Redacted> {
    const results = await this.#run({ text, words, state: { numbers: this.#numbers } });
    return results?.released[0] ?? nothingSeen;
  }

  async #run(input: Pick<RedactInput, 'text' | 'words' | 'mayHold' | 'flush' | 'state'>) {
    const { results } = await this.#language.run('redact', {
      ...input,
      entityTypes: this.#types,
      form: this.#form,
    });
    if (results !== null) this.#numbers = results.state.numbers;
    return results;
  }
}

type Known = { raw: string; redacted: Redacted } | undefined;

const nothingSeen: Redacted = { text: unseen, words: [], covered: [] };

function tailState(tail: { text: string } | undefined): Speaker['state'] {
  return tail === undefined ? {} : { tail: tail.text };
}

function redactedFinal(final: Final, { text, words }: Redacted): Final {
  return { ...final, text, data: { ...final.data, text, words } };
}

function remember(speaker: Speaker, final: Final, redacted: Redacted): void {
  speaker.recent.set(utteranceOf(final), { raw: final.data.text, redacted });
  if (speaker.recent.size <= recentLimit) return;
  for (const oldest of speaker.recent.keys()) {
    speaker.recent.delete(oldest);
    break;
  }
}

function utteranceOf({ sessionId, data }: Result): string {
  return `${sessionId} ${data.utterance_id}`;
}

/**
 * A part of an utterance (a sentence, an entity) with what was covered in the whole of it; undefined when
 * the part is not in the utterance as it stands. Pure.
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
    // A mask is as long as what it hides: only the part's own share of it.
    const own = raw.slice(Math.max(start, from), Math.min(end, to));
    text += shown.startsWith('[') ? shown : own.replace(/\S/gu, '#');
    at = Math.min(end, to);
  }
  return text + raw.slice(at, to);
}

/** A translation or a normalised entity says covered digits in its own spelling: they are covered there too. */
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
