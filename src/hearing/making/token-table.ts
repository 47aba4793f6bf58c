import { TrunklineError } from '../../lib/errors.ts';

/** The sign for a space inside tokens: U+2581, three bytes. */
export const spaceSign = '▁';

/**
 * The tokens of a model. A token is a sequence of bytes, not always whole characters: a character that the table lacks
 * is written as one token for each of its bytes.
 */
export class TokenTable {
  readonly #bytes: readonly Uint8Array[];
  #numbers: ReadonlyMap<string, number> | undefined;

  private constructor(bytes: readonly Uint8Array[]) {
    this.#bytes = bytes;
  }

  /** `list` has a line per token: base64 of its bytes, a space, its number. The numbers count up from 0. */
  static read(list: string): TokenTable {
    const lines = list.split('\n').filter((line) => line !== '');
    const bytes = lines.map((line, index) => {
      const [, base64 = '', number] = /^([A-Za-z0-9+/=]*) (\d+)$/.exec(line) ?? [];
      if (Number(number) !== index)
        throw new TrunklineError(
          'MODEL_INVALID',
          `line ${String(index + 1)} of the token list is not the token ${String(index)}`,
        );
      return Buffer.from(base64, 'base64');
    });
    return new TokenTable(bytes);
  }

  /** A table of these tokens only, with new numbers. */
  only(tokens: readonly number[]): TokenTable {
    return new TokenTable(tokens.map((token) => this.bytesOf(token)));
  }

  get size(): number {
    return this.#bytes.length;
  }

  bytesOf(token: number): Uint8Array {
    return this.#bytes[token] ?? new Uint8Array();
  }

  /**
   * The text in as few tokens as possible, or undefined if the table cannot spell it. Spaces become the table's own
   * sign.
   */
  spell(text: string): number[] | undefined {
    const numbers = (this.#numbers ??= this.#byBytes());
    const bytes = Buffer.from(text).toString('latin1');
    const spelled: (number[] | undefined)[] = [[]];
    for (let at = 0; at < bytes.length; at++) {
      const before = spelled[at];
      if (!before) continue;
      for (let length = 1; length <= longestToken && at + length <= bytes.length; length++) {
        const token = numbers.get(bytes.slice(at, at + length));
        const known = spelled[at + length];
        if (token === undefined || (known && known.length <= before.length + 1)) continue;
        spelled[at + length] = [...before, token];
      }
    }
    return spelled[bytes.length];
  }

  /** Spells several texts. Undefined if one of them cannot be spelled. */
  spellAll(texts: readonly string[]): number[][] | undefined {
    const spelled = texts.flatMap((text) => {
      const tokens = this.spell(text);
      return tokens ? [tokens] : [];
    });
    return spelled.length < texts.length ? undefined : spelled;
  }

  /** If several tokens have the same bytes, the first one is used for writing. */
  #byBytes(): ReadonlyMap<string, number> {
    const numbers = new Map<string, number>();
    for (const [token, bytes] of this.#bytes.entries()) {
      const key = Buffer.from(bytes).toString('latin1');
      if (key !== '' && !numbers.has(key)) numbers.set(key, token);
    }
    return numbers;
  }

  /** The text of some tokens, with its spaces as spaces. */
  text(tokens: readonly number[]): string {
    return Buffer.concat(tokens.map((token) => this.bytesOf(token)))
      .toString()
      .replaceAll(spaceSign, ' ');
  }

  /**
   * The tokens in groups of whole characters, each with its text, its first index and the index behind its last. Bytes
   * that form no character are one group.
   */
  pieces(tokens: readonly number[]): { text: string; from: number; to: number }[] {
    const pieces: { text: string; from: number; to: number }[] = [];
    let from = 0;
    for (let to = 1; to <= tokens.length; to++) {
      const text = this.text(tokens.slice(from, to));
      if (text.endsWith('\ufffd') && to < tokens.length && to - from < longestCharacter) continue;
      pieces.push({ text, from, to });
      from = to;
    }
    return pieces;
  }
}

/** A character has at most this many bytes, so at most this many one-byte tokens. */
const longestCharacter = 4;
/** Longer tokens are only sequences of dashes and dots. */
const longestToken = 24;
