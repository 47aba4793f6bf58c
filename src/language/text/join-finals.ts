/**
 * Joins the finals of one speaker to one text of the same length. A recogniser ends each final with a mark. Between two
 * pieces of a number, an address or a spelling nobody said that mark, so it is removed.
 */
export function joinFinals(texts: readonly string[]): string {
  let joined = '';
  for (const text of texts) {
    if (joined === '') {
      joined = text;
      continue;
    }
    if (opens.test(joined.slice(-reach)) && goesOn.test(text.slice(0, reach)))
      joined = joined.replace(/(?<![.,…?!])[.,…?!]+\s*$/u, (mark) => ' '.repeat(mark.length));
    joined += ` ${text}`;
  }
  return joined;
}

/** Longer than any word of a number with fillers around it. */
const reach = 60;

const piece =
  "\\d+|zero|oh?|owe|nought|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\\p{L}+teen|(?:twen|thir|for|four|fif|six|seven|eigh|nine)ty|double|triple|hundred|thousand|\\p{L}(?:['’]s)?|dot|at|underscore|dash|hyphen|dash|plus|" +
  'alpha|alfa|bravo|charlie|delta|echo|foxtrot|golf|hotel|india|juliett?|kilo|lima|mike|november|oscar|papa|quebec|romeo|sierra|tango|uniform|victor|whiske?y|yankee|zulu';
const filler = '(?:um|uh|er|erm|uhm|and|then|okay|no|wait|sorry)';

/** Matches the end of a text that may continue: a digit, a letter, half an address, a month, a spelling. */
const opens = new RegExp(
  `(?:^|[^\\p{L}\\d])(?:${piece}|as in \\p{L}+|(?:dot|at) \\p{L}+|january|february|march|april|may|june|july|august|september|october|november|december|\\p{L}+(?:th|st|nd|rd|first|second|third))[^\\p{L}\\d]*(?:${filler}[^\\p{L}\\d]*){0,3}$`,
  'iu',
);
const goesOn = new RegExp(
  `^[^\\p{L}\\d]*(?:${filler}[^\\p{L}\\d]+){0,3}(?:${piece}|first|second|third|\\p{L}+th)(?![\\p{L}\\d])|^\\W*\\p{L}+ (?:at|dot)(?!\\p{L})|^[^\\p{L}\\d]*(?:um|uh|er|erm|uhm)[^\\p{L}\\d]*$`,
  'iu',
);
