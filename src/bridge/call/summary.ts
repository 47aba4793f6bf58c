import type { Kysely } from 'kysely';
import type { LanguageRunner } from '../../language/runner.ts';
import type { CallInsight } from '../../language/types.ts';
import { Chapter } from '../../protocol/addons.ts';
import { CallSentiment, Role, type CallEventData } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import { turnsOf } from '../events/call-rows.ts';

type SummaryData = CallEventData<'call.summary'>;
type SummaryType = SummaryData['summary']['type'];

export type SummaryOptions = {
  db: Kysely<Database>;
  language: LanguageRunner;
  callId: string;
  type: SummaryType;
  languageCode: string;
  deadlineMs: number;
};

/** The data of `call.summary`, made from the finals of all legs in order of time. A part that cannot be made is named in `errors`. */
export async function summaryOf(options: SummaryOptions): Promise<SummaryData> {
  const [turns, sentiment] = await Promise.all([
    turnsOf(options.db, options.callId),
    sentimentCourse(options.db, options.callId),
  ]);
  const block = await options.language.run(
    'call',
    { turns, summaryType: options.type, language: options.languageCode },
    { deadlineMs: options.deadlineMs, owner: options.callId },
  );
  if (block.results !== null && block.error === null)
    return { ...insightParts(block.results, options.type), sentiment, transcript: turns };
  return {
    summary: { type: options.type, text: '' },
    chapters: [],
    entities: [],
    sentiment,
    transcript: turns,
    errors: [{ part: 'summary', message: block.error?.message ?? 'the summary came out empty' }],
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
async function sentimentCourse(
  db: Kysely<Database>,
  callId: string,
): Promise<SummaryData['sentiment']> {
  const rows = await db
    .selectFrom('events')
    .select('body')
    .where('call_id', '=', callId)
    .where('type', '=', 'call.sentiment')
    .execute();
  const course: SummaryData['sentiment'] = { customer: [], agent: [] };
  for (const row of rows) {
    const event = CallSentiment.safeParse(JSON.parse(row.body)).data;
    if (event?.leg === undefined) continue;
    for (const { start, end, sentiment, emotion } of event.data.results)
      course[event.leg.role].push({ start, end, sentiment, emotion });
  }
  course.customer.sort((a, b) => a.start - b.start);
  course.agent.sort((a, b) => a.start - b.start);
  return course;
}
