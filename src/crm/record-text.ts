import { recordWordsOf, type RecordWords } from './record-words.ts';

/*
 * The call as a person reads it in the CRM. Pure, and safe on any text: a caller's words are in it.
 */

type SaidTurn = { role?: unknown; text?: unknown; start?: unknown };
type Fact = {
  entity_type?: unknown;
  text?: unknown;
  value?: unknown;
  currency?: unknown;
  role?: unknown;
};
export type CallData = {
  summary?: { text?: unknown };
  transcript?: SaidTurn[];
  entities?: Fact[];
  page_url?: unknown;
  recording_url?: unknown;
  links_expire_at?: unknown;
  sentiment_by_role?: Record<string, unknown>;
};
type RecordFact = { kind?: unknown; value?: unknown; currency?: unknown };
export type CrmPromise = { id?: unknown; who?: unknown; what?: unknown; until?: unknown };
type WrappedLike = {
  text?: unknown;
  wrap_up?: {
    outcome?: { value?: unknown };
    disposition?: unknown;
    disposition_by?: unknown;
    mood?: { from?: unknown; to?: unknown } | null;
    facts?: RecordFact[];
  };
};
export type EventLike = {
  type?: unknown;
  call?: {
    language?: unknown;
    direction?: unknown;
    from?: unknown;
    to?: unknown;
    started_at?: unknown;
  };
  data?: CallData & WrappedLike;
};
/** Events of the call before this one, as the sender finds them: none in a preview. */
export type EarlierData =
  { completed?: CallData; revised?: CallData; wrapped?: WrappedLike } | undefined;

/** The text, cut to at most so many characters, with a mark that says so. */
export function cutText(text: unknown, max: unknown): string {
  const whole = typeof text === 'string' ? text : '';
  const limit = Number(max);
  if (!(whole.length > limit)) return whole;
  const note = '… (cut here; Trunkline has the rest)';
  return `${whole.slice(0, Math.max(0, limit - note.length)).toWellFormed()}${note}`;
}

type CallTextOptions = { html?: unknown; transcript?: unknown; max?: unknown };

/**
 * The call as a person reads it in the CRM: the wrap-up or the summary, what was named, links, and the transcript. An
 * event that lacks a part takes it from what was told before: the record is written anew as a whole.
 */
export function callText(
  event: EventLike | undefined,
  options: CallTextOptions = {},
  earlier: EarlierData = {},
): string {
  const { data = {} } = event ?? {};
  const wrapped = event?.type === 'call.wrapped' ? data : earlier.wrapped;
  const told = { ...earlier.completed, ...earlier.revised, ...data };
  const record = wrapped?.wrap_up;
  const words = recordWordsOf(event?.call?.language);
  const parts = [
    textOf(wrapped?.text ?? told.summary?.text),
    [
      ...(record ? linesOfRecord(record, words) : linesOfCall(told, words)),
      lineWith(words.page, textOf(told.page_url)),
      lineWith(words.recording, textOf(told.recording_url)),
      textOf(told.page_url) === '' ? '' : linksUntil(told.links_expire_at, words),
    ]
      .filter((line) => line !== '')
      .join('\n'),
    options.transcript === false || !Array.isArray(told.transcript)
      ? ''
      : [words.transcript, ...told.transcript.map((turn) => lineOf(turn, words))].join('\n'),
  ].filter((part) => part !== '');
  const plain = parts.join('\n\n');
  if (options.html !== true) return cutText(plain, options.max);
  // The entities of HTML make the text longer: the bound is kept by cutting before them.
  const room = Number(options.max) * 0.8;
  return escaped(cutText(plain, room)).replaceAll('\n', '<br>');
}

function linesOfCall(
  { sentiment_by_role: moods, entities }: CallData,
  words: RecordWords,
): string[] {
  const mood = textOf(moods?.['customer']);
  return [
    lineWith(words.mood, inWords(words.moods, mood)),
    named(
      namesOnce(Array.isArray(entities) ? entities : []).map((fact) => factOf(fact, words)),
      words,
    ),
  ];
}

function linesOfRecord(record: NonNullable<WrappedLike['wrap_up']>, words: RecordWords): string[] {
  const { outcome, disposition, disposition_by: by, mood } = record;
  const isSuggested = disposition != null && (by === 'meaning' || by === 'words');
  const [from, to] = [mood?.from, mood?.to].map((one) => inWords(words.moods, textOf(one)));
  const facts = (Array.isArray(record.facts) ? record.facts : []).map(({ kind, value, currency }) =>
    readable(textOf(kind), textOf(value), textOf(currency), words),
  );
  const value = textOf(outcome?.value);
  return [
    lineWith(words.outcome, value === 'unknown' ? '' : inWords(words.outcomes, value)),
    lineWith(
      words.disposition,
      `${textOf(disposition)}${isSuggested ? ` (${words.suggested})` : ''}`,
    ),
    lineWith(words.mood, from === to ? (from ?? '') : words.fromTo(from ?? '', to ?? '')),
    named(facts, words),
  ];
}

function inWords(names: Record<string, string>, value: string): string {
  return Object.hasOwn(names, value) ? (names[value] ?? value) : value;
}

function named(facts: readonly string[], words: RecordWords): string {
  const said = [...new Set(facts)].filter((one) => one !== '');
  return lineWith(words.named, said.slice(0, 40).join(' · '));
}

/** Leaves out what is no name of the case: the agent's own name, and a first name whose full name was said too. */
function namesOnce(entities: readonly Fact[]): Fact[] {
  const names = entities.filter(isName).filter(({ role }) => role !== 'agent');
  const full = names.map(shownOf);
  return entities.filter(
    (one) =>
      !isName(one) ||
      (names.includes(one) && !full.some((name) => name !== shownOf(one) && name.split(' ').includes(shownOf(one)))),
  );
} // prettier-ignore

function isName({ entity_type: type }: Fact): boolean {
  return /^NAME(?:_GIVEN|_FAMILY)?$/.test(textOf(type));
}

function shownOf({ text, value }: Fact): string {
  return textOf(typeof value === 'string' || typeof value === 'number' ? String(value) : text);
}

function factOf(fact: Fact, words: RecordWords): string {
  const shown = shownOf(fact);
  // A redacted place has a mark in place of words, which tells a reader nothing here.
  if (shown.startsWith('[')) return '';
  return readable(textOf(fact.entity_type), shown, textOf(fact.currency), words);
}

/** A fact as one would write it down: "Amount $89", "Friday 4 December 2026". */
function readable(kind: string, value: string, currency: string, words: RecordWords): string {
  if (value === '') return '';
  const type = kind.toUpperCase();
  const name = inWords(words.kinds, type) !== type ? inWords(words.kinds, type) : `${type.charAt(0)}${type.slice(1).toLowerCase().replaceAll('_', ' ')}`;
  if (type === 'DATE') return dayInWords(value, words) ?? `${name} ${value}`;
  const amount = type === 'MONEY' || type === 'AMOUNT' ? amountInWords(value, currency, words) : undefined;
  return `${name} ${amount ?? value}`;
} // prettier-ignore

function amountInWords(
  value: string,
  currency: string,
  { locale }: RecordWords,
): string | undefined {
  const amount = Number(value);
  if (!/^[A-Z]{3}$/.test(currency) || !Number.isFinite(amount)) return undefined;
  return new Intl.NumberFormat(locale === 'en' ? 'en-US' : locale, {
    style: 'currency',
    currency,
    minimumFractionDigits: Number.isInteger(amount) ? 0 : 2,
  }).format(amount);
}

function dayInWords(
  value: string,
  { locale }: RecordWords = recordWordsOf('en'),
): string | undefined {
  const day = /^\d{4}-\d\d-\d\d$/.test(value) ? new Date(value) : undefined;
  if (day === undefined || Number.isNaN(day.getTime())) return undefined;
  const parts = new Intl.DateTimeFormat(locale === 'en' ? 'en-GB' : locale, {
    ...{ weekday: 'long', day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' },
  }).format(day);
  return locale === 'en' ? parts.replace(',', '') : parts;
}

/** A record lives longer than the links in it: their reader is told what opens them afterwards. */
export function linksUntil(expiresAt: unknown, words = recordWordsOf('en')): string {
  const day = dayInWords(textOf(expiresAt).slice(0, 10), words);
  return day === undefined ? '' : words.linksUntil(day);
}

export function lineWith(name: string, text: string): string {
  return text === '' ? '' : `${name}: ${text}`;
}

function lineOf({ role, text, start }: SaidTurn, words: RecordWords): string {
  const seconds = Math.max(0, Math.floor(Number(start) || 0));
  const who = inWords(words.roles, textOf(role));
  const name = who === '' ? '' : `${who.charAt(0).toUpperCase()}${who.slice(1)}: `;
  return `[${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}] ${name}${textOf(text)}`;
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
