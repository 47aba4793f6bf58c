import { isCommon } from '../entities/gazetteer.ts';
import { alignWords } from '../rewrite/rewrite-words.ts';
import type { RedactedPiece, RedactionForm, RedactionState } from './redact.ts';

/**
 * Entities that identify a person or a thing by themselves. A date or an amount identifies nobody and is left to the
 * other rules.
 */
const naming =
  /^(?:NAME|NAME_MEDICAL_PROFESSIONAL|EMAIL|USERNAME|PASSWORD|ORGANIZATION|ORGANIZATION_MEDICAL_FACILITY|LOCATION_(?:ADDRESS|ADDRESS_STREET|CITY|ZIP)|PHONE_NUMBER|CREDIT_CARD|BANK_ACCOUNT|ROUTING_NUMBER|ACCOUNT_NUMBER|NUMERICAL_PII|SSN|HEALTHCARE_NUMBER|VEHICLE_ID|PASSPORT_NUMBER|DRIVER_LICENSE)$/;
const personal = /^NAME/;
/** Shorter entities are initials, house numbers and the like. They would cover half of any text. */
const shortestCharacters = 3;
const shortestDigits = 4;

type Entity = { tokens: string[]; label: string; number: number };
type KeyToken = { text: string; lower: string; start: number; end: number };

type KnownEntities = {
  /** Covers every known entity that still stands in the piece. */
  coverIn(piece: RedactedPiece, form: RedactionForm): RedactedPiece;
};

/** Entities that the redaction of a conversation has removed, ready to be found again by the same words. */
export function knownEntities(numbers: RedactionState['numbers']): KnownEntities {
  const byFirst = new Map<string, Entity[]>();
  const add = (entity: Entity): void => {
    const first = entity.tokens[0] ?? '';
    const others = byFirst.get(first);
    if (others) others.push(entity);
    else byFirst.set(first, [entity]);
  };
  for (const [label, keys] of Object.entries(numbers)) {
    if (!naming.test(label)) continue;
    for (const [key, number] of Object.entries(keys)) {
      const tokens = tokensOf(key).map(({ lower }) => lower);
      if (!isTelling(tokens.join(''))) continue;
      add({ tokens, label, number });
      // A person is often called by one part of the name later in a call.
      if (personal.test(label) && tokens.length > 1)
        for (const part of tokens) if (isTelling(part)) add({ tokens: [part], label, number });
    }
  }
  // The longest comes first; of equal lengths, the one that was found first.
  for (const others of byFirst.values())
    others.sort((a, b) => b.tokens.length - a.tokens.length || a.number - b.number);
  return { coverIn: (piece, form) => coverIn(piece, form, byFirst) };
}

function coverIn(
  piece: RedactedPiece,
  form: RedactionForm,
  byFirst: ReadonlyMap<string, Entity[]>,
): RedactedPiece {
  const tokens = tokensOf(piece.text).filter(
    (token) => !piece.covered.some(({ start, end }) => start < token.end && token.start < end),
  );
  let text = '';
  let at = 0;
  const covered: RedactedPiece['covered'] = [];
  const old = piece.covered.toSorted((a, b) => a.start - b.start);
  const keepUpTo = (end: number): void => {
    for (let span = old[0]; span && span.end <= end; span = old[0]) {
      const shift = text.length - at;
      covered.push({ ...span, start: span.start + shift, end: span.end + shift });
      old.shift();
    }
    text += piece.text.slice(at, end);
    at = end;
  };
  for (let i = 0; i < tokens.length; i++) {
    const entity = byFirst.get(tokens[i]?.lower ?? '')?.find((one) => isAt(one, tokens, i));
    const first = tokens[i];
    const last = entity && tokens[i + entity.tokens.length - 1];
    if (!first || !last) continue;
    keepUpTo(first.start);
    const hidden = piece.text.slice(first.start, last.end);
    const shown =
      form === 'MASK' ? hidden.replace(/\S/gu, '#') : `[${entity.label}_${entity.number}]`;
    covered.push({ start: text.length, end: text.length + shown.length, type: entity.label });
    text += shown;
    at = last.end;
    i += entity.tokens.length - 1;
  }
  if (at === 0) return piece;
  keepUpTo(piece.text.length);
  return { ...piece, text, words: alignWords(piece.words, text), covered };
}

function isAt(entity: Entity, tokens: readonly KeyToken[], i: number): boolean {
  const isThere = entity.tokens.every((token, j) => tokens[i + j]?.lower === token);
  if (!isThere || entity.tokens.length > 1) return isThere;
  // "will" and "may" are also names. An everyday word alone counts only if it is written like a name.
  const token = tokens[i];
  return token !== undefined && (!isCommon(token.lower) || /^\p{Lu}\p{Ll}/u.test(token.text));
}

function isTelling(text: string): boolean {
  return text.length >= (/^\d+$/.test(text) ? shortestDigits : shortestCharacters);
}

/** Splits a text as the keys are made: letters and digits, including the at sign of an address. */
function tokensOf(text: string): KeyToken[] {
  return [...text.matchAll(/[\p{L}\p{N}@]+/gu)].map((match) => ({
    text: match[0],
    lower: match[0].toLowerCase(),
    start: match.index,
    end: match.index + match[0].length,
  }));
}
