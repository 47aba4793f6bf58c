import { heardWords } from './heard-text.ts';

/** At most this many wordings may come from one phrase of a rule. */
const maxWordings = 1_000;
/** A phrase of more words is no phrase: nobody says a whole sentence the same way twice. */
const maxWords = 12;

type TemplatePiece = { words: string[] } | { choices: TemplatePiece[][] };

/**
 * The wordings that a phrase of a rule stands for. `(a|b)` is one of both, `[a|b]` one of both or nothing, `{list}` one
 * entry of a list of the playbook. Throws with the reason, for the person who wrote the rule.
 */
export function wordingsOf(
  phrase: string,
  lists: ReadonlyMap<string, readonly string[]>,
): string[][] {
  const reader = new TemplateReader(phrase, lists);
  const wordings = expand(reader.sequence(undefined), phrase);
  const unique = new Map(wordings.map((words) => [words.join(' '), words]));
  unique.delete('');
  if (unique.size === 0) throw new Error(`"${phrase}" has no word to listen for`);
  for (const [text, words] of unique)
    if (words.length > maxWords)
      throw new Error(`"${text}" has more than ${maxWords} words: use its telling part`);
  return [...unique.values()];
}

/** Choices of a phrase that count for nothing: of `(just|have) moved` it is "just", so that "moved" alone is found. */
export function ignoredChoices(
  phrase: string,
  lists: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const reader = new TemplateReader(phrase, lists);
  reader.sequence(undefined);
  return reader.ignored;
}

class TemplateReader {
  readonly ignored: string[] = [];
  readonly #text: string;
  readonly #lists: ReadonlyMap<string, readonly string[]>;
  #at = 0;
  #depth = 0;

  constructor(text: string, lists: ReadonlyMap<string, readonly string[]>) {
    this.#text = text;
    this.#lists = lists;
  }

  sequence(closing: string | undefined): TemplatePiece[] {
    const pieces: TemplatePiece[] = [];
    while (this.#at < this.#text.length) {
      const sign = this.#text[this.#at] ?? '';
      if (sign === closing || (closing !== undefined && sign === '|')) return pieces;
      if (sign === '(') pieces.push({ choices: this.#choices(')') });
      else if (sign === '[') pieces.push({ choices: [...this.#choices(']'), []] });
      else if (sign === '{') pieces.push(this.#list());
      else if (sign === ')' || sign === ']' || sign === '}' || sign === '|')
        throw new Error(`"${this.#text}" has a ${sign} that nothing opened`);
      else pieces.push(this.#plain());
    }
    if (closing !== undefined) throw new Error(`"${this.#text}" lacks a ${closing}`);
    return pieces;
  }

  #choices(closing: string): TemplatePiece[][] {
    if (++this.#depth > 4) throw new Error(`"${this.#text}" has brackets more than four deep`);
    const choices: TemplatePiece[][] = [];
    do {
      const from = ++this.#at;
      const choice = this.sequence(closing);
      choices.push(choice);
      const text = this.#text.slice(from, this.#at).trim();
      const isIgnored = choice.every((piece) => 'words' in piece && piece.words.length === 0);
      if (closing === ')' && text !== '' && isIgnored) this.ignored.push(text);
    } while (this.#text[this.#at] === '|');
    this.#at++;
    this.#depth--;
    return choices;
  }

  #list(): TemplatePiece {
    const end = this.#text.indexOf('}', this.#at);
    if (end < 0) throw new Error(`"${this.#text}" lacks a }`);
    const name = this.#text.slice(this.#at + 1, end);
    this.#at = end + 1;
    const entries = this.#lists.get(name);
    if (entries === undefined)
      throw new Error(
        `"${this.#text}" names the list ${name.slice(0, 40)}, which is not under words: there are ${[...this.#lists.keys()].join(', ') || 'none'}`,
      );
    return { choices: entries.map((entry) => [{ words: wordsOf(entry) }]) };
  }

  #plain(): TemplatePiece {
    const rest = this.#text.slice(this.#at);
    const length = rest.search(/[()[\]{}|]/);
    const text = length < 0 ? rest : rest.slice(0, length);
    this.#at += text.length;
    return { words: wordsOf(text) };
  }
}

function wordsOf(text: string): string[] {
  return heardWords(text).map(({ word }) => word);
}

function expand(pieces: readonly TemplatePiece[], phrase: string): string[][] {
  let wordings: string[][] = [[]];
  for (const piece of pieces) {
    const endings =
      'words' in piece ? [piece.words] : piece.choices.flatMap((choice) => expand(choice, phrase));
    if (wordings.length * endings.length > maxWordings)
      throw new Error(`"${phrase}" stands for more than ${maxWordings} wordings: divide it`);
    wordings = wordings.flatMap((before) => endings.map((ending) => [...before, ...ending]));
  }
  return wordings;
}
