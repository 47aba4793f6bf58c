import { KnowledgeFound, KnowledgeList, KnowledgeQuestions, KnowledgeText } from '../articles.ts';
import { answer, type Route } from './route.ts';
import { z } from 'zod';

const tag = 'Knowledge';

const question = [
  {
    name: 'q',
    description: 'The question, in any words.',
    schema: z.string().min(1).max(1_000),
    example: 'can I keep my number',
  },
  { name: 'limit', description: 'At most so many articles.', schema: z.int().min(1).max(10).default(3) }, // prettier-ignore
];

/** Articles for agents. */
export const knowledgeRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/api/knowledge',
    tag,
    summary: 'Find articles for a question',
    access: 'key',
    query: question,
    answers: { 200: answer('The likeliest articles, with the passage that answers.', KnowledgeFound) }, // prettier-ignore
    errors: [400, 503],
  },
  {
    method: 'get',
    path: '/api/calls/{id}/knowledge',
    tag,
    summary: 'Find articles for a question in a call',
    description:
      'As above. A question that no article answers is kept with the call, for the report.',
    access: 'key',
    query: question,
    answers: { 200: answer('The likeliest articles, with the passage that answers.', KnowledgeFound) }, // prettier-ignore
    errors: [400, 404, 503],
  },
  {
    method: 'get',
    path: '/api/knowledge/articles',
    tag,
    summary: 'The articles, and the files that cannot be used',
    access: 'key',
    answers: { 200: answer('In the order of their names.', KnowledgeList) },
  },
  {
    method: 'get',
    path: '/api/knowledge/articles/{article}',
    tag,
    summary: 'Read an article',
    access: 'key',
    answers: { 200: answer('All passages in their order.', KnowledgeText) },
    errors: [404],
  },
  {
    method: 'get',
    path: '/api/knowledge/questions',
    tag,
    summary: 'Questions that no article answered',
    access: 'key',
    query: [
      {
        name: 'last_days',
        description: 'The questions of so many days.',
        schema: z.int().min(1).max(365).default(30),
      },
    ],
    answers: { 200: answer('Those asked most first; like questions are one.', KnowledgeQuestions) },
    errors: [400],
  },
];
