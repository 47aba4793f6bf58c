import { askedFor } from '../entities/asked.ts';
import { isExplained, runAt } from '../entities/code-runs.ts';
import type { CueKind } from '../entities/cue-kinds.ts';
import { Doc } from '../entities/doc.ts';
import { findEntities } from '../entities/find.ts';
import { foundTypes } from '../entities/types.ts';
import { alignWords } from '../rewrite/words.ts';
import type { TextToken } from '../text/tokens.ts';
import type { EntitySpan } from '../types.ts';
import { markerLabel } from '../../protocol/entity-types.ts';
import { joinFinals } from '../text/seams.ts';
import { claimAsked, wantedKinds } from './asked.ts';
import { claimCarefully, claimNamesCarefully } from './careful.ts';
import { echoesIn } from './echoes.ts';
import { wantedTypes } from './names.ts';
import type { Word } from '../../protocol/addons.ts';

/** MARKER: `[NAME_1]`, the same entity always the same number. MASK: one `#` per character, spaces kept. */
export type RedactionForm = 'MARKER' | 'MASK';

/** An utterance that waits because its end could be the head of a card number. */
export type Held = { id?: string; text: string; words: Word[] };

/**
 * One speaker's redaction remembers this between utterances. Plain data, but it holds what was taken out: it lives
 * as long as the call and is never sent.
 */
export type RedactionState = {
  numbers: Record<string, Record<string, number>>;
  /** The end of what was released last, where a number that goes on may have begun. */
  tail?: string;
  /** A number may come in more than two pieces: all that wait, in order. */
  held?: Held[];
  /** The question of the other party before the tail, or before the held finals. */
  asked?: readonly string[];
};

export type RedactInput = {
  id?: string;
  text: string;
  words?: Word[];
  /** Presets and single types; empty means everything that is found. */
  entityTypes: string[];
  form: RedactionForm;
  state?: RedactionState;
  /** The last turns of the other party, in order: a question tells what a bare number is. */
  asked?: readonly string[];
  /** True: a final may be kept back while its tail could be the head of a card number. */
  mayHold?: boolean;
  /** True: what is held is let go; `text` is not looked at. For the hold's end and the call's. */
  flush?: boolean;
  /** True: a text that will be replaced. Digits at its end are covered, nothing is remembered. */
  partial?: boolean;
};

/** A part of the utterance as it was given, and what stands for it now. */
export type Covered = { start: number; end: number; shown: string; type: string };

export type Redacted = { id?: string; text: string; words: Word[]; covered: Covered[] };

/** A part of a redacted text, by that text's own characters, and the type of what was there. */
export type CoveredSpan = { start: number; end: number; type: string };

export type RedactedPiece = { index: number; text: string; words: Word[]; covered: CoveredSpan[] };

export type RedactOutput = {
  /** In the order in which they came; empty when the utterance is held. */
  released: Redacted[];
  held: boolean;
  /** Time to wait for the next utterance before calling with `flush`; 0 when nothing is held. */
  holdMs: number;
  state: RedactionState;
};

/** Longer than a breath between two groups of a card number, shorter than anybody waits for a transcript. */
const holdMsMax = 3_000;

/** Utterances of one speaker that wait for the rest of a number. More than these are no number any more. */
export const maxUtterancesHeld = 16;

/** The head of a number fills at most this much of an utterance's end. */
const tailCharacters = 160;

/** One step of one speaker's redaction: an utterance in, what may leave out, what to remember for the next. */
export function redactStep(input: RedactInput): RedactOutput {
  const state: RedactionState = structuredClone(input.state ?? { numbers: {} });
  const look = lookFor(input);
  const cover = new Cover(state, input.form);
  if (input.partial)
    return {
      released: [coverPartial(input, look, cover)],
      held: state.held !== undefined,
      holdMs: 0,
      state: input.state ?? { numbers: {} },
    };
  if (isOtherQuestion(state.asked, look) && !input.flush) return afterQuestion(input, state);
  state.asked = input.asked ?? [];
  const held = state.held ?? [];
  delete state.held;
  const heldTexts = held.map(({ text }) => text);
  if (input.flush) {
    const joined = joinFinals(heldTexts);
    const spans = pieceSpans(held, crossingOf(joined, heldTexts, look), look);
    if (held.length > 0) state.tail = tailOf(joined);
    const released = held.map((piece, i) => cover.all(piece, spans[i] ?? []));
    return { released, held: false, holdMs: 0, state };
  }
  const next: Held = {
    ...(input.id === undefined ? {} : { id: input.id }),
    text: input.text,
    words: input.words ?? [],
  };
  const before = held.length > 0 ? heldTexts : state.tail ? [state.tail] : [];
  const joined = joinFinals([...before, next.text]);
  const seam = joined.length - next.text.length;
  // Each utterance is looked at by itself; together they are looked at only for what lies across the seams.
  const crossing = before.length === 0 ? [] : crossingOf(joined, [...before, next.text], look);
  const spans = pieceSpans(held, crossing, look);
  const run = openRun(joined);
  // A number that ends here and has its head before is whole: it must not be looked at again without its head.
  const goesOn = run !== undefined && run.start < seam;
  const isWhole =
    crossing.some((span) => span.end > seam) && (run === undefined || isFull(run, look));
  // The held finals have begun like a number already: however its groups are cut, it goes on while digits are missing.
  const waits =
    !isWhole &&
    run !== undefined &&
    (goesOn && held.length > 0 ? run.digits < longestNumber : mayContinue(next.text, look));
  if (input.mayHold && run && waits && held.length < maxUtterancesHeld) {
    // A final that lies wholly before the number's head has nothing to wait for.
    const free = goesOn ? held.filter((_, i) => endOf(held, i) <= run.start).length : held.length;
    const released = held.slice(0, free).map((piece, i) => cover.all(piece, spans[i] ?? []));
    if (free > 0 && free === held.length) state.tail = tailOf(joinFinals(heldTexts));
    state.held = [...held.slice(free), next];
    return { released, held: true, holdMs: holdMsMax, state };
  }
  const released = held.map((piece, i) => cover.all(piece, spans[i] ?? []));
  const own = merged(within(crossing, seam, seam + next.text.length), look.find(next.text));
  released.push(cover.all(next, own, cover.known(next.text)));
  state.tail = tailOf(goesOn || crossing.length > 0 ? joined : next.text);
  return { released, held: false, holdMs: 0, state };
}

/** Something else is asked for by now: no number goes on over that question. */
function isOtherQuestion(before: readonly string[] | undefined, { asked }: Look): boolean {
  const askedBefore = before === undefined ? [] : askedFor(before);
  // A turn that asks for nothing lies in the middle of a number as often as behind it.
  if (askedBefore.length === 0 || asked.length === 0) return false;
  return !askedBefore.some((kind) => asked.includes(kind));
}

function afterQuestion(input: RedactInput, { asked = [], ...state }: RedactionState): RedactOutput {
  const before = redactStep({ ...input, asked, state, flush: true });
  const after = redactStep({ ...input, state: { numbers: before.state.numbers } });
  return { ...after, released: [...before.released, ...after.released] };
}

/** The search of one step, by the types to take out and by the question. */
type Look = {
  wanted: ReadonlySet<string> | undefined;
  /** Kinds of number that were asked for, and those of them that are to be taken out. */
  asked: readonly CueKind[];
  kinds: readonly CueKind[];
  find(text: string): EntitySpan[];
};

function lookFor({ entityTypes, asked = [] }: RedactInput): Look {
  const wanted = wantedTypes(entityTypes);
  const wants = (type: string): boolean => !wanted || wanted.has(type);
  const askedKinds = askedFor(asked);
  return {
    wanted,
    asked: askedKinds,
    kinds: wantedKinds(askedKinds, wants),
    // Without a list everything that can be found is asked for, the kinds found only by request too.
    find: (text) =>
      findEntities(
        text,
        wanted ? [...wanted] : foundTypes,
        'en',
        {
          first: (doc) => {
            claimCarefully(doc, wanted);
            claimAsked(doc, wants);
          },
          last: (doc) => claimNamesCarefully(doc, wanted),
        },
        askedKinds,
      ),
  };
}

/** Entities across the seams of the texts, by the characters of all of them joined. */
function crossingOf(joined: string, texts: readonly string[], look: Look): EntitySpan[] {
  if (texts.length < 2) return [];
  let at = -1;
  const seams = texts.slice(0, -1).map((text) => (at += text.length + 1));
  return look
    .find(joined)
    .filter((span) => seams.some((seam) => span.start < seam && span.end > seam + 1));
}

/** The spans of each piece that waits: its part of the entities that cross a seam, and its own. */
function pieceSpans(
  held: readonly Held[],
  crossing: readonly EntitySpan[],
  look: Look,
): EntitySpan[][] {
  return held.map((piece, i) => {
    const end = endOf(held, i);
    return merged(within(crossing, end - piece.text.length, end), look.find(piece.text));
  });
}

/** The end of a piece in the text of all that wait. */
function endOf(held: readonly Held[], index: number): number {
  return held.slice(0, index + 1).reduce((sum, { text }) => sum + text.length + 1, -1);
}

/** Entities that cross a seam come first; a piece's own ones stay where nothing is over them. */
function merged(first: readonly EntitySpan[], more: readonly EntitySpan[]): EntitySpan[] {
  const free = more.filter(
    (span) => !first.some((other) => other.start < span.end && span.start < other.end),
  );
  return [...first, ...free];
}

/** The parts of the spans that lie in a piece of the text, by the piece's own characters. */
function within(spans: readonly EntitySpan[], from: number, to: number): EntitySpan[] {
  return spans
    .filter((span) => span.start < to && span.end > from)
    .map((span) => ({
      ...span,
      start: Math.max(0, span.start - from),
      end: Math.min(span.end, to) - from,
    }));
}

/** Only an end with digits can be the head of anything. */
function tailOf(text: string): string {
  // The first word of what was cut may be half a word.
  const tail =
    text.length > tailCharacters ? text.slice(-tailCharacters).replace(/^\S*\s/, '') : text;
  return /\d|\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|double|ten|\w+teen|\w+ty)\b[^\p{L}\d]*(?:\b(?:um|uh|er)\b[^\p{L}\d]*)?$/iu.test(
    tail,
  )
    ? tail
    : '';
}

type OpenRun = { start: number; digits: number; chars: string; explained: boolean; bare: boolean };

/** The run of digits that ends the text, by its first character: it could go on in the next one. */
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
        bare: doc.tokens.slice(0, run.from).every(isNothing),
      };
    i = run.to - 1;
  }
  return undefined;
}

/** A mark or a word that a speaker fills a pause with. */
function isNothing({ kind, lower }: TextToken): boolean {
  return (
    kind === 'mark' ||
    /^(?:um|uh|er|erm|uhm|ah|and|then|okay|ok|yes|yeah|sure|no|wait|sorry|so|it's|it|is|that's)$/.test(
      lower,
    )
  );
}

/** Longer than every number that people say: a card. */
const longestNumber = 16;
const fullLengths: Partial<Record<CueKind, number>> = {
  card: 16,
  ssn: 9,
  cvv: 3,
  routing: 9,
  expiry: 4,
};

/** All digits of what was asked for are there. */
function isFull({ digits }: OpenRun, { kinds }: Look): boolean {
  const lengths = kinds.map((kind) => fullLengths[kind] ?? longestNumber);
  return digits >= Math.max(...lengths, kinds.length === 0 ? longestNumber : 0);
}

const numberTypes =
  /^(?:CREDIT_CARD|SSN|BANK_ACCOUNT|ROUTING_NUMBER|PHONE_NUMBER|ACCOUNT_NUMBER|NUMERICAL_PII|HEALTHCARE_NUMBER|PASSPORT_NUMBER|DRIVER_LICENSE)$/;
/** A number that nothing was said about is held from so many digits on: fewer are a price, a time, a count. */
const shortestHead = 3;

function mayContinue(text: string, look: Look): boolean {
  const run = openRun(text);
  if (!run || run.explained || run.digits > 15) return false;
  // The answer to a question for the number: whatever it begins with goes on.
  if (look.kinds.length > 0) return !isFull(run, look);
  const { wanted } = look;
  if (wanted && ![...wanted].some((type) => numberTypes.test(type))) return false;
  const isCard = /\b(?:card|visa|mastercard|amex|debit|credit)\b/i.test(text);
  // Somebody asked for a number that stays: only what begins like a card may be something else.
  if (look.asked.length > 0 && !isCard)
    return /^[3-6]/.test(run.chars) && run.digits >= 4 && run.digits % 4 === 0;
  return run.digits >= (isCard || run.bare ? 2 : shortestHead);
}

function coverPartial(input: RedactInput, look: Look, cover: Cover): Redacted {
  const spans = look.find(input.text);
  const isCard = !look.wanted || look.wanted.has('CREDIT_CARD');
  const run = isCard || look.kinds.length > 0 ? openRun(input.text) : undefined;
  const piece: Held = {
    ...(input.id === undefined ? {} : { id: input.id }),
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

/** Writes over what was found, with the numbers that the conversation has given out so far. */
class Cover {
  readonly #numbers: RedactionState['numbers'];
  readonly #form: RedactionForm;

  constructor(state: RedactionState, form: RedactionForm) {
    this.#numbers = state.numbers;
    this.#form = form;
  }

  /** A short text that is exactly something taken out before: an entity's own text, without its surroundings. */
  known(text: string): EntitySpan[] {
    const key = keyOf(text);
    if (key === '' || text.length > tailCharacters) return [];
    for (const [label, entries] of Object.entries(this.#numbers)) {
      if (!Object.hasOwn(entries, key)) continue;
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
      ...(piece.id === undefined ? {} : { id: piece.id }),
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

/** The same entity however it was cased, spaced and spoken. `__proto__` and the like stay ordinary keys. */
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
