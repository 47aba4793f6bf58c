import { askedFor } from '../entities/asked-secrets.ts';
import { cueOf } from '../entities/code-cues.ts';
import { isExplained, type Run, runAt } from '../entities/code-runs.ts';
import type { CueKind } from '../entities/cue-kinds.ts';
import { Doc } from '../entities/doc.ts';
import { asksForCard, isForSomethingElse, type Talk } from './card-talk.ts';
import { isNamedOtherwise, isReadOut } from './named-otherwise.ts';

/** A group of a card has this many digits. */
const group = 4;
/** As many digits are no count, time or amount, however they are said. */
const twoGroups = 8;

/** The speaker names a card before the digits. "Ends in" and "last four" name what anybody may read. */
const ownCard =
  /\b(?:(?<!(?:membership|member|loyalty|library|gift|rewards|id|insurance|sim|business|post) )card|visa|mastercard|amex)\b/i;
const endOfCard = /\b(?:end(?:s|ing)?|last (?:four|4)|final (?:four|4))\b/i;
/** Directly before digits that a card has: "the card is", "my card number". */
const givesCard =
  /\b(?:card|visa|mastercard|amex)(?: number)?,?(?: (?:is|was|reads|says|number|starts|starting|begins|with|it's))*[\s,:]*$/i;
/** The name of a card is looked for in this much text before the digits. */
const before = 120;

const cards: ReadonlySet<CueKind> = new Set(['card', 'cvv', 'expiry', 'number', 'none']);

/**
 * Claims groups of a card that are read out where nobody has asked for it in this moment: the customer goes on by
 * himself, the agent reads back what was heard, one of them begins with "the card is". While the two speak of a card, or
 * behind its name in the same text, four digits one by one are one of its groups, unless something else explains them.
 */
export function claimReadOut(doc: Doc, wants: (type: string) => boolean, talk: Talk): void {
  if (!wants('CREDIT_CARD')) return;
  const mayBeCard = talk.isOfCard && !talk.turns.slice(-turnsOfQuestion).some(asksForOther);
  for (let i = 0; i < doc.tokens.length; i++) {
    const run = runAt(doc, i, false);
    if (!run) continue;
    if (isGroupOfCard(doc, run, mayBeCard ? talk.turns : undefined)) doc.claim('CREDIT_CARD', run.from, run.to); // prettier-ignore
    i = Math.max(i, run.to - 1);
  }
}

/** The question, and a short word behind it. */
const turnsOfQuestion = 2;

/** A turn that only tells of an order explains no digits: the agent who hears it reads back what came before. */
function asksForOther(turn: string): boolean {
  const isOfOther = askedFor([turn], true).length > 0 && !asksForCard([turn]);
  return isOfOther || isForSomethingElse({ turns: [turn] });
}

/** `turns` are those of the other party, while the two speak of a card. */
function isGroupOfCard(doc: Doc, run: Run, turns: readonly string[] | undefined): boolean {
  const { digits, chars, pieces } = run;
  if (digits < group || doc.isTaken(run.from)) return false;
  if (isExplained(doc, run) || isNamedOtherwise(doc, run)) return false;
  const start = doc.tokens[run.from]?.start ?? 0;
  const end = doc.tokens[run.to - 1]?.end ?? start;
  // "RM5531" is a code: a card has no letters.
  if (/\p{L}$/u.test(doc.text.slice(0, start)) || /^\p{L}/u.test(doc.text.slice(end))) return false;
  if (writtenDay.test(doc.text.slice(start, start + longestDay))) return false;
  const said = doc.text.slice(Math.max(0, start - before), start);
  const isOwn = ownCard.test(said) && !endOfCard.test(said);
  if (turns === undefined && !isOwn) return false;
  const cue = cueOf(doc, run.from, run.to);
  if (cue !== undefined && !cards.has(cue.kind)) return false;
  if (digits >= twoGroups) return true;
  if (isReadOut(run) || (pieces.length === 1 && /^\d{4,}$/.test(chars) && !isYear(chars)))
    return true;
  // Read back at once, in whatever form: the digits still wait with the other party and are known to nobody.
  if (turns?.slice(-turnsOfQuestion).some((turn) => hasDigits(turn, chars))) return true;
  // "The card with fifty three oh eight"
  return isOwn && givesCard.test(said) && digits % group === 0 && /^[3-6]/.test(chars);
}

function hasDigits(turn: string, chars: string): boolean {
  const doc = new Doc(turn.slice(-longestTurn));
  for (let i = 0; i < doc.tokens.length; i++) {
    const run = runAt(doc, i, false);
    if (run?.chars.includes(chars)) return true;
    if (run) i = Math.max(i, run.to - 1);
  }
  return false;
}

/** A group of a card is looked for at the end of a turn. */
const longestTurn = 200;

/** "2026-11-27" and "11/27/2026" */
const writtenDay = /^(?:(?:19|20)\d\d-\d\d-\d\d|\d{1,2}[/-]\d{1,2}[/-](?:19|20)\d\d)(?!\d)/;
const longestDay = 12;

function isYear(chars: string): boolean {
  return /^(?:19|20)\d\d$/.test(chars);
}
