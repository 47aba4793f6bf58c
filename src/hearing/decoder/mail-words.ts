import { givenNames } from '../../language/data/given-names.ts';
import { surnames } from '../../language/data/surnames.ts';
import type { ExpectedWord } from '../expected-words.ts';

/** A higher bonus makes a common name of every other one, and words of the sentence, too. */
const nameWeight = 0.7;
const shortestName = 4;

const familyNames: ReadonlySet<string> = new Set(
  surnames.split(/\s+/).filter((one) => one.length >= shortestName && /^[a-z]+$/.test(one)),
);
const firstNames: ReadonlySet<string> = new Set(givenNames.split(/\s+/));

/** Family names as the model writes them in an address: ".whitlock", " Whitlock". First names are heard right. */
export function mailWords(): ExpectedWord[] {
  const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);
  return [...familyNames].flatMap((name) =>
    [`.${name}`, `.${capital(name)}`, ` ${name}`, ` ${capital(name)}`].map((text) => ({
      text,
      weight: nameWeight,
    })),
  );
}

/** Spellings that sound the same have the same key: "witlock" and "whitlock". */
function soundOf(word: string): string {
  return word
    .toLowerCase()
    .replace(/wh/g, 'w')
    .replace(/ph/g, 'f')
    .replace(/ck|qu|c(?![eiyh])/g, 'k')
    .replace(/c(?=[eiy])|z/g, 's')
    .replace(/(.)\1/g, '$1')
    .replace(/(?:ie|ey|ee|y)$/, 'i')
    .replace(/(?<=[^aeiou])e$/, '');
}

const bySound = Map.groupBy(familyNames, soundOf);

/** The family name that sounds like a word that is no name, if there is only one. */
function familyNameFor(word: string): string | undefined {
  const low = word.toLowerCase();
  if (low.length < shortestName || familyNames.has(low) || firstNames.has(low)) return undefined;
  const like = bySound.get(soundOf(low)) ?? [];
  return like.length === 1 ? like[0] : undefined;
}

const name = String.raw`[\p{L}\p{N}]+(?:(?:\s*[._-]\s*|\s+(?:dot|underscore|hyphen|dash)\s+|\s+)[\p{L}\p{N}]+){0,5}`;
const host = String.raw`[\p{L}\p{N}-]+(?:\s*\.\s*|\s+dot\s+)(?:[\p{L}\p{N}-]+(?:\s*\.\s*|\s+dot\s+))?\p{L}{2,6}`;
const whole = new RegExp(`^\\W*(?:${name})?\\s*(?:\\bat\\b|@)?\\s*${host}\\W*$`, 'iu');
/** The first half of an address, before a pause. */
const half = /^\W*\p{L}+(?:\s*[._]\s*|\s+(?:dot|underscore)\s+)\p{L}+\W*$/iu;

/** True if a text is nothing but an address of mail, or one half of it. */
export function isMailAddress(text: string): boolean {
  return text.length <= longest && (whole.test(text) || half.test(text));
}

const longest = 120;

const afterAt = /(?:\bat\s*|@)$/i;
const afterDot = /\p{L}(?:\.| dot ?)$/iu;
const beforeAt = /^(?:@| at\b|$)/i;

/**
 * The word of an address that the model replaced by this one. In "at gmail dot com" it hears "mail" or "meal", also
 * where it listens for the other: the two sound the same to it, and hardly anybody has an address at mail.com.
 */
export function mailWordFor(
  word: string,
  before: readonly { text: string }[],
  next: string | undefined,
): string | undefined {
  const said = before.map(({ text }) => text).join('');
  if (
    /^(?:g?mail|meal|male)$/i.test(word) &&
    afterAt.test(said) &&
    /^(?:\.| dot\b)/i.test(next ?? '')
  )
    return 'gmail';
  const name = afterDot.test(said) && beforeAt.test(next ?? '') ? familyNameFor(word) : undefined;
  if (name !== undefined) return name;
  return /^(?:doc|dock|duck|duff|dog)$/i.test(word) &&
    /\p{L}$/u.test(said) &&
    /^ \p{L}/u.test(next ?? '')
    ? 'dot'
    : undefined;
}
