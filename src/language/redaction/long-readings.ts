import { cueOf } from '../entities/code-cues.ts';
import { isExplained, type Run, runAt } from '../entities/code-runs.ts';
import type { CueKind } from '../entities/cue-kinds.ts';
import { secretKinds } from '../entities/asked-secrets.ts';
import type { Doc } from '../entities/doc.ts';
import { isFiller } from '../text/numbers.ts';
import { isForSomethingElse, type Talk } from './card-talk.ts';
import { isNamedOtherwise, isReadOut } from './named-otherwise.ts';

/** As many digits are a card or a bank account, also where some of them were heard as words. */
const leastDigits = 12;
/** A card has no more, with its date and its code, and with a group that was said twice. */
const mostDigits = 32;
/** Most of such a number is said digit by digit or in pairs. */
const leastPieces = 6;
/** Two runs of exactly this many digits, one by one, are groups of a card. */
const group = 4;
/** Words that a recogniser makes of the digits between two runs: "five, one one eight, they know to three sacks". */
const widestGap = 6;

/**
 * Claims a card that is read out although nobody understood the question, its name, or some of its digits: "my disease
 * five to zero, nine, three, four, seven". The digits of one reading count together, whatever single words are between
 * them.
 */
export function claimLongReading(doc: Doc, wants: (type: string) => boolean, talk: Talk): void {
  if (!wants('CREDIT_CARD') || isForSomethingElse(talk)) return;
  if (doc.asked.length > 0 && !doc.asked.some((kind) => secretKinds.has(kind))) return;
  for (const runs of readingsIn(doc)) {
    if (!isLong(runs) && !isInGroups(runs)) continue;
    const from = runs[0]?.from ?? 0;
    const to = runs.at(-1)?.to ?? 0;
    if (doc.claim('CREDIT_CARD', from, to)) continue;
    for (const run of runs) doc.claim('CREDIT_CARD', run.from, run.to);
  }
}

/** Runs of digits with few words between them. Words that say what a number is end a reading. */
function readingsIn(doc: Doc): Run[][] {
  const readings: Run[][] = [];
  let reading: Run[] = [];
  let words = 0;
  for (let i = 0; i < doc.tokens.length; i++) {
    const run = runAt(doc, i, false);
    if (run === undefined || run.digits === 1) {
      // One digit alone is a word like others: "they know to three sacks".
      const token = doc.tokens[i];
      if (token?.kind !== 'mark' && !isFiller(token)) words += 1;
      continue;
    }
    if (words > widestGap) reading = [];
    if (isOther(doc, run)) reading = [];
    else {
      if (reading.length === 0) readings.push(reading);
      reading.push(run);
    }
    words = 0;
    i = Math.max(i, run.to - 1);
  }
  return readings;
}

const mayBeCard: ReadonlySet<CueKind> = new Set([...secretKinds, 'number']);

function isOther(doc: Doc, run: Run): boolean {
  if (doc.isTaken(run.from) || isExplained(doc, run) || isNamedOtherwise(doc, run)) return true;
  const cue = cueOf(doc, run.from, run.to);
  if (cue !== undefined && !mayBeCard.has(cue.kind)) return true;
  // Letters beside digits are a code, and a plus begins a number to dial.
  return /^(?:\+|plus|[b-hj-npq-z])$/.test(doc.word(run.from - 1));
}

function isLong(runs: readonly Run[]): boolean {
  const digits = runs.reduce((sum, run) => sum + run.digits, 0);
  const pieces = runs.flatMap((run) => run.pieces.filter(({ chars }) => chars.length <= group));
  if (digits < leastDigits || digits > mostDigits || pieces.length < leastPieces) return false;
  // A number to call, said twice
  return !runs.every((run) => run.digits === 10 || run.digits === 11);
}

function isInGroups(runs: readonly Run[]): boolean {
  return runs.filter((run) => run.digits === group && isReadOut(run)).length > 1;
}
