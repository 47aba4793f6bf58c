import type { SentenceDirection } from '../meaning/directions.ts';
import { soundOf } from '../language/rewrite/pronunciation.ts';

/** A final of the call, redacted as everybody else reads it. */
export type HeardFinal = {
  utteranceId: string;
  legId: string;
  role: string;
  start: number;
  end: number;
  text: string;
  /** Its meaning, where a rule waits for one and the model was in time. */
  direction?: SentenceDirection | undefined;
};

/** A word as phrases are compared with it: lower case, contractions taken apart, fillers left out. */
export type PlainWord = {
  word: string;
  sound: string;
  /** The place in the text. */
  start: number;
  end: number;
  /** Rises with each mark or conjunction: a negation reaches no further than its clause. */
  clause: number;
};

const pattern = /(\p{L}[\p{L}\p{M}]*(?:['’]\p{L}+)*)|(\p{Nd}+)|([.,;:?!])/gu;
/** At most this many words of one final are compared. The longest finals have some hundred. */
const maxWords = 400;

/** Words that people put into any phrase: "I just really want to". */
const soft = new Set(
  'um uh er erm uhm ah mm hmm eh just really please actually basically literally like well so okay ok oh right yeah yes'.split(
    ' ',
  ),
);
const conjunctions = new Set(['but', 'and', 'because', 'please']);
/** "Go and get" is one thing to do. */
const goesOn = new Set(['go', 'come', 'try']);
/** Two or more words, written as one. */
const asSaid: Record<string, string> = {
  gonna: 'going to',
  wanna: 'want to',
  gotta: 'got to',
  lemme: 'let me',
  gimme: 'give me',
  cannot: 'can not',
  "won't": 'will not',
  "can't": 'can not',
  "shan't": 'shall not',
  "let's": 'let us',
  "i'm": 'i am',
};
const endings: [RegExp, string][] = [
  [/n't$/, ' not'],
  [/'re$/, ' are'],
  [/'ve$/, ' have'],
  [/'ll$/, ' will'],
  [/'d$/, ' would'],
  // "What's" and "the customer's" are one form.
  [/'s$/, ''],
];

const units = 'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(' '); // prettier-ignore
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');

const negators = new Set('not never no without neither nobody nor nothing none'.split(' '));

export function isNegator(word: string): boolean {
  return negators.has(word);
}

/** The words of a text in the form in which both sides of a comparison are. `keepSoft`: no word is left out. */
export function heardWords(text: string, keepSoft = false): PlainWord[] {
  const heard: PlainWord[] = [];
  let clause = 0;
  for (const match of text.matchAll(pattern)) {
    if (match[3] !== undefined) {
      clause++;
      continue;
    }
    const lower = match[0].toLowerCase().replaceAll('’', "'");
    if (beginsClause(lower, heard.at(-1)?.word)) clause++;
    const start = match.index;
    const end = start + match[0].length;
    for (const word of plainForms(lower)) {
      if (!keepSoft && soft.has(word)) continue;
      // "I I want" is one "I".
      if (heard.at(-1)?.word === word) {
        (heard.at(-1) as PlainWord).end = end;
        continue;
      }
      heard.push({ word, sound: soundOf(word), start, end, clause });
    }
    if (heard.length >= maxWords) break;
  }
  return heard;
}

function beginsClause(word: string, before: string | undefined): boolean {
  return conjunctions.has(word) && !(word === 'and' && goesOn.has(before ?? ''));
}

function plainForms(lower: string): string[] {
  if (/^\d{1,2}$/.test(lower)) return numberWords(Number(lower));
  const known = asSaid[lower];
  if (known !== undefined) return known.split(' ');
  for (const [ending, said] of endings)
    if (ending.test(lower)) return lower.replace(ending, said).split(' ').filter(Boolean);
  return [lower.replaceAll("'", '')];
}

function numberWords(value: number): string[] {
  const unit = units[value % 10] ?? '';
  const ten = tens[Math.floor(value / 10) - 2] ?? '';
  if (value < 20) return [units[value] ?? ''];
  return value % 10 === 0 ? [ten] : [ten, unit];
}
