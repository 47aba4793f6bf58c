import type { Course } from './call-course.ts';
import { round3 } from '../lib/round.ts';
import { isInDoubt, type Cause } from './hits.ts';
import type { PhraseMatch } from './phrase-matcher.ts';
import type { TriggerWatch } from './rule-set.ts';

/** A hit quotes at most so much of a sentence that was meant. */
const mostMatchedLetters = 300;

/** One thing that happened in a call, as rules see it. */
export type Seen = { cause: Cause } & (
  | {
      kind: 'final';
      role: string;
      matches: ReadonlyMap<number, PhraseMatch>;
      matched: (match: PhraseMatch) => string;
      /** Triggers `means` that the sentence meets, with their likelihood. */
      meant: ReadonlyMap<number, number>;
      text: string;
    }
  | { kind: 'sentiment'; role: string }
  | { kind: 'entity'; role: string; type: string }
  | { kind: 'dtmf' }
  | { kind: 'tick' }
  | { kind: 'tag'; tag: string }
  | { kind: 'step'; step: string }
);

/** The memory of one trigger in a call. */
export type WatchState = { times: number[]; last?: Cause | undefined; heldS?: number | undefined };

type WatchContext = {
  states: Map<number, WatchState>;
  course: Course;
  nowS: number;
  stepsDone: ReadonlySet<string>;
};

/** The cause if the trigger is met by this input, else undefined. It notes what the trigger needs to remember. */
export function seen(watch: TriggerWatch, input: Seen, around: WatchContext): Cause | undefined {
  switch (watch.on) {
    case 'phrase': {
      const match = input.kind === 'final' ? input.matches.get(watch.phrase) : undefined;
      if (match === undefined || input.kind !== 'final') return undefined;
      return { ...input.cause, matched: input.matched(match), score: match.score };
    }
    case 'means': {
      const score = input.kind === 'final' ? input.meant.get(watch.means) : undefined;
      if (score === undefined || input.kind !== 'final') return undefined;
      const matched = input.text.slice(0, mostMatchedLetters);
      return { ...input.cause, matched, score: round3(score), by: 'meaning' };
    }
    case 'any': {
      // Each part is asked, because some of them remember.
      const causes = watch.parts.map((part) => seen(part, input, around));
      // A phrase, or a meaning that is beyond doubt, allows more than one in doubt.
      const met = causes.filter((cause) => cause !== undefined);
      return met.find((cause) => !isInDoubt(cause)) ?? met[0];
    }
    case 'all':
      return allSeen(watch, input, around);
    case 'not':
      if (seen(watch.part, input, around) !== undefined)
        stateOf(watch, around).times.push(around.nowS);
      return undefined;
    case 'then': {
      const state = stateOf(watch, around);
      const first = state.last;
      const next = seen(watch.next, input, around);
      const begun = seen(watch.first, input, around);
      if (begun !== undefined) state.last = begun;
      const isInTime = first !== undefined && around.nowS - first.end <= watch.within;
      if (next === undefined || !isInTime) return undefined;
      if (begun === undefined) state.last = undefined;
      return next;
    }
    case 'count': {
      const cause = seen(watch.of, input, around);
      if (cause === undefined) return undefined;
      const state = stateOf(watch, around);
      state.times = [...state.times, around.nowS]
        .filter((at) => at >= around.nowS - watch.over)
        .slice(-50);
      if (state.times.length < watch.times) return undefined;
      state.times = [];
      return cause;
    }
    case 'plain':
      return plainSeen(watch, input, around);
  }
}

/** Every part was met at some time of the call; a `not` was never met. The last part that came is the cause. */
function allSeen(
  watch: Extract<TriggerWatch, { on: 'any' | 'all' }>,
  input: Seen,
  around: WatchContext,
): Cause | undefined {
  let now: Cause | undefined;
  for (const part of watch.parts) {
    const cause = seen(part, input, around);
    if (cause === undefined) continue;
    stateOf(part, around).last = cause;
    now = cause;
  }
  if (now === undefined) return undefined;
  const isMet = watch.parts.every((part) =>
    part.on === 'not'
      ? stateOf(part, around).times.length === 0
      : stateOf(part, around).last !== undefined,
  );
  return isMet ? now : undefined;
}

function plainSeen(
  watch: Extract<TriggerWatch, { on: 'plain' }>,
  input: Seen,
  around: WatchContext,
): Cause | undefined {
  const { trigger } = watch;
  const { course, nowS } = around;
  const { cause } = input;
  if ('entity' in trigger) {
    const { role, type } = trigger.entity;
    const isIt = input.kind === 'entity' && input.type === type && (role === undefined || role === input.role); // prettier-ignore
    return isIt ? cause : undefined;
  }
  if ('sentiment' in trigger) {
    const { role, is, times, course: way, by, over, min_utterances } = trigger.sentiment;
    if (input.kind !== 'sentiment' || input.role !== role) return undefined;
    if (is !== undefined)
      return course.lastInARow(role, is === 'negative' ? -1 : 1) >= times ? cause : undefined;
    const change = course.change(role, nowS - over, min_utterances);
    return (way === 'falling' ? -change : change) >= by ? cause : undefined;
  }
  if ('tag' in trigger)
    return input.kind === 'tag' && input.tag === trigger.tag ? cause : undefined;
  if ('step' in trigger)
    return input.kind === 'step' && input.step === trigger.step.step ? cause : undefined;
  if ('dtmf' in trigger) {
    const { presses, over } = trigger.dtmf;
    const isIt = input.kind === 'dtmf' && course.pressesSince(nowS - over) >= presses;
    return isIt ? cause : undefined;
  }
  if ('overlap' in trigger) {
    const { by, times, over } = trigger.overlap;
    const isIt = input.kind === 'final' && input.role === by && course.overlapsSince(by, nowS - over) >= times; // prettier-ignore
    return isIt ? cause : undefined;
  }
  if (input.kind !== 'tick') return undefined;
  return tickSeen(watch, trigger, input.cause, around);
}

function tickSeen(
  watch: TriggerWatch,
  trigger: Extract<TriggerWatch, { on: 'plain' }>['trigger'],
  cause: Cause,
  around: WatchContext,
): Cause | undefined {
  const { course, nowS, stepsDone } = around;
  const state = stateOf(watch, around);
  if ('silence' in trigger) {
    const last = course.lastSpeechS;
    if (last === undefined || nowS - last < trigger.silence.longer_than) return undefined;
    // One silence is told once.
    if (state.heldS === last) return undefined;
    state.heldS = last;
    return { start: last, end: nowS };
  }
  if ('elapsed' in trigger) return nowS === Math.ceil(trigger.elapsed.at) ? cause : undefined;
  if ('missing' in trigger) {
    const { step, at } = trigger.missing;
    return nowS === Math.ceil(at) && !stepsDone.has(step) ? cause : undefined;
  }
  if ('talk' in trigger) {
    const { role, share_above, over } = trigger.talk;
    if (nowS < over || nowS % 5 !== 0) return undefined;
    const share = course.shareSince(role, nowS - over);
    return share !== undefined && share > share_above ? cause : undefined;
  }
  return undefined;
}

function stateOf(watch: TriggerWatch, { states }: WatchContext): WatchState {
  let state = states.get(watch.id);
  if (state === undefined) {
    state = { times: [] };
    states.set(watch.id, state);
  }
  return state;
}
