/**
 * The sound of a phrase as a short string in which similar sounds share a letter. It follows the rules of English
 * spelling, since no dictionary holds brand names. A pronunciation from the caller is spelled as it sounds.
 */
export function soundOf(phrase: string): string {
  return phrase
    .toLowerCase()
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .split(/[^a-z]+/)
    .filter(Boolean)
    .map(cachedSound)
    .join('');
}

const sounds = new Map<string, string>();

function cachedSound(word: string): string {
  const known = sounds.get(word);
  if (known !== undefined) return known;
  if (sounds.size > 5_000) sounds.clear();
  const sound = wordSound(word.slice(0, 60));
  sounds.set(word, sound);
  return sound;
}

function wordSound(word: string): string {
  return word
    .replace(/^x/, 'z')
    .replace(/ph/g, 'f')
    .replace(/ck/g, 'k')
    .replace(/sch|sh/g, 'x')
    .replace(/tch|ch/g, 'c')
    .replace(/th/g, 'f')
    .replace(/qu/g, 'kw')
    .replace(/wh/g, 'w')
    .replace(/c(?=[eiy])/g, 's')
    .replace(/c/g, 'k')
    .replace(/x$/g, 'ks')
    .replace(/ee|ea|ie/g, 'i')
    .replace(/oo|ou|ew/g, 'u')
    .replace(/ay|ai|ei/g, 'e')
    .replace(/y/g, 'i')
    .replace(/dge?|g(?=[eiy])/g, 'j')
    .replace(/([bdfgklmnprst])\1/g, '$1')
    .replace(/(?<=.{2})e$/, '')
    .replace(/[^a-z]/g, '');
}

const vowels = 'aeiouAOY';
const pairs = ['pb', 'td', 'kg', 'fv', 'sz', 'xc', 'cj', 'mn', 'xs'];
const codes = 128;

/** The cost of taking one sound for another, by the codes of both letters, in tenths. */
const swapTenths = new Uint8Array(codes * codes).fill(10);
for (let code = 0; code < codes; code++) swapTenths[code * codes + code] = 0;
for (const one of vowels)
  for (const other of vowels) if (one !== other) cheapSwap(one.charCodeAt(0), other.charCodeAt(0));
for (const pair of pairs) {
  cheapSwap(pair.charCodeAt(0), pair.charCodeAt(1));
  cheapSwap(pair.charCodeAt(1), pair.charCodeAt(0));
}

function cheapSwap(one: number, other: number): void {
  swapTenths[one * codes + other] = 4;
}

/** The rows of the table of distances. Calls use them one after the other, so one pair serves all. */
let before = new Int32Array(64);
let present = new Int32Array(64);

/**
 * The edit distance of two sounds, relative to their length. Confusing two vowels, or a voiced and a voiceless
 * consonant, costs little. Above `limit` the exact distance does not matter: the function then stops early and returns
 * 1.
 */
export function soundDistance(a: string, b: string, limit = 1): number {
  const longest = Math.max(a.length, b.length);
  if (longest === 0) return 0;
  const most = limit * longest * 10 + 1e-6;
  if (Math.abs(a.length - b.length) * 10 > most) return 1;
  if (before.length <= b.length) {
    before = new Int32Array(b.length * 2);
    present = new Int32Array(b.length * 2);
  }
  for (let j = 0; j <= b.length; j++) before[j] = j * 10;
  for (let i = 1; i <= a.length; i++) {
    const row = (a.charCodeAt(i - 1) & (codes - 1)) * codes;
    let left = (present[0] = i * 10);
    let least = left;
    for (let j = 1; j <= b.length; j++) {
      const swap =
        (before[j - 1] ?? 0) + (swapTenths[row + (b.charCodeAt(j - 1) & (codes - 1))] ?? 10);
      left = Math.min(swap, (before[j] ?? 0) + 10, left + 10);
      present[j] = left;
      if (left < least) least = left;
    }
    if (least > most) return 1;
    [before, present] = [present, before];
  }
  return (before[b.length] ?? 0) / 10 / longest;
}
