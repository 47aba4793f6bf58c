import { expect, test } from 'vitest';
import { BoardCall, moodOf, type BoardFacts } from '../../../../src/bridge/board/board-call.ts';
import type { CallEvent } from '../../../../src/protocol/events.ts';

const zeroAt = Date.parse('2026-02-03T09:00:00.000Z');
const item = {
  id: 'call_1',
  carrier: 'twilio',
  direction: 'inbound',
  from: '+15550100',
  to: '+15550199',
  started_at: '2026-02-03T08:59:58.000Z',
  state: 'live',
  agent: { id: 'a17', name: 'Omar', by: 'api', since: '2026-02-03T09:00:00.000Z' },
  contact: null,
} as unknown as BoardFacts['item'];
const facts: BoardFacts = {
  item,
  zeroAt,
  pausedAt: null,
  sequence: 10,
  alerts: [{ id: 'hit-1', level: 'warn', title: 'Known before' }],
  stepsDone: ['open.greet'],
  steps: [
    { key: 'open.greet', title: 'Greet', isRequired: true },
    { key: 'open.verify', title: 'Verify', isRequired: true },
    { key: 'open.offer', title: 'Offer', isRequired: false },
  ],
  moods: [],
  talk: { customer: 4, agent: 6 },
  spokeS: 12,
  said: { role: 'agent', text: 'Good morning.' },
};

const event = (type: string, sequence: number, data: unknown, role = 'customer') =>
  ({ type, sequence, leg: { role }, data }) as unknown as CallEvent;
const teams = (agent: string): string[] => (agent === 'a17' ? ['north'] : []);

test('a card is made of the rows, and follows the events after them in their order, each once', () => {
  const call = new BoardCall(facts);
  expect(call.card(teams)).toMatchObject({
    agent: { id: 'a17', name: 'Omar' },
    teams: ['north'],
    alerts: { count: 1, level: 'warn', title: 'Known before' },
    talk: { customer: 4, agent: 6 },
    spoke_at: '2026-02-03T09:00:12.000Z',
    steps: { done: 1, of: 3, open: ['Verify'] },
  });
  const told = [
    event('call.transcript', 11, { start: 13, end: 15.5, text: 'x'.repeat(500) }),
    event('call.alert', 12, { hit_id: 'hit-2', level: 'urgent', title: 'Wants a lawyer' }),
    event('call.checklist', 13, { checklist: 'open', step: 'verify' }),
    event('call.paused', 14, { at: 16 }),
  ];
  expect(told.map((one) => call.take(one))).toEqual([true, true, true, true]);
  const card = call.card(teams);
  expect(card).toMatchObject({
    alerts: { count: 2, level: 'urgent', title: 'Wants a lawyer' },
    talk: { customer: 6.5, agent: 6 },
    spoke_at: '2026-02-03T09:00:15.500Z',
    paused_at: '2026-02-03T09:00:16.000Z',
    steps: { done: 2, of: 3, open: [] },
  });
  expect(card.said?.text.length).toBeLessThan(150);
  // Events that the rows knew of, and those that come again after a cut, change nothing.
  expect([event('call.transcript', 10, { start: 0, end: 90, text: 'old' }), ...told].map((one) => call.take(one))).toEqual([false, false, false, false, false]); // prettier-ignore
  expect(call.card(teams)).toEqual(card);
  call.take(event('call.resumed', 15, { at: 20 }));
  expect(call.card(teams).paused_at).toBeNull();
});

test('speech that is not yet a final is told once a second, and an agent’s mood is none of the customer', () => {
  const call = new BoardCall(facts);
  expect([12_500, 13_600, 13_900, 14_700].map((ms) => call.spoke(zeroAt + ms))).toEqual([false, true, false, true]); // prettier-ignore
  expect(call.card(teams).spoke_at).toBe('2026-02-03T09:00:14.700Z');
  const judged = (sentiment: string) => ({ results: [{ sentiment }] });
  expect(call.take(event('call.sentiment', 11, judged('negative'), 'agent'))).toBe(false);
  expect(call.take(event('call.sentiment', 12, judged('negative')))).toBe(true);
  expect(call.card(teams).mood).toEqual({ now: -1, trend: null, points: [-1] });
});

test('the trend of a mood needs four judgements and a clear change', () => {
  expect(moodOf([1, 1, 0, -1, -1]).trend).toBe('falling');
  expect(moodOf([-1, -1, 0, 1]).trend).toBe('rising');
  expect(moodOf([0, 1, 0, 1]).trend).toBe('steady');
  expect(moodOf([1, -1]).trend).toBeNull();
  expect(moodOf([])).toEqual({ now: null, trend: null, points: [] });
});
