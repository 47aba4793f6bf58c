import type { CrmRequest } from '../../support/crm/crm.ts';
import { secretKinds, type SpokenNumber } from './utterances.ts';
import { digitsIn, digitWords, months } from '../../support/language/digits-in.ts';

export type HeardCall = { said: SpokenNumber; requests: readonly CrmRequest[]; lateMs: number };

type Entity = { entity_type?: string; text: string; value?: unknown };
type TalkedEvent = { type: string; leg?: { role: string }; data: Record<string, unknown> };

const eventsOf = (call: HeardCall): TalkedEvent[] =>
  call.requests.flatMap(({ event }) => (event ? [event as unknown as TalkedEvent] : []));

/** The customer's words as they were said: the text that a person reads has figures. */
export function textOf(call: HeardCall): string {
  return eventsOf(call)
    .filter(({ type, leg }) => type === 'call.transcript' && leg?.role === 'customer')
    .flatMap(({ data }) => data['words'] as { word: string }[])
    .map(({ word }) => word.trim())
    .join(' ');
}

function entitiesOf(call: HeardCall): Entity[] {
  const byId = new Map<string, Entity>();
  let count = 0;
  for (const { type, leg, data } of eventsOf(call))
    if (type === 'call.entities' && leg?.role === 'customer')
      for (const entity of (data['results'] ?? data['entities'] ?? []) as (Entity & {
        id?: string;
      })[])
        byId.set(entity.id ?? `none ${String(count++)}`, withCurrency(entity));
  return [...byId.values()];
}

/** An amount has its currency beside its value. */
function withCurrency(entity: Entity & { currency?: string }): Entity {
  const { value, currency } = entity;
  if (typeof value !== 'string' || currency === undefined) return entity;
  return { ...entity, value: `${value} ${currency}` };
}

/** The answer that somebody who fills a field would take: the same value, however it is punctuated. */
function plain(kind: SpokenNumber['kind'], value: string): string {
  const low = value.toLowerCase();
  if (kind === 'email') return low.replace(/\s/g, '');
  if (kind === 'date') return /(\d\d-\d\d)(?:T|$)/i.exec(value)?.[1] ?? low;
  if (kind === 'amount') return low.replace(/[^\d.a-z]/g, '').replace(/\.00(?=usd)/, '');
  return low.replace(/[^\da-z]/g, '');
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || typeof value !== 'object') return '';
  const { amount, currency } = value as { amount?: string | number; currency?: string };
  if (amount !== undefined) return `${String(amount)} ${currency ?? ''}`;
  return Object.values(value as Record<string, unknown>)
    .filter((one) => typeof one === 'string')
    .join(' ');
}

export type Verdict = {
  /** The words are the right ones, whatever their form. */
  exact: boolean;
  /** One entity, and no other of figures, has the whole value. */
  whole: boolean;
  pieces: number;
  leaked: 'whole' | 'part' | 'none';
  isMasked: boolean;
};

export function judge(call: HeardCall): Verdict {
  const { said } = call;
  const text = textOf(call);
  const entities = entitiesOf(call);
  const values = entities.map(({ value }) => plain(said.kind, valueText(value)));
  const truth = plain(said.kind, said.value);
  const everything = call.requests.map(({ body }) => body.toString('utf8'));
  return {
    exact: isExact(said, text),
    whole: values.includes(truth),
    pieces: entities.filter(({ text: words }) => digitsIn(words).length > 1).length,
    leaked: secretKinds.includes(said.kind) ? leakOf(secretOf(said), everything) : 'none',
    isMasked: /\[[A-Z_]+(?:_\d+)?\]|[*#█•]{2,}/.test(text),
  };
}

function isExact({ kind, value, pieces }: SpokenNumber, text: string): boolean {
  const low = text.toLowerCase();
  switch (kind) {
    case 'email':
      return low.replace(/ dot /g, '.').replace(/ at /g, '@').replace(/\s/g, '').includes(value);
    case 'name':
      return low.replace(/[^a-z]/g, '').includes(value.toLowerCase());
    case 'code':
      return codeIn(low).includes(value.toLowerCase());
    case 'amount':
      return digitsIn(text).includes(value.replace(/\D/g, '').replace(/00$/, ''));
    case 'date': {
      const [month = '', day = ''] = value.split('-');
      return (
        low.includes(months[Number(month) - 1] ?? '') &&
        (digitsIn(text).includes(String(Number(day))) || /\w+(?:th|st|nd|rd)\b/.test(low))
      );
    }
    default: {
      // With a correction the words are those that were said, the wrong ones too.
      const said = [
        value.replace(/\D/g, '').replace(/^1(?=\d{10}$)/, ''),
        digitsIn(pieces.join(' ')),
      ];
      return said.some((digits) => digitsIn(text).includes(digits));
    }
  }
}

/** The letters and digits of a text; a name of the alphabet is its letter. */
function codeIn(low: string): string {
  const words = low.replace(/x-ray/g, 'xray').match(/[a-z]+|\d/g) ?? [];
  return words
    .map((word) =>
      word === 'oh'
        ? '0'
        : lettersByName.test(word)
          ? word.slice(0, 1)
          : (digitWords[word] ?? word),
    )
    .join('');
}
const lettersByName =
  /^(?:alph?a|alfa|bravo|charlie|delta|echo|foxtrot|golf|hotel|india|juliett?|kilo|lima|mike|november|oscar|papa|quebec|romeo|sierra|tango|uniform|victor|whiske?y|xray|yankee|zulu)$/;

/** "Go five, twenty eight" tells a date although its zero was misheard. */
function secretOf({ kind, value }: SpokenNumber): string {
  return kind === 'expiry' ? value.replace(/^0/, '') : value;
}

/** Four digits in a row of a longer secret are a part of it. */
const partDigits = 4;

/** True when the digits of a secret are anywhere in the text that left: whole, or in part. */
export function leakOf(secret: string, texts: readonly string[]): Verdict['leaked'] {
  // The number of a marker is no digit of a secret.
  const runs = texts
    .flatMap(wordsOfJson)
    .flatMap((text) => text.split(/\[[A-Z_]+_\d+\]/))
    .map(digitsIn);
  if (runs.some((run) => run.includes(secret))) return 'whole';
  if (secret.length <= partDigits) return 'none';
  for (let at = 0; at + partDigits <= secret.length; at++)
    if (runs.some((run) => run.includes(secret.slice(at, at + partDigits)))) return 'part';
  return 'none';
}

/** Fields that hold what somebody said; ids, times and addresses hold digits of their own. */
const spoken = new Set([
  'text',
  'word',
  'value',
  'headline',
  'gist',
  'summary',
  'keywords',
  'transcript',
]);

function wordsOfJson(body: string): string[] {
  const texts: string[] = [];
  const visit = (value: unknown, key: string): void => {
    if (Array.isArray(value)) {
      if (key === 'words')
        texts.push(value.map((word) => (word as { word?: string }).word ?? '').join(' '));
      for (const one of value) visit(one, key);
    } else if (value !== null && typeof value === 'object') {
      for (const [name, one] of Object.entries(value)) visit(one, name);
    } else if (typeof value === 'string' && spoken.has(key)) texts.push(value);
  };
  visit(JSON.parse(body) as unknown, '');
  return texts;
}
