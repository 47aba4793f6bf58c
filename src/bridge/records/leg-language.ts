/** A final of less speech tells nothing about its language: a single "Oui" may be called Arabic. */
const leastS = 1.5;
/** Two finals in a row, or as much speech as this, are enough to be sure. */
const leastFinals = 2;
const leastSpeechS = 5;
/** Words that a recogniser itself hardly believes are often those of another language. */
const leastConfidence = 0.5;
/**
 * An installation that hears English alone takes every language for English, and is less sure of it: Spanish prompts had
 * 0.44 to 0.78, English ones 0.94 and more.
 */
const leastConfidenceOfEnglish = 0.85;
/** A leg keeps at most this many languages. A service that names another one each time must not fill the row. */
export const maxLanguages = 10;

type FinalEvidence = { language: string; start: number; end: number; confidence: number };
type Evidence = { language: string; finals: number; speechS: number; end: number };

/**
 * The language that is spoken on a leg, by the finals of its sessions. It is told only once it is sure: before, a single
 * utterance may name a wrong one. A request for exactly one language makes that language sure.
 */
export class LegLanguage {
  readonly #heard: string[];
  /** For each channel, what its last finals say. */
  readonly #evidence = new Map<number, Evidence>();
  readonly #sure = new Map<number, string>();
  #given: string | undefined;

  /** `before`: the languages that an earlier process had heard, the last one now. */
  constructor(before: readonly string[] = []) {
    this.#heard = [...before];
  }

  /** The language now; null while it is in doubt. Parties of one leg who speak different languages have none. */
  get now(): string | null {
    if (this.#given !== undefined) return this.#given;
    const all = new Set(this.#sure.values());
    if (all.size > 1) return null;
    return [...all][0] ?? this.#heard.at(-1) ?? null;
  }

  /** Every language of the leg, in the order in which they came. */
  get all(): readonly string[] {
    return this.#heard;
  }

  /** The language of this channel of the leg. */
  of(channel: number): string | null {
    return this.#given ?? this.#sure.get(channel) ?? this.now;
  }

  /** Takes the languages of the leg's request. Returns true if the leg's language is another one now. */
  asked(languages: readonly string[]): boolean {
    this.#given = languages.length === 1 ? languages[0] : undefined;
    return this.#given !== undefined && this.#keep(this.#given);
  }

  /** Takes a final. Returns true if the leg's language is another one now. */
  take(channel: number, { language, start, end, confidence }: FinalEvidence): boolean {
    const speechS = end - start;
    if (this.#given !== undefined || language === '') return false;
    if (!(speechS >= leastS) || isDoubted(language, confidence)) return false;
    const last = this.#evidence.get(channel);
    // A session that is resumed may say its last finals twice.
    if (last !== undefined && start < last.end) return false;
    const before = last?.language === language ? last : { finals: 0, speechS: 0 };
    const now = { language, end, finals: before.finals + 1, speechS: before.speechS + speechS };
    this.#evidence.set(channel, now);
    if (now.finals < leastFinals && now.speechS < leastSpeechS) return false;
    this.#sure.set(channel, language);
    return this.#keep(language);
  }

  #keep(language: string): boolean {
    if (this.#heard.at(-1) === language) return false;
    const known = this.#heard.indexOf(language);
    if (known >= 0) this.#heard.splice(known, 1);
    this.#heard.push(language);
    if (this.#heard.length > maxLanguages) this.#heard.shift();
    return true;
  }
}

function isDoubted(language: string, confidence: number): boolean {
  return confidence < (language === 'en' ? leastConfidenceOfEnglish : leastConfidence);
}

type SpeakingLeg = { record: { role: string }; language: { now: string | null } };

/** The language of a call is that of its customer. Only a call without any other leg has that of its agent. */
export function callLanguageOf(legs: readonly SpeakingLeg[]): string | undefined {
  const customers = legs.filter(({ record }) => record.role !== 'agent');
  const told = (customers.length > 0 ? customers : legs).map(({ language }) => language.now);
  return told.findLast((language) => language !== null) ?? undefined;
}
