import { createHash } from 'node:crypto';
import { parsePhoneNumberFromString, type CountryCode } from 'libphonenumber-js/min';
import { languageName } from '../lib/language-name.ts';
import {
  callText,
  cutText,
  lineWith,
  linksUntil,
  textOf,
  type CrmPromise,
  type EarlierData,
  type EventLike,
} from './record-text.ts';

/*
 * The functions that every mapping may call beside those of JSONata. Pure, and safe on any text: they run over a
 * caller's words.
 */

type PhoneForms = {
  e164: string;
  digits: string;
  national: string;
  local: string;
  region: string | null;
  /** The last four digits and the three before them: people write each of the two in one piece. */
  end: string;
  middle: string;
};

/** The forms in which CRMs keep a number; undefined for a text that is no number, such as an extension. */
function phoneForms(number: unknown, region?: unknown): PhoneForms | undefined {
  if (typeof number !== 'string' || number.length > 64) return undefined;
  const parsed = parsePhoneNumberFromString(
    // People write 00 for + also in countries where another prefix is dialled.
    number.replace(/^\D{0,6}00(?=[1-9])/, '+'),
    typeof region === 'string' ? (region as CountryCode) : undefined,
  );
  if (!parsed?.isPossible()) return undefined;
  return {
    e164: parsed.number,
    digits: parsed.number.slice(1),
    national: parsed.nationalNumber,
    local: parsed.formatNational().replace(/\D/g, ''),
    region: parsed.country ?? null,
    end: parsed.nationalNumber.slice(-4),
    middle: parsed.nationalNumber.slice(-7, -4),
  };
}

const maxPhoneFormats = 2;

/**
 * The texts by which a CRM that compares text may have a number: the usual forms, and those that the operator names,
 * where each # is a digit of the national number, with or without its leading zero.
 */
function phoneTexts(number: unknown, region: unknown, formats?: unknown): string[] {
  const forms = phoneForms(number, region);
  const parsed = forms && parsePhoneNumberFromString(forms.e164);
  if (forms === undefined || parsed === undefined) return [];
  const { e164, digits, local, national } = forms;
  const [first = '', ...rest] = parsed.formatNational().match(/\d+/g) ?? [];
  const [country = '', ...groups] = parsed.formatInternational().match(/\d+/g) ?? [];
  const usual = [
    e164,
    digits,
    local,
    `00${digits}`,
    `+${country} ${groups.join(' ')}`,
    `00${country} ${groups.join(' ')}`,
    `+${country}-${groups.join('-')}`,
    ...(local === `0${national}` ? [`+${country} (0)${groups.join(' ')}`] : []),
    ...[' ', '-', '.'].map((between) => [first, ...rest].join(between)),
    `(${first}) ${rest.join(local === national ? '-' : ' ')}`,
  ];
  // A quotation mark would end the text within a search.
  return [...new Set([...usual, ...inFormats(formats, forms)])].filter(
    (one) => !/['"\\]/.test(one),
  );
}

function inFormats(formats: unknown, { national, local }: PhoneForms): string[] {
  return textOf(formats)
    .split(';')
    .filter((one) => one.includes('#'))
    .slice(0, maxPhoneFormats)
    .flatMap((format) => {
      const places = format.replace(/[^#]/g, '').length;
      const digits = [national, local].find((one) => one.length === places);
      if (digits === undefined) return [];
      let at = 0;
      return [format.trim().replace(/#/g, () => digits.charAt(at++))];
    });
}

/** True if both texts are one telephone number. A search by the end of a number also finds strangers. */
function samePhone(one: unknown, other: unknown, region?: unknown): boolean {
  const first = phoneForms(one, region)?.e164;
  return first !== undefined && first === phoneForms(other, region)?.e164;
}

/** The number of the other party: the caller of an inbound call, the called one of an outbound one. */
function partyNumber(event: EventLike | undefined): unknown {
  const call = event?.call;
  return (call?.direction === 'outbound' ? call.to : call?.from) ?? undefined;
}

/** The number of the installation's own side. */
function ownNumber(event: EventLike | undefined): unknown {
  const call = event?.call;
  return (call?.direction === 'outbound' ? call.from : call?.to) ?? undefined;
}

/** The name of a language in English words, for fields that people read. Undefined while the language is in doubt. */
function languageOf(code: unknown): string | undefined {
  return typeof code === 'string' && code !== '' && code.length < 20
    ? languageName(code)
    : undefined;
}

/** Makes a UUID from a text; equal texts give equal UUIDs. It serves as our own key for CRMs that need one. */
function uuidOf(text: unknown): string {
  const bytes = createHash('sha256').update(String(text)).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80; // version 8: made by a rule of one's own
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}

/** Seconds as hours and minutes ("00:03"), rounded up: a call that was short lasted a minute. */
function hoursMinutes(seconds: unknown): string {
  const minutes = Math.max(1, Math.ceil((Number(seconds) || 0) / 60));
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
}

/** Makes a time of a day and an hour (UTC), for CRMs whose tasks have one. Null without a day. */
function dayAt(day: unknown, hour: unknown): string | null {
  const text = textOf(day);
  return text === '' ? null : `${text}T${String(Number(hour)).padStart(2, '0')}:00:00Z`;
}

/** The name of a promise's task: what the agent does, or what the customer is to do. */
function taskTitle(promise: CrmPromise | undefined, max: unknown): string {
  const what = textOf(promise?.what).trim();
  if (what === '') return '';
  const isSentence = /^[A-Z]/.test(what);
  if (isSentence) return cutText(what, max);
  return cutText(
    promise?.who === 'customer' ? `Customer will ${what}` : what.charAt(0).toUpperCase() + what.slice(1),
    max,
  ); // prettier-ignore
}

/** The origin of a promise's task, for the person who does it. */
function taskText(promise: CrmPromise | undefined, event: EventLike | undefined, earlier: EarlierData): string {
  const number = partyNumber(event);
  const until = textOf(promise?.until);
  const day = textOf(event?.call?.started_at).slice(0, 10);
  return [
    `${promise?.who === 'customer' ? 'The customer promised it' : 'Promised to the customer'} in the call${typeof number === 'string' ? ` ${event?.call?.direction === 'outbound' ? 'to' : 'from'} ${number}` : ''}${day === '' ? '' : ` of ${day}`}.`,
    lineWith('Until', until),
    lineWith('Call in Trunkline', textOf(earlier?.completed?.page_url)),
    textOf(earlier?.completed?.page_url) === '' ? '' : linksUntil(earlier?.completed?.links_expire_at),
  ]
    .filter((line) => line !== '')
    .join('\n');
} // prettier-ignore

/** The tasks that were made for promises which the wrap-up no longer has: each with the id that the CRM gave. */
function droppedTasks(links: unknown, promises: unknown): { id: string; link: string }[] {
  const kept = new Set([promises].flat().map((one) => (one as CrmPromise | undefined)?.id));
  return Object.entries((links ?? {}) as Record<string, unknown>).flatMap(([kind, link]) => {
    const id = /^task_([a-z0-9_]{1,24})$/.exec(kind)?.[1];
    return id === undefined || kept.has(id) ? [] : [{ id, link: String(link) }];
  });
}

export type FoundContact = { id?: unknown; phones?: unknown; at?: unknown };

/**
 * Chooses the contact with exactly this number from the results of a search. Undefined if there is none. If several
 * contacts have the number, the option decides: the newest, or none.
 */
export function chosenContact(
  found: unknown,
  number: unknown,
  region: unknown,
  several: unknown,
): unknown {
  const candidates = [found]
    .flat()
    .filter((one): one is FoundContact => typeof one === 'object' && one !== null);
  const same = candidates.filter(({ phones }) =>
    [phones].flat().some((phone) => samePhone(phone, number, region)),
  );
  if (same.length <= 1 || several === 'none') return same.length === 1 ? same[0]?.id : undefined;
  const age = ({ at }: FoundContact): string => textOf(at);
  return same.reduce((newest, one) => (age(one) > age(newest) ? one : newest)).id;
}

/** By the name that an expression calls. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- JSONata calls them with what an expression gives
export const expressionFunctions: Record<string, (...given: any[]) => unknown> = {
  phoneForms,
  phoneTexts,
  samePhone,
  chosenContact,
  partyNumber,
  ownNumber,
  uuidOf,
  languageOf,
  hoursMinutes,
  dayAt,
  cutText,
  callText,
  taskTitle,
  taskText,
  droppedTasks,
};
