/** @import { BoardCard } from './shapes.ts' */

/** @typedef {{ weight: number, level: 'urgent' | 'warn' | 'info', text: string }} Need */

const silenceS = 12;
const holdS = 120;
/** At the beginning of a call its steps are still to come. */
const stepsAfterS = 60;
const monologueShare = 0.75;
/** The share of talk says nothing before so many seconds of speech. */
const leastTalkS = 60;

const alertWeights = { info: 10, warn: 40, urgent: 100 };

/**
 * The seconds since a time, by the clock of the server.
 * @param {string | null} iso
 * @param {number} nowMs
 */
export function secondsSince(iso, nowMs) {
  return iso === null ? 0 : Math.max(0, (nowMs - Date.parse(iso)) / 1_000);
}

/**
 * The seconds of silence so far; none while a call is paused, when nobody is heard.
 * @param {BoardCard} card
 * @param {number} nowMs
 */
export function silenceOf(card, nowMs) {
  return card.paused_at === null ? secondsSince(card.spoke_at ?? card.started_at, nowMs) : 0;
}

/**
 * The agent's share of the speech of both. Undefined while too little was said.
 * @param {BoardCard} card
 */
export function agentShare({ talk }) {
  const all = talk.agent + talk.customer;
  return all < 15 ? undefined : talk.agent / all;
}

/**
 * The reasons why a call needs help, the heaviest first.
 * @param {BoardCard} card
 * @param {number} nowMs
 * @returns {Need[]}
 */
export function needsOf(card, nowMs) {
  /** @type {Need[]} */
  const needs = [];
  const { alerts, mood, steps, talk } = card;
  if (alerts.level !== null)
    needs.push({
      weight: alertWeights[alerts.level] + Math.min(alerts.count, 5) * 2,
      level: alerts.level,
      text: `${alerts.title ?? 'Alert'}${alerts.count > 1 ? ` +${alerts.count - 1}` : ''}`,
    });
  if (mood.now !== null && mood.now <= -0.3)
    needs.push({ weight: 10 - 15 * mood.now, level: 'warn', text: 'Customer is unhappy' });
  else if (mood.trend === 'falling')
    needs.push({ weight: 15, level: 'info', text: 'Mood is falling' });
  const silence = silenceOf(card, nowMs);
  if (silence >= silenceS)
    needs.push({ weight: Math.min(30, silence), level: silence >= 2 * silenceS ? 'warn' : 'info', text: 'Silence' }); // prettier-ignore
  if (secondsSince(card.paused_at, nowMs) >= holdS)
    needs.push({ weight: 12, level: 'info', text: 'Paused for long' });
  const length = secondsSince(card.started_at, nowMs);
  if (steps.open.length > 0 && length >= stepsAfterS)
    needs.push({
      weight: Math.min(15, 5 * steps.open.length),
      level: 'info',
      text: `Open: ${steps.open.slice(0, 2).join(', ')}${steps.open.length > 2 ? ' …' : ''}`,
    });
  const share = agentShare(card);
  if (share !== undefined && share > monologueShare && talk.agent + talk.customer >= leastTalkS)
    needs.push({ weight: 8, level: 'info', text: 'Agent talks most' });
  return needs.sort((one, other) => other.weight - one.weight);
}

/** @param {readonly Need[]} needs */
export function weightOf(needs) {
  return needs.reduce((sum, { weight }) => sum + weight, 0);
}

/**
 * True if a card passes the filters. An agent is found by any part of the name, id or extension.
 * @param {BoardCard} card
 * @param {{ team: string, agent: string }} filters
 */
export function passes({ agent, teams }, { team, agent: asked }) {
  if (team !== '' && !teams.includes(team)) return false;
  if (asked === '') return true;
  const names = agent === null ? [] : [agent.id, agent.name ?? '', agent.extension ?? ''];
  return names.some((name) => name.toLowerCase().includes(asked.toLowerCase()));
}

/**
 * The ids of the cards, those that need help first. Equals stand in the order in which they began.
 * @param {Iterable<BoardCard>} cards
 * @param {number} nowMs
 */
export function sortedIds(cards, nowMs) {
  return [...cards]
    .map((card) => ({ id: card.call_id, weight: weightOf(needsOf(card, nowMs)) }))
    .sort((one, other) => other.weight - one.weight || (one.id < other.id ? -1 : 1))
    .map(({ id }) => id);
}
