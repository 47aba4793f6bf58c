/** Word error rate with what spelling leaves open made equal: case, punctuation, numbers, symbols. */
const spelled: Record<string, string> = {
  '#': 'pound', '*': 'star', '&': 'and', '%': 'percent', ok: 'okay', "i'm": 'i am',
  "that's": 'that is', "you're": 'you are', "user's": 'users', voicemail: 'voice mail',
  filename: 'file name', keywords: 'key words', mailbox: 'mail box', blacklist: 'black list',
  blacklisted: 'black listed', touchtone: 'touch tone', login: 'log in', callback: 'call back',
  playback: 'play back', unidentified: 'un identified', goodbye: 'good bye', rerecord: 're record',
  echotest: 'echo test', represenatives: 'representatives', umute: 'unmute', thru: 'through',
  witheld: 'withheld', indentified: 'identified', ivr: 'i v r', prepend: 'pre pend',
}; // prettier-ignore
const small = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten',
  'eleven', 'twelve', 'thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen',
  'nineteen']; // prettier-ignore
const tens = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety'];

function numberWords(digits: string): string {
  const value = Number(digits);
  if (value < 20) return small[value] ?? digits;
  if (value < 100)
    return `${tens[Math.floor(value / 10)] ?? ''} ${value % 10 ? (small[value % 10] ?? '') : ''}`;
  if (value % 100 === 0 && value < 1000) return `${small[value / 100] ?? ''} hundred`;
  return Array.from(digits)
    .map((digit) => small[Number(digit)])
    .join(' ');
}

export function normalisedWords(text: string): string[] {
  return text
    .toLowerCase()
    .replace(/’/g, "'")
    .replace(/([#*&%])/g, ' $1 ')
    .replace(/(\d+)(st|nd|rd|th)\b/g, '$1')
    .replace(/\d+/g, (digits) => ` ${numberWords(digits)} `)
    .replace(/[^a-z0-9'#*&%]+/g, ' ')
    .split(' ')
    .filter(Boolean)
    .flatMap((word) => (Object.hasOwn(spelled, word) ? spelled[word]! : word).split(' '));
}

/** Insertions, deletions and substitutions. */
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
