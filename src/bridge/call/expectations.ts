import { askedFor } from '../../language/entities/asked-secrets.ts';
import type { CueKind } from '../../language/entities/cue-kinds.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ExpectRequest } from '../../protocol/expect-request.ts';
import type { ExpectedAnswer } from '../../protocol/session-hints.ts';
import { Questions } from '../events/questions.ts';
import type { CallLeg } from './call-leg.ts';

/** A leg, as far as an expectation needs it. */
type ExpectingLeg = Pick<CallLeg, 'isDone' | 'roleOf' | 'positionS'> & {
  readonly record: Pick<CallLeg['record'], 'id' | 'channels'>;
  readonly audio: Pick<CallLeg['audio'], 'expect'>;
};

type HeardTurn = { channel: number; text: string; start: number; end: number };

/** A speaking party: one channel of one leg. */
type HeardParty = { leg: ExpectingLeg; channel: number };

const codes: ReadonlySet<CueKind> = new Set(['id', 'passport', 'license', 'vehicle', 'health', 'bank']); // prettier-ignore
const dates: ReadonlySet<CueKind> = new Set(['birth', 'expiry']);
const spelling = /\b(?:spell\w*|letter by letter|(?:last|family) name|surname)\b/i;
/** Three digits or letters in a row count as an answer. After that the party is no longer expected to answer. */
const answered =
  /(?:(?:\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|\p{L})\b|\d)[\s,.-]*){3,}/iu;

/**
 * The answer that each party of a call is expected to give: from the last question of the other party, or from a
 * request of somebody who knows it. It only affects the recognition of that party's next words, and is kept only in
 * memory.
 */
export class Expectations {
  readonly #clock: Clock;
  readonly #legs: () => readonly ExpectingLeg[];
  readonly #questions = new Questions();
  /** For each party, the second of the call up to which the questions to it are answered. */
  readonly #answeredS = new Map<string, number>();
  /** The answer that was requested through the API for each party, with the function that cancels the request. */
  readonly #ordered = new Map<string, { answer: ExpectedAnswer; cancel: () => void }>();

  /** The expectation that each party's recogniser was last given. */
  readonly #told = new Map<string, ExpectedAnswer | undefined>();

  constructor(clock: Clock, legs: () => readonly ExpectingLeg[]) {
    this.#clock = clock;
    this.#legs = legs;
  }

  /** Takes a final of one party. It may answer a question, and it may be a question to the others. */
  heard(leg: ExpectingLeg, { channel, text, start, end }: HeardTurn): void {
    const speaker = nameOf({ leg, channel });
    if (answered.test(text)) {
      this.#answeredS.set(speaker, end);
      this.#forget(speaker);
    }
    this.#questions.add({ speaker, text, start, end });
    for (const party of this.#parties()) this.#tell(party, end);
  }

  /**
   * Takes what a party has said so far of an utterance. An open question counts at once, because a quick answer begins
   * before the question's final. Only its final can end an expectation.
   */
  saying(leg: ExpectingLeg, { channel, text, start }: Omit<HeardTurn, 'end'>): void {
    const speaker = nameOf({ leg, channel });
    for (const party of this.#parties()) {
      const name = nameOf(party);
      const answeredS = this.#answeredS.get(name) ?? -Infinity;
      if (name === speaker || this.#ordered.has(name) || start < answeredS) continue;
      const asked = answerTo([text.slice(-longestOpen)]);
      if (asked === undefined || this.#told.get(name) === asked) continue;
      this.#told.set(name, asked);
      party.leg.audio.expect(party.channel, asked);
    }
  }

  /** Takes a requested expectation from an API client. Returns false if the call has no party with that role. */
  order({ answer, role, seconds }: ExpectRequest): boolean {
    const parties = this.#parties().filter(({ leg, channel }) => leg.roleOf(channel) === role);
    for (const party of parties) {
      const name = nameOf(party);
      this.#forget(name);
      if (answer === null) this.#answeredS.set(name, party.leg.positionS());
      else {
        const cancel = this.#clock.after(seconds * 1_000, () => {
          this.#ordered.delete(name);
          this.#tell(party, party.leg.positionS());
        });
        this.#ordered.set(name, { answer, cancel });
      }
      this.#tell(party, party.leg.positionS());
    }
    return parties.length > 0;
  }

  /** Cancels all remaining waits when the call is over. */
  close(): void {
    for (const name of [...this.#ordered.keys()]) this.#forget(name);
  }

  #tell(party: HeardParty, nowS: number): void {
    const { leg, channel } = party;
    if (leg.isDone) return;
    const expected = this.#expectedOf(party, nowS);
    this.#told.set(nameOf(party), expected);
    leg.audio.expect(channel, expected);
  }

  #expectedOf(party: HeardParty, nowS: number): ExpectedAnswer | undefined {
    const speaker = nameOf(party);
    const ordered = this.#ordered.get(speaker);
    if (ordered) return ordered.answer;
    if (this.#isAnswered(speaker)) return undefined;
    const role = party.leg.roleOf(party.channel);
    const turns = this.#questions.before({ speaker, role, start: nowS, end: Infinity });
    return answerTo(turns.slice(-turnsOfQuestion));
  }

  /** True if nobody has asked anything since the party's answer. */
  #isAnswered(speaker: string): boolean {
    const answeredS = this.#answeredS.get(speaker);
    return answeredS !== undefined && !this.#questions.isSince(speaker, answeredS);
  }

  #forget(name: string): void {
    this.#ordered.get(name)?.cancel();
    this.#ordered.delete(name);
  }

  #parties(): HeardParty[] {
    return this.#legs()
      .filter(({ isDone }) => !isDone)
      .flatMap((leg) =>
        Array.from({ length: leg.record.channels }, (_, channel) => ({ leg, channel })),
      );
  }
}

/** At most this many characters at the end of an open utterance are examined. */
const longestOpen = 300;
/** Number of turns that are examined: the question, and short words such as "mm-hm" or "go on" after it. */
const turnsOfQuestion = 3;

/** The kind of answer that the last turns of the other party ask for. */
export function answerTo(turns: readonly string[]): ExpectedAnswer | undefined {
  const last = turns.at(-1) ?? '';
  const asksToSpell = spelling.test(last) && /\?|\b(?:please|spell)\b/i.test(last);
  if (asksToSpell && askedFor([last]).length === 0) return 'letters';
  // "The e-mail of your account?" names two kinds, and the first word says which one is meant.
  if (mail.test(last) && /\?|\b(?:please|your|what|which|spell)\b/i.test(last)) return 'email';
  // A new question, for something that is no number of its own.
  if (askedFor([last]).length === 0) {
    if (amounts.test(last)) return 'amount';
    if (days.test(last)) return 'date';
  }
  const kinds = askedFor(turns);
  if (kinds.some((kind) => dates.has(kind))) return 'date';
  if (kinds.some((kind) => codes.has(kind))) return 'code';
  return kinds.length > 0 ? 'digits' : undefined;
}

const mail = /\be-?mail\b/i;
const amounts =
  /\b(?:how much (?!longer|time)|(?:what|which) (?:\w+ ){0,2}(?:amount|total|price|sum|balance|fee)\b|the exact amount\b)/i;
const days =
  /\b(?:(?:what|which) (?:date|day)|when (?:was|were|did|is|does|do|would|will|should|can|are))\b/i;

function nameOf({ leg, channel }: HeardParty): string {
  return `${leg.record.id} ${String(channel)}`;
}
