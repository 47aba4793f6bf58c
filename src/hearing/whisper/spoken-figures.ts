const small =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const values = new Map([
  ...small.map((word, value): [string, number] => [word, value]),
  ...tens.map((word, index): [string, number] => [word, 10 * (index + 2)]),
  ['oh', 0],
  ['o', 0],
]);
const factors = new Map([
  ['hundred', 100],
  ['thousand', 1_000],
  ['million', 1_000_000],
]);
/** Words that belong to a spoken number but have no digit of their own. */
const silent = new Set(
  'and point a.m p.m am pm dollar dollars cent cents pound pounds pence euro euros percent'.split(
    ' ',
  ),
);

/** The figures of a number of one word. */
export function figureOf(word: string): string | undefined {
  return word.length < 3 ? undefined : values.get(word)?.toString();
}

/** True when a word can be a part of a spoken number. */
export function isOfNumber(word: string): boolean {
  return /\d/.test(word) || values.has(word) || factors.has(word) || silent.has(word);
}

/**
 * The digits of a spoken number: those of $342.16 for "three hundred and forty two dollars and sixteen cents", those of
 * 555-01 for "five five five zero one". Empty if the words are no number.
 */
export function digitsOf(words: readonly string[]): string {
  let digits = '';
  let started = false;
  let thousands = 0;
  let group = 0;
  /**
   * The next word belongs to this number if its value is smaller: after twenty there is room for five, not for thirty.
   */
  let room = 0;
  const flush = () => {
    if (started) digits += String(thousands + group);
    [started, thousands, group, room] = [false, 0, 0, 0];
  };
  for (const word of words) {
    const factor = factors.get(word);
    const part = values.get(word);
    if (factor === 100) {
      group = Math.max(1, group) * factor;
      room = factor;
      started = true;
    } else if (factor !== undefined) {
      thousands += Math.max(1, group) * factor;
      group = 0;
      room = factor;
      started = true;
    } else if (part !== undefined) {
      if (part === 0 || part >= room) flush();
      group += part;
      room = part >= 20 ? 10 : 0;
      started = true;
    } else if (word !== 'and') {
      flush();
      digits += word.replace(/\D+/g, '');
    }
  }
  flush();
  return digits;
}
