import { Doc } from '../entities/doc.ts';
import { findEntities } from '../entities/find-entities.ts';
import { isWithoutCase, marker, mayChange, tidied } from '../text/tidy.ts';
import type { EntitySpan, TextEdit } from '../types.ts';
import { writtenAmount } from './written-amounts.ts';
import { writtenCode, writtenPhone, writtenSpelling } from './written-codes.ts';
import { writtenDay, writtenTime } from './written-days.ts';
import { inCapitals } from './value.ts';
import { addressOf } from './web-value.ts';

/** Facts beside the words that decide how a number is written. */
export type WrittenContext = {
  language: string;
  /** The calling code of the call's country, without the plus. */
  callingCode?: string | undefined;
};

/**
 * The text as a person reads it: "four, seven, two" is 472, "eighty nine dollars" $89, "march third" March 3rd. The
 * result depends on nothing but the text and the context, so a text has one form wherever it is shown. Figures are
 * written only where each word of the number is understood. Everything else stays as it was said.
 */
export function writtenText(text: string, context: WrittenContext): string {
  const edits = writtenEdits(text, context);
  const written = tidied(applied(text, edits), context.language, edits.length > 0);
  // A recogniser lists numbers with commas, and ends the last one with a comma, too.
  const isNumberLast = edits.at(-1)?.end === text.replace(/[,;]\s*$/, '').length;
  return isNumberLast ? written.replace(/[,;](?=\s*$)/, '.') : written;
}

/** The stretches that change, in order and without overlap. */
export function writtenEdits(text: string, context: WrittenContext): TextEdit[] {
  if (context.language !== 'en' || !mayChange(text)) return [];
  // A character belongs to one edit at most, and to none where a marker stands.
  const taken = new Uint8Array(text.length);
  for (const { index, 0: all } of text.matchAll(marker)) taken.fill(1, index, index + all.length);
  const edits: TextEdit[] = [];
  const add = (found: readonly TextEdit[]): void => {
    for (const edit of found) {
      const { start, end } = edit;
      // In the middle of a word of letters and digits nothing is a number or a name.
      const isInside = /[\p{L}\p{N}]/u.test(text.charAt(start - 1) + text.charAt(end));
      if (isInside || taken.subarray(start, end).includes(1)) continue;
      if (text.slice(start, end) === edit.text) continue;
      taken.fill(1, start, end);
      edits.push(edit);
    }
  };
  const doc = new Doc(text);
  const spans = findEntities(text, undefined, context.language);
  for (const span of spans) add(editsOf(doc, span, context));
  const lower = text.toLowerCase();
  if (isWithoutCase(text) && lower.length === text.length)
    for (const { type, start, end } of findEntities(lower))
      if (names.test(type)) add([{ start, end, text: inCapitals(text.slice(start, end)) }]);
  // The finder gives up in doubt. Digits in a row and letters in a row are what they are without it.
  const others = spans.filter(({ type }) => !type.startsWith('NAME'));
  for (const { start, end } of others) taken.fill(1, start, end);
  add(writtenSpelling(doc));
  for (const { start, end } of spans) taken.fill(1, start, end);
  add(writtenCode(doc, { start: 0, end: text.length }, 'bare'));
  return edits.sort((a, b) => a.start - b.start);
}

/** A name without its capital is written with it where a recogniser wrote no capitals. */
const names = /^(?:NAME.*|ORGANIZATION.*|LOCATION(?:_CITY|_STATE|_COUNTRY)?)$/;

function editsOf(doc: Doc, span: EntitySpan, context: WrittenContext): TextEdit[] {
  const whole = (written: string | undefined): TextEdit[] =>
    written === undefined ? [] : [{ start: span.start, end: span.end, text: written }];
  switch (span.type) {
    case 'EMAIL_ADDRESS':
      // "peter.whitlock at example.com" is half written.
      return span.text.includes('@') ? [] : whole(addressOf(span.text));
    case 'URL':
      return /[@/]|\w\.\w/.test(span.text) ? [] : whole(addressOf(span.text));
    case 'MONEY':
      return whole(writtenAmount(span.text, context.callingCode));
    case 'DATE':
    case 'DATE_INTERVAL':
    case 'DOB':
      return whole(writtenDay(span.text));
    case 'TIME':
      return whole(writtenTime(span.text));
    case 'PHONE_NUMBER':
      return writtenPhone(doc, span, context.callingCode);
    case 'CREDIT_CARD':
    case 'CREDIT_CARD_EXPIRATION':
    case 'SSN':
      return writtenCode(doc, span, span.type);
    case 'ACCOUNT_NUMBER':
    case 'BANK_ACCOUNT':
    case 'CVV':
    case 'DRIVER_LICENSE':
    case 'HEALTHCARE_NUMBER':
    case 'LOCATION_ZIP':
    case 'NUMERICAL_PII':
    case 'PASSPORT_NUMBER':
    case 'ROUTING_NUMBER':
    case 'VEHICLE_ID':
      return writtenCode(doc, span, 'code');
    default:
      return [];
  }
}

function applied(text: string, edits: readonly TextEdit[]): string {
  let written = '';
  let at = 0;
  for (const edit of edits) {
    written += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return written + text.slice(at);
}
