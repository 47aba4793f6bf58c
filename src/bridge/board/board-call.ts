import { mean } from '../../lib/mean.ts';
import { round3 } from '../../lib/round.ts';
import type { CallItem } from '../../protocol/api.ts';
import { alertLevels, type BoardCard } from '../../protocol/board-messages.ts';
import type { CallEvent, Role } from '../../protocol/events.ts';
import { eventAgentOf } from '../records/call-agent.ts';

/** Judgements of the customer's mood that a card keeps. */
const pointsKept = 12;
/** The trend compares the later half of the points with the earlier half, if there are at least so many. */
const leastPoints = 4;
const trendBy = 0.4;
const saidLength = 140;

type BoardStep = { key: string; title: string; isRequired: boolean };
type AlertLevel = (typeof alertLevels)[number];
export type MoodPoint = -1 | 0 | 1;

/** The facts of a running call as the rows have them. */
export type BoardFacts = {
  item: CallItem;
  /** The zero of the call's clock, in ms since 1970. */
  zeroAt: number;
  pausedAt: number | null;
  /** The number of the last event that the facts know of. */
  sequence: number;
  alerts: readonly { id: string; level: AlertLevel; title: string }[];
  stepsDone: readonly string[];
  steps: readonly BoardStep[];
  moods: readonly MoodPoint[];
  talk: { customer: number; agent: number };
  /** The end of the last turn, in seconds of the call. */
  spokeS: number | undefined;
  said: { role: Role; text: string } | null;
};

/** Event types that change a card. */
export const typesOnBoard: ReadonlySet<string> = new Set<CallEvent['type']>([
  'call.transcript',
  'call.sentiment',
  'call.paused',
  'call.resumed',
  'call.alert',
  'call.checklist',
]);

/** A running call as the board shows it. It takes the call's events in their order; one that it knows changes nothing. */
export class BoardCall {
  readonly item: CallItem;
  readonly #zeroAt: number;
  readonly #steps: readonly BoardStep[];
  readonly #stepsDone: Set<string>;
  readonly #alerts = new Map<string, { level: AlertLevel; title: string }>();
  #moods: MoodPoint[];
  readonly #talk: { customer: number; agent: number };
  #spokeAt: number | undefined;
  #spokeToldAt = 0;
  #pausedAt: number | null;
  #said: BoardCard['said'];
  #sequence: number;

  constructor(facts: BoardFacts) {
    this.item = facts.item;
    this.#zeroAt = facts.zeroAt;
    this.#sequence = facts.sequence;
    this.#steps = facts.steps;
    this.#stepsDone = new Set(facts.stepsDone);
    for (const { id, level, title } of facts.alerts) this.#alerts.set(id, { level, title });
    this.#moods = facts.moods.slice(-pointsKept);
    this.#talk = { ...facts.talk };
    this.#pausedAt = facts.pausedAt;
    this.#said = facts.said && shortened(facts.said);
    if (facts.spokeS === undefined) return;
    this.#spokeAt = this.#timeOf(facts.spokeS);
    this.#spokeToldAt = this.#spokeAt;
  }

  /** The agent whose call it is, in the form that rights compare. */
  get agentId(): string | undefined {
    return this.item.agent?.id;
  }

  /** Returns true if the card changed. */
  take(event: CallEvent): boolean {
    if (event.sequence <= this.#sequence) return false;
    this.#sequence = event.sequence;
    switch (event.type) {
      case 'call.transcript': {
        const { start, end, text } = event.data;
        const role = event.leg?.role ?? 'mixed';
        if (role !== 'mixed') this.#talk[role] += Math.max(0, end - start);
        this.#said = shortened({ role, text });
        this.spoke(this.#timeOf(end));
        return true;
      }
      case 'call.sentiment': {
        if (event.leg?.role !== 'customer') return false;
        const points = event.data.results.map(({ sentiment }) => pointOf(sentiment));
        this.#moods = [...this.#moods, ...points].slice(-pointsKept);
        return points.length > 0;
      }
      case 'call.paused':
        this.#pausedAt = this.#timeOf(event.data.at);
        return true;
      case 'call.resumed':
        this.#pausedAt = null;
        return true;
      case 'call.alert':
        this.#alerts.set(event.data.hit_id, event.data);
        return true;
      case 'call.checklist':
        this.#stepsDone.add(`${event.data.checklist}.${event.data.step}`);
        return true;
      default:
        return false;
    }
  }

  /** Somebody is heard at this time. Returns true if the board has to tell that: once a second is enough. */
  spoke(at: number): boolean {
    this.#spokeAt = Math.max(this.#spokeAt ?? 0, at);
    const isNews = at >= this.#spokeToldAt + 1_000;
    if (isNews) this.#spokeToldAt = at;
    return isNews;
  }

  card(teamsOf: (agent: string) => readonly string[]): BoardCard {
    const { id, carrier, direction, from, to, started_at, state, contact } = this.item;
    const agent = this.item.agent ?? null;
    const required = this.#steps.filter(({ isRequired }) => isRequired);
    const isDone = ({ key }: BoardStep): boolean => this.#stepsDone.has(key);
    return {
      call_id: id,
      ...{ carrier, direction, from, to, started_at },
      contact: contact?.name ?? null,
      state: state === 'live' ? 'live' : 'finishing',
      agent: agent && eventAgentOf(agent),
      teams: agent === null ? [] : [...teamsOf(agent.id)],
      alerts: alertsOf([...this.#alerts.values()]),
      mood: moodOf(this.#moods),
      talk: { customer: round3(this.#talk.customer), agent: round3(this.#talk.agent) },
      spoke_at: isoOrNull(this.#spokeAt),
      paused_at: isoOrNull(this.#pausedAt),
      steps: {
        done: this.#steps.filter(isDone).length,
        of: this.#steps.length,
        open: required.filter((step) => !isDone(step)).map(({ title }) => title),
      },
      said: this.#said,
    };
  }

  /** The wall clock at a second of the call. */
  #timeOf(second: number): number {
    return this.#zeroAt + second * 1_000;
  }
}

function alertsOf(alerts: readonly { level: AlertLevel; title: string }[]): BoardCard['alerts'] {
  const level = alertLevels.findLast((one) => alerts.some((alert) => alert.level === one));
  const title = alerts.findLast((alert) => alert.level === level)?.title;
  return { count: alerts.length, level: level ?? null, title: title ?? null };
}

export function moodOf(points: readonly MoodPoint[]): BoardCard['mood'] {
  if (points.length === 0) return { now: null, trend: null, points: [] };
  const now = round3(mean(points.slice(-3)));
  if (points.length < leastPoints) return { now, trend: null, points: [...points] };
  const half = Math.floor(points.length / 2);
  const change = mean(points.slice(-half)) - mean(points.slice(0, half));
  const trend = change <= -trendBy ? 'falling' : change >= trendBy ? 'rising' : 'steady';
  return { now, trend, points: [...points] };
}

export function pointOf(sentiment: string): MoodPoint {
  return sentiment === 'negative' ? -1 : sentiment === 'positive' ? 1 : 0;
}

function shortened({ role, text }: { role: Role; text: string }) {
  return { role, text: text.length > saidLength ? `${text.slice(0, saidLength)}…` : text };
}

function isoOrNull(ms: number | null | undefined): string | null {
  return ms == null ? null : new Date(ms).toISOString();
}
