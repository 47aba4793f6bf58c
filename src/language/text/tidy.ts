/**
 * A turn with its "I", the capitals of days and months, and its first capital. Pure and cheap: the thread that moves
 * audio calls it too. A turn without any mark or capital comes from a recogniser that writes none, and only
 * `isChanged` gives it its first. A turn that begins with an address of mail or web begins as the address does.
 */
export function tidied(text: string, language: string, isChanged = false): string {
  const named =
    language === 'en'
      ? text
          .replace(loneI, 'I')
          .replace(calendar, (word) => word.slice(0, 1).toUpperCase() + word.slice(1))
      : text;
  if (!isChanged && !/[.,?!]|\p{Lu}/u.test(named.replace(marker, ''))) return named;
  const [, lead = '', first = '', rest = ''] = /^([\s"'“‘(¿¡]*)(\p{Ll})([^]*)$/u.exec(named) ?? [];
  const isAddress = /^[^\s@]+@|^[^\s.]+\.\p{L}{2,}(?:[\s/.]|$)/u.test(first + rest);
  return first === '' || isAddress ? named : lead + first.toUpperCase() + rest;
}

/** A redaction puts these in the place of words. */
export const marker = /\[[A-Z_]+_\d+\]|\[REDACTED\]|#{2,}/g;

/** An "i" by itself, or in "i'm". It is no part of a spelling ("h i"), an address or an abbreviation. */
const loneI =
  /(?<=^|[\s"'“‘(])(?<!(?:^|[^\p{L}])\p{L}[\s,.-]+)i(?=$|\s(?!\p{L}(?:[\s,.]|$))|\sa\s|[,?!]|['’](?:m|ve|ll|d)(?!\p{L}))/gu;

/** "March" and "may" are words too. */
const calendar =
  /(?<![\p{L}\p{N}@._/-])(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|april|june|july|september|october|november|december)(?![\p{L}\p{N}@_]|[./-]\p{L})/gu;

/** False for a text in which nothing but its capitals can change. Most texts are so, and no finder need look at them. */
export function mayChange(text: string): boolean {
  return numberish.test(text) || isWithoutCase(text);
}

/** True if a text has no sentence marks, and no capitals but its first letter and "I". Its names are in lower case too. */
export function isWithoutCase(text: string): boolean {
  return !/[.?!…]|(?<!^\W*)\p{Lu}/u.test(text.replace(/(?<=^|\s)I(?=$|\s|['’])/g, ''));
}

const numberish =
  /\d|\b(?:zero|nought|oh|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|(?:twen|thir|for|four|fif|six|seven|eigh|nine)ty|hundred|thousand|million|dot|\w+(?:th|st|nd|rd)|first|second|third)\b|\bat [\w-]+\.|(?:(?<!\p{L})\p{L}[\s,.-]+){3}/iu;
