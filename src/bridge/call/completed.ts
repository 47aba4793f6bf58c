import { round3 } from '../../lib/round.ts';
import type { Kysely } from 'kysely';
import type { Sentiment } from '../../protocol/addons.ts';
import { GapCause, type CallEventData, type EndReason, type Turn } from '../../protocol/events.ts';
import { overallOf } from '../../language/sentiment/overall.ts';
import type { Database } from '../../store/schema.ts';
import type { CallLinks } from '../call-links.ts';
import {
  callRowOf,
  gapsOf,
  incompleteFrom,
  roleFrom,
  shortGapsOf,
  type CallRow,
} from '../events/call-rows.ts';
import type { CallRecord } from '../records/call-record.ts';
import { statisticsOf } from './statistics.ts';
import type { SummaryData } from './summary.ts';

type CompletedData = CallEventData<'call.completed'>;
type TalkFigures = Pick<
  CallEventData<'call.ended'>,
  'talk' | 'talk_ratio' | 'interruptions' | 'longest_monologue' | 'dead_air'
>;

/** At most this many gaps are listed in the event. The longest are listed, because people ask about those. */
const maxGapsListed = 100;

/** The stored facts of a call that has ended. */
export type EndedCall = {
  row: Pick<
    CallRow,
    'ended_at' | 'end_reason' | 'deadline' | 'statistics' | 'incomplete' | 'has_recording'
  >;
  gaps: CompletedData['gaps'];
  shortGaps: CompletedData['short_gaps'];
};

export async function endedCallOf(
  db: Kysely<Database>,
  callId: string,
): Promise<EndedCall | undefined> {
  const [row, gaps, shortGaps] = await Promise.all([
    callRowOf(db, callId),
    gapsOf(db, callId),
    shortGapsOf(db, callId),
  ]);
  return (
    row && {
      row,
      shortGaps,
      gaps: gaps.map(({ role, cause, start, end }) => ({
        role: roleFrom(role),
        cause: GapCause.safeParse(cause).data ?? 'damaged',
        start,
        end,
        duration: round3(end - start),
      })),
    }
  );
}

type CompletedFacts = {
  record: CallRecord;
  ended: EndedCall;
  summary: SummaryData;
  links: ReturnType<CallLinks['linksOf']>;
};

/** The data of `call.completed`: the whole call in one event. Pure. */
export function completedData({ record, ended, summary, links }: CompletedFacts): CompletedData {
  const { row, gaps, shortGaps } = ended;
  const { transcript, chapters, entities, errors } = summary;
  const figures = figuresOf(row.statistics, transcript);
  const { talk, talk_ratio, interruptions, longest_monologue, dead_air } = figures;
  return {
    ended_at: iso(row.ended_at ?? record.startedAt),
    reason: (row.end_reason ?? 'restart') as EndReason,
    deadline: row.deadline,
    summary: summary.summary,
    transcript,
    chapters,
    entities,
    ...sentimentOf(summary.sentiment_course),
    talk,
    talk_ratio,
    interruptions,
    longest_monologue,
    dead_air,
    incomplete: incompleteFrom(row.incomplete),
    gaps: longestOf(gaps),
    gap_count: gaps.length,
    short_gaps: shortGaps,
    page_url: links?.page ?? null,
    recording_url: row.has_recording === 1 ? (links?.recording ?? null) : null,
    links_expire_at: links === undefined ? null : iso(links.expiresAt),
    errors,
  };
}

/**
 * The figures that `call.ended` reported, so that the two events agree. If the row cannot be parsed, they are
 * computed again.
 */
function figuresOf(statistics: string | null, turns: readonly Turn[]): TalkFigures {
  if (statistics !== null) return JSON.parse(statistics) as TalkFigures;
  return statisticsOf(turns, turns.at(-1)?.end ?? 0);
}

function sentimentOf({
  customer,
  agent,
  mixed,
}: SummaryData['sentiment_course']): Pick<CompletedData, 'sentiment' | 'sentiment_by_role'> {
  return {
    sentiment: labelOf([...customer, ...agent, ...(mixed ?? [])]),
    sentiment_by_role: {
      customer: labelOf(customer),
      agent: labelOf(agent),
      mixed: mixed && labelOf(mixed),
    },
  };
}

function labelOf(points: readonly { sentiment: string }[]): Sentiment {
  const counts = { positive: 0, negative: 0, neutral: 0, mixed: 0, unknown: 0 };
  for (const { sentiment } of points)
    if (Object.hasOwn(counts, sentiment)) counts[sentiment as Sentiment]++;
  return overallOf(counts);
}

function longestOf(gaps: CompletedData['gaps']): CompletedData['gaps'] {
  return gaps
    .toSorted((a, b) => b.duration - a.duration)
    .slice(0, maxGapsListed)
    .sort((a, b) => a.start - b.start);
}

const iso = (ms: number): string => new Date(ms).toISOString();
