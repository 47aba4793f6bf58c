import { HeardLanguage, type LanguageJudge } from './heard-language.ts';

/** Detects which of the given languages a text has. Returns '' if it cannot tell. */
export type TextLanguage = (text: string, among: readonly string[]) => string;

/**
 * Chooses the language of each utterance among the requested ones that the model covers. A single language needs no
 * choice. Among several, the first utterance whose language is clear decides for the whole stream; with code switching,
 * each utterance decides for itself. A language that the model names has priority over the one detected from the text. A
 * model that tells how likely each language is decides by the sound alone.
 */
export class LanguageChoice {
  readonly #among: readonly string[];
  readonly #codeSwitching: boolean;
  readonly #ofText: TextLanguage;
  readonly #heard: HeardLanguage | undefined;
  #settled: string | undefined;

  /** `bySound`: the model tells how likely each language is. */
  constructor(
    covered: readonly string[],
    { languages, codeSwitching }: { languages: readonly string[]; codeSwitching: boolean },
    ofText: TextLanguage,
    bySound = false,
  ) {
    const asked = languages.filter((language) => covered.includes(language));
    this.#among = asked.length > 0 ? asked : covered;
    this.#codeSwitching = codeSwitching;
    this.#ofText = ofText;
    if (this.#among.length === 1) this.#settled = this.#among[0];
    else if (bySound) this.#heard = new HeardLanguage(asked, codeSwitching);
  }

  /** The language that the model should expect, or '' to let the model choose. A model that judges by sound does. */
  get hint(): string {
    return this.#settled ?? '';
  }

  /** Chooses the language of a piece from the model's distribution. Undefined if nothing is to be chosen so. */
  get judge(): LanguageJudge | undefined {
    return this.#heard?.judge;
  }

  /** The language of further speech, if it was found by its sound. */
  get found(): string | undefined {
    return this.#heard?.settled;
  }

  /** Returns the language of a final. `model` is the language that the model named, or ''. */
  ofFinal(text: string, model: string): string {
    if (this.#settled !== undefined) return this.#settled;
    if (this.#heard) {
      this.#heard.accept(model);
      return model || this.#heard.best;
    }
    const found = this.#detect(text, model);
    if (found === '') return this.#among[0] ?? 'en';
    if (!this.#codeSwitching) this.#settled = found;
    return found;
  }

  /** The language of a partial. It decides nothing for the stream, since its words may still change. */
  ofPartial(text: string, model: string): string {
    if (this.#heard) return model || this.#heard.best;
    return this.#settled ?? (this.#detect(text, model) || (this.#among[0] ?? 'en'));
  }

  #detect(text: string, model: string): string {
    // Some models name a language as <|en|>.
    const said = model.replace(/[<|>]/g, '').trim();
    if (this.#among.includes(said)) return said;
    return this.#ofText(text, this.#among);
  }
}

/** The language of a text with fewer letters cannot be detected. */
const leastLetters = 8;

/** Detects the language from the text, for models that do not name it. Its tables are loaded on demand. */
export async function loadTextLanguage(): Promise<TextLanguage> {
  const { eld } = await import('eld/small');
  return (text, among) => {
    if (text.replace(/[^\p{L}]/gu, '').length < leastLetters) return '';
    const scores = eld.detect(text).getScores();
    let best = '';
    for (const language of among)
      if ((scores[language] ?? 0) > (scores[best] ?? 0)) best = language;
    return best;
  };
}

export const noTextLanguage: TextLanguage = () => '';
