/** Figures in words. Prompts have hardly any above a hundred. */
const small: Readonly<Record<string, string>> = {
  es: 'cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince',
  fr: 'zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze',
  it: 'zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici',
  ru: 'ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать четырнадцать пятнадцать',
  de: 'null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn',
  en: 'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen',
};
const large: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  es: { 18: 'dieciocho', 20: 'veinte', 30: 'treinta', 100: 'cien' },
  fr: { 18: 'dix huit', 20: 'vingt', 30: 'trente', 100: 'cent' },
  it: { 18: 'diciotto', 20: 'venti', 30: 'trenta', 100: 'cento' },
  ru: { 18: 'восемнадцать', 20: 'двадцать', 30: 'тридцать', 100: 'сто' },
  de: { 18: 'achtzehn', 20: 'zwanzig', 30: 'dreißig', 100: 'hundert' },
};

function inWords(figures: string, language: string): string {
  const value = Number(figures);
  const words = (small[language] ?? '').split(' ');
  return words[value] ?? large[language]?.[value] ?? figures;
}

/** The words of a text with variants of spelling made equal: case, accents, figures, ß and ё. */
export function wordsOf(text: string, language: string): string[] {
  const plain = text
    .toLowerCase()
    .replace(/\s*(\d+)\s*/g, (_, figures: string) => ` ${inWords(figures, language)} `)
    .replace(/ß/g, 'ss')
    // Menus name a key with and without this word.
    .replace(
      language === 'es'
        ? /\bn[uú]mero (?=(?:uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|cero)\b)/g
        : /(?!)/g,
      '',
    ) // prettier-ignore
    .normalize('NFD')
    .replace(/\p{M}/gu, '');
  return plain.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Wrong, missing and added words. One word that is written as two is no mistake. */
export function errorsBetween(truth: readonly string[], heard: readonly string[]): number {
  const rows = Array.from({ length: truth.length + 1 }, () => new Array<number>(heard.length + 1).fill(0)); // prettier-ignore
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Infinity;
  for (let i = 0; i <= truth.length; i++)
    for (let j = 0; j <= heard.length; j++) {
      if (i === 0 && j === 0) continue;
      const isSame = truth[i - 1] === heard[j - 1];
      const ways = [at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (isSame ? 0 : 1)];
      if (i > 1 && j > 0 && `${truth[i - 2]}${truth[i - 1]}` === heard[j - 1])
        ways.push(at(i - 2, j - 1));
      if (j > 1 && i > 0 && truth[i - 1] === `${heard[j - 2]}${heard[j - 1]}`)
        ways.push(at(i - 1, j - 2));
      rows[i]![j] = Math.min(...ways.filter((way) => !Number.isNaN(way)));
    }
  return at(truth.length, heard.length);
}
