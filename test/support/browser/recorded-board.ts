import type { BoardCard } from '../../../src/protocol/board-messages.ts';

const needs: Partial<BoardCard>[] = [
  { alerts: { count: 2, level: 'urgent', title: 'Customer speaks of a lawyer' } },
  { alerts: { count: 1, level: 'warn', title: 'Customer asks for a manager' } },
  { mood: { now: -0.67, trend: 'falling', points: [1, 0, 0, -1, -1, 0, -1] } },
  { steps: { done: 1, of: 4, open: ['Verify two details', 'Say that the call is recorded'] } },
  { paused_at: new Date(Date.now() - 150_000).toISOString() },
];

/** Running calls of a board. The first ones need help, each for another reason. */
export function recordedBoard(count: number): BoardCard[] {
  return Array.from({ length: count }, (_, at) => ({
    call_id: `call_board-${String(at).padStart(4, '0')}`,
    carrier: 'twilio',
    direction: at % 4 === 0 ? 'outbound' : 'inbound',
    from: `+1555010${String(at).padStart(4, '0')}`,
    to: '+15550199',
    contact: at % 3 === 0 ? `Laura <b>Nilsson</b> ${at}` : null,
    started_at: new Date(Date.now() - 45_000 - at * 500).toISOString(),
    state: 'live',
    agent: at % 7 === 6 ? null : { id: `a${at % 40}`, name: `Agent ${at % 40}` },
    teams: at % 7 === 6 ? [] : [at % 2 === 0 ? 'north' : 'south'],
    alerts: { count: 0, level: null, title: null },
    mood: { now: 0.33, trend: 'steady', points: [0, 1, 0, 0, 1] },
    talk: { customer: 20 + at, agent: 30 },
    // Ahead of the clock: nobody is silent, however slow the test is.
    spoke_at: new Date(Date.now() + 600_000).toISOString(),
    paused_at: null,
    steps: { done: 2, of: 2, open: [] },
    said: { role: at % 2 === 0 ? 'customer' : 'agent', text: 'I have called three times about this delivery and nobody rings me back.' }, // prettier-ignore
    ...needs[at],
  }));
}
