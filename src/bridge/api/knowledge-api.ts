import { Router } from 'express';
import { articleId } from '../../knowledge/article.ts';
import { maxQuestionLetters, type Knowledge } from '../../knowledge/knowledge.ts';
import type { FoundArticle } from '../../knowledge/knowledge-index.ts';
import { keepQuestion, openQuestions } from '../../knowledge/question-rows.ts';
import type { Clock } from '../../lib/clock.ts';
import { round3 } from '../../lib/round.ts';
import { storableText } from '../../lib/storable.ts';
import { Problem } from '../../port/problem.ts';
import type {
  KnowledgeFound,
  KnowledgeList,
  KnowledgeQuestions,
  KnowledgeText,
} from '../../protocol/articles.ts';
import type { Store } from '../../store/store.ts';
import { callRowOf } from '../events/call-rows.ts';
import { invalid, reportDaysIn } from './query.ts';

type KnowledgeApiOptions = { store: Store; knowledge: Knowledge; clock: Clock };

const maxItems = 10;
const dayMs = 24 * 3_600_000;
/** People have at most this many questions looked up at once. */
export const maxAsksOfPeople = 16;

/** Routes of articles: found, read, listed, and what nobody found. */
export function knowledgeApi({ store, knowledge, clock }: KnowledgeApiOptions): Router {
  const router = Router();
  let asking = 0;

  const found = async (question: string, limit: number): Promise<FoundArticle[]> => {
    if (asking >= maxAsksOfPeople) throw new Problem(503, 'too many questions are being looked up; ask again'); // prettier-ignore
    asking++;
    try {
      return (await knowledge.ask(question, { limit })) ?? [];
    } finally {
      asking--;
    }
  };

  router.get('/api/knowledge', async (request, response) => {
    const items = await found(questionIn(request.query), limitIn(request.query));
    response.json(answerOf(items));
  });

  router.get('/api/knowledge/articles', (_request, response) => {
    const { passages, problems, remedy = null } = knowledge.state;
    response.json({
      articles: knowledge.list().map(({ url = null, ...article }) => ({ ...article, url })),
      passages,
      problems: [...problems],
      remedy,
    } satisfies KnowledgeList);
  });

  router.get('/api/knowledge/articles/:article', async (request, response) => {
    const rows = await knowledge.article(request.params.article);
    const [first] = rows;
    if (first === undefined) throw new Problem(404, 'there is no such article');
    const { name, title, url, say } = first;
    response.json({
      id: articleId(name),
      ...{ name, title, url, say },
      passages: rows.map(({ heading, text }) => ({ heading, text })),
    } satisfies KnowledgeText);
  });

  router.get('/api/knowledge/questions', async (request, response) => {
    const days = reportDaysIn(request.query);
    const questions = await openQuestions(store.db, clock.now() - days * dayMs);
    response.json({
      days,
      items: questions.map(({ question, times, lastAskedAt, lastCallId, by }) => ({
        question,
        times,
        last_asked_at: new Date(lastAskedAt).toISOString(),
        last_call_id: lastCallId,
        by,
      })),
    } satisfies KnowledgeQuestions);
  });

  // A question in a call is kept where no article answers it.
  router.get('/api/calls/:id/knowledge', async (request, response) => {
    const callId = request.params.id;
    const question = questionIn(request.query);
    const limit = limitIn(request.query);
    if ((await callRowOf(store.db, callId)) === undefined) throw new Problem(404, 'call not found');
    const items = await found(question, limit);
    if (!items.some(({ isSure }) => isSure)) {
      // The row of a call that is being erased is not written again behind its erasure.
      await store.transaction(async (tx) => {
        const call = tx.selectFrom('calls').select('id').where('id', '=', callId);
        const row = await (store.kind === 'postgres' ? call.forShare() : call).executeTakeFirst();
        if (row !== undefined) await keepQuestion(tx, { callId, question, atMs: clock.now() });
      });
    }
    response.json(answerOf(items));
  });

  return router;
}

type Query = Record<string, unknown>;

function questionIn({ q }: Query): string {
  if (typeof q !== 'string' || q.trim() === '') throw invalid(['q must be a question']);
  if (q.length > maxQuestionLetters)
    throw invalid([`q must have at most ${maxQuestionLetters} letters`]);
  return storableText(q.trim());
}

function limitIn({ limit = '3' }: Query): number {
  const number = Number(limit);
  if (!Number.isInteger(number) || number < 1 || number > maxItems)
    throw invalid([`limit must be a whole number from 1 to ${maxItems}`]);
  return number;
}

function answerOf(items: readonly FoundArticle[]): KnowledgeFound {
  return {
    items: items.map(({ name, title, url, heading, text, say, score, isSure: sure }) => ({
      id: articleId(name),
      ...{ name, title, url, heading, text, say, sure },
      score: round3(score),
    })),
  };
}
