/** The log-probability of each language for some audio, by its code. */
export type LanguageDistribution = ReadonlyMap<string, number>;
/** Names the language in which audio of this length must be read. */
export type LanguageJudge = (distribution: LanguageDistribution, seconds: number) => string;

/** Shorter speech tells nothing: a single "Oui" sounds Arabic to the model. */
const leastS = 1.5;
/** A language this likely among all languages of the model is right in 99 of 100 cases. */
const sureP = 0.8;
/**
 * A caller may be put through to somebody who speaks another language. Speech of this length is then as sure of its
 * language by itself as all speech before.
 */
const leavesS = 2;
const leavesP = 0.9;
/** The language of speech that is too short to tell, where the request names none. */
const usual = 'en';

type Judged = { distribution: LanguageDistribution; isLong: boolean; seconds: number };

/**
 * Chooses the language of a stream by the sound of its speech. The distributions of several pieces are added until one
 * language is sure; until then the best so far is used. Sureness is judged among all languages of the model, because a
 * short list makes every language in it look too sure. With code switching each piece decides for itself.
 */
export class HeardLanguage {
  readonly #among: readonly string[];
  readonly #codeSwitching: boolean;
  #sums: LanguageDistribution = new Map();
  #last: Judged | undefined;
  #settled: string | undefined;
  #kept: string | undefined;

  /** `among` are the requested languages. Empty: all languages. */
  constructor(among: readonly string[], codeSwitching: boolean) {
    this.#among = among;
    this.#codeSwitching = codeSwitching;
  }

  /** The language of further speech, once it is sure. Speech that is clearly in another one changes it. */
  get settled(): string | undefined {
    return this.#settled;
  }

  /** The language of the stream as far as it is known. */
  get best(): string {
    return this.#settled ?? this.#kept ?? this.#bestOf(this.#sums) ?? this.#first;
  }

  /** Chooses the language of a piece. The choice counts for later pieces only after `accept`. */
  readonly judge: LanguageJudge = (distribution, seconds) => {
    const isLong = seconds >= leastS;
    this.#last = { distribution, isLong, seconds };
    if (this.#settled !== undefined) return this.#left(this.#last) ?? this.#settled;
    if (!isLong) return this.best;
    const sums = this.#codeSwitching ? distribution : added(this.#sums, distribution);
    return this.#bestOf(sums) ?? this.#first;
  };

  /** Counts the last judged piece, which is final. */
  accept(language: string): void {
    const last = this.#last;
    this.#last = undefined;
    if (!last?.isLong) return;
    if (this.#settled !== undefined) {
      this.#settled = this.#left(last) ?? this.#settled;
      return;
    }
    if (this.#codeSwitching) {
      this.#kept = language;
      return;
    }
    this.#sums = added(this.#sums, last.distribution);
    const [code, p] = likeliest(this.#sums);
    if (p >= sureP && this.#accepts(code)) this.#settled = code;
  }

  /** The other language in which this piece clearly is. */
  #left({ distribution, seconds }: Judged): string | undefined {
    if (seconds < leavesS) return undefined;
    const [code, p] = likeliest(distribution);
    return p >= leavesP && code !== this.#settled && this.#accepts(code) ? code : undefined;
  }

  get #first(): string {
    return this.#among[0] ?? usual;
  }

  #accepts(code: string): boolean {
    return this.#among.length === 0 || this.#among.includes(code);
  }

  #bestOf(sums: LanguageDistribution): string | undefined {
    const own = [...sums].filter(([code]) => this.#accepts(code));
    return own.length === 0 ? undefined : likeliest(new Map(own))[0];
  }
}

function added(a: LanguageDistribution, b: LanguageDistribution): LanguageDistribution {
  return new Map([...b].map(([code, value]) => [code, value + (a.get(code) ?? 0)]));
}

/** The likeliest language, and its probability among these. */
function likeliest(sums: LanguageDistribution): [code: string, p: number] {
  let best = '';
  let most = -Infinity;
  for (const [code, value] of sums) if (value > most) [best, most] = [code, value];
  let total = 0;
  for (const value of sums.values()) total += Math.exp(value - most);
  return [best, 1 / total];
}
