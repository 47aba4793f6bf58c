import { round3 } from '../../lib/round.ts';
import type { CallEventData, Party, Turn } from '../../protocol/events.ts';
import {
  incompleteOf,
  tellsOfTheWhole,
  within,
  type GapSpan,
  type Span,
} from '../records/incomplete.ts';

/** Figures of the conversation, computed from the finals on the call's one clock. Pure. */
type Ended = CallEventData<'call.ended'>;
type Figure = 'talk' | 'talk_ratio' | 'interruptions' | 'longest_monologue' | 'dead_air';
type Statistics = Pick<Ended, 'duration' | Figure> & { dead_air: NonNullable<Ended['dead_air']> };

/** The statistics of a call with too much unheard speech: none, because the figures would be wrong. */
export const noStatistics = {
  talk: null,
  talk_ratio: null,
  interruptions: null,
  longest_monologue: null,
  dead_air: null,
} as const satisfies Record<Figure, null>;

/** From this length on, silence of both parties counts as dead air. Shorter silence is a normal pause. */
export const deadAirFromS = 3;

/**
 * Speech that starts this long before the end of the other's turn is an interruption. With less overlap it is a quick
 * answer.
 */
const interruptsFromS = 0.3;

/** A shorter turn is a backchannel such as "mhm". It neither interrupts the other party nor ends a monologue. */
const backchannelS = 0.7;

type PerRole = Record<Party, number>;
type PartyTurn = Turn & { role: Party };

/**
 * Computes the statistics. `unheard` lists stretches of the call in which the speaker is unknown. They count neither as
 * talk nor as silence, and they end a monologue.
 */
export function statisticsOf(
  turns: readonly Turn[],
  durationS: number,
  unheard: readonly Span[] = [],
): Statistics {
  const holes = within(unheard, durationS);
  const ordered = turns
    .flatMap((turn) => outside(turn, holes))
    .filter((turn) => turn.end > turn.start)
    .toSorted((a, b) => a.start - b.start);
  const common = {
    duration: round3(durationS),
    dead_air: deadAir(within([...ordered, ...holes], Infinity), durationS),
  };
  if (!ordered.every(isOfParty)) return { ...noStatistics, ...common };
  const talk = perRole((role) =>
    lengthOf(
      within(
        ordered.filter((turn) => turn.role === role),
        Infinity,
      ),
    ),
  );
  const all = talk.customer + talk.agent;
  return {
    ...common,
    talk,
    talk_ratio: perRole((role) => (all === 0 ? 0 : round3(talk[role] / all))),
    interruptions: interruptionsOf(ordered),
    longest_monologue: longestMonologues(ordered, holes),
  };
}

function isOfParty(turn: Turn): turn is PartyTurn {
  return turn.role !== 'mixed';
}

/** Returns the parts of a turn that lie outside all holes. */
function outside(turn: Turn, holes: readonly Span[]): Turn[] {
  let rest = [turn];
  for (const { start, end } of holes)
    rest = rest.flatMap((part) =>
      end <= part.start || start >= part.end
        ? [part]
        : [
            { ...part, end: Math.max(part.start, start) },
            { ...part, start: Math.min(part.end, end) },
          ],
    );
  return rest;
}

type HeardCall = {
  turns: readonly Turn[];
  gaps: readonly GapSpan[];
  pauses: readonly Span[];
  length: { durationS: number };
};

/** Summarises the missing audio, and computes statistics for the part of the conversation that was heard. */
export function talkOf({ turns, gaps, pauses, length: { durationS } }: HeardCall) {
  return {
    ...statisticsOf(turns, durationS, [...gaps, ...pauses]),
    ...(tellsOfTheWhole(gaps, durationS) ? {} : noStatistics),
    incomplete: incompleteOf(gaps, durationS),
  };
}

function interruptionsOf(turns: readonly PartyTurn[]): PerRole {
  const count: PerRole = { customer: 0, agent: 0 };
  const lastEnd: PerRole = { customer: 0, agent: 0 };
  for (const turn of turns) {
    const other = turn.role === 'customer' ? 'agent' : 'customer';
    const cutIn = lastEnd[other] - turn.start >= interruptsFromS;
    if (cutIn && turn.end - turn.start >= backchannelS) count[turn.role]++;
    lastEnd[turn.role] = Math.max(lastEnd[turn.role], turn.end);
  }
  return count;
}

/** A monologue lasts from a party's first word to its last before the other says more than a backchannel. */
function longestMonologues(turns: readonly PartyTurn[], holes: readonly Span[]): PerRole {
  const longest: PerRole = { customer: 0, agent: 0 };
  let current: (Span & { role: Party }) | undefined;
  for (const turn of turns) {
    const begun = current?.start ?? turn.start;
    if (holes.some(({ start }) => start >= begun && start < turn.start)) current = undefined;
    if (current !== undefined && current.role !== turn.role && turn.end - turn.start < backchannelS)
      continue;
    if (current?.role === turn.role) current.end = Math.max(current.end, turn.end);
    else current = { role: turn.role, start: turn.start, end: turn.end };
    longest[current.role] = Math.max(longest[current.role], round3(current.end - current.start));
  }
  return longest;
}

function deadAir(speech: readonly Span[], durationS: number): NonNullable<Ended['dead_air']> {
  let [total, longest, count, at] = [0, 0, 0, 0];
  for (const span of [...speech, { start: durationS, end: durationS }]) {
    const silence = span.start - at;
    if (silence >= deadAirFromS) {
      total += silence;
      longest = Math.max(longest, silence);
      count++;
    }
    at = Math.max(at, span.end);
  }
  return { total: round3(total), longest: round3(longest), count };
}

function lengthOf(spans: readonly Span[]): number {
  return round3(spans.reduce((sum, span) => sum + span.end - span.start, 0));
}

function perRole(of: (role: Party) => number): PerRole {
  return { customer: of('customer'), agent: of('agent') };
}
