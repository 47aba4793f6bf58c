import { units } from '../text/numbers.ts';
import type { SpokenTurn } from '../types.ts';

/** A number of a case, as its figures were meant, and the words that told it. */
export type HeardNumber = { text: string; value: string };

const asksNumber =
  /\b(?:number|reference|account|code|policy|booking|order|consignment|confirmation|id)\b[^.?!]{0,40}[.?!]?\s*$/i;
/** Numbers that no record keeps, and those that are facts of another kind. */
const ofOtherKind =
  /\b(?:cards?|digits|security|cvv|cvc|pin|passcode|password|expir\w*|social|bank|sort code|iban|routing|phone|mobile|telephone|call you|birth|house|flat|door|how many)\b/i;
const ofCase = /\b(?:account|reference|policy|booking|order|consignment|confirmation|customer|staff|member\w*)\b/i; // prettier-ignore
/** Words that recognisers write for figures that stand between others. */
const soundsLike: Readonly<Record<string, string>> = { of: '0', ho: '0', owe: '0', o: '0', to: '2', too: '2', for: '4', ate: '8', won: '1' }; // prettier-ignore
const joined = /^(?:dash|hyphen)$/;
const leastFigures = 4;
/** Longer rows may be of a payment card. */
const mostFigures = 12;

/**
 * The number in an answer to a question for one, where a recogniser wrote a figure as another word: "one of four four
 * seven", "six one nine dash to two", "double 401", "mp30418". Undefined where anything else
 * is said.
 */
export function heardNumber(
  turn: SpokenTurn,
  asked: SpokenTurn | undefined,
): HeardNumber | undefined {
  if (asked === undefined || asked.role === turn.role || !isAsked(asked.text)) return undefined;
  const code = /\b(?=[a-z\d]*\d{4})[a-z]{2,4}\d{4,12}\b/i.exec(turn.text)?.[0];
  if (code !== undefined) return { text: code, value: code.toUpperCase() };
  const said = turn.text.replace(/^(?:(?:yes|yeah|sure|it's|it is|its|that's|the number is|er|um)[,. ]+)*/i, ''); // prettier-ignore
  const words = said
    .toLowerCase()
    .split(/[\s,.-]+/)
    .filter(Boolean);
  if (words.length === 0 || words.length > 2 * mostFigures) return undefined;
  const read = readFigures(words);
  const count = read?.value.replace(/\D/g, '').length ?? 0;
  if (read === undefined || count < leastFigures || count > mostFigures) return undefined;
  // Two of three figures at least must have been heard as such.
  if (read.guessed * 3 > read.value.length) return undefined;
  return { text: said.replace(/[.,\s]+$/, ''), value: read.value };
}

/** True where the last sentence asks for a number of the case, and nothing else that is secret was asked beside it. */
function isAsked(text: string): boolean {
  const said = text.slice(-300);
  const question =
    said
      .trim()
      .split(/[.?!]\s+/)
      .at(-1) ?? '';
  if (!asksNumber.test(question) || ofOtherKind.test(question)) return false;
  return ofCase.test(question) || !ofOtherKind.test(said);
}

function figureOf(word: string): string | undefined {
  return word === 'oh' ? '0' : units.get(word)?.toString();
}

function readFigures(words: readonly string[]): { value: string; guessed: number } | undefined {
  let value = '';
  let guessed = 0;
  let times = 1;
  for (const [place, word] of words.entries()) {
    if (word === 'double' || word === 'triple') {
      times = word === 'double' ? 2 : 3;
      continue;
    }
    if (joined.test(word) && value !== '') continue;
    const sure = /^\d{1,12}$/.test(word) ? word : figureOf(word);
    const guess = place === 0 ? undefined : soundsLike[word];
    const letters = /^[a-z]{1,3}$/.test(word) && /^[A-Z]*$/.test(value) && sure === undefined && guess === undefined && place < 3; // prettier-ignore
    const piece = sure ?? guess ?? (letters ? word.toUpperCase() : undefined);
    if (piece === undefined) return undefined;
    if (sure === undefined && guess !== undefined) guessed += 1;
    value += piece.slice(0, 1).repeat(times) + piece.slice(1);
    times = 1;
  }
  return { value, guessed };
}
