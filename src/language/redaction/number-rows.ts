import type { EntitySpan } from '../types.ts';

/**
 * Rows of digits in languages whose cards and telephone numbers nobody has proven to be found. A row of four digits or
 * more is covered whatever it means: in figures, in number words of Spanish, French, German, Italian, Portuguese and
 * Dutch, or in both.
 */
const leastDigits = 4;

/** The words of one language by how many digits they stand for, as parts of words: German and Italian join them. */
type NumberParts = {
  units: string;
  tens: string;
  hundreds: string;
  thousands: string;
  and: string;
};

const languages: readonly NumberParts[] = [
  {
    units: 'cero uno una un dos tres cuatro cinco seis siete ocho nueve',
    tens:
      'diez once doce trece catorce quince dieciséis dieciseis diecisiete dieciocho diecinueve veinte veintiuno ' +
      'veintiún veintiun veintiuna veintidós veintidos veintitrés veintitres veinticuatro veinticinco veintiséis ' +
      'veintiseis veintisiete veintiocho veintinueve treinta cuarenta cincuenta sesenta setenta ochenta noventa',
    hundreds:
      'cien ciento doscientos doscientas trescientos trescientas cuatrocientos cuatrocientas quinientos quinientas ' +
      'seiscientos seiscientas setecientos setecientas ochocientos ochocientas novecientos novecientas',
    thousands: 'mil millón millon millones',
    and: 'y',
  },
  {
    units: 'zéro zero un une deux trois quatre cinq six sept huit neuf',
    tens:
      'dix onze douze treize quatorze quinze seize vingt vingts trente quarante cinquante soixante septante huitante ' +
      'octante nonante',
    hundreds: 'cent cents',
    thousands: 'mille million millions',
    and: 'et',
  },
  {
    units: 'null ein eins eine einen zwei zwo drei vier fünf fuenf sechs sieben acht neun',
    tens:
      'zehn elf zwölf zwoelf dreizehn vierzehn fünfzehn fuenfzehn sechzehn siebzehn achtzehn neunzehn zwanzig dreißig ' +
      'dreissig vierzig fünfzig fuenfzig sechzig siebzig achtzig neunzig',
    hundreds: 'hundert',
    thousands: 'tausend million millionen',
    and: 'und',
  },
  {
    units: 'zero uno una un due tre tré quattro cinque sei sette otto nove',
    tens:
      'dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove venti vent trenta trent ' +
      'quaranta quarant cinquanta cinquant sessanta sessant settanta settant ottanta ottant novanta novant',
    hundreds: 'cento cent',
    thousands: 'mille mila milione milioni',
    and: 'e',
  },
  {
    units: 'zero um uma dois duas três tres quatro cinco seis meia sete oito nove',
    tens:
      'dez onze doze treze catorze quatorze quinze dezesseis dezasseis dezessete dezassete dezoito dezenove dezanove ' +
      'vinte trinta quarenta cinquenta sessenta setenta oitenta noventa',
    hundreds:
      'cem cento duzentos duzentas trezentos trezentas quatrocentos quatrocentas quinhentos quinhentas seiscentos ' +
      'seiscentas setecentos setecentas oitocentos oitocentas novecentos novecentas',
    thousands: 'mil milhão milhões',
    and: 'e',
  },
  {
    units: 'nul een één eén twee drie vier vijf zes zeven acht negen',
    tens:
      'tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien twintig dertig veertig vijftig ' +
      'zestig zeventig tachtig negentig',
    hundreds: 'honderd',
    thousands: 'duizend miljoen',
    and: 'en',
  },
];

/** The digits that a word of the language stands for, or undefined if it is no number. */
type DigitsOf = (word: string) => number | undefined;

/** Marks and spaces that may stand inside a row. */
const between = /^[\s,.;:\-–/()+_]*$/u;
/** Longer gaps of marks end a row. */
const mostBetween = 6;

/** A number word is never longer than this. */
const longestWord = 60;

const readers: readonly { digitsOf: DigitsOf; and: string }[] = languages.map((parts) => {
  const sizes = new Map<string, number>();
  for (const [size, names] of [parts.units, parts.tens, parts.hundreds, parts.thousands].entries())
    for (const name of names.split(' ')) sizes.set(name, size + 1);
  const names = [...sizes.keys()].toSorted((a, b) => b.length - a.length).join('|');
  // German and Italian write a number as one word, French with hyphens.
  const whole = new RegExp(`^(?:${names}|(?<=\\p{L})(?:und|en|ën)(?=\\p{L}))+$`, 'u');
  const each = new RegExp(names, 'gu');
  return {
    and: parts.and,
    digitsOf: (word) => {
      if (word.length > longestWord || !whole.test(word)) return undefined;
      return Math.max(...(word.match(each) ?? []).map((name) => sizes.get(name) ?? 1));
    },
  };
});

/**
 * The rows in a text. In English text only number words of the other languages count: a caller may change the language,
 * and no English sentence has a row of them.
 */
export function numberRows(text: string, language = 'en'): EntitySpan[] {
  const isEnglish = language === 'en';
  const spans = readers.flatMap(({ digitsOf, and }) => rowsOf(text, digitsOf, and, isEnglish));
  return joined(spans).map(({ start, end }) => ({
    type: 'NUMERICAL_PII',
    text: text.slice(start, end),
    start,
    end,
  }));
}

/** A date or a code of a card is this short. */
const leastShort = 2;
/** Number words that are English words, too. */
const english = new Set(
  'six once cent cents zero million millions um un elf due vent dix tre null set'.split(' '),
);
/** Between the month and the year of a card: "nueve del veintisiete". */
const withinDates = new Set(
  'y et und e en del de du di do da van von des barra barre slash schrägstrich streepje guion guión'.split(
    ' ',
  ),
);
const months =
  /^(?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|setiembre|octubre|noviembre|diciembre|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre|januar|februar|märz|april|juni|juli|august|september|oktober|november|dezember|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro|januari|februari|maart|mei|augustus|december)$/;

/** The rows that answer a question for a secret: two digits or more, and a month with its year. */
export function shortRows(text: string, language: string): EntitySpan[] {
  const spans = readers.flatMap(({ digitsOf }) => {
    const found: TextRange[] = [];
    let row: (TextRange & { digits: number; own: number }) | undefined;
    const close = (): void => {
      if (row && row.digits >= leastShort && (language !== 'en' || row.own > 0)) found.push(row);
      row = undefined;
    };
    for (const match of text.matchAll(/\p{N}+|[\p{L}\p{M}]+/gu)) {
      const word = match[0].toLowerCase();
      const [start, end] = [match.index, match.index + word.length];
      if (row && start - row.end > mostBetween + longestWithin) close();
      if (row && withinDates.has(word)) continue;
      const isFigures = /^\p{N}/u.test(word);
      const digits = isFigures ? word.length : months.test(word) ? leastShort : digitsOf(word);
      if (digits === undefined) {
        close();
        continue;
      }
      row ??= { start, end, digits: 0, own: 0 };
      row.end = end;
      row.digits += digits;
      row.own += isFigures || english.has(word) || months.test(word) ? 0 : 1;
    }
    close();
    return found;
  });
  return joined(spans).map(({ start, end }) => ({ type: 'NUMERICAL_PII', text: text.slice(start, end), start, end })); // prettier-ignore
}
/** The longest word between two numbers of a date, with its spaces. */
const longestWithin = 14;

type TextRange = { start: number; end: number };

function rowsOf(text: string, digitsOf: DigitsOf, and: string, isEnglish: boolean): TextRange[] {
  const found: TextRange[] = [];
  let row: (TextRange & { digits: number; words: number }) | undefined;
  const close = () => {
    // Two English words that are numbers elsewhere ("six", "once") are no row, and neither are English figures.
    if (row && row.digits >= leastDigits && (!isEnglish || row.words >= leastDigits))
      found.push({ start: row.start, end: row.end });
    row = undefined;
  };
  for (const match of text.matchAll(/\p{N}+|[\p{L}\p{M}]+/gu)) {
    const [token] = match;
    const [start, end] = [match.index, match.index + token.length];
    const gap = row ? text.slice(row.end, start) : '';
    if (row && (gap.length > mostBetween || !between.test(gap))) {
      // A connecting word is part of the gap.
      const inner = gap.trim().toLowerCase();
      if (inner !== and || gap.length > mostBetween) close();
    }
    const isFigures = /^\p{N}/u.test(token);
    const digits = isFigures ? token.length : digitsOf(token.toLowerCase());
    if (digits === undefined) {
      // "y", "et", "und", "e" stand inside a number, between two of its words.
      if (token.toLowerCase() !== and) close();
      continue;
    }
    row ??= { start, end, digits: 0, words: 0 };
    row.end = end;
    row.digits += digits;
    row.words += isFigures ? 0 : 1;
  }
  close();
  return found;
}

/** Overlapping ranges as one. */
function joined(ranges: readonly TextRange[]): TextRange[] {
  const all: TextRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last && range.start <= last.end) last.end = Math.max(last.end, range.end);
    else all.push({ ...range });
  }
  return all;
}

/** The entities with the rows beside them. An entity that overlaps a row grows to all of it. */
export function withRows(
  entities: readonly EntitySpan[],
  rows: readonly EntitySpan[],
  text: string,
): EntitySpan[] {
  let spans = [...entities];
  for (const row of rows) {
    const touching = spans.filter((span) => span.start < row.end && row.start < span.end);
    const start = Math.min(row.start, ...touching.map((span) => span.start));
    const end = Math.max(row.end, ...touching.map((span) => span.end));
    const type = touching[0]?.type ?? row.type;
    spans = spans.filter((span) => !touching.includes(span));
    spans.push({ type, text: text.slice(start, end), start, end });
  }
  return spans.toSorted((a, b) => a.start - b.start);
}
