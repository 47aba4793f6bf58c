import type { CallEventData, Role, Turn } from '../../protocol/events.ts';

/** Figures of the conversation, computed from the finals on the call's one clock. Pure. */
type Statistics = Pick<
  CallEventData<'call.ended'>,
  'duration' | 'talk' | 'talk_ratio' | 'interruptions' | 'longest_monologue' | 'dead_air'
>;

/** Silence of both parties that is shorter than this is a pause of any conversation, not dead air. */
export const deadAirFromS = 3;

/** Speech that starts this long before the other's turn ends cut in on it; less is a quick answer. */
const interruptsFromS = 0.3;

/** A turn shorter than this is a `mhm`: it neither interrupts the other nor ends a monologue. */
const backchannelS = 0.7;

type Stretch = { start: number; end: number };
type PerRole = Record<Role, number>;

export function statisticsOf(turns: readonly Turn[], durationS: number): Statistics {
  const ordered = turns
    .filter((turn) => turn.end > turn.start)
    .toSorted((a, b) => a.start - b.start);
  const talk = perRole((role) => lengthOf(merged(ordered.filter((turn) => turn.role === role))));
  const all = talk.customer + talk.agent;
  return {
    duration: rounded(durationS),
    talk,
    talk_ratio: perRole((role) => (all === 0 ? 0 : rounded(talk[role] / all))),
    interruptions: interruptionsOf(ordered),
    longest_monologue: longestMonologues(ordered),
    dead_air: deadAir(merged(ordered), durationS),
  };
}

function interruptionsOf(turns: readonly Turn[]): PerRole {
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

/** From one's first word to one's last before the other says more than a backchannel. */
function longestMonologues(turns: readonly Turn[]): PerRole {
  const longest: PerRole = { customer: 0, agent: 0 };
  let current: (Stretch & { role: Role }) | undefined;
  for (const turn of turns) {
    if (current !== undefined && current.role !== turn.role && turn.end - turn.start < backchannelS)
      continue;
    if (current?.role === turn.role) current.end = Math.max(current.end, turn.end);
    else current = { role: turn.role, start: turn.start, end: turn.end };
    longest[current.role] = Math.max(longest[current.role], rounded(current.end - current.start));
  }
  return longest;
}

function deadAir(speech: readonly Stretch[], durationS: number): Statistics['dead_air'] {
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
  return { total: rounded(total), longest: rounded(longest), count };
}

/** Expects the spans in order of their starts. */
function merged(spans: readonly Stretch[]): Stretch[] {
  const joined: Stretch[] = [];
  for (const { start, end } of spans) {
    const last = joined.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else joined.push({ start, end });
  }
  return joined;
}

function lengthOf(spans: readonly Stretch[]): number {
  return rounded(spans.reduce((sum, span) => sum + span.end - span.start, 0));
}

function perRole(of: (role: Role) => number): PerRole {
  return { customer: of('customer'), agent: of('agent') };
}

const rounded = (value: number): number => Math.round(value * 1_000) / 1_000;
