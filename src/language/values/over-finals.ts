import { askedFor } from '../entities/asked-secrets.ts';
import { Doc } from '../entities/doc.ts';
import { findEntities } from '../entities/find-entities.ts';
import { family } from '../entities/gazetteer.ts';
import { spelledLetters, spellingEnd } from '../entities/spelled.ts';
import { joinFinals } from '../text/join-finals.ts';
import type { EntitySpan, EntityValue, ValueContext } from '../types.ts';
import { inCapitals, valueOf } from './value.ts';

/** The position of a fragment of an entity: its final, and its characters in that final. */
export type EntityPiece = { final: number; start: number; end: number };

/** An entity with its value, and the finals it was said in. */
export type HeardEntity = Partial<EntityValue> & {
  type: string;
  text: string;
  pieces: EntityPiece[];
};

export type OverFinals = {
  /** Finals of one speaker, in order of time. */
  finals: readonly string[];
  /** The last turns of the other party. */
  asked: readonly string[];
  about: ValueContext;
  language: string;
};

/**
 * The entities that one speaker said over several finals. A number with pauses becomes one entity, and letters that
 * spell a name correct it. Each final is searched alone, and all of them together for entities that cross their
 * borders.
 */
export function entitiesOverFinals({ finals, asked, about, language }: OverFinals): HeardEntity[] {
  const kinds = askedFor(asked);
  const joined = joinFinals(finals);
  const starts: number[] = [];
  let at = 0;
  for (const final of finals) {
    starts.push(at);
    at += final.length + 1;
  }
  const find = (text: string): EntitySpan[] => {
    const spans = findEntities(text, undefined, language, undefined, kinds);
    return language === 'en' ? [...spans, ...relativeDays(text, spans)] : spans;
  };
  const joins = starts.slice(1).map((start) => start - 1);
  const crossing = find(joined).filter(({ start, end }) =>
    joins.some((join) => start < join && end > join + 1),
  );
  const own = finals.flatMap((final, i) => {
    const from = starts[i] ?? 0;
    return find(final).map((span) => ({ ...span, start: span.start + from, end: span.end + from }));
  });
  const free = own.filter((span) => !crossing.some((other) => overlaps(span, other)));
  const heard = [...crossing, ...free]
    .toSorted((a, b) => a.start - b.start)
    .map((span) => {
      // A date that answers the question for a birthday is a birthday.
      const type = span.type === 'DATE' && kinds.includes('birth') ? 'DOB' : span.type;
      const text = joined.slice(span.start, span.end);
      return { span, entity: { type, text, ...valueOf(type, text, { ...about, language }) } };
    });
  const spelled = language === 'en' ? namesAsSpelled(joined, heard) : heard;
  return spelled.map(({ span, entity }) => ({ ...entity, pieces: piecesOf(span, starts, finals) }));
}

type PlacedEntity = {
  span: Pick<EntitySpan, 'start' | 'end'>;
  entity: Omit<HeardEntity, 'pieces'>;
};

function overlaps(
  a: Pick<EntitySpan, 'start' | 'end'>,
  b: Pick<EntitySpan, 'start' | 'end'>,
): boolean {
  return a.start < b.end && b.start < a.end;
}

function piecesOf(
  { start, end }: Pick<EntitySpan, 'start' | 'end'>,
  starts: readonly number[],
  finals: readonly string[],
): EntityPiece[] {
  return finals.flatMap((text, final) => {
    const from = Math.max(start - (starts[final] ?? 0), 0);
    const to = Math.min(end - (starts[final] ?? 0), text.length);
    return from < to ? [{ final, start: from, end: to }] : [];
  });
}

const dayNames = /\b(?:(?:next|this|last|coming) )?(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:the )?day after tomorrow\b|\btomorrow\b/gi; // prettier-ignore
/** "today" is in every other sentence. It counts as a date only if the turn says little else. */
const bareDay = /^(?:um |uh |for |from )?(today|yesterday)(?: please)?[.!]?$/i;

function relativeDays(text: string, taken: readonly EntitySpan[]): EntitySpan[] {
  const found = [...text.matchAll(dayNames)].map((match) => ({ at: match.index, day: match[0] }));
  const bare = bareDay.exec(text)?.[1];
  if (bare !== undefined) found.push({ at: text.indexOf(bare), day: bare });
  return found
    .map(({ at, day }) => ({ type: 'DATE', text: day, start: at, end: at + day.length }))
    .filter((span) => !taken.some((other) => overlaps(span, other)));
}

/** A spelling begins at most this many tokens after its name: "my name is Shawn, that's spelled". */
const spellingReach = 8;

/** Corrects names by the letters that follow them. */
function namesAsSpelled(text: string, heard: readonly PlacedEntity[]): PlacedEntity[] {
  const doc = new Doc(text);
  const all = [...heard];
  for (let i = 0; i < doc.tokens.length; i++) {
    const end = spellingEnd(doc, i);
    if (end === 0) continue;
    const letters = spelledLetters(doc, i).join('');
    const from = doc.tokens[i]?.start ?? 0;
    const to = doc.tokens[end - 1]?.end ?? from;
    const reachFrom = doc.tokens[Math.max(0, i - spellingReach)]?.start ?? 0;
    const at = all.findLastIndex(({ span, entity }) => entity.type.startsWith('NAME') && span.end > reachFrom && span.start < from); // prettier-ignore
    const named = all[at];
    const isOther = all.some(({ span, entity }) => overlaps(span, { start: from, end: to }) && !entity.type.startsWith('NAME')); // prettier-ignore
    if (!isOther) {
      const span = { start: named?.span.start ?? from, end: to };
      const before = named === undefined ? namedBefore(doc, i) : { text: named.entity.text, start: span.start }; // prettier-ignore
      if (before !== undefined) {
        const entity = {
          type: named?.entity.type ?? 'NAME_GIVEN',
          text: text.slice(before.start, to),
          value: withSpelling(before.text, letters),
        };
        const free = all.filter((other) => other === named || !overlaps(other.span, { start: from, end: to })); // prettier-ignore
        all.splice(0, all.length, ...free.filter((other) => other !== named), { span: { start: before.start, end: to }, entity }); // prettier-ignore
      }
    }
    i = end - 1;
  }
  return all.sort((a, b) => a.span.start - b.span.start);
}

/** An unknown word directly before its own spelling, with the same first letter. */
function namedBefore(doc: Doc, i: number): { text: string; start: number } | undefined {
  for (let at = i - 1; at >= Math.max(0, i - 4); at--) {
    const token = doc.tokens[at];
    if (token?.kind !== 'word' || token.lower.length < 3) continue;
    if (token.lower.startsWith(doc.word(i)) || token.capital)
      return { text: token.text, start: token.start };
  }
  return undefined;
}

/**
 * Replaces the word of the name that is most like the letters by the spelled word. If no word is like them, the spelled
 * name is appended.
 */
function withSpelling(name: string, letters: string): string {
  const words = name.trim().split(/\s+/);
  const likeness = words.map((word) => likenessOf(word.toLowerCase(), letters));
  const best = Math.max(...likeness);
  const at = likeness.lastIndexOf(best);
  const written = inCapitals(letters);
  const heard = words[at]?.toLowerCase() ?? '';
  const known = knownBetween(heard, letters);
  if (known !== undefined)
    return words.map((word, i) => inCapitals(i === at ? known : word)).join(' ');
  if (isMisheard(heard, letters)) return words.map(inCapitals).join(' ');
  // Letters that are nothing like the only word of the name spell all of it: "Delusky, K O W A L S K I".
  if (best < 0.5 && words.length === 1) return written;
  if (best < 0.5) return [...words.map(inCapitals), written].join(' ');
  return words.map((word, i) => (i === at ? written : inCapitals(word))).join(' ');
}

/** The family name that is nearest to both where they differ: "Kawalski, K-O-W-E-L-F-K-I" is Kowalski. */
function knownBetween(name: string, letters: string): string | undefined {
  if (name.length !== letters.length || family.has(letters)) return undefined;
  const away = (one: string, other: string): number =>
    Array.from(one).filter((letter, at) => letter !== other[at]).length;
  const found = [...family].filter(
    (known) =>
      known.length === letters.length && away(known, name) <= 1 && away(known, letters) === 2,
  );
  return found.length === 1 && letters.length >= shortestKnown ? found[0] : undefined;
}

/** In a shorter name, two other letters make another name. */
const shortestKnown = 6;

/** Names of letters that sound alike. */
const alike = ['bcdegptvz', 'mn', 'fsx', 'ajk', 'iy'];

/** True where the letters are the name itself but for two or three that sound alike: "Draper, E-R-A-T-E-R". */
function isMisheard(name: string, letters: string): boolean {
  if (name.length !== letters.length) return false;
  const others = Array.from(letters).filter((letter, at) => letter !== name[at]);
  const areAlike = Array.from(letters).every((letter, at) => {
    const said = name[at] ?? '';
    return letter === said || alike.some((set) => set.includes(letter) && set.includes(said));
  });
  return areAlike && others.length >= 2 && others.length * 2 <= letters.length;
}

/**
 * The share of letters that two words have in common, plus half a point for the same or a like-sounding first letter.
 */
function likenessOf(word: string, letters: string): number {
  const left = Array.from(letters);
  let same = 0;
  for (const letter of word) {
    const at = left.indexOf(letter);
    if (at < 0) continue;
    left.splice(at, 1);
    same += 1;
  }
  return same / Math.max(word.length, letters.length);
}
