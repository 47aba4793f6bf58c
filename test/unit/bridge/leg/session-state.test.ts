import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  heedsAck,
  isAsking,
  isFinishing,
  mayAsk,
  nextOf,
  noSession,
  step,
  type LegFacts,
  type SessionsEffect,
  type SessionsInput,
  type SessionsState,
} from '../../../../src/bridge/leg/session-state.ts';

const made = { id: 'one', url: 'ws://service/one', service: 'node' };
const next = { id: 'two', url: 'ws://service/two', service: 'node' };
const handOver = { cut: 800, next };
const finishing = { at: 'finishing', finalsMs: 10_000 } as const;
const lastWords = { at: 'last-words', finalsMs: 10_000 } as const;

type Going = Exclude<SessionsState, { at: 'over' }>;
type Shared = Partial<Pick<Going, 'request' | 'barren' | 'isOutdated' | 'end'>>;

const without = (shared: Shared = {}): SessionsState => ({ ...noSession, ...shared });
const hearing = (shared: Shared & { isOpen?: boolean } = {}, sessionId = 'one'): SessionsState => ({
  ...noSession,
  isOpen: false,
  ...shared,
  at: 'hearing',
  sessionId,
});
const handingOver = (shared: Shared & { isOpen?: boolean } = {}): SessionsState => ({
  ...noSession,
  isOpen: false,
  ...shared,
  at: 'handing-over',
  sessionId: 'one',
  handOver,
});
const inDoubt = (shared: Shared = {}, over?: typeof handOver): SessionsState => ({
  ...noSession,
  ...shared,
  at: 'in-doubt',
  sessionId: 'one',
  handOver: over,
});
const over: SessionsState = { at: 'over' };

/** Audio waits: 1,000 bytes are journalled, 500 are settled, one session was had. */
const facts: LegFacts = {
  settled: 500,
  writtenTo: 1_000,
  isSettled: false,
  sessions: 1,
  maxSessions: 10,
  recording: false,
};
const first = { sessions: 0 };
const usedUp = { sessions: 10 };
const settled = { settled: 1_000, isSettled: true };
const recorded = { recording: true };

const ask: SessionsEffect[] = [
  { do: 'tell', state: { at: 'opening' } },
  { do: 'changed' },
  { do: 'ask' },
];
const start: SessionsEffect = { do: 'start', made };
const startNext: SessionsEffect = { do: 'start', made: next };
const idle: SessionsEffect = { do: 'idle' };
const changed: SessionsEffect = { do: 'changed' };
const read: SessionsEffect = { do: 'read-record', sessionId: 'one' };
const journalOnly: SessionsEffect = { do: 'tell', state: { at: 'journal-only' } };
const refusedTold: SessionsEffect = { do: 'tell', state: { at: 'waiting', cause: 'refused' } };
const retry = (ms: number): SessionsEffect => ({ do: 'retry-after', ms });
const hopeless = (cause: 'sessions' | 'refused'): SessionsEffect => ({ do: 'hopeless', cause });
const deadline: SessionsEffect = { do: 'await-deadline', ms: 60_000 };
const finals: SessionsEffect = { do: 'await-finals', ms: 10_000 };

const needed: SessionsInput = { type: 'needed' };
const retryDue: SessionsInput = { type: 'retry-due' };
const created: SessionsInput = {
  type: 'answered',
  answer: { outcome: 'created', made },
  orphans: 0,
};
const createdNext: SessionsInput = {
  type: 'answered',
  answer: { outcome: 'created', made: next },
  orphans: 0,
};
const refused: SessionsInput = { type: 'answered', answer: { outcome: 'refused' }, orphans: 0 };
const aborted: SessionsInput = { type: 'answered', answer: { outcome: 'aborted' }, orphans: 0 };
const waiting: SessionsInput = { type: 'waiting', cause: 'busy' };
const opened: SessionsInput = { type: 'link', sessionId: 'one', link: 'open' };
const cutOff: SessionsInput = { type: 'link', sessionId: 'one', link: 'lost' };
const finish: SessionsInput = { type: 'finish', finalsMs: 10_000, withinMs: 60_000 };
const acknowledged: SessionsInput = { type: 'acknowledged' };
const doubtOver: SessionsInput = { type: 'doubt-over', sessionId: 'one' };
const sessionOver = (
  more: Partial<Extract<SessionsInput, { type: 'session-over' }>> = {},
): SessionsInput => ({
  type: 'session-over',
  sessionId: 'one',
  reason: 'gone',
  wasUseful: true,
  hasSwallowed: true,
  isInDoubt: false,
  ...more,
});

type Transition = [
  name: string,
  from: SessionsState,
  input: SessionsInput,
  leg: Partial<LegFacts>,
  to: SessionsState,
  effects: SessionsEffect[],
];

// One line is one transition.
// prettier-ignore
const asked: Transition[] = [
  ['a new leg asks for its first session', without(), { type: 'begun' }, first, without({ request: 'asked' }), ask],
  ['a leg goes on with the session that a killed process left', without(), { type: 'begun', left: made }, {}, hearing(), [{ do: 'resume', left: made }]],
  ['audio that no session hears asks for one', without(), needed, {}, without({ request: 'asked' }), ask],
  ['one request at a time', without({ request: 'asked' }), needed, {}, without({ request: 'asked' }), []],
  ['a session that hears is enough', hearing(), needed, {}, hearing(), []],
  ['nothing is asked for while a record is awaited', inDoubt(), needed, {}, inDoubt(), []],
  ['nothing is asked for during the pause after a refusal', without({ request: 'refused' }), needed, {}, without({ request: 'refused' }), []],
  ['nothing is asked for while everything is acknowledged', without(), needed, settled, without(), []],
  ['a leg without audio asks for its first session', without(), needed, { ...first, ...settled }, without({ request: 'asked' }), ask],
  ['a leg that ended without audio asks for none', without({ end: finishing }), needed, { ...first, ...settled }, without({ end: finishing }), []],
  ['a leg that used up its sessions is journalled only', without(), needed, usedUp, without(), [journalOnly]],
  ['and has no hope once it is over', without({ end: finishing }), needed, usedUp, without({ end: finishing }), [journalOnly, hopeless('sessions')]],
  ['a refused request is asked again after the pause', without({ request: 'refused' }), retryDue, {}, without({ request: 'asked' }), ask],
  ['so is one after barren sessions', without({ request: 'pausing', barren: 4 }), retryDue, {}, without({ request: 'asked', barren: 4 }), ask],
  ['a pause that is over changes nothing while a request is under way', without({ request: 'asked' }), retryDue, {}, without({ request: 'asked' }), []],
  ['a pause that is over beside a session ends the pause', hearing({ request: 'refused' }), retryDue, {}, hearing(), []],
  ['a leg that waits says why', without({ request: 'asked' }), waiting, {}, without({ request: 'asked' }), [{ do: 'tell', state: { at: 'waiting', cause: 'busy' } }]],
  ['a leg that is heard does not say that it waits', hearing({ request: 'asked' }), waiting, {}, hearing({ request: 'asked' }), []],
];

// One line is one transition.
// prettier-ignore
const answers: Transition[] = [
  ['a created session hears the leg', without({ request: 'asked' }), created, {}, hearing(), [start, idle]],
  ['a session for a leg that is over is stopped after its last byte', without({ request: 'asked', end: finishing }), created, {}, hearing({ end: finishing }), [start, { do: 'stop-session' }, idle]],
  ['a session of an outdated request is replaced at once', without({ request: 'asked', isOutdated: true }), created, {}, hearing({ request: 'asked' }), [start, { do: 'ask' }, idle]],
  ['a session that comes while a record is awaited hears the leg', inDoubt({ request: 'asked' }), created, {}, hearing(), [start, idle]],
  ['lost answers are looked for, and the session is used', without({ request: 'asked' }), { ...created, orphans: 1 }, {}, hearing(), [{ do: 'cancel-orphans' }, start, idle]],
  ['a second session waits for the cut', hearing({ request: 'asked' }), createdNext, {}, { ...handingOver(), handOver: { cut: 1_000, next } } as SessionsState, [changed, { do: 'cut', position: 1_000 }, idle]],
  ['a second session takes over at once where everything is acknowledged', hearing({ request: 'asked', isOpen: true }), createdNext, settled, hearing({}, 'two'), [changed, { do: 'cut', position: 1_000 }, { do: 'retire-session' }, startNext, idle]],
  ['a third session is not kept', handingOver(), created, {}, handingOver(), [{ do: 'cancel-orphans' }, idle]],
  ['a session that comes after the end is not kept', over, created, {}, over, [{ do: 'cancel-orphans' }]],
  ['lost answers are looked for after the end, too', over, { ...aborted, orphans: 1 }, {}, over, [{ do: 'cancel-orphans' }]],
  ['no answer after the end needs nothing', over, aborted, {}, over, []],
  ['a withdrawn request leaves no session', without({ request: 'asked' }), aborted, {}, without(), [idle]],
  ['a refused request is asked again later', without({ request: 'asked' }), refused, {}, without({ request: 'refused' }), [refusedTold, retry(60_000), idle]],
  ['the same for a recorded leg while the call goes on', without({ request: 'asked' }), refused, recorded, without({ request: 'refused' }), [refusedTold, retry(60_000), idle]],
  ['a recorded leg that is over has no hope', without({ request: 'asked', end: finishing }), refused, recorded, without({ request: 'refused', end: finishing }), [refusedTold, hopeless('refused'), idle]],
  ['a leg with the only copy of its audio waits on', without({ request: 'asked', end: finishing }), refused, {}, without({ request: 'refused', end: finishing }), [refusedTold, retry(60_000), idle]],
  ['a session that an error of ours kept from being opened is asked for again later', hearing(), { type: 'not-begun' }, {}, without({ request: 'refused' }), [refusedTold, retry(60_000), idle]],
  ['the same while another was prepared', handingOver(), { type: 'not-begun' }, {}, without({ request: 'refused' }), [refusedTold, retry(60_000), idle, { do: 'cancel-orphans' }]],
  ['a refused change-over leaves the session as it is', hearing({ request: 'asked' }), refused, {}, hearing({ request: 'refused' }), [retry(60_000), idle]],
];

// One line is one transition.
// prettier-ignore
const lost: Transition[] = [
  ['a session that is gone is replaced', hearing(), sessionOver(), {}, without({ request: 'asked' }), [read, changed, ...ask, idle]],
  ['a session that finished has nothing left to read', hearing({ end: finishing }), sessionOver({ reason: 'finished', hasSwallowed: false }), settled, without({ end: finishing }), [changed, idle]],
  ['bytes in doubt wait for the record', hearing(), sessionOver({ isInDoubt: true }), {}, inDoubt(), [{ ...read, doubtMs: 1_500 }, changed, idle]],
  ['and as long as for the last words once the leg is over', hearing({ end: finishing }), sessionOver({ isInDoubt: true }), {}, inDoubt({ end: finishing }), [{ ...read, doubtMs: 10_000 }, changed, idle]],
  ['bytes in doubt are kept for the next session at a cut', handingOver(), sessionOver({ isInDoubt: true }), {}, inDoubt({}, handOver), [{ ...read, doubtMs: 1_500 }, changed, idle]],
  ['the record is read, and a session is asked for', inDoubt(), doubtOver, {}, without({ request: 'asked' }), [...ask, idle]],
  ['the record has everything: none is asked for', inDoubt(), doubtOver, settled, without(), [idle]],
  ['the record is read, and the next session takes over', inDoubt({}, handOver), doubtOver, {}, hearing({}, 'two'), [startNext, idle]],
  ['the record of an earlier session changes nothing', inDoubt(), { type: 'doubt-over', sessionId: 'zero' }, {}, inDoubt(), []],
  ['a record that comes late changes nothing', hearing(), doubtOver, {}, hearing(), []],
  ['a session lost while the next is asked for leaves the leg to the next', hearing({ request: 'asked' }), sessionOver(), {}, without({ request: 'asked' }), [read, changed, idle]],
  ['a session lost at the cut is followed by the next', handingOver(), sessionOver(), {}, hearing({}, 'two'), [read, changed, startNext, idle]],
  ['an older session that closes is only read', hearing({}, 'two'), sessionOver(), {}, hearing({}, 'two'), [read, changed, idle]],
  ['an older session that finished needs nothing', hearing({}, 'two'), sessionOver({ reason: 'finished', hasSwallowed: false }), {}, hearing({}, 'two'), [changed, idle]],
  ['a session that we dropped is forgotten', hearing(), sessionOver({ reason: 'dropped' }), {}, without(), []],
  ['nothing happens after the end', over, sessionOver(), {}, over, []],
  ['a barren session is replaced at once three times', hearing({ barren: 2 }), sessionOver({ wasUseful: false }), {}, without({ barren: 3, request: 'asked' }), [read, changed, ...ask, idle]],
  ['and after a pause from then on', hearing({ barren: 3 }), sessionOver({ wasUseful: false }), {}, without({ barren: 4, request: 'pausing' }), [read, changed, expect.objectContaining({ do: 'retry-after' }) as SessionsEffect, idle]],
  ['a useful session ends the count', hearing({ barren: 3 }), sessionOver(), {}, without({ request: 'asked' }), [read, changed, ...ask, idle]],
  ['no second pause beside a refusal', hearing({ barren: 3, request: 'refused' }), sessionOver({ wasUseful: false }), {}, without({ barren: 4, request: 'refused' }), [read, changed, idle]],
];

// One line is one transition.
// prettier-ignore
const changes: Transition[] = [
  ['a session that grows old is replaced', hearing(), { type: 'grown-old' }, {}, hearing({ request: 'asked' }), [{ do: 'ask' }]],
  ['the next one is asked for once', hearing({ request: 'asked' }), { type: 'grown-old' }, {}, hearing({ request: 'asked' }), []],
  ['and not while the service refuses it', hearing({ request: 'refused' }), { type: 'grown-old' }, {}, hearing({ request: 'refused' }), []],
  ['a leg that is over needs no younger session', hearing({ end: finishing }), { type: 'grown-old' }, {}, hearing({ end: finishing }), []],
  ['another request replaces the session', hearing(), { type: 'request-changed' }, {}, hearing({ request: 'asked' }), [{ do: 'ask' }]],
  ['another request is asked for at once after a refusal', hearing({ request: 'refused' }), { type: 'request-changed' }, {}, hearing({ request: 'asked' }), [{ do: 'stop-retry' }, { do: 'ask' }]],
  ['another request waits for the answer to the first', without({ request: 'asked' }), { type: 'request-changed' }, {}, without({ request: 'asked', isOutdated: true }), []],
  ['another request waits for the cut', handingOver(), { type: 'request-changed' }, {}, handingOver({ isOutdated: true }), []],
  ['and follows it', handingOver({ isOutdated: true }), acknowledged, { settled: 800 }, hearing({ request: 'asked' }, 'two'), [{ do: 'retire-session' }, startNext, { do: 'ask' }]],
  ['the last session but one is left for trouble', hearing(), { type: 'request-changed' }, { sessions: 9 }, hearing(), []],
  ['another request is too late at the end', hearing({ end: finishing }), { type: 'request-changed' }, {}, hearing({ end: finishing }), []],
  ['acks before the cut change nothing', handingOver(), acknowledged, { settled: 799 }, handingOver(), []],
  ['the next session takes over at the cut', handingOver(), acknowledged, { settled: 800 }, hearing({}, 'two'), [{ do: 'retire-session' }, startNext]],
  ['also where the record of a lost session reaches the cut', inDoubt({}, handOver), acknowledged, { settled: 800 }, hearing({}, 'two'), [startNext]],
  ['an open socket is live', hearing(), opened, {}, hearing({ isOpen: true }), [{ do: 'tell', state: { at: 'live', sessionId: 'one' } }]],
  ['a lost socket is resumed', hearing({ isOpen: true }), cutOff, {}, hearing(), [{ do: 'tell', state: { at: 'resuming', sessionId: 'one' } }]],
  ['the socket of an older session says nothing', hearing({}, 'two'), cutOff, {}, hearing({}, 'two'), []],
];

// One line is one transition.
// prettier-ignore
const ends: Transition[] = [
  ['the session is stopped after the last byte', hearing({ isOpen: true }), finish, {}, hearing({ isOpen: true, end: finishing }), [deadline, { do: 'stop-session' }]],
  ['last words have their time where every byte is acknowledged', hearing({ isOpen: true }), finish, settled, hearing({ isOpen: true, end: lastWords }), [deadline, { do: 'stop-session' }, finals]],
  ['a session that is asked for and not needed is withdrawn', without({ request: 'asked' }), finish, { ...first, ...settled }, without({ end: finishing }), [deadline, { do: 'withdraw-request' }]],
  ['one that is needed is asked for on', without({ request: 'asked' }), finish, first, without({ request: 'asked', end: finishing }), [deadline]],
  ['audio that waits asks for a session', without(), finish, {}, without({ request: 'asked', end: finishing }), [deadline, ...ask]],
  ['the pause after barren sessions ends', without({ request: 'pausing', barren: 5 }), finish, {}, without({ request: 'asked', barren: 5, end: finishing }), [deadline, { do: 'stop-retry' }, ...ask]],
  ['a refused leg that is recorded has no hope', without({ request: 'refused' }), finish, recorded, without({ request: 'refused', end: finishing }), [deadline, hopeless('refused')]],
  ['a refused leg with the only copy waits', without({ request: 'refused' }), finish, {}, without({ request: 'refused', end: finishing }), [deadline]],
  ['a record that is awaited is awaited on', inDoubt(), finish, {}, inDoubt({ end: finishing }), [deadline]],
  ['the last ack begins the wait for the last words', hearing({ isOpen: true, end: finishing }), acknowledged, settled, hearing({ isOpen: true, end: lastWords }), [finals]],
  ['acks of a socket that is lost do not', hearing({ end: finishing }), acknowledged, settled, hearing({ end: finishing }), []],
  ['the wait begins once', hearing({ isOpen: true, end: lastWords }), acknowledged, settled, hearing({ isOpen: true, end: lastWords }), []],
  ['a lost socket stops the wait', hearing({ isOpen: true, end: lastWords }), cutOff, settled, hearing({ end: finishing }), [{ do: 'stop-finals' }]],
  ['a lost socket before the wait stops nothing', hearing({ isOpen: true, end: finishing }), cutOff, {}, hearing({ end: finishing }), []],
  ['an open socket begins it again', hearing({ end: finishing }), opened, settled, hearing({ isOpen: true, end: lastWords }), [finals]],
  ['last words that do not come are read from the record', hearing({ isOpen: true, end: lastWords }), { type: 'finals-due' }, settled, without({ end: finishing }), [{ do: 'say-late' }, { do: 'close-and-read' }, idle]],
  ['last words of a session that is gone are not waited for', without({ end: lastWords }), { type: 'finals-due' }, settled, without({ end: finishing }), []],
  ['a wait that was stopped means nothing', hearing({ isOpen: true, end: finishing }), { type: 'finals-due' }, {}, hearing({ isOpen: true, end: finishing }), []],
  ['missing words of an older session make the end late', hearing({ end: finishing }), { type: 'words-missing' }, {}, hearing({ end: finishing }), [{ do: 'say-late' }]],
  ['but not while the call goes on', hearing(), { type: 'words-missing' }, {}, hearing(), []],
  ['a leg that is given up closes its session', hearing({ end: finishing }), { type: 'given-up' }, {}, without({ end: finishing }), [{ do: 'say-late' }, { do: 'close-session' }]],
  ['an erased leg closes its session', handingOver(), { type: 'closed' }, {}, without(), [{ do: 'close-session' }, { do: 'cancel-orphans' }]],
  ['the session that was to follow goes with a leg that is given up', handingOver({ end: finishing }), { type: 'given-up' }, {}, without({ end: finishing }), [{ do: 'say-late' }, { do: 'close-session' }, { do: 'cancel-orphans' }]],
  ['and with last words that do not come', handingOver({ isOpen: true, end: lastWords }), { type: 'finals-due' }, settled, without({ end: finishing }), [{ do: 'say-late' }, { do: 'close-and-read' }, idle, { do: 'cancel-orphans' }]],
  ['a released leg is over', hearing(), { type: 'released' }, {}, over, [{ do: 'release' }]],
  ['and is released once', over, { type: 'released' }, {}, over, []],
];

describe.each([
  ['asking for a session', asked],
  ['what the service answers', answers],
  ['losing a session', lost],
  ['changing over', changes],
  ['the end of the leg', ends],
])('%s', (_group, rows) => {
  test.each(rows)('%s', (_name, from, input, leg, to, effects) => {
    expect(step(from, input, { ...facts, ...leg })).toEqual([to, effects]);
  });
});

test('the pauses after barren sessions grow, and are short once the call is over', () => {
  const pauseMs = (barren: number, end: Going['end']): number => {
    const [, effects] = step(hearing({ barren, end }), sessionOver({ wasUseful: false }), facts);
    return effects.reduce((ms, effect) => (effect.do === 'retry-after' ? effect.ms : ms), 0);
  };
  expect(pauseMs(3, { at: 'open' })).toBeLessThanOrEqual(313);
  expect(pauseMs(30, { at: 'open' })).toBeGreaterThan(1_250);
  expect(pauseMs(30, { at: 'open' })).toBeLessThanOrEqual(12_500);
  expect(pauseMs(30, finishing)).toBeLessThanOrEqual(1_250);
});

test('the questions about a state answer for every state', () => {
  const states = [without(), inDoubt(), inDoubt({}, handOver), hearing(), handingOver(), over];
  expect(states.map(mayAsk)).toEqual([true, false, false, false, false, false]);
  expect(states.map((state) => heedsAck(state, 800))).toEqual([
    false,
    false,
    true,
    false,
    true,
    false,
  ]);
  expect(heedsAck(hearing({ end: finishing }), 0)).toBe(true);
  expect(states.map(nextOf)).toEqual([undefined, undefined, next, undefined, next, undefined]);
  expect([isAsking(without({ request: 'asked' })), isAsking(over)]).toEqual([true, false]);
  expect([isFinishing(hearing({ end: lastWords })), isFinishing(over)]).toEqual([true, false]);
});

describe('whatever comes', () => {
  const ids = fc.constantFrom('one', 'two', 'zero');
  const inputs: fc.Arbitrary<SessionsInput> = fc.oneof(
    fc.constantFrom<SessionsInput>(
      ...[{ type: 'begun' } as const, needed, retryDue, created, createdNext, refused, aborted],
      ...[waiting, acknowledged, finish],
      ...(['grown-old', 'request-changed', 'finals-due', 'words-missing'] as const).map((type) => ({
        type,
      })),
      ...(['given-up', 'closed', 'released'] as const).map((type) => ({ type })),
    ),
    ids.map((sessionId) => ({ type: 'doubt-over', sessionId }) as const),
    fc
      .record({ sessionId: ids, link: fc.constantFrom('open', 'lost') })
      .map((link) => ({ type: 'link' as const, ...link })),
    fc
      .record({
        sessionId: ids,
        reason: fc.constantFrom('finished', 'gone', 'crowded', 'lost', 'dropped'),
        wasUseful: fc.boolean(),
        hasSwallowed: fc.boolean(),
        isInDoubt: fc.boolean(),
      })
      .map((session) => sessionOver(session as Parameters<typeof sessionOver>[0])),
  );
  const legs = fc
    .record({
      settled: fc.constantFrom(500, 800, 1_000),
      sessions: fc.integer({ min: 0, max: 10 }),
      recording: fc.boolean(),
    })
    .map((leg): LegFacts => ({ ...facts, ...leg, isSettled: leg.settled === 1_000 }));

  test('a leg asks for one session at a time, begins with no session but the one it was given, and ends once', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(inputs, legs), { maxLength: 60 }), (steps) => {
        let state: SessionsState = noSession;
        for (const [input, leg] of steps) {
          const before = state;
          const [after, effects] = step(before, input, leg);
          const asks = effects.filter((effect) => effect.do === 'ask').length;
          const starts = effects.filter((effect) => effect.do === 'start').length;
          expect(asks).toBeLessThanOrEqual(1);
          expect(starts).toBeLessThanOrEqual(1);
          if (asks > 0) expect(isAsking(after)).toBe(true);
          if (asks > 0 && input.type !== 'answered') expect(isAsking(before)).toBe(false);
          if (starts > 0) expect(after.at).toBe('hearing');
          if (before.at === 'over') expect(after).toBe(before);
          if (isFinishing(before) && after.at !== 'over') expect(isFinishing(after)).toBe(true);
          state = after;
        }
      }),
    );
  });

  test('a session that was made to follow another is started, kept or cancelled, unless the process leaves', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(inputs, legs), { maxLength: 60 }), (steps) => {
        let state: SessionsState = noSession;
        for (const [input, leg] of steps) {
          const made = nextOf(state);
          const [after, effects] = step(state, input, leg);
          if (made !== undefined && after.at !== 'over')
            expect(
              nextOf(after) === made ||
                effects.some((effect) => effect.do === 'cancel-orphans') ||
                effects.some((effect) => effect.do === 'start' && effect.made === made),
            ).toBe(true);
          state = after;
        }
      }),
    );
  });

  test('audio that waits is never left without a request, a timer, a record or a session', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(inputs, legs), { maxLength: 60 }), (steps) => {
        let state: SessionsState = noSession;
        for (const [input, leg] of steps) [state] = step(state, input, leg);
        const [after, effects] = step(state, needed, { ...facts, sessions: 1 });
        if (after.at === 'without')
          expect([after.request !== 'none', effects.length > 0]).toContain(true);
      }),
    );
  });
});
