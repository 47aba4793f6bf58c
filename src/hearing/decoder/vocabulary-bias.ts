import type { ExpectedWord } from '../expected-words.ts';
import type { TokenBias } from './beam-search.ts';
import type { LogProbabilities } from './log-probabilities.ts';
import { spaceSign, type TokenTable } from '../making/token-table.ts';

type Branch = { readonly next: Map<number, Branch>; weight: number; ends: boolean };

/**
 * The position inside the expected words, and the bonus that is taken back if the text leaves the word before its end.
 */
type BiasState = { readonly node: Branch | undefined; readonly pending: number };

/** A token below this log-probability gets no bonus. Otherwise expected words would be heard in noise. */
const leastLogProbability = -9;
/** The first byte of the sign for a space. A token that begins with it begins a word. */
const [spaceByte = 0] = Buffer.from(spaceSign);

/**
 * A bonus for texts that spell an expected word. The bonus is added for each byte: a rare name has many tokens,
 * and without an early bonus the search would drop the name before its last token. The bonus is taken back when the
 * text turns
 * out to be another word:
 *
 *     ▁Tr  unk  line     the bonus grows, and stays
 *     ▁Tr  unk  s        the bonus grows, and all of it is taken back
 */
export class VocabularyBias implements TokenBias {
  readonly start: BiasState = { node: undefined, pending: 0 };
  readonly #root: Branch = newBranch();
  readonly #table: TokenTable;
  readonly #firstBytes: readonly number[];

  constructor(words: readonly ExpectedWord[], table: TokenTable) {
    this.#table = table;
    for (const { text, weight } of words) {
      const spelled = text.trim().replace(/\s+/g, spaceSign);
      if (spelled !== '')
        this.#add(Buffer.from((isMark(spelled) ? '' : spaceSign) + spelled), weight);
    }
    this.#firstBytes = Array.from({ length: table.size }, (_, token) => {
      return table.bytesOf(token)[0] ?? -1;
    });
  }

  /** The tokens that would get a bonus after this state. */
  continuing(state: BiasState, said: LogProbabilities): number[] {
    const least = leastLogProbability + said.norm;
    const tokens: number[] = [];
    for (let token = 0; token < said.scores.length; token++) {
      if (!((said.scores[token] ?? -Infinity) > least)) continue;
      const first = this.#firstBytes[token] ?? -1;
      if (!this.#root.next.has(first) && !state.node?.next.has(first)) continue;
      if (this.#walk(state, token) ?? this.#walk(this.start, token)) tokens.push(token);
    }
    return tokens;
  }

  /** The state after one more token, and the change of the text's sum by this token. */
  after(
    state: BiasState,
    token: number,
    logProbability: number,
  ): { state: BiasState; change: number } {
    const audible = logProbability > leastLogProbability;
    const further = audible ? this.#walk(state, token) : undefined;
    if (further) return { state: further.state, change: further.gain };
    // The word is complete and another word or a mark follows, so the bonus stays.
    const complete = state.node?.ends === true && !this.#goesOnWithLetters(token);
    const lost = complete ? 0 : state.pending;
    const begun = audible ? this.#walk(this.start, token) : undefined;
    return { state: begun?.state ?? this.start, change: (begun?.gain ?? 0) - lost };
  }

  #add(bytes: Uint8Array, weight: number): void {
    let node = this.#root;
    for (const byte of bytes) {
      const next: Branch = node.next.get(byte) ?? newBranch();
      next.weight = Math.max(next.weight, weight);
      node.next.set(byte, next);
      node = next;
    }
    node.ends = true;
  }

  /** Follows the bytes of a token through the expected words. Undefined if the bytes leave them. */
  #walk(state: BiasState, token: number): { state: BiasState; gain: number } | undefined {
    let node = state.node ?? this.#root;
    let { pending } = state;
    let gain = 0;
    const bytes = this.#table.bytesOf(token);
    if (bytes.length === 0) return undefined;
    for (const byte of bytes) {
      // With "Ann" and "Ann Smith" expected, "Ann" is complete here, and its bonus can no longer be lost.
      if (node.ends && byte === spaceByte) pending = 0;
      const next = node.next.get(byte);
      if (!next) return undefined;
      gain += next.weight;
      pending += next.weight;
      node = next;
    }
    return { state: { node, pending }, gain };
  }

  #goesOnWithLetters(token: number): boolean {
    return /^[\p{L}\p{N}]/u.test(Buffer.from(this.#table.bytesOf(token)).toString());
  }
}

/** A part of an address has no space before it: ".smith". */
function isMark(text: string): boolean {
  return /^[.@]/.test(text);
}

function newBranch(): Branch {
  return { next: new Map(), weight: 0, ends: false };
}
