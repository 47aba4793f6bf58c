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

const vowels = new Set('aeiouAOY');

/**
 * The edit distance of two sounds, relative to their length. Confusing two vowels, or a voiced and a voiceless
 * consonant, costs little.
 */
export function soundDistance(a: string, b: string): number {
  const longest = Math.max(a.length, b.length);
  if (longest === 0) return 0;
  let row = Float64Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = new Float64Array(b.length + 1);
    next[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + swapCost(a[i - 1] ?? '', b[j - 1] ?? '');
      next[j] = Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
    }
    row = next;
  }
  return (row[b.length] ?? 0) / longest;
}

const pairs = new Set([
  'pb',
  'bp',
  'td',
  'dt',
  'kg',
  'gk',
  'fv',
  'vf',
  'sz',
  'zs',
  'xc',
  'cx',
  'cj',
  'jc',
  'mn',
  'nm',
  'xs',
  'sx',
]);

function swapCost(a: string, b: string): number {
  if (a === b) return 0;
  if (vowels.has(a) && vowels.has(b)) return 0.4;
  return pairs.has(a + b) ? 0.4 : 1;
}
