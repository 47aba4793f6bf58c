import { cueAbroad } from '../abroad/cues-abroad.ts';
import { plain, type LanguageAbroad } from '../abroad/number-words.ts';
import { numberAt, tokensOf } from '../abroad/numbers-abroad.ts';
import type { EntitySpan } from '../types.ts';

/** The words around a row that may say what it is, in characters. */
const reach = 80;
/** A question is at the end of its turn. */
const longestTurn = 600;
/** A cue is looked for in stretches that overlap, because only the last words before a number count. */
const step = 30;
/** No amount or distance of a call is larger. Longer rows are covered whatever follows them. */
const largest = 10_000_000;
/** An answer of fewer words may be a code that looks like a year. */
const fewestWordsBeside = 3;

/** Words behind a number that say what it counts, in small letters without accents. */
const unit =
  /^\s*(?:[.,]\d{2})?\s*(?:€|eur\b|euros?\b|dolar\w*|dollars?\b|pesos?\b|reais\b|franken\b|francs?\b|libras?\b|pfund\b|kilomet\w+|quilomet\w+|chilomet\w+|km\b|metros?\b|met(?:re|er|ri)s?\b|kilow\w+|quilow\w+|chilow\w+|kwh\b|megas?\b|mega(?:bit|byte)s?\b|gigas?\b|por ciento\b|por cento\b|pour cent\b|per cento\b|prozent\b|procent\b|%|personas\b|personnes\b|personen\b|persone\b|pessoas\b|gracias\b|fois\b|dank\b|vece[sn]\b|vezes\b|volte\b|keer\b)/;
/** Words beside a number that make it a secret, in any of the languages. */
const secret =
  /\b(?:pin|nip|clave|contrasena|password|passwort|kennwort|mot de passe|wachtwoord|senha|parola|postal\w*|postleitzahl|postcode)\b/;
/** Words in front of the last digits of something. */
const lastDigits =
  /\b(?:(?:acab|termin|finali[sz])\w+ (?:en|con|em|com|in)|fini\w+ (?:par|con)|enden?t? (?:auf|mit)|eindig\w+ (?:op|met)|ultim[oae]s?|derniers|dernieres|letzten|laatste)\b/;
const thousandAlone = /^(?:mil|mille|tausend|duizend)$/;
/** 1900 to 1999, as it is said, and years since 2000 that are no single number to the finder of rows. */
const yearInWords =
  /^(?:mil nove(?:cientos|centos)|mille neuf cents?|millenovecento|neunzehnhundert|negentien(?:honderd)?|dois mil e \p{L}+(?: e \p{L}+)?$|tweeduizend \p{L}+$)/u;
/** Words that are not counted. Behind a round number any other is: "mil quinientos puntos". */
const noCounted =
  /^(?:para|pero|porque|cuando|este|esta|eso|claro|bien|vale|pour|mais|avec|merci|oder|aber|dann|bitte|danke|nicht|also|sind|sono|pero|perche|quando|come|quindi|allora|prego|grazie|entao|obrigad[oa]|mas|maar|voor|niet|alstublieft|bedankt|graag|apunte|anote|notez|segna)$/;

/**
 * True if a row of digits is a plain number by the words around it: an amount, a distance, a year, a number below 1,000.
 * A row behind a word such as "code" or "card" is none, and neither are several numbers side by side.
 */
export function isPlainNumber(text: string, row: EntitySpan, language: LanguageAbroad): boolean {
  const before = plain(text.slice(Math.max(0, row.start - reach), row.start));
  const after = plain(text.slice(row.end, row.end + reach));
  const said = plain(row.text);
  // "Mil gracias", "merci mille fois".
  if (thousandAlone.test(said)) return true;
  if (secret.test(before) || secret.test(after) || lastDigits.test(before)) return false;
  if (cueAbroad(before, after, language) !== undefined) return false;
  const isCounted = unit.test(after);
  const tokens = tokensOf(text);
  const at = tokens.findIndex(({ start }) => start >= row.start);
  const number = at < 0 ? undefined : numberAt(text, tokens, at, language);
  const isWhole = number !== undefined && (tokens[number.next - 1]?.end ?? 0) >= row.end;
  if (isWhole && !/^0/.test(number.digits)) {
    const { value, isFigures } = number;
    // A bare answer may be a code.
    if (!isFigures && value < 1_000) return wordsBeside(text, row) >= fewestWordsBeside;
    if ((isCounted || (!isFigures && value % 100 === 0 && countsNext(after))) && value < largest)
      return wordsBeside(text, row) >= fewestWordsBeside || isCounted;
    if (value >= 1_900 && value < 2_100) return wordsBeside(text, row) >= fewestWordsBeside;
  }
  if (yearInWords.test(said)) return wordsBeside(text, row) >= fewestWordsBeside;
  // "mil e duzentos euros", "1.450 euros"
  const isAmount = /^\d{1,3}(?:[.\s]\d{3}|\d)?$/.test(said) || /mil|mille|tausend|duizend|cent|hundert|honderd/.test(said); // prettier-ignore
  return isCounted && isAmount && said.split(/[\s,-]+/).length <= 7 && !/\b(?:cero|zero|null|nul)\b/.test(said); // prettier-ignore
}

/** True if a word follows that can be counted. */
function countsNext(after: string): boolean {
  const next = /^\s+(\p{L}{4,})/u.exec(after)?.[1];
  return next !== undefined && !noCounted.test(next);
}

/** True if a turn speaks of a card, a code, a telephone number or the like: what answers it may be one. */
export function namesSecret(turn: string, language: LanguageAbroad): boolean {
  const words = plain(turn.slice(-longestTurn));
  if (secret.test(words) || lastDigits.test(words)) return true;
  for (let end = words.length; end > 0; end -= step)
    if (cueAbroad(words.slice(0, end), '', language) !== undefined) return true;
  return false;
}

function wordsBeside(text: string, row: EntitySpan): number {
  const rest = `${text.slice(0, row.start)} ${text.slice(row.end)}`;
  return (rest.match(/\p{L}+/gu) ?? []).length;
}
