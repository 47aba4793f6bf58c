import { smallAt, units } from '../text/numbers.ts';
import type { Doc } from './doc.ts';

const leads = new Set(
  'at by until till around about before after from between since past and or to for is was say'.split(
    ' ',
  ),
);
const partOfDay = /^(?:morning|afternoon|evening)$/;

/** Finds clock times. Certain ones count anywhere, bare numbers only where the sentence expects a time. */
export function findTimes(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i)) continue;
    const time = timeAt(doc, i);
    if (!time) continue;
    const end = withDayPart(doc, time.end);
    if (doc.claim('TIME', i, end)) {
      if (time.sure || end > time.end) claimPartner(doc, i, end);
      i = end - 1;
    }
  }
}

type FoundTime = { end: number; sure: boolean };

function timeAt(doc: Doc, i: number): FoundTime | undefined {
  const word = doc.word(i);
  if (/^(?:noon|midnight|midday)$/.test(word)) return { end: i + 1, sure: true };
  const relative = relativeTime(doc, i);
  if (relative > 0) return { end: relative, sure: true };
  const hour = hourAt(doc, i);
  if (!hour) return undefined;
  const minute = minuteAt(doc, hour.next);
  const clock = minute ?? hour.next;
  const suffix = suffixEnd(doc, clock);
  if (suffix > 0) return { end: suffix, sure: true };
  const isColon = minute !== undefined && doc.word(hour.next) === ':';
  if (isColon) return { end: clock, sure: true };
  if (hour.value < 1 || hour.value > (doc.tokens[i]?.kind === 'number' ? 12 : 12)) return undefined;
  if (minute !== undefined && isTimePlace(doc, i, clock)) return { end: clock, sure: false };
  return minute === undefined && isHourPlace(doc, i, clock)
    ? { end: clock, sure: false }
    : undefined;
}

function hourAt(doc: Doc, i: number): { value: number; next: number } | undefined {
  const token = doc.tokens[i];
  if (!token || (token.kind === 'number' && token.text.length > 2)) return undefined;
  const previous = doc.tokens[i - 1];
  if (previous && /[$£€#.:,/-]/.test(previous.text) && !token.spaced) return undefined;
  // "A hundred and three fifty" is a sum.
  if (/^(?:hundred|thousand)$/.test(doc.word(doc.word(i - 1) === 'and' ? i - 2 : i - 1))) return undefined; // prettier-ignore
  const small = smallAt(doc.tokens, i);
  return small && small.value <= 24 ? small : undefined;
}

/** Matches minutes that people say: ":30", "thirty", "oh five", "forty five". */
function minuteAt(doc: Doc, i: number): number | undefined {
  if (doc.word(i) === ':' && !(doc.tokens[i]?.spaced ?? true)) {
    const token = doc.tokens[i + 1];
    return token?.kind === 'number' &&
      !token.spaced &&
      token.text.length === 2 &&
      Number(token.text) < 60
      ? i + 2
      : undefined;
  }
  if (doc.word(i) === '.' && !(doc.tokens[i]?.spaced ?? true)) {
    const token = doc.tokens[i + 1];
    const isTime =
      token?.kind === 'number' &&
      !token.spaced &&
      /^[0-5]\d$/.test(token.text) &&
      suffixEnd(doc, i + 2) > 0;
    return isTime ? i + 2 : undefined;
  }
  if (/^(?:oh|o)$/.test(doc.word(i))) {
    const unit =
      units.get(doc.word(i + 1)) ??
      (doc.tokens[i + 1]?.kind === 'number' ? Number(doc.word(i + 1)) : undefined);
    return unit !== undefined && unit > 0 && unit < 10 ? i + 2 : undefined;
  }
  if (
    doc.tokens[i]?.kind === 'word' ||
    (doc.tokens[i]?.text.length === 2 && doc.tokens[i]?.spaced)
  ) {
    const small = smallAt(doc.tokens, i);
    return small && small.value >= 10 && small.value < 60 ? small.next : undefined;
  }
  return undefined;
}

/** The end of am, a.m., "p m" or o'clock, or 0. */
function suffixEnd(doc: Doc, i: number): number {
  let at = i;
  if (doc.word(at) === ',' && /^[ap]$/.test(doc.word(at + 1))) at += 1;
  const word = doc.word(at);
  if (word === 'am' || word === 'pm') return at + 1;
  if (word === "o'clock" || word === 'oclock') return withAmPm(doc, at + 1);
  if (word === 'o' && doc.word(at + 1) === 'clock') return withAmPm(doc, at + 2);
  if ((word === 'a' || word === 'p') && doc.word(at + 1) === '.' && doc.word(at + 2) === 'm')
    return doc.word(at + 3) === '.' && !(doc.tokens[at + 3]?.spaced ?? true) ? at + 4 : at + 3;
  return (word === 'a' || word === 'p') && doc.word(at + 1) === 'm' ? at + 2 : 0;
}

function withAmPm(doc: Doc, end: number): number {
  const more = suffixEnd(doc, end);
  return more > 0 ? more : end;
}

/** Matches "half past four", "quarter to nine", "ten to five", "twenty past". */
function relativeTime(doc: Doc, i: number): number {
  let at = i;
  const word = doc.word(at);
  if (word === 'a' && doc.word(at + 1) === 'quarter') at += 1;
  const isNamed = doc.word(at) === 'half' || doc.word(at) === 'quarter';
  const minutes = isNamed ? undefined : smallAt(doc.tokens, at);
  if (!isNamed && (!minutes || ![5, 10, 20, 25].includes(minutes.value))) return 0;
  at = isNamed ? at + 1 : (minutes?.next ?? at);
  if (doc.word(at) === 'minutes') at += 1;
  const link = doc.word(at);
  const isHalfHour =
    doc.word(i) === 'half' &&
    hourAt(doc, at) &&
    /^(?:at|by|until|around|about)$/.test(doc.word(i - 1));
  if (!isHalfHour) {
    if (!/^(?:past|to|after|before|till)$/.test(link)) return 0;
    // Ranges are not relative times: "from five to seven", "ten to fifteen people".
    if (
      !isNamed &&
      link === 'to' &&
      /^(?:from|between|about|like|within|in|takes?)$/.test(doc.word(i - 1))
    )
      return 0;
    if (!isNamed && /^(?:after|before)$/.test(link)) return 0;
    at += 1;
  }
  const hour = hourAt(doc, at);
  if (!hour) return /^(?:noon|midnight)$/.test(doc.word(at)) ? at + 1 : 0;
  if (hour.value < 1 || hour.value > 12 || isCounted(doc, hour.next)) return 0;
  const suffix = suffixEnd(doc, hour.next);
  return suffix > 0 ? suffix : hour.next;
}

function withDayPart(doc: Doc, end: number): number {
  if (doc.word(end) === 'in' && doc.word(end + 1) === 'the' && partOfDay.test(doc.word(end + 2)))
    return end + 3;
  return doc.word(end) === 'at' && doc.word(end + 1) === 'night' ? end + 2 : end;
}

/** In a range, a certain time makes the number on the other side a time too: "2 and 4 pm", "9 to noon". */
function claimPartner(doc: Doc, from: number, end: number): void {
  const link = doc.word(from - 1);
  if (/^(?:and|to|-|–|or|until|till)$/.test(link)) {
    for (let at = from - 2; at >= Math.max(0, from - 5); at--) {
      const hour = hourAt(doc, at);
      const stop = hour && (minuteAt(doc, hour.next) ?? hour.next);
      if (
        hour &&
        stop === from - 1 &&
        hour.value >= 1 &&
        hour.value <= 12 &&
        doc.isFree(at, stop)
      ) {
        const isInside = /^(?:twenty|thirty|forty|fifty)$/.test(doc.word(at - 1));
        if (!isInside && !/^(?:percent)$/.test(doc.word(at - 1))) doc.claim('TIME', at, stop);
        break;
      }
    }
  }
  if (/^(?:to|-|–|until|till|and|or)$/.test(doc.word(end))) {
    const hour = hourAt(doc, end + 1);
    const isRange = doc.word(end) !== 'and' || doc.word(from - 1) === 'between';
    if (hour && isRange && hour.value <= 12 && hour.value >= 1) {
      const stop = minuteAt(doc, hour.next) ?? hour.next;
      const suffix = suffixEnd(doc, stop);
      if (!isCounted(doc, suffix || stop))
        doc.claim('TIME', end + 1, withDayPart(doc, suffix || stop));
    }
  }
}

/** True if "three thirty" stands after a preposition, or alone beside a date. */
function isTimePlace(doc: Doc, i: number, end: number): boolean {
  if (isCounted(doc, end)) return false;
  const before = doc.word(i - 1);
  if (
    /^(?:at|by|until|till|around|before|after|from|between|since|about|say|and|to|or)$/.test(before)
  )
    return true;
  if (/^(?:is|it's|leaves|starts|opens|closes|for)$/.test(before)) return hasTimeTalk(doc);
  return doc.isTaken(i - 1) && doc.tokens[i - 1]?.kind !== 'mark' && hasTimeTalk(doc);
}

const timeTalk =
  /^(?:appointment|flight|train|bus|leaves|departs|arrives|arrive|opens?|closes?|start|starts|meeting|pickup|pick|morning|afternoon|evening|tonight|tomorrow|today|slot|booked|come|coming|schedule|scheduled|monday|tuesday|wednesday|thursday|friday|saturday|sunday|june|july|o'clock|time|class|show|check-in|table)$/;
const talkCache = new WeakMap<Doc, boolean>();

/** True if the text mentions times anywhere. The answer is computed once per text. */
function hasTimeTalk(doc: Doc): boolean {
  let known = talkCache.get(doc);
  if (known === undefined)
    talkCache.set(doc, (known = doc.tokens.some((token) => timeTalk.test(token.lower))));
  return known;
}

/** True for a bare hour ("at five", "after 6", "between two and four") with no noun behind it that it could count. */
function isHourPlace(doc: Doc, i: number, end: number): boolean {
  const before = doc.word(i - 1);
  if (!leads.has(before) || isCounted(doc, end)) return false;
  const token = doc.tokens[end];
  const closes =
    !token ||
    (token.kind === 'mark' && !/[%/:-]/.test(token.text)) ||
    /^(?:and|or|to|on|tomorrow|today|tonight|if|because|works|please|so|but|then|when|until|till|sharp|is|was|would|for|in|every|this|next|monday|tuesday|wednesday|thursday|friday|saturday|sunday|i|we|you|they|he|she|with|yesterday|latest|though|instead|okay|thanks|at|from)$/.test(
      token.lower,
    );
  if (!closes) return false;
  switch (before) {
    case 'at':
    case 'by':
      return (
        token?.lower !== 'of' &&
        !/^(?:stuck|stopped|stops|stays|arrive at|turned|look|looking|down|increased|reduced|set)$/.test(
          doc.word(i - 2),
        ) &&
        doc.word(i - 2) !== 'one'
      );
    case 'until':
    case 'till':
      return true;
    case 'around':
    case 'after':
    case 'before':
    case 'since':
      return (
        (before === 'around' && doc.word(i - 2) === 'at') ||
        isFollowedByTimeTalk(doc, end) ||
        hasTimeTalk(doc) ||
        doc.word(i - 2) === 'day' ||
        /^(?:call|ring|come|available|home|free|deliver|reach)$/.test(nearVerb(doc, i))
      );
    case 'between':
      return isPairOfHours(doc, i, end);
    case 'from':
      return (
        doc.word(end) === 'to' &&
        hourAt(doc, end + 1) !== undefined &&
        !isCounted(doc, hourAt(doc, end + 1)?.next ?? end) &&
        (hasTimeTalk(doc) || suffixEnd(doc, hourAt(doc, end + 1)?.next ?? 0) > 0)
      );
    case 'and':
    case 'to':
    case 'or':
      // The other end of this range is already a time.
      return (
        doc.isTaken(i - 2) &&
        doc.spanEndingAt(i - 2)?.type === 'TIME' &&
        (before !== 'and' || isBetween(doc, i))
      );
    default:
      return false;
  }
}

function nearVerb(doc: Doc, i: number): string {
  for (let at = i - 2; at >= Math.max(0, i - 7); at--)
    if (/^(?:call|ring|come|available|home|free|deliver|reach)$/.test(doc.word(at)))
      return doc.word(at);
  return '';
}

function isBetween(doc: Doc, i: number): boolean {
  for (let at = i - 1; at >= Math.max(0, i - 8); at--)
    if (/^(?:between|at|either)$/.test(doc.word(at))) return true;
  return false;
}

function isPairOfHours(doc: Doc, i: number, end: number): boolean {
  if (doc.word(end) !== 'and' && doc.word(end) !== '-') return false;
  const second = hourAt(doc, end + 1);
  if (!second) return /^(?:noon|midnight|midday)$/.test(doc.word(end + 1));
  const stop = minuteAt(doc, second.next) ?? second.next;
  return second.value <= 12 && !isCounted(doc, suffixEnd(doc, stop) || stop);
}

function isFollowedByTimeTalk(doc: Doc, end: number): boolean {
  return /^(?:in|tomorrow|today|tonight|on|sharp|this|every)$/.test(doc.word(end));
}

const counted = new Set(
  'percent % of minutes minute hours hour days day weeks week months month years year times time people dollars pounds euros cents business working degrees points pages other more different items calls miles bucks quid gigs gb megabits lights least most point second seconds separate pm. st street avenue road lane drive hundred thousand million stars inches feet euro pound dollar p pence kids children'.split(
    ' ',
  ),
);

function isCounted(doc: Doc, end: number): boolean {
  if (counted.has(doc.word(end))) return true;
  const next = doc.tokens[end];
  return next?.kind === 'number' || (next !== undefined && !next.spaced && next.kind === 'word');
}
