/** The languages whose numbers are read here. Each has its own words; English has its own finders. */
export const languagesAbroad = ['es', 'fr', 'de', 'it', 'pt', 'nl'] as const;
export type LanguageAbroad = (typeof languagesAbroad)[number];

export function isAbroad(language: string): language is LanguageAbroad {
  return (languagesAbroad as readonly string[]).includes(language);
}

/** A word as the tables have it: in small letters, without accents. */
export function plain(word: string): string {
  return word.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '').replaceAll('ß', 'ss');
}

type NumberTable = {
  /** Numbers below 1,000 by their words, joined by one space. */
  byWords: ReadonlyMap<string, number>;
  /** Other forms of one word, and the form that the table has. */
  same: Readonly<Record<string, string>>;
  thousand: RegExp;
};

/** No number below 1,000 has more words: "novecientos noventa y nueve", "quatre cent quatre-vingt-dix-neuf". */
export const mostWords = 6;

const units: Record<LanguageAbroad, string> = {
  es: 'cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis diecisiete dieciocho diecinueve veinte veintiuno veintidos veintitres veinticuatro veinticinco veintiseis veintisiete veintiocho veintinueve',
  fr: 'zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize',
  de: 'null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn sechzehn siebzehn achtzehn neunzehn',
  it: 'zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove',
  pt: 'zero um dois tres quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezasseis dezassete dezoito dezanove',
  nl: 'nul een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien',
};

const tens: Record<LanguageAbroad, string> = {
  es: 'veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa',
  fr: 'vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt',
  de: 'zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig',
  it: 'venti trenta quaranta cinquanta sessanta settanta ottanta novanta',
  pt: 'vinte trinta quarenta cinquenta sessenta setenta oitenta noventa',
  nl: 'twintig dertig veertig vijftig zestig zeventig tachtig negentig',
};

const hundreds: Partial<Record<LanguageAbroad, string>> = {
  es: 'ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos',
  pt: 'cento duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos novecentos',
};

/** Hundreds of feminine things: "trescientas entradas". */
const feminineHundreds = (language: LanguageAbroad): Record<string, string> =>
  Object.fromEntries(
    (hundreds[language] ?? '')
      .split(' ')
      .slice(1)
      .map((word) => [word.replace(/os$/, 'as'), word]),
  );

const same: Record<LanguageAbroad, Record<string, string>> = {
  es: { un: 'uno', una: 'uno', veintiun: 'veintiuno', veintiuna: 'veintiuno', cien: 'ciento', ...feminineHundreds('es') },
  fr: { une: 'un', vingts: 'vingt', cents: 'cent', octante: 'huitante' },
  de: { ein: 'eins', eine: 'eins', einen: 'eins', zwo: 'zwei' },
  it: { un: 'uno', una: 'uno', cent: 'cento' },
  pt: { uma: 'um', duas: 'dois', meia: 'seis', quatorze: 'catorze', dezesseis: 'dezasseis', dezessete: 'dezassete', dezenove: 'dezanove', cem: 'cento', ...feminineHundreds('pt') },
  nl: {},
}; // prettier-ignore

const thousands: Record<LanguageAbroad, RegExp> = {
  es: /^mil$/,
  fr: /^mille$/,
  de: /^tausend$/,
  it: /^mil(?:le|a)$/,
  pt: /^mil$/,
  nl: /^duizend$/,
};

/** The words of a number below 100. */
function below100(language: LanguageAbroad, value: number): string {
  const small = units[language].split(' ');
  const own = small[value];
  if (own !== undefined) return own;
  const ten = tens[language].split(' ')[Math.floor(value / 10) - 2] ?? '';
  const unit = small[value % 10] ?? '';
  if (language === 'fr') return frenchBelow100(value, ten, small);
  if (value % 10 === 0) return ten;
  switch (language) {
    case 'es':
      return `${ten} y ${unit}`;
    case 'pt':
      return `${ten} e ${unit}`;
    case 'de':
      return `${value % 10 === 1 ? 'ein' : unit}und${ten}`;
    case 'nl':
      return `${unit}en${ten}`;
    case 'it':
      return (/^[ou]/.test(unit) ? ten.slice(0, -1) : ten) + unit;
  }
}

/** 70 to 79 and 90 to 99 are sixty and eighty with a number of ten and more. */
function frenchBelow100(value: number, ten: string, small: readonly string[]): string {
  const rest = value - (value >= 80 ? 80 : value >= 60 ? 60 : Math.floor(value / 10) * 10);
  if (value < 20) return `dix ${small[value - 10] ?? ''}`;
  const words = rest < 17 ? (small[rest] ?? '') : `dix ${small[rest - 10] ?? ''}`;
  const head = ten.replace('-', ' ');
  if (rest === 0) return head;
  return (rest === 1 || rest === 11) && value < 80 ? `${head} et ${words}` : `${head} ${words}`;
}

/** Belgium and Switzerland have tens of their own. */
const frenchTens = { septante: 70, huitante: 80, nonante: 90 } as const;

function hundredOf(language: LanguageAbroad, hundred: number): string {
  const own = hundreds[language]?.split(' ')[hundred - 1];
  if (own !== undefined) return own;
  const unit = hundred === 1 ? '' : (units[language].split(' ')[hundred] ?? '');
  if (language === 'fr') return `${unit} cent`.trim();
  return unit + { de: 'hundert', nl: 'honderd', it: 'cento', es: '', pt: '' }[language];
}

function tableOf(language: LanguageAbroad): NumberTable {
  const byWords = new Map<string, number>();
  for (let value = 0; value < 100; value++) byWords.set(below100(language, value), value);
  if (language === 'fr')
    for (const [name, ten] of Object.entries(frenchTens))
      for (let unit = 0; unit < 10; unit++) {
        const rest = unit === 1 ? ' et un' : unit > 0 ? ` ${below100(language, unit)}` : '';
        byWords.set(name + rest, ten + unit);
      }
  const low = [...byWords];
  for (let hundred = 1; hundred < 10; hundred++) {
    const head = hundredOf(language, hundred);
    byWords.set(head, hundred * 100);
    const joins = { es: ' ', fr: ' ', pt: ' e ', de: '', nl: '', it: '' }[language];
    for (const [words, value] of low)
      if (value > 0) byWords.set(head + joins + words, hundred * 100 + value);
  }
  if (language === 'de') byWords.set('einhundert', 100);
  return { byWords, same: same[language], thousand: thousands[language] };
}

const tables = new Map<LanguageAbroad, NumberTable>();

/** Made when the first text of a language comes. */
export function numberTable(language: LanguageAbroad): NumberTable {
  const known = tables.get(language);
  if (known) return known;
  const made = tableOf(language);
  tables.set(language, made);
  return made;
}
