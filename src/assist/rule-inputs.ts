import type { CallRules } from './call-rules.ts';
import type { HeardFinal } from './heard-text.ts';
import type { Hit } from './hits.ts';

/** Without a note of its arrival, a final is taken to have come so long after its last word. */
const heardLateS = 0.7;
/** No sentence is longer; a final that claims to be would be walked through all the same. */
const maxSpokenS = 120;

/**
 * When an input reached the rules, in seconds of the call. Two inputs of a call never have the same. Calls of older
 * versions have none.
 */
type ArrivedAt = { heard?: number | undefined };

/** One thing that a call brought to the rules. */
export type RuleInput = ArrivedAt &
  (
    | ({ kind: 'final'; isBlind?: boolean } & HeardFinal)
    | { kind: 'sentiment'; role: string; end: number; sentiment: string; utteranceId?: string }
    | { kind: 'entity'; role: string; start: number; end: number; type: string; utteranceId: string } // prettier-ignore
    | { kind: 'dtmf'; end: number }
    /** Somebody speaks until then, and there is no final yet. */
    | { kind: 'speaking'; end: number }
    /** An article asked for its place among the hints. */
    | { kind: 'card'; end: number }
    /** The language of the call is another one from now on. */
    | { kind: 'language'; end: number; language: string }
    /** The call is over; nothing that depends on time is judged any more. */
    | { kind: 'hang-up'; end: number }
    | { kind: 'wait'; end: number }
  );

/** The inputs in the order in which they reached the rules, as far as that is known. */
export function inOrder(inputs: readonly RuleInput[]): RuleInput[] {
  return [...inputs, ...inputs.flatMap(underWay)].toSorted((one, other) => arrivalOf(one) - arrivalOf(other)); // prettier-ignore
}

/** Partials, where none were noted: they say that somebody is speaking before the final comes. */
function underWay(input: RuleInput): RuleInput[] {
  if (input.kind !== 'final' || input.heard !== undefined) return [];
  const seconds = Math.min(maxSpokenS, Math.max(0, input.end - input.start));
  return Array.from({ length: Math.ceil(seconds * 2) }, (_, half) => ({
    kind: 'speaking',
    end: input.start + half / 2,
  }));
}

export function arrivalOf({ heard, end }: RuleInput): number {
  return heard ?? end + heardLateS;
}

/** Brings an input to the rules. */
export function heardBy(rules: CallRules, input: RuleInput): Hit[] {
  switch (input.kind) {
    case 'final':
      return rules.heard(input);
    case 'sentiment':
      return rules.felt(input.role, input.end, input.sentiment);
    case 'entity': {
      const { role, type, start, end, utteranceId } = input;
      return rules.entity(role, type, { utterance_id: utteranceId, start, end });
    }
    case 'dtmf':
      return rules.pressed(input.end);
    case 'speaking':
      rules.speaking(input.end);
      return [];
    case 'card':
      rules.cardAsked(input.end);
      return [];
    case 'language':
      rules.spokenIn(input.language);
      return [];
    case 'hang-up':
      rules.hungUp();
      return [];
    case 'wait':
      return [];
  }
}
