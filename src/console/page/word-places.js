/**
 * A stretch of a text and the spoken word that is heard there.
 * @template Item
 * @typedef {{ start: number, end: number, item: Item }} Place
 */

const digitWords = new Map(
  'zero one two three four five six seven eight nine'
    .split(' ')
    .map((word, digit) => [word, String(digit)]),
);
for (const zero of ['oh', 'o']) digitWords.set(zero, '0');

const withoutSpaces =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/**
 * The position of each spoken word in a text. Figures are written where numbers were said: each digit of "472" is one of
 * the words "four seven two", and any other number is the place of its first word. A word without a place is left out.
 * @template {{ start: number, word: string }} Item
 * @param {string} text
 * @param {readonly Item[]} words
 * @returns {Place<Item>[]}
 */
export function wordPlaces(text, words) {
  const spoken = words.toSorted((a, b) => a.start - b.start);
  if (withoutSpaces.test(text)) return placesInOrder(text, spoken);
  const tokens = [...text.matchAll(/\S+/g)].map(({ 0: token, index }) => ({
    start: index,
    end: index + token.length,
    plain: plainOf(token),
  }));
  const pairs = commonPlaces(
    tokens.map(({ plain }) => plain),
    spoken.map(({ word }) => plainOf(word)),
  );
  /** @type {Place<Item>[]} */
  const places = [];
  let token = 0;
  let word = 0;
  pairs.push([tokens.length, spoken.length]);
  for (const [nextToken, nextWord] of pairs) {
    const first = tokens[token];
    const last = tokens[nextToken - 1];
    if (first && last && nextToken > token)
      places.push(...placesOfNumber(text, first.start, last.end, spoken.slice(word, nextWord)));
    const own = tokens[nextToken];
    const item = spoken[nextWord];
    if (own && item) places.push({ start: own.start, end: own.end, item });
    token = nextToken + 1;
    word = nextWord + 1;
  }
  return places;
}

/**
 * The places of words that the text has in another form.
 * @template {{ start: number, word: string }} Item
 * @param {string} text
 * @param {number} from
 * @param {number} to
 * @param {readonly Item[]} words
 * @returns {Place<Item>[]}
 */
function placesOfNumber(text, from, to, words) {
  const [first] = words;
  if (!first) return [];
  const digits = [...text.slice(from, to).matchAll(/\d/g)].map(({ index }) => from + index);
  const said = words.filter(({ word }) => digitWords.has(plainOf(word)));
  const isDigitByDigit =
    said.length === digits.length &&
    said.every(({ word }, at) => digitWords.get(plainOf(word)) === text[digits[at] ?? -1]);
  if (!isDigitByDigit || said.length === 0) return [{ start: from, end: to, item: first }];
  return said.map((item, at) => ({
    start: at === 0 ? from : (digits[at] ?? from),
    end: digits[at + 1] ?? to,
    item,
  }));
}

/** @param {string} word */
function plainOf(word) {
  return word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '');
}

/**
 * The pairs of indexes at which two lists have the same words in the same order, as many as there are.
 * @param {readonly string[]} a
 * @param {readonly string[]} b
 * @returns {[number, number][]}
 */
function commonPlaces(a, b) {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        a[i] === b[j]
          ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
  /** @type {[number, number][]} */
  const pairs = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;)
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) i++;
    else j++;
  return pairs;
}

/**
 * The places of words that are searched one after the other.
 * @template {{ start: number, word: string }} Item
 * @param {string} text
 * @param {readonly Item[]} words
 * @returns {Place<Item>[]}
 */
function placesInOrder(text, words) {
  const lower = text.toLowerCase();
  const places = [];
  let from = 0;
  for (const item of words) {
    const wanted = item.word.trim().toLowerCase();
    const start = wanted === '' ? -1 : lower.indexOf(wanted, from);
    if (start < 0) continue;
    from = start + wanted.length;
    places.push({ start, end: from, item });
  }
  return places;
}
