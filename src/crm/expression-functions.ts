import { createHash } from 'node:crypto';
import { parsePhoneNumberFromString, type CountryCode } from 'libphonenumber-js/min';

/*
 * The functions that every mapping may call beside those of JSONata. Pure, and safe on any text: they run over a
 * caller's words.
 */

type SaidTurn = { role?: unknown; text?: unknown; start?: unknown };
type Fact = { entity_type?: unknown; text?: unknown; value?: unknown };
type CallData = {
  summary?: { text?: unknown };
  transcript?: SaidTurn[];
  entities?: Fact[];
  page_url?: unknown;
  recording_url?: unknown;
  sentiment_by_role?: Record<string, unknown>;
};
type EventLike = {
  call?: { direction?: unknown; from?: unknown; to?: unknown };
  data?: CallData;
};

type PhoneForms = {
  e164: string;
  digits: string;
  national: string;
  local: string;
  region: string | null;
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
  };
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

/** The text, cut to at most so many characters, with a mark that says so. */
function cutText(text: unknown, max: unknown): string {
  const whole = typeof text === 'string' ? text : '';
  const limit = Number(max);
  if (!(whole.length > limit)) return whole;
  const note = '… (cut here; Trunkline has the rest)';
  return `${whole.slice(0, Math.max(0, limit - note.length)).toWellFormed()}${note}`;
}

type CallTextOptions = { html?: unknown; transcript?: unknown; max?: unknown };

/** The call as a person reads it in the CRM: the summary, what was named, links, and the transcript. */
function callText(event: EventLike | undefined, options: CallTextOptions = {}): string {
  const data = event?.data ?? {};
  const mood = data.sentiment_by_role?.['customer'];
  const facts = (Array.isArray(data.entities) ? data.entities : []).map(factOf).filter(Boolean);
  const parts = [
    textOf(data.summary?.text),
    [
      mood === undefined || mood === null ? '' : `Mood of the customer: ${textOf(mood)}`,
      facts.length === 0 ? '' : `Named in the call: ${[...new Set(facts)].slice(0, 40).join(', ')}`,
      data.page_url === undefined ? '' : `Call in Trunkline: ${textOf(data.page_url)}`,
      data.recording_url === undefined ? '' : `Recording: ${textOf(data.recording_url)}`,
    ]
      .filter((line) => line !== '')
      .join('\n'),
    options.transcript === false || !Array.isArray(data.transcript)
      ? ''
      : ['Transcript', ...data.transcript.map(lineOf)].join('\n'),
  ].filter((part) => part !== '');
  const plain = parts.join('\n\n');
  if (options.html !== true) return cutText(plain, options.max);
  // The entities of HTML make the text longer: the bound is kept by cutting before them.
  const room = Number(options.max) * 0.8;
  return escaped(cutText(plain, room)).replaceAll('\n', '<br>');
}

function factOf({ text, value, entity_type: type }: Fact): string {
  const shown = textOf(
    typeof value === 'string' || typeof value === 'number' ? String(value) : text,
  );
  // A redacted place has a mark in place of words, which tells a reader nothing here.
  return shown === '' || shown.startsWith('[') ? '' : `${words(textOf(type))} ${shown}`;
}

function words(type: string): string {
  return type.toLowerCase().replaceAll('_', ' ');
}

function lineOf({ role, text, start }: SaidTurn): string {
  const seconds = Math.max(0, Math.floor(Number(start) || 0));
  const who = textOf(role);
  const name = who === '' ? '' : `${who.charAt(0).toUpperCase()}${who.slice(1)}: `;
  return `[${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}] ${name}${textOf(text)}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

type FoundContact = { id?: unknown; phones?: unknown; at?: unknown };

/**
 * Chooses the contact with exactly this number from the results of a search. Undefined if there is none. If several
 * contacts have the number, the option decides: the newest, or none.
 */
function chosenContact(
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
  samePhone,
  chosenContact,
  partyNumber,
  ownNumber,
  uuidOf,
  hoursMinutes,
  cutText,
  callText,
};
