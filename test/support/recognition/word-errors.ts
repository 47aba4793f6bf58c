/** Word error rate with variants of spelling made equal: case, punctuation, numbers, symbols. */
const spelled: Record<string, string> = {
  '#': 'pound', '*': 'star', '&': 'and', '%': 'percent', ok: 'okay', "user's": 'users', voicemail: 'voice mail',
  filename: 'file name', keywords: 'key words', mailbox: 'mail box', blacklist: 'black list',
  blacklisted: 'black listed', touchtone: 'touch tone', login: 'log in', callback: 'call back',
  playback: 'play back', forevermore: 'forever more', voiceover: 'voice over', unidentified: 'un identified', goodbye: 'good bye', rerecord: 're record',
  echotest: 'echo test', represenatives: 'representatives', umute: 'unmute', thru: 'through',
  witheld: 'withheld', indentified: 'identified', ivr: 'i v r', prepend: 'pre pend', prepending: 'pre pending',
}; // prettier-ignore
const small = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten',
  'eleven', 'twelve', 'thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen',
  'nineteen']; // prettier-ignore
const tens = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety'];

const ordinals: Record<string, string> = {
  one: 'first', two: 'second', three: 'third', five: 'fifth', eight: 'eighth', nine: 'ninth',
  twelve: 'twelfth',
}; // prettier-ignore
const contracted: readonly (readonly [RegExp, string])[] = [
  [/\bcan't\b|\bcannot\b/g, 'can not'],
  [/\bwon't\b/g, 'will not'],
  [/n't\b/g, ' not'],
  [/'ll\b/g, ' will'],
  [/'re\b/g, ' are'],
  [/'ve\b/g, ' have'],
  [/\bi'm\b/g, 'i am'],
  [/\b(it|that|there|what|here|where|who)'s\b/g, '$1 is'],
  [/\bmr\b/g, 'mister'],
  [/\bmrs\b/g, 'missus'],
  [/\bdr\b/g, 'doctor'],
];

function below100(value: number): string[] {
  if (value < 20) return [small[value] ?? ''];
  return [tens[Math.floor(value / 10)] ?? '', ...(value % 10 ? [small[value % 10] ?? ''] : [])];
}

function cardinal(value: number, and: boolean): string[] {
  if (value >= 1000) {
    const rest = value % 1000;
    const joined = and && rest > 0 && rest < 100 ? ['and'] : [];
    return [
      ...cardinal(Math.floor(value / 1000), and),
      'thousand',
      ...(rest ? [...joined, ...cardinal(rest, and)] : []),
    ];
  }
  if (value < 100) return below100(value);
  const rest = value % 100;
  const joined = and && rest > 0 ? ['and'] : [];
  return [small[Math.floor(value / 100)] ?? '', 'hundred', ...joined, ...(rest ? below100(rest) : [])]; // prettier-ignore
}

/** The ways to say a sequence of digits. The first is used for a text without a truth to compare with. */
function spokenNumbers(digits: string): string[][] {
  const value = Number(digits);
  const each = Array.from(digits, (digit) => small[Number(digit)] ?? '');
  const oh = each.map((word) => (word === 'zero' ? 'o' : word));
  const pairs = (from: number) => [
    ...below100(Number(digits.slice(0, from) || '0')).slice(from === 0 ? 1 : 0),
    ...Array.from({ length: Math.ceil((digits.length - from) / 2) }, (_, index) => {
      const pair = digits.slice(from + 2 * index, from + 2 * index + 2);
      if (pair === '00') return ['hundred'];
      return pair.startsWith('0') ? ['o', ...below100(Number(pair))] : below100(Number(pair));
    }).flat(),
  ];
  const whole =
    digits.startsWith('0') || digits.length > 6
      ? []
      : [cardinal(value, false), cardinal(value, true)];
  const paired = digits.length > 2 && !digits.startsWith('0') ? [pairs(digits.length % 2)] : [];
  const usual = value < 100 || (value % 100 === 0 && value < 1000) ? whole : [each, ...whole];
  return usual[0]?.length && !digits.startsWith('0')
    ? [...usual, ...paired, each, oh]
    : [each, oh, ...paired];
}

function ordinalOf(words: readonly string[]): string[] {
  const last = words.at(-1) ?? '';
  const made = ordinals[last] ?? (last.endsWith('y') ? `${last.slice(0, -1)}ieth` : `${last}th`);
  return [...words.slice(0, -1), made];
}

/**
 * The words of a text with variants of spelling made equal: case, punctuation, contractions, titles, compounds, signs
 * and numbers. A number can be said in several ways. If a truth is given, the way nearest to it is used ("$342" for
 * "three hundred and forty two dollars").
 */
export function normalisedWords(text: string, truth: readonly string[] = []): string[] {
  return normalisedEach([text], truth).flat();
}

/** Normalises consecutive texts and returns the words of each text separately. */
export function normalisedEach(texts: readonly string[], truth: readonly string[]): string[][] {
  const parts = texts.map(waysOf);
  const chosen = nearestWay(parts.flat(), truth);
  return parts.map((own) => chosen.splice(0, own.length).flat());
}

/** The elements of a text, each with the ways in which it can be said. */
function waysOf(text: string): string[][][] {
  let spoken = text
    .toLowerCase()
    .replace(/’/g, "'")
    .replace(/(\d),(?=\d{3}\b)/g, '$1')
    .replace(/([$£€])(\d+)\.(\d\d)\b/g, '$1$2 and $3 cents')
    .replace(/\$(\d+)/g, '$1 dollars')
    .replace(/£(\d+)/g, '$1 pounds')
    .replace(/(\d)\.(?=\d)/g, '$1 point ')
    .replace(/([#*&%])/g, ' $1 ');
  for (const [from, to] of contracted) spoken = spoken.replace(from, to);
  return spoken.split(/(\d+(?:st|nd|rd|th)?)/).map((part) => {
    const [, digits, nth] = /^(\d+)(\D*)$/.exec(part) ?? [];
    if (digits === undefined) return [plainWords(part)];
    return spokenNumbers(digits).map((way) => (nth ? ordinalOf(way) : way));
  });
}

function plainWords(text: string): string[] {
  return text
    .replace(/[^a-z0-9'#*&%]+/g, ' ')
    .split(' ')
    .filter(Boolean)
    .flatMap((word) => (Object.hasOwn(spelled, word) ? spelled[word]! : word).split(' '));
}

/** Says each number in the way that makes the fewest words of the text wrong; of equal ways, the first. */
function nearestWay(parts: readonly string[][][], truth: readonly string[]): string[][] {
  const chosen = parts.map((ways) => ways[0] ?? []);
  for (const [at, ways] of parts.entries()) {
    if (ways.length < 2 || truth.length === 0) continue;
    const errors = ways.map((way) => wordErrors(truth, chosen.with(at, way).flat()));
    chosen[at] = ways[errors.indexOf(Math.min(...errors))] ?? [];
  }
  return chosen;
}

/** Counts insertions, deletions and substitutions. */
export function wordErrors(truth: readonly string[], heard: readonly string[]): number {
  let row = Array.from({ length: heard.length + 1 }, (_, i) => i);
  for (const [i, word] of truth.entries()) {
    const next = [i + 1];
    for (const [j, other] of heard.entries())
      next.push(Math.min(row[j]! + (word === other ? 0 : 1), row[j + 1]! + 1, next[j]! + 1));
    row = next;
  }
  return row.at(-1)!;
}

/** The true words with their differences from the recognised ones: [said>heard], [-omitted], [+added]. */
export function differences(truth: readonly string[], heard: readonly string[]): string {
  const errors = truth.concat('').map(() => new Array<number>(heard.length + 1).fill(0));
  for (let i = truth.length; i >= 0; i--)
    for (let j = heard.length; j >= 0; j--) {
      if (i === truth.length || j === heard.length) {
        errors[i]![j] = truth.length - i + heard.length - j;
        continue;
      }
      const same = truth[i] === heard[j] ? 0 : 1;
      errors[i]![j] = Math.min(
        errors[i + 1]![j + 1]! + same,
        errors[i + 1]![j]! + 1,
        errors[i]![j + 1]! + 1,
      );
    }
  const parts: string[] = [];
  for (let i = 0, j = 0; i < truth.length || j < heard.length;) {
    const here = errors[i]![j]!;
    const both = i < truth.length && j < heard.length;
    const same = both && truth[i] === heard[j];
    if (both && here === errors[i + 1]![j + 1]! + (same ? 0 : 1)) {
      parts.push(same ? truth[i]! : `[${truth[i]!}>${heard[j]!}]`);
      i++;
      j++;
    } else if (i < truth.length && here === errors[i + 1]![j]! + 1) parts.push(`[-${truth[i++]!}]`);
    else parts.push(`[+${heard[j++]!}]`);
  }
  return parts.join(' ');
}
