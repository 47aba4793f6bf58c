import { askedFor, secretKinds } from '../entities/asked-secrets.ts';
import { isExplained, runAt } from '../entities/code-runs.ts';
import type { CueKind } from '../entities/cue-kinds.ts';
import { Doc } from '../entities/doc.ts';
import { entitiesAbroad } from '../abroad/find-abroad.ts';
import { isAbroad, type LanguageAbroad } from '../abroad/number-words.ts';
import { openRowAbroad } from '../abroad/open-row.ts';
import { findEntities } from '../entities/find-entities.ts';
import { foundTypes } from '../entities/found-types.ts';
import { alignWords } from '../rewrite/rewrite-words.ts';
import type { TextToken } from '../text/tokens.ts';
import type { EntitySpan } from '../types.ts';
import { markerLabel } from '../../protocol/entity-types.ts';
import { joinFinals } from '../text/join-finals.ts';
import { claimAsked, wantedKinds } from './asked-types.ts';
import { claimLongReading } from './long-readings.ts';
import { claimReadOut } from './read-out.ts';
import { shortAnswersAbroad } from './short-abroad.ts';
import { claimShortAnswer } from './short-answers.ts';
import { asksForCard, isForSomethingElse, turnsInForce } from './card-talk.ts';
import { claimCarefully, claimNamesCarefully } from './careful.ts';
import { echoesIn, isTooShortToKnow } from './echoes.ts';
import { numberRows, withRows } from './number-rows.ts';
import { isPlainNumber, namesSecret } from './plain-numbers.ts';
import { merged, within } from './span-parts.ts';
import { wantedTypes } from './redaction-names.ts';
import type { WrittenContext } from '../values/written.ts';
import type { Word } from '../../protocol/addons.ts';

/** MARKER: `[NAME_1]`, the same entity always the same number. MASK: one `#` per character, spaces kept. */
export type RedactionForm = 'MARKER' | 'MASK';

/** An utterance that waits because its end could begin a card number. */
export type Held = { id?: string | undefined; text: string; words: Word[] };

/**
 * State of one speaker's redaction between utterances. It is plain data, but it contains what was removed: it lives as
 * long as the call and is never sent.
 */
export type RedactionState = {
  numbers: Record<string, Record<string, number>>;
  /** The language of the last text. Held texts are released in it. */
  language?: string;
  /** The end of the last released text, where a number may have begun. */
  tail?: string;
  /** Waiting utterances in order. A number may come in more than two pieces. */
  held?: Held[];
  /** The other party's question before the tail, or before the held finals. */
  asked?: readonly string[];
  /** The speaker's own words before a bare number: "my card is". They tell its kind as a question does. */
  announced?: string;
  /** The number of the speaker's next texts that still belong to the talk of a card. */
  cardTexts?: number;
};

export type RedactInput = {
  id?: string | undefined;
  text: string;
  words?: Word[];
  /** Presets and single types. An empty list means everything that can be found. */
  entityTypes: string[];
  form: RedactionForm;
  state?: RedactionState;
  /** The last turns of the other party, in order. A question tells the kind of a bare number. */
  asked?: readonly string[];
  /** True if a final may be held back while its end could begin a card number. */
  mayHold?: boolean;
  /** True to release what is held, at the end of the hold or of the call. `text` is then ignored. */
  flush?: boolean;
  /** The language of the text. In other languages than English every row of four digits is covered. */
  language?: string | undefined;
  /** Asks for what leaves as a person reads it, too. */
  write?: WrittenContext;
  /** True for a text that will be replaced. Digits at its end are covered and nothing is remembered. */
  partial?: boolean;
};

/** A span of the original utterance and the text that replaces it. */
export type Covered = { start: number; end: number; shown: string; type: string };

export type Redacted = {
  id?: string | undefined;
  text: string;
  words: Word[];
  covered: Covered[];
  /** The text as a person reads it, with what was not taken out in figures. */
  written?: string;
};

/** A span in the redacted text and the type of the entity that stood there. */
export type CoveredSpan = { start: number; end: number; type: string };

export type RedactedPiece = { index: number; text: string; words: Word[]; covered: CoveredSpan[] };

export type RedactOutput = {
  /** Texts in the order in which they came. Empty if the utterance is held. */
  released: Redacted[];
  held: boolean;
  /** The time to wait for the next utterance before a call with `flush`. 0 if nothing is held. */
  holdMs: number;
  state: RedactionState;
};

/**
 * This is longer than a breath between two groups of a card number, and shorter than a reader of the transcript would
 * wait.
 */
const holdMsMax = 3_000;

/** At most this many utterances of one speaker may wait for the rest of a number. A longer sequence is no number. */
export const maxUtterancesHeld = 16;

/** The start of a number takes at most this many characters at the end of an utterance. */
const tailCharacters = 160;

/**
 * One step of one speaker's redaction. It takes an utterance and returns the texts that may be released and the next
 * state.
 */
export function redactStep(input: RedactInput): RedactOutput {
  const output = stepOf(input);
  if (!input.partial) noteCard(output, input);
  return output;
}

/** A talk of a card goes on for this many texts of a speaker after its number, its date or its code was said. */
const cardTextsMost = 8;

function noteCard(
  { released, state }: RedactOutput,
  { text, flush, asked = [] }: RedactInput,
): void {
  const isSaid = released.some(({ covered }) =>
    covered.some(({ type }) => /^(?:CREDIT_CARD|CVV)/.test(type)),
  );
  const left = state.cardTexts ?? 0;
  // The party that asked for a card reads the answer back.
  const asks = /\d{2}/.test(text) || openRun(text) !== undefined ? asked : [...asked, text];
  if (isSaid || asksForCard(asks)) state.cardTexts = cardTextsMost;
  else if (left > 1) state.cardTexts = flush || text === '' ? left : left - 1;
  else delete state.cardTexts;
}

function stepOf(input: RedactInput): RedactOutput {
  const state: RedactionState = structuredClone(input.state ?? { numbers: {} });
  const asked = [...(input.asked ?? []), ...announcedBefore(input, state)];
  const language = input.language ?? input.write?.language ?? state.language;
  if (language !== undefined && !input.partial) state.language = language;
  const look = lookFor({ ...input, asked, language });
  const cover = new Cover(state, input.form);
  if (input.partial)
    return {
      released: [coverPartial(input, look, cover)],
      held: state.held !== undefined,
      holdMs: 0,
      state: input.state ?? { numbers: {} },
    };
  if (isOtherQuestion(state.asked, look) && !input.flush) return afterQuestion(input, state);
  state.asked = asked;
  // No number goes on behind a question for something else.
  if (isForSomethingElse({ turns: asked }) && !isMidNumber(input)) delete state.tail;
  const held = state.held ?? [];
  delete state.held;
  // A slow speaker's number may have begun in a text that has left.
  const before = [...(state.tail ? [state.tail] : []), ...held.map(({ text }) => text)];
  const from = state.tail ? state.tail.length + 1 : 0;
  if (input.flush) {
    const joined = joinFinals(before);
    const crossing = [...crossingOf(joined, before, look), ...headOfCard(joined, look)];
    const spans = pieceSpans(held, crossing, look, from);
    if (held.length > 0) state.tail = tailOf(joined, look);
    const released = held.map((piece, i) => cover.all(piece, spans[i] ?? []));
    return { released, held: false, holdMs: 0, state };
  }
  const next: Held = {
    id: input.id,
    text: input.text,
    words: input.words ?? [],
  };
  note(state, next.text);
  const joined = joinFinals([...before, next.text]);
  const join = joined.length - next.text.length;
  // Each utterance is searched alone. The joined text is searched only for entities that lie across two utterances.
  const crossing = before.length === 0 ? [] : crossingOf(joined, [...before, next.text], look);
  const run = look.open(joined);
  const isOver = held.length > 0 && (run === undefined || run.start >= join);
  const heads = isOver ? headOfCard(joinFinals(before), look) : [];
  const spans = pieceSpans(held, merged(crossing, heads), look, from);
  // A number that began before and ends here is complete. It must not be searched again without its start.
  const goesOn = run !== undefined && run.start < join;
  const isWhole =
    crossing.some((span) => span.end > join) && (run === undefined || isFull(run, look));
  // The held finals already begin like a number. However it is divided, it continues while digits are missing.
  const waits =
    !isWhole &&
    run !== undefined &&
    (goesOn && held.length > 0 ? run.digits < longestNumber : mayContinue(next.text, look));
  if (input.mayHold && run && waits && held.length < maxUtterancesHeld) {
    // A final that ends before the number begins need not wait.
    const free = goesOn
      ? held.filter((_, i) => from + endOf(held, i) <= run.start).length
      : held.length;
    const released = held.slice(0, free).map((piece, i) => cover.all(piece, spans[i] ?? []));
    if (free > 0 && free === held.length) state.tail = tailOf(joinFinals(before), look);
    state.held = [...held.slice(free), next];
    return { released, held: true, holdMs: holdMsMax, state };
  }
  const released = held.map((piece, i) => cover.all(piece, spans[i] ?? []));
  const own = merged(within(crossing, join, join + next.text.length), look.find(next.text));
  released.push(cover.all(next, own, cover.known(next.text)));
  state.tail = tailOf(goesOn || crossing.length > 0 ? joined : next.text, look);
  return { released, held: false, holdMs: 0, state };
}

/** True if the other party now asks for something else. No number continues across another question. */
function isOtherQuestion(before: readonly string[] | undefined, { asked }: Look): boolean {
  const askedBefore = before === undefined ? [] : askedFor(before, true);
  // A turn without a question may stand inside a number as well as behind it.
  if (askedBefore.length === 0 || asked.length === 0) return false;
  return !askedBefore.some((kind) => asked.includes(kind));
}

function afterQuestion(input: RedactInput, { asked = [], ...state }: RedactionState): RedactOutput {
  const before = redactStep({ ...input, asked, state, flush: true });
  const { numbers, announced, cardTexts } = before.state;
  const kept = {
    ...(announced === undefined ? {} : { announced }),
    ...(cardTexts === undefined ? {} : { cardTexts }),
  };
  const after = redactStep({ ...input, state: { numbers, ...kept } });
  return { ...after, released: [...before.released, ...after.released] };
}

/** The search of one step: the types to remove, and the question. */
type Look = {
  wanted: ReadonlySet<string> | undefined;
  /** The kinds of numbers that were asked for, and those of them that must be removed. */
  asked: readonly CueKind[];
  kinds: readonly CueKind[];
  /** True behind a question that is plainly for something else. */
  isForOther: boolean;
  find(text: string): EntitySpan[];
  /** The run of digits that ends a text and could continue in the next one. */
  open(text: string): OpenRun | undefined;
  /** True in a language whose rows of digits are found by its own words. */
  isAbroad: boolean;
};

type MidStep = { state?: RedactionState | undefined; flush?: boolean | undefined };

/** True while a card or another long number is read out: a question in between was misheard, or is answered later. */
function isMidNumber({ state, flush }: MidStep): boolean {
  // A flush has no text of its own: the last text that waits is the answer itself.
  if ((state?.held?.length ?? 0) > (flush === true ? 1 : 0)) return true;
  const digits = state?.tail ? (openRun(state.tail)?.digits ?? 0) : 0;
  return digits >= 4 && digits < longestNumber - 1;
}

function lookFor({ entityTypes, asked = [], language, state, flush }: RedactInput): Look {
  const wanted = wantedTypes(entityTypes);
  const wants = (type: string): boolean => !wanted || wanted.has(type);
  const askedKinds = askedFor(isMidNumber({ state, flush }) ? asked : turnsInForce(asked), true);
  const isAsked = (code: LanguageAbroad): boolean => asked.some((turn) => namesSecret(turn, code));
  const talk = { turns: asked, isOfCard: (state?.cardTexts ?? 0) > 0 || asksForCard(asked) };
  return {
    wanted,
    asked: askedKinds,
    kinds: wantedKinds(askedKinds, wants),
    isForOther: isForSomethingElse({ turns: asked }),
    isAbroad: language !== undefined && isAbroad(language),
    // "six" and "zero" are English words, too.
    open: (text) => openAbroad(text, language) ?? openRun(text),
    // Without a list, everything is searched for, including the kinds found only on request.
    find: (text) => {
      const about = { turns: asked, kinds: wantedKinds(askedKinds, wants), language };
      const short = wants('CVV') ? shortAnswersAbroad(text, about) : [];
      const entities = findEntities(
        text,
        wanted ? [...wanted] : foundTypes,
        'en',
        {
          first: (doc) => {
            claimCarefully(doc, wanted);
            claimShortAnswer(doc, wants, talk);
            claimAsked(doc, wants);
            claimReadOut(doc, wants, talk);
            claimLongReading(doc, wants, talk);
          },
          last: (doc) => claimNamesCarefully(doc, wanted),
        },
        askedKinds,
      );
      if (language === undefined || !isAbroad(language))
        return withRows(entities, [...numberRows(text, language), ...short], text);
      // The finders of English stay: a card in figures is one in every language.
      // The answer to a question for a secret is covered, whatever it looks like.
      const isSecret = (row: EntitySpan): boolean =>
        askedKinds.length > 0 || isAsked(language) || !isPlainNumber(text, row, language);
      const abroad = entitiesAbroad(text, { language }).filter(
        (one) => wants(one.type) && (one.type !== 'NUMERICAL_PII' || isSecret(one)),
      );
      return withRows(withRows(entities, abroad, text), [...numberRows(text, language).filter(isSecret), ...short], text); // prettier-ignore
    },
  };
}

/**
 * Entities that lie across two of the texts, by their characters in the joined text. The date and the code of a card
 * that lies across them belong to it: "oh five three eight, oh nine twenty eight, one two three".
 */
function crossingOf(joined: string, texts: readonly string[], look: Look): EntitySpan[] {
  if (texts.length < 2) return [];
  let at = -1;
  const joins = texts.slice(0, -1).map((text) => (at += text.length + 1));
  const all = look.find(joined);
  const crossing = all.filter(({ start, end }) =>
    joins.some((join) => start < join && end > join + 1),
  );
  const cardEnd = crossing.find(({ type }) => type === 'CREDIT_CARD')?.end ?? Infinity;
  return all.filter(
    (span) =>
      crossing.includes(span) ||
      (span.start >= cardEnd && /^(?:CREDIT_CARD_EXPIRATION|CVV)$/.test(span.type)),
  );
}

/** Spans to redact in each held utterance: its own, and its share of the spans that lie across several utterances. */
function pieceSpans(
  held: readonly Held[],
  crossing: readonly EntitySpan[],
  look: Look,
  from: number,
): EntitySpan[][] {
  return held.map((piece, i) => {
    const end = from + endOf(held, i);
    return merged(within(crossing, end - piece.text.length, end), look.find(piece.text));
  });
}

/** The end of a held utterance, by its characters in the joined text. */
function endOf(held: readonly Held[], index: number): number {
  return held.slice(0, index + 1).reduce((sum, { text }) => sum + text.length + 1, -1);
}

/** The end of a text, if it has digits. Only digits can begin a number. */
function tailOf(text: string, look: Look): string {
  // The first word of the tail may be cut in half.
  const tail =
    text.length > tailCharacters ? text.slice(-tailCharacters).replace(/^\S*\s/, '') : text;
  return /\d|\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|double|ten|\w+teen|\w+ty)\b[^\p{L}\d]*(?:\b(?:um|uh|er)\b[^\p{L}\d]*)?$/iu.test(
    tail,
  ) || look.open(tail) !== undefined
    ? tail
    : '';
}

type OpenRun = { start: number; digits: number; chars: string; explained: boolean; bare: boolean };

function openAbroad(text: string, language: string | undefined): OpenRun | undefined {
  if (language === undefined || !isAbroad(language)) return undefined;
  const tail = text.slice(-tailCharacters);
  const row = openRowAbroad(tail, language);
  return row && { ...row, start: text.length - tail.length + row.start, explained: false };
}

/** The run of digits that ends the text and could continue in the next one. */
function openRun(text: string): OpenRun | undefined {
  const tail = text.slice(-tailCharacters);
  const doc = new Doc(tail);
  for (let i = 0; i < doc.tokens.length; i++) {
    const run = runAt(doc, i, false);
    if (!run) continue;
    const isLast = doc.tokens.slice(run.to).every(isNothing);
    if (isLast)
      return {
        start: text.length - tail.length + (doc.tokens[run.from]?.start ?? 0),
        digits: run.digits,
        chars: run.chars,
        explained: isExplained(doc, run),
        bare: doc.tokens.slice(0, run.from).every((token) => isNothing(token) || isMonth(token)),
      };
    i = run.to - 1;
  }
  return undefined;
}

/** The date of a card may be said as a month and a year: "June twenty seven". */
function isMonth({ lower }: TextToken): boolean {
  return /^(?:january|february|march|april|may|june|july|august|september|october|november|december)$/.test(
    lower,
  );
}

/** True for a mark or a filler word. */
function isNothing({ kind, lower }: TextToken): boolean {
  return (
    kind === 'mark' ||
    /^(?:um|uh|er|erm|uhm|ah|and|then|okay|ok|yes|yeah|sure|no|wait|sorry|so|it's|it|is|that's)$/.test(
      lower,
    )
  );
}

/** The longest number that people say is that of a card. */
const longestNumber = 16;
const fullLengths: Partial<Record<CueKind, number>> = {
  card: 16,
  ssn: 9,
  cvv: 3,
  routing: 9,
  expiry: 4,
};

/** A run of this many digits in groups of four, with the first digit of a card, is the head of one. */
const cardHeadDigits = 8;

/** Words that say what other number it is. */
const otherNumber =
  /\b(?:number|phone|order|account|policy|customer|reference|booking|ticket|case|claim|code|id|zip|call|reach)\b/i;

/** The digits at the end of what waited in vain, if they are nothing else than most of a card number. */
function headOfCard(joined: string, look: Look): EntitySpan[] {
  const { wanted } = look;
  // Every row of another language is covered by itself, as what it is.
  if (look.isAbroad || look.isForOther) return [];
  const run = wanted && !wanted.has('CREDIT_CARD') ? undefined : look.open(joined);
  if (!run || run.explained || run.digits < cardHeadDigits || run.digits % 4 !== 0) return [];
  if (!/^[3-6]/.test(run.chars) || otherNumber.test(joined.slice(0, run.start))) return [];
  const end = joined.trimEnd().length;
  return [{ type: 'CREDIT_CARD', text: joined.slice(run.start, end), start: run.start, end }];
}

/** The last words of a text that announce a secret: "the number of my card is". */
const announces =
  /(?:\b(?:is|are|it's|reads|says|number|code|date|expires|here|follows|card|visa|mastercard|amex|social)|:)[\s.,:…-]*$/i;
const announcingWords = 5;

/** Remembers an announcement until the speaker says something else than digits. */
function note(state: RedactionState, text: string): void {
  if (isBare(text)) return;
  const last = text.trim().split(/\s+/).slice(-announcingWords).join(' ');
  const isSecret = announces.test(last) && askedFor([last]).some((kind) => secretKinds.has(kind));
  if (isSecret) state.announced = last;
  else delete state.announced;
}

function announcedBefore({ text, flush }: RedactInput, state: RedactionState): string[] {
  const { announced, held = [] } = state;
  const first = flush ? held[0]?.text : text;
  return announced !== undefined && first !== undefined && isBare(first) ? [announced] : [];
}

/** True for a text of digits, a month and fillers. */
function isBare(text: string): boolean {
  return openRun(text)?.bare === true;
}

/** True if all digits of the requested number have been said. */
function isFull({ digits }: OpenRun, { kinds }: Look): boolean {
  const lengths = kinds.map((kind) => fullLengths[kind] ?? longestNumber);
  return digits >= Math.max(...lengths, kinds.length === 0 ? longestNumber : 0);
}

const numberTypes =
  /^(?:CREDIT_CARD|SSN|BANK_ACCOUNT|ROUTING_NUMBER|PHONE_NUMBER|ACCOUNT_NUMBER|NUMERICAL_PII|HEALTHCARE_NUMBER|PASSPORT_NUMBER|DRIVER_LICENSE)$/;
/** A number without any explanation is held from this many digits on. Fewer digits are a price, a time or a count. */
const shortestHead = 3;

function mayContinue(text: string, look: Look): boolean {
  const run = look.open(text);
  if (!run || run.explained || run.digits > 15) return false;
  // This answers a question for the number, so it continues until it is complete.
  if (look.kinds.length > 0) return !isFull(run, look);
  const { wanted } = look;
  // In other languages every row is covered, whatever is wanted.
  const isNumber = look.isAbroad || !wanted || [...wanted].some((type) => numberTypes.test(type));
  if (!isNumber) return false;
  const isCard = /\b(?:card|visa|mastercard|amex|debit|credit)\b/i.test(text);
  // The number asked for may stay in the text. Only a run that begins like a card is held.
  if (look.asked.length > 0 && !isCard)
    return /^[3-6]/.test(run.chars) && run.digits >= 4 && run.digits % 4 === 0;
  return run.digits >= (isCard || run.bare || look.isAbroad ? 2 : shortestHead);
}

function coverPartial(input: RedactInput, look: Look, cover: Cover): Redacted {
  const { tail, held = [] } = input.state ?? {};
  const before = [...(tail ? [tail] : []), ...held.map(({ text }) => text)];
  // The number may have begun in what waits: its last groups alone look like nothing.
  const joined = joinFinals([...before, input.text]);
  const join = joined.length - input.text.length;
  const crossing = before.length === 0 ? [] : crossingOf(joined, [...before, input.text], look);
  const spans = merged(within(crossing, join, joined.length), look.find(input.text));
  const isCard = !look.wanted || look.wanted.has('CREDIT_CARD');
  const run = isCard || look.kinds.length > 0 ? look.open(input.text) : undefined;
  const piece: Held = {
    id: input.id,
    text: input.text,
    words: input.words ?? [],
  };
  const isOpen =
    run &&
    run.digits >= (look.kinds.length > 0 ? 1 : 4) &&
    !spans.some((span) => span.end > run.start);
  const open = isOpen
    ? [{ type: 'CREDIT_CARD', text: '', start: run.start, end: input.text.trimEnd().length }]
    : [];
  return cover.all(piece, [...spans, ...open]);
}

/** Replaces entities by markers, numbered by the conversation's list so far. */
class Cover {
  readonly #numbers: RedactionState['numbers'];
  readonly #form: RedactionForm;

  constructor(state: RedactionState, form: RedactionForm) {
    this.#numbers = state.numbers;
    this.#form = form;
  }

  /**
   * The span of a text that consists of exactly one entity removed before. This finds it without the words that
   * surrounded it.
   */
  known(text: string): EntitySpan[] {
    const key = keyOf(text);
    if (key === '' || text.length > tailCharacters) return [];
    for (const [label, entries] of Object.entries(this.#numbers)) {
      if (!Object.hasOwn(entries, key) || isTooShortToKnow(label, key.slice(1))) continue;
      const start = text.length - text.trimStart().length;
      return [{ type: label, text: text.trim(), start, end: start + text.trim().length }];
    }
    return [];
  }

  all(piece: Held, spans: readonly EntitySpan[], known: readonly EntitySpan[] = []): Redacted {
    const found = merged(spans, echoesIn(piece.text, this.#numbers));
    const chosen = found.length > 0 ? found : known;
    const covered: Covered[] = [];
    let text = '';
    let at = 0;
    for (const span of chosen.toSorted((a, b) => a.start - b.start)) {
      if (span.start < at) continue;
      const shown = this.#over(span, piece.text.slice(span.start, span.end));
      covered.push({ start: span.start, end: span.end, shown, type: span.type });
      text += piece.text.slice(at, span.start) + shown;
      at = span.end;
    }
    text += piece.text.slice(at);
    const words = text === piece.text ? piece.words : alignWords(piece.words, text);
    return {
      id: piece.id,
      text,
      words: piece.words.length > 0 ? words : [],
      covered,
    };
  }

  #over(span: EntitySpan, shown: string): string {
    const label = markerLabel(span.type);
    const entries = (this.#numbers[label] ??= {});
    const key = keyOf(span.text === '' ? shown : span.text);
    const number = Object.hasOwn(entries, key)
      ? (entries[key] ?? 1)
      : Object.keys(entries).length + 1;
    entries[key] = number;
    return this.#form === 'MASK' ? shown.replace(/\S/gu, '#') : `[${label}_${number}]`;
  }
}

/**
 * The key of an entity, the same for every casing, spacing and spoken form. The prefix keeps `__proto__` and similar
 * texts ordinary keys.
 */
function keyOf(text: string): string {
  const doc = new Doc(text);
  const run = runAt(doc, 0, true);
  const plain =
    run?.to === doc.tokens.length && doc.tokens.length > 0
      ? run.chars.toLowerCase()
      : text
          .toLowerCase()
          .replace(/[^\p{L}\p{N}@]+/gu, ' ')
          .trim();
  return plain === '' ? '' : `=${plain}`;
}
