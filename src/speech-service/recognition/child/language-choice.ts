/** Tells the language of a text among some; '' when it cannot. */
export type TextLanguage = (text: string, among: readonly string[]) => string;

/**
 * Which language an utterance is in. One that can only be one is that one; several are detected, on
 * the first utterance that tells and then kept, or on each with code switching. Detection is the
 * model's where it gives one, else the text's.
 */
export class LanguageChoice {
  readonly #among: readonly string[];
  readonly #codeSwitching: boolean;
  readonly #ofText: TextLanguage;
  #settled: string | undefined;

  constructor(
    covered: readonly string[],
    { languages, codeSwitching }: { languages: readonly string[]; codeSwitching: boolean },
    ofText: TextLanguage,
  ) {
    const asked = languages.filter((language) => covered.includes(language));
    this.#among = asked.length > 0 ? asked : covered;
    this.#codeSwitching = codeSwitching;
    this.#ofText = ofText;
    if (this.#among.length === 1) this.#settled = this.#among[0];
  }

  /** What the model should be told to expect; '' leaves it to the model. */
  get hint(): string {
    return this.#settled ?? '';
  }

  /** The language of a final. `model` is what the model says, '' when it says nothing. */
  ofFinal(text: string, model: string): string {
    if (this.#settled !== undefined) return this.#settled;
    const found = this.#detect(text, model);
    if (found === '') return this.#among[0] ?? 'en';
    if (!this.#codeSwitching) this.#settled = found;
    return found;
  }

  /** The same for a partial, which settles nothing. */
  ofPartial(text: string, model: string): string {
    return this.#settled ?? (this.#detect(text, model) || (this.#among[0] ?? 'en'));
  }

  #detect(text: string, model: string): string {
    // Some models write <|en|>.
    const said = model.replace(/[<|>]/g, '').trim();
    if (this.#among.includes(said)) return said;
    return this.#ofText(text, this.#among);
  }
}

/** Too little to tell one language from another. */
const leastLetters = 8;

/** Detection from the text, for models that do not say. Loaded only where there is something to detect. */
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
