import { z } from 'zod';
import { answer, type Parameter, type Route } from './route.ts';

/** A page of a list and its length. */
export const paging: Parameter[] = [
  { name: 'cursor', description: 'From `next_cursor` of the page before.', schema: z.string() },
  { name: 'limit', description: 'Items on a page.', schema: z.int().min(1) },
];

/** Reads one thing. */
export function one(path: string, summary: string): Route {
  return { method: 'get', path, tag: 'Calls', access: 'key', summary, answers: {}, errors: [404] };
}

/** Does something with one thing. */
export function act(path: string, summary: string): Route {
  const answers = { 204: answer('Done.') };
  return {
    method: 'post',
    path,
    tag: 'Calls',
    access: 'key',
    summary,
    answers,
    errors: [404, 409],
  };
}
