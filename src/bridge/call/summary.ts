import type { Kysely } from 'kysely';
import type { LanguageRunner } from '../../language/runner.ts';
import type { CallInsight } from '../../language/types.ts';
import { Chapter } from '../../protocol/addons.ts';
import { CallSentiment, Role, type CallEventData, type Turn } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import { turnsOf } from '../events/call-rows.ts';

type SummaryData = CallEventData<'call.summary'>;
type SummaryType = SummaryData['summary']['type'];

/** What a summary is made of, as the rows have it. */
export type CallConversation = { turns: Turn[]; sentimentBodies: string[] };

export async function conversationOf(
  db: Kysely<Database>,
  callId: string,
): Promise<CallConversation> {
  const [turns, rows] = await Promise.all([
    turnsOf(db, callId),
    db
      .selectFrom('events')
      .select('body')
      .where('call_id', '=', callId)
      .where('type', '=', 'call.sentiment')
      .execute(),
  ]);
  return { turns, sentimentBodies: rows.map((row) => row.body) };
}

type SummaryOptions = {
  language: LanguageRunner;
  callId: string;
  type: SummaryType;
  languageCode: string;
  deadlineMs: number;
};

/** The data of `call.summary`, made from the finals of all legs in order of time. A part that cannot be made is named in `errors`. */
export async function summaryOf(
  { turns, sentimentBodies }: CallConversation,
  options: SummaryOptions,
): Promise<SummaryData> {
  const sentiment = sentimentCourse(sentimentBodies);
  const block = await options.language.run(
    'call',
    { turns, summaryType: options.type, language: options.languageCode },
    { deadlineMs: options.deadlineMs, owner: options.callId },
  );
  if (block.results !== null && block.error === null)
    return { ...insightParts(block.results, options.type), sentiment, transcript: turns };
  const reason = block.error?.message ?? 'the summary came out empty';
  return { ...noSummary(turns, options.type, reason), sentiment };
}

/** For a conversation of which no summary can be made: the next try would end the same way. */
export function noSummary(turns: Turn[], type: SummaryType, reason: string): SummaryData {
  return {
    summary: { type, text: '' },
    chapters: [],
    entities: [],
    sentiment: { customer: [], agent: [] },
    transcript: turns,
    errors: [{ part: 'summary', message: reason }],
  };
}

function insightParts(
  insight: CallInsight,
  type: SummaryType,
): Pick<SummaryData, 'summary' | 'chapters' | 'entities'> {
  return {
    summary: { type, text: insight.summary },
    chapters: insight.chapters.map((chapter) => Chapter.parse(chapter)),
    entities: insight.entities.flatMap((entity) => {
      const role = Role.safeParse(entity.role).data;
      return role === undefined ? [] : [{ ...entity, role }];
    }),
  };
}

/** The sentiment of each sentence as the speech sessions gave it, by role and in order of time. */
function sentimentCourse(bodies: readonly string[]): SummaryData['sentiment'] {
  const course: SummaryData['sentiment'] = { customer: [], agent: [] };
  for (const body of bodies) {
    const event = CallSentiment.safeParse(JSON.parse(body)).data;
    if (event?.leg === undefined) continue;
    for (const { start, end, sentiment, emotion } of event.data.results)
      course[event.leg.role].push({ start, end, sentiment, emotion });
  }
  course.customer.sort((a, b) => a.start - b.start);
  course.agent.sort((a, b) => a.start - b.start);
  return course;
}
