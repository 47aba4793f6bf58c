import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { LanguageRunner } from '../../language/runner.ts';
import type { CallInsight, SpokenTurn, ValueContext } from '../../language/types.ts';
import { Role, type CallEventData, type Turn } from '../../protocol/events.ts';
import type { WrapUp } from '../../protocol/wrap-up.ts';
import { personName } from '../../protocol/people.ts';
import type { Database } from '../../store/schema.ts';
import { doubtfulWordsOf, roleFrom, spokenOf, turnsOf } from '../events/call-rows.ts';

export type SummaryData = CallEventData<'call.summary'>;
type SummaryType = SummaryData['summary']['type'];

/** The stored data that a summary is made from. */
export type CallConversation = {
  turns: Turn[];
  /** The words of turns as they were said, by utterance, where the turn has them in figures. */
  spoken?: ReadonlyMap<string | Turn, string>;
  /** Words that the recogniser was not sure of, by utterance. */
  doubtful?: ReadonlyMap<string, readonly string[]>;
  sentiment: SentimentRow[];
};

/** The sentiment of one utterance's sentences, as its result stores it. */
type SentimentRow = { role: string; text: string };

export async function conversationOf(
  db: Kysely<Database>,
  callId: string,
): Promise<CallConversation> {
  const [turns, spoken, doubtful, rows] = await Promise.all([
    turnsOf(db, callId),
    spokenOf(db, callId),
    doubtfulWordsOf(db, callId),
    db
      .selectFrom('leg_results')
      .select(['role', 'text'])
      .where('call_id', '=', callId)
      .where('kind', '=', 'call.sentiment')
      .execute(),
  ]);
  return { turns, spoken, doubtful, sentiment: rows };
}

type SummaryOptions = {
  language: LanguageRunner;
  callId: string;
  type: SummaryType;
  languageCode: string;
  deadlineMs: number;
  about?: ValueContext | undefined;
};

/**
 * Makes the data of `call.summary` from the finals of all legs in order of time. `errors` names the parts that could
 * not be made.
 */
export async function summaryOf(
  conversation: CallConversation,
  options: SummaryOptions,
): Promise<SummaryData> {
  return (await summaryAndWrapUp(conversation, options)).summary;
}

/** The summary, and the record of the call where one could be made. */
export async function summaryAndWrapUp(
  { turns, spoken, doubtful, sentiment: rows }: CallConversation,
  options: SummaryOptions,
): Promise<{ summary: SummaryData; wrapUp?: WrapUp }> {
  const sentiment_course = sentimentCourse(rows);
  const block = await options.language.run(
    'call',
    {
      turns: turns.map((turn) => {
        const said = spoken?.get(turn) ?? spoken?.get(turn.utterance_id ?? '');
        return { ...named(turn), spoken: said, doubtful: doubtful?.get(turn.utterance_id ?? '') };
      }),
      summaryType: options.type,
      language: options.languageCode,
      about: options.about,
    },
    { deadlineMs: options.deadlineMs, owner: options.callId },
  );
  if (block.results !== null && block.error === null)
    return {
      summary: {
        ...insightParts(block.results, options.type),
        sentiment_course,
        transcript: turns,
      },
      wrapUp: block.results.wrap_up,
    };
  const reason = block.error?.message ?? 'the summary came out empty';
  return { summary: { ...noSummary(turns, options.type, reason), sentiment_course } };
}

/** On a mixed leg, voices count as different people if diarization has separated them. */
function named({ speaker, speaker_provisional: _isProvisional, ...turn }: Turn): SpokenTurn {
  return speaker === undefined ? turn : { ...turn, role: personName({ speaker }).toLowerCase() };
}

/** Makes the data for a conversation that cannot be summarised because another attempt would fail in the same way. */
export function noSummary(turns: Turn[], type: SummaryType, reason: string): SummaryData {
  return {
    summary: { type, text: '' },
    chapters: [],
    entities: [],
    sentiment_course: { customer: [], agent: [] },
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
    chapters: insight.chapters.map(withoutWords),
    entities: insight.entities.flatMap((entity) => {
      const role = entity.role.startsWith('speaker ') ? 'mixed' : Role.safeParse(entity.role).data;
      return role === undefined ? [] : [{ ...entity, role }];
    }),
  };
}

/** Leaves out the words of a chapter. They are already in the transcript of the event. */
function withoutWords({
  headline,
  gist,
  keywords,
  start,
  end,
  summary,
}: CallInsight['chapters'][number]): SummaryData['chapters'][number] {
  return { headline, gist, keywords, start, end, summary };
}

const Points = z.array(
  z.object({ start: z.number(), end: z.number(), sentiment: z.string(), emotion: z.string() }),
);

/** The sentiment of each sentence as the speech sessions returned it, by role and in order of time. */
function sentimentCourse(rows: readonly SentimentRow[]): SummaryData['sentiment_course'] {
  const course: SummaryData['sentiment_course'] = { customer: [], agent: [] };
  for (const { role, text } of rows)
    (course[roleFrom(role)] ??= []).push(...(Points.safeParse(jsonOf(text)).data ?? []));
  for (const points of Object.values(course)) points?.sort((a, b) => a.start - b.start);
  return course;
}

/** Rows of earlier versions hold no JSON here. */
function jsonOf(text: string): unknown {
  return text === '' ? [] : JSON.parse(text);
}
