import { readFileSync } from 'node:fs';
import type { EntitySpan, SentimentLabel, SpokenTurn } from '../../../src/language/types.ts';

/** Labelled lines of test/fixtures/language, and how an answer is scored against them. */
export type Split = 'dev' | 'held';
export type Style = 'written' | 'spoken';

export type EntityLine = { id: string; style: Style; text: string; entities: EntitySpan[] };
export type SentimentLine = { id: string; style: Style; text: string; label: SentimentLabel };
export type CallFixture = {
  id: string;
  style: Style;
  turns: { role: string; text: string }[];
  chapters: number[];
  /** A fact is a list of word groups. One word of each group must occur in the same sentence. */
  facts: string[][][];
};

export function lines<T>(name: string): T[] {
  const path = new URL(`../../fixtures/language/${name}.jsonl`, import.meta.url);
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T);
}

export class Counts {
  hits = 0;
  extra = 0;
  missed = 0;

  get precision(): number {
    return this.hits / Math.max(1, this.hits + this.extra);
  }

  get recall(): number {
    return this.hits / Math.max(1, this.hits + this.missed);
  }

  get f1(): number {
    return (2 * this.hits) / Math.max(1, 2 * this.hits + this.extra + this.missed);
  }
}

/** The family of a type. Types of one family count as equal. */
export function familyOf(type: string): string {
  if (type.startsWith('NAME')) return 'name';
  if (type.startsWith('ORGANIZATION')) return 'organization';
  if (type.startsWith('LOCATION')) return 'place';
  if (/^(?:DATE|DOB|DATE_INTERVAL)$/.test(type)) return 'date';
  if (/^(?:MONEY|TIME|PHONE_NUMBER|EMAIL_ADDRESS|URL)$/.test(type)) return type;
  return 'number';
}

export type EntityScore = {
  strict: Counts;
  overlap: Counts;
  byType: Map<string, Counts>;
  byStyle: Record<Style, Counts>;
  freeLines: number;
  freeLinesHit: number;
};

export function scoreEntities(
  set: readonly EntityLine[],
  find: (text: string) => EntitySpan[],
): EntityScore {
  const score: EntityScore = {
    strict: new Counts(),
    overlap: new Counts(),
    byType: new Map(),
    byStyle: { written: new Counts(), spoken: new Counts() },
    freeLines: 0,
    freeLinesHit: 0,
  };
  for (const line of set) {
    const found = find(line.text);
    if (line.entities.length === 0) {
      score.freeLines += 1;
      if (found.length > 0) score.freeLinesHit += 1;
    }
    const same = (a: EntitySpan, b: EntitySpan): boolean =>
      a.type === b.type && a.start === b.start && a.end === b.end;
    const near = (a: EntitySpan, b: EntitySpan): boolean =>
      familyOf(a.type) === familyOf(b.type) && a.start < b.end && b.start < a.end;
    count(line.entities, found, same, (type) => [
      score.strict,
      score.byStyle[line.style],
      score.byType.get(type) ?? fresh(score.byType, type),
    ]);
    count(line.entities, found, near, () => [score.overlap]);
  }
  return score;
}

function fresh(map: Map<string, Counts>, type: string): Counts {
  const counts = new Counts();
  map.set(type, counts);
  return counts;
}

function count(
  wanted: readonly EntitySpan[],
  found: readonly EntitySpan[],
  matches: (a: EntitySpan, b: EntitySpan) => boolean,
  into: (type: string) => Counts[],
): void {
  const used = new Set<EntitySpan>();
  for (const entity of wanted) {
    const hit = found.find((other) => !used.has(other) && matches(entity, other));
    if (hit) used.add(hit);
    for (const counts of into(entity.type)) counts[hit ? 'hits' : 'missed'] += 1;
  }
  for (const other of found)
    if (!used.has(other)) for (const counts of into(other.type)) counts.extra += 1;
}

export type SentimentFigures = { accuracy: number; macroF1: number; byLabel: Map<string, Counts> };

export function scoreSentiments(
  set: readonly SentimentLine[],
  label: (text: string) => SentimentLabel,
): SentimentFigures {
  const byLabel = new Map<string, Counts>();
  let right = 0;
  for (const line of set) {
    const given = label(line.text);
    const wanted = byLabel.get(line.label) ?? fresh(byLabel, line.label);
    if (given === line.label) {
      right += 1;
      wanted.hits += 1;
    } else {
      wanted.missed += 1;
      (byLabel.get(given) ?? fresh(byLabel, given)).extra += 1;
    }
  }
  const f1s = [...byLabel.values()].map((counts) => counts.f1);
  return {
    accuracy: right / set.length,
    macroF1: f1s.reduce((sum, f1) => sum + f1, 0) / f1s.length,
    byLabel,
  };
}

export function turnsOf(call: CallFixture): SpokenTurn[] {
  return call.turns.map((turn, i) => ({ ...turn, start: i, end: i + 1 }));
}

/** The facts that the summary contains, each in one sentence. */
export function factsIn(summary: string, facts: readonly string[][][]): boolean[] {
  const sentences = summary.toLowerCase().split(/(?<=[.?!])\s+/);
  return facts.map((fact) =>
    sentences.some((sentence) =>
      fact.every((group) => group.some((word) => sentence.includes(word.toLowerCase()))),
    ),
  );
}

/** Matches boundaries one to one, with a tolerance of one turn each way. */
export function scoreBoundaries(
  wanted: readonly number[],
  found: readonly number[],
  into: Counts,
): void {
  const used = new Set<number>();
  for (const boundary of wanted) {
    const hit = found.find((other) => !used.has(other) && Math.abs(other - boundary) <= 1);
    if (hit === undefined) into.missed += 1;
    else {
      used.add(hit);
      into.hits += 1;
    }
  }
  into.extra += found.length - used.size;
}

export type RedactionGroup = 'payment' | 'name' | 'contact';

/** The group under which a type of the redaction corpus is counted. */
export function redactionGroupOf(type: string): RedactionGroup {
  if (type.startsWith('NAME')) return 'name';
  return /^(?:CREDIT_CARD|CREDIT_CARD_EXPIRATION|CVV|BANK_ACCOUNT|ROUTING_NUMBER)$/.test(type)
    ? 'payment'
    : 'contact';
}

export type RedactionScore = {
  recall: Record<RedactionGroup, number>;
  /** The secrets that stayed in whole or in part, with the redacted line. */
  misses: string[];
  /** Lines without secrets from which something was removed. */
  alarms: string[];
  freeLines: number;
};

/** An entity counts as removed if none of its letters and digits is left. */
export function scoreRedaction(
  set: readonly EntityLine[],
  coveredIn: (text: string) => readonly { start: number; end: number; shown: string }[],
): RedactionScore {
  const all = { payment: 0, name: 0, contact: 0 };
  const gone = { payment: 0, name: 0, contact: 0 };
  const score: RedactionScore = { recall: gone, misses: [], alarms: [], freeLines: 0 };
  for (const { id, text, entities } of set) {
    const covered = coveredIn(text);
    // Split by UTF-16 units, as spans count.
    const left = Array.from({ length: text.length }, (_, i) => text.charAt(i));
    for (const { start, end } of covered) left.fill('#', start, end);
    const shown = left.join('');
    if (entities.length === 0) score.freeLines += 1;
    if (entities.length === 0 && covered.length > 0) score.alarms.push(`${id} ${shown} <- ${text}`);
    for (const { type, start, end } of entities) {
      const group = redactionGroupOf(type);
      all[group] += 1;
      if (/[\p{L}\p{N}]/u.test(left.slice(start, end).join('')))
        score.misses.push(`${id} ${type}: ${shown}`);
      else gone[group] += 1;
    }
  }
  for (const group of ['payment', 'name', 'contact'] as const)
    score.recall[group] = gone[group] / Math.max(1, all[group]);
  return score;
}
