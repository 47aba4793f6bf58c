/**
 * Parses the search language. Pure: words reach a database only as parameters.
 *
 *   refund visa            calls in which both words were said, anywhere
 *   "speak to your manager" these words one after the other
 *   manag*                 words with this beginning
 *   -cancelled             calls in which this was not said
 *   customer:refund  agent:"i am sorry"   said by this party
 *   near(refund card, 6)   at most 6 words apart, in one turn
 *   (late OR delayed)      one of them
 */
export type Atom =
  | { kind: 'phrase'; words: readonly string[] }
  | { kind: 'prefix'; word: string }
  | { kind: 'near'; words: readonly string[]; within: number };

/** A call passes if one of its turns contains one of the atoms. With `isNot`, it passes if none does. */
export type Condition = { isNot: boolean; role: string | undefined; anyOf: readonly Atom[] };

export type ParsedQuery = { conditions: readonly Condition[] } | { problem: string };

export const maxConditions = 12;
const maxAtoms = 24;
const maxWords = 12;
const mostApart = 30;
const roles = new Set(['customer', 'agent', 'mixed']);

type Token =
  | { kind: 'open' | 'close' | 'or' | 'not' }
  | { kind: 'role'; role: string }
  | { kind: 'atom'; atom: Atom };

/** The words of a text as both databases index them: letters and digits, without case and accents. */
export function wordsOf(text: string): string[] {
  return plain(text).match(/[\p{L}\p{N}]+/gu) ?? [];
}

export function plain(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

export function parseQuery(text: string): ParsedQuery {
  const tokens = tokensOf(text);
  if ('problem' in tokens) return tokens;
  const conditions: Condition[] = [];
  let atoms = 0;
  let isNot = false;
  let role: string | undefined;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (token === undefined) break;
    if (token.kind === 'not') isNot = true;
    else if (token.kind === 'role') role = token.role;
    else if (token.kind === 'or')
      return { problem: 'OR stands between two words in parentheses, as in (late OR delayed)' };
    else if (token.kind === 'close')
      return { problem: 'a parenthesis is closed that was not opened' };
    else {
      const anyOf: Atom[] = [];
      if (token.kind === 'atom') anyOf.push(token.atom);
      else {
        const group = groupFrom(tokens, at + 1);
        if ('problem' in group) return group;
        anyOf.push(...group.anyOf);
        at = group.end;
      }
      atoms += anyOf.length;
      conditions.push({ isNot, role, anyOf });
      isNot = false;
      role = undefined;
    }
  }
  if (isNot || role !== undefined) return { problem: 'a word is missing at the end' };
  if (conditions.length > maxConditions || atoms > maxAtoms)
    return {
      problem: `there may be at most ${maxConditions} conditions with ${maxAtoms} words and phrases`,
    };
  if (!conditions.some((condition) => !condition.isNot))
    return {
      problem: 'at least one word must be one that was said: only words without a minus find calls',
    };
  return { conditions };
}

/** Parses the contents of parentheses: atoms with OR between them. */
function groupFrom(
  tokens: readonly Token[],
  start: number,
): { anyOf: Atom[]; end: number } | { problem: string } {
  const anyOf: Atom[] = [];
  for (let at = start; at < tokens.length; at += 2) {
    const atom = tokens[at];
    const next = tokens[at + 1];
    if (atom?.kind !== 'atom') break;
    anyOf.push(atom.atom);
    if (next?.kind === 'close') return { anyOf, end: at + 1 };
    if (next?.kind !== 'or') break;
  }
  return { problem: 'in parentheses stand words with OR between them, as in (late OR delayed)' };
}

const pieces =
  /\s+|(?<near>near\(\s*(?<words>[^(),]{1,200}),\s*(?<within>\d{1,3})\s*\))|"(?<phrase>[^"]*)"|(?<role>[a-z]+):(?=\S)|(?<not>-)(?=\S)|(?<open>\()|(?<close>\))|(?<or>OR)(?=\s|$)|(?<word>[^\s"()]+)|(?<stray>")/giuy;

function tokensOf(text: string): Token[] | { problem: string } {
  const tokens: Token[] = [];
  for (const { groups = {} } of text.matchAll(pieces)) {
    const { near, words, within, phrase, role, not, open, close, or, word, stray } = groups;
    if (near !== undefined) {
      const both = wordsOf(words ?? '');
      const apart = Number(within);
      if (both.length < 2 || both.length > 4 || apart > mostApart)
        return {
          problem: `near(...) takes two to four words and a distance of at most ${mostApart}`,
        };
      tokens.push({ kind: 'atom', atom: { kind: 'near', words: both, within: apart } });
    } else if (phrase !== undefined || word !== undefined) {
      const atom = atomOf(
        phrase ?? word ?? '',
        phrase === undefined && word?.endsWith('*') === true,
      );
      if (atom === undefined) continue;
      if ('problem' in atom) return atom;
      tokens.push({ kind: 'atom', atom });
    } else if (role !== undefined) {
      if (!roles.has(role.toLowerCase()))
        return {
          problem: `there is no party of this name before a colon: there is ${[...roles].join(', ')}`,
        };
      tokens.push({ kind: 'role', role: role.toLowerCase() });
    } else if (or !== undefined) tokens.push({ kind: 'or' });
    else if (not !== undefined) tokens.push({ kind: 'not' });
    else if (open !== undefined) tokens.push({ kind: 'open' });
    else if (close !== undefined) tokens.push({ kind: 'close' });
    else if (stray !== undefined) return { problem: 'a quotation mark is not closed' };
  }
  return tokens;
}

/** Punctuation alone cannot be searched for. */
function atomOf(text: string, isPrefix: boolean): Atom | { problem: string } | undefined {
  const words = wordsOf(text);
  const [first = ''] = words;
  if (words.length === 0) return undefined;
  if (words.length > maxWords) return { problem: `a phrase may have at most ${maxWords} words` };
  if (!isPrefix || words.length > 1) return { kind: 'phrase', words };
  return first.length < 2
    ? { problem: 'before * there must be at least two letters' }
    : { kind: 'prefix', word: first };
}

/** The places of the atoms in a text: offsets in the original text, in order, without overlaps. */
export function marksIn(text: string, atoms: readonly Atom[]): [from: number, to: number][] {
  const words = [...text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)].map((match) => ({
    word: plain(match[0]),
    from: match.index,
    to: match.index + match[0].length,
  }));
  const marked = new Set<number>();
  for (const atom of atoms)
    for (let at = 0; at < words.length; at++)
      switch (atom.kind) {
        case 'prefix':
          if (words[at]?.word.startsWith(atom.word)) marked.add(at);
          break;
        case 'near':
          if (atom.words.includes(words[at]?.word ?? '')) marked.add(at);
          break;
        case 'phrase':
          if (atom.words.every((word, on) => words[at + on]?.word === word))
            for (let on = 0; on < atom.words.length; on++) marked.add(at + on);
      }
  return [...marked]
    .toSorted((a, b) => a - b)
    .flatMap((at) => {
      const word = words[at];
      return word === undefined ? [] : [[word.from, word.to] as [number, number]];
    });
}
