import { beforeAll, expect, test } from 'vitest';
import type { BoardCard } from '../../../src/protocol/board-messages.ts';

type BoardOrder = {
  sortedIds(cards: readonly BoardCard[], nowMs: number): string[];
  needsOf(card: BoardCard, nowMs: number): { text: string; level: string }[];
  passes(card: BoardCard, filters: { team: string; agent: string }): boolean;
  silenceOf(card: BoardCard, nowMs: number): number;
};

let order: BoardOrder;
beforeAll(async () => {
  order = await import(new URL('../../../src/console/page/board-order.js', import.meta.url).href);
});

const now = Date.parse('2026-02-03T09:05:00.000Z');
const ago = (seconds: number): string => new Date(now - seconds * 1_000).toISOString();
const card = (id: string, more: Partial<BoardCard> = {}): BoardCard => ({
  call_id: id,
  ...{ carrier: 'twilio', direction: 'inbound', from: '+15550100', to: null, contact: null },
  started_at: ago(200),
  state: 'live',
  agent: null,
  teams: [],
  alerts: { count: 0, level: null, title: null },
  mood: { now: null, trend: null, points: [] },
  talk: { customer: 40, agent: 40 },
  spoke_at: ago(1),
  paused_at: null,
  steps: { done: 0, of: 0, open: [] },
  said: null,
  ...more,
});
const alert = (level: 'info' | 'warn' | 'urgent') => ({
  alerts: { count: 1, level, title: level },
});

test('calls that need help come first: urgent alerts, alerts, moods, silence; the rest by its beginning', () => {
  const cards = [
    card('b-calm'),
    card('a-calm'),
    card('silent', { spoke_at: ago(20) }),
    card('falling', { mood: { now: 0, trend: 'falling', points: [1, 1, 0, 0] } }),
    card('unhappy', { mood: { now: -1, trend: 'falling', points: [0, -1, -1, -1] } }),
    card('warned', alert('warn')),
    card('urgent', alert('urgent')),
  ];
  expect(order.sortedIds(cards, now)).toEqual(['urgent', 'warned', 'unhappy', 'silent', 'falling', 'a-calm', 'b-calm']); // prettier-ignore
});

test('a pause is no silence, and steps are missing only once a call is a minute old', () => {
  const paused = card('paused', { spoke_at: ago(90), paused_at: ago(80) });
  expect(order.silenceOf(paused, now)).toBe(0);
  expect(order.needsOf(paused, now)).toEqual([]);
  const steps = { done: 1, of: 4, open: ['Verify', 'Consent', 'Recap'] };
  expect(order.needsOf(card('young', { started_at: ago(30), steps }), now)).toEqual([]);
  expect(order.needsOf(card('old', { steps }), now)).toMatchObject([{ text: 'Open: Verify, Consent …' }]); // prettier-ignore
  const talk = { customer: 10, agent: 90 };
  expect(order.needsOf(card('talks', { talk }), now)).toMatchObject([{ text: 'Agent talks most' }]);
});

test('a team is found by its name, an agent by any part of the name or id', () => {
  const omar = card('omar', { agent: { id: 'a17', name: 'Omar Haddad' }, teams: ['north'] });
  expect(order.passes(omar, { team: 'north', agent: 'hadd' })).toBe(true);
  expect(order.passes(omar, { team: '', agent: 'A17' })).toBe(true);
  expect(order.passes(omar, { team: 'south', agent: '' })).toBe(false);
  expect(order.passes(card('none'), { team: '', agent: 'omar' })).toBe(false);
});
