import type { Kysely, Transaction } from 'kysely';
import { digestOf } from '../lib/digest.ts';
import type { Database } from '../store/schema.ts';
import { termsOf } from './terms.ts';

const maxQuestionKept = 400;
/** A report reads so many of the newest questions. */
const maxRead = 5_000;
const maxReported = 200;

export type OpenQuestion = {
  callId: string;
  /** The utterance. A question that was typed has none. */
  utteranceId?: string;
  question: string;
  atMs: number;
};

/** Keeps a question without an answer. It belongs to its call, and is erased with it. */
export async function keepQuestion(
  db: Kysely<Database> | Transaction<Database>,
  { callId, utteranceId, question, atMs }: OpenQuestion,
): Promise<void> {
  await db
    .insertInto('knowledge_questions')
    .values({
      call_id: callId,
      question_key: utteranceId ?? `typed-${digestOf(question).slice(0, 32)}`,
      question: question.slice(0, maxQuestionKept),
      asked_at: atMs,
      by: utteranceId === undefined ? 'agent' : 'caller',
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export type ReportedQuestion = {
  question: string;
  times: number;
  lastAskedAt: number;
  lastCallId: string;
  by: 'caller' | 'agent';
};

/** Questions without an answer since then. Those with the same topic words are one. */
export async function openQuestions(
  db: Kysely<Database>,
  sinceMs: number,
): Promise<ReportedQuestion[]> {
  const rows = await db
    .selectFrom('knowledge_questions')
    .selectAll()
    .where('asked_at', '>=', sinceMs)
    .orderBy('asked_at', 'desc')
    .limit(maxRead)
    .execute();
  const alike = new Map<string, ReportedQuestion>();
  for (const { question, asked_at, call_id, by } of rows) {
    const topic = [...new Set(termsOf(question).map(({ term }) => term))].toSorted().join(' ');
    const known = alike.get(topic);
    if (known !== undefined) known.times++;
    else alike.set(topic, { question, times: 1, lastAskedAt: asked_at, lastCallId: call_id, by }); // prettier-ignore
  }
  return [...alike.values()]
    .toSorted((one, other) => other.times - one.times || other.lastAskedAt - one.lastAskedAt)
    .slice(0, maxReported);
}
