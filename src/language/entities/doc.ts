import { tokenize, type TextToken } from '../text/tokens.ts';
import type { EntitySpan } from '../types.ts';
import type { CueKind } from './cue-kinds.ts';

/**
 * One text that all finders search in turn. Tokens that one finder has claimed are closed to later finders, so nothing
 * is found twice. The surest finders therefore run first.
 */
export class Doc {
  readonly text: string;
  readonly tokens: TextToken[];
  /**
   * True if the text starts sentences with capitals and also has small letters. A capital inside a sentence then means
   * a name.
   */
  readonly hasCase: boolean;
  /** The kinds of numbers that the other party asked for. The text may be the bare answer. */
  readonly asked: readonly CueKind[];
  readonly #taken: Uint8Array;
  readonly #starts: Uint8Array;
  readonly #spans: EntitySpan[] = [];
  /** Spans by their last token. Without this index each token of a long text would cost a search over all spans. */
  readonly #byEnd = new Map<number, EntitySpan>();

  constructor(text: string, asked: readonly CueKind[] = []) {
    this.text = text;
    this.asked = asked;
    this.tokens = tokenize(text);
    this.#taken = new Uint8Array(this.tokens.length);
    this.#starts = new Uint8Array(this.tokens.length);
    let capitals = 0;
    let words = 0;
    let startsNext = true;
    for (const [i, token] of this.tokens.entries()) {
      if (token.kind === 'word') {
        words += 1;
        if (token.capital) capitals += 1;
      }
      if (startsNext && token.kind !== 'mark') {
        this.#starts[i] = 1;
        startsNext = false;
      }
      if (token.kind === 'mark' && /[.!?…]/.test(token.text) && this.tokens[i + 1]?.spaced)
        startsNext = !isAbbreviation(this.tokens[i - 1], token);
    }
    this.hasCase = capitals > 0 && capitals < words * 0.7 + 3;
  }

  word(i: number): string {
    return this.tokens[i]?.lower ?? '';
  }

  startsSentence(i: number): boolean {
    return this.#starts[i] === 1;
  }

  isTaken(i: number): boolean {
    return this.#taken[i] === 1;
  }

  /** True if all the tokens exist and are unclaimed. */
  isFree(from: number, to: number): boolean {
    if (from < 0 || to > this.tokens.length || from >= to) return false;
    for (let i = from; i < to; i++) if (this.#taken[i] === 1) return false;
    return true;
  }

  /** True if the token has a capital inside a sentence, in a text that uses capitals. */
  isNameCased(i: number): boolean {
    const token = this.tokens[i];
    return (
      this.hasCase &&
      token !== undefined &&
      token.capital &&
      token.lower !== 'i' &&
      !/^i'/.test(token.lower)
    );
  }

  /** Claims the tokens for a type. Returns false if another finder has claimed one of them. */
  claim(type: string, from: number, to: number): boolean {
    if (!this.isFree(from, to)) return false;
    const first = this.tokens[from];
    const last = this.tokens[to - 1];
    if (!first || !last) return false;
    this.#taken.fill(1, from, to);
    const { start } = first;
    const { end } = last;
    const span = { type, text: this.text.slice(start, end), start, end };
    this.#spans.push(span);
    this.#byEnd.set(end, span);
    return true;
  }

  /** Like `claim`, but leaves out a possessive ending. */
  claimName(type: string, from: number, to: number): boolean {
    if (!this.claim(type, from, to)) return false;
    const span = this.#spans.at(-1);
    if (
      span &&
      /['’]s$/i.test(span.text) &&
      !/(?:lowe|mcdonald|wendy|macy|kohl|nando|papa john|domino|sainsbury)['’]s$/i.test(span.text)
    ) {
      this.#byEnd.delete(span.end);
      span.text = span.text.slice(0, -2);
      span.end -= 2;
      this.#byEnd.set(span.end, span);
    }
    return true;
  }

  spans(): EntitySpan[] {
    return this.#spans.sort((a, b) => a.start - b.start);
  }

  /** The claimed span that ends at the token. Finders extend it. */
  spanEndingAt(i: number): EntitySpan | undefined {
    const end = this.tokens[i]?.end;
    return end === undefined ? undefined : this.#byEnd.get(end);
  }
}

function isAbbreviation(before: TextToken | undefined, mark: TextToken): boolean {
  if (mark.text !== '.' || !before || mark.spaced) return false;
  return (
    /^(?:mr|mrs|ms|dr|prof|st|ave|rd|blvd|apt|no|vs|etc|inc|ltd|co|corp|jr|sr|ext|mt|ft|[a-z])$/.test(
      before.lower,
    ) && before.lower !== 'i'
  );
}
