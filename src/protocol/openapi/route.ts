import type { z } from 'zod';
import { ErrorBody } from '../error-body.ts';

/** One operation of our HTTP APIs, as data. The document, the page at /docs and the tests are made from it. */
export type Route = {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** The path, with `{name}` for variable parts. */
  path: string;
  tag: string;
  summary: string;
  description?: string;
  /** The callers that are admitted: anyone, those with a key, or those that pass the carrier's authentication. */
  access: 'public' | 'key' | 'carrier';
  deprecated?: true;
  query?: Parameter[];
  headers?: Parameter[];
  body?: RouteBody;
  answers: Record<number, RouteAnswer>;
  /** Statuses with the error body, beside those that the port itself answers (`document.ts`). */
  errors?: number[];
};

export type Parameter = {
  name: string;
  description: string;
  schema: z.ZodType;
  example?: unknown;
};

export type RouteBody = {
  description?: string;
  /** Content type → schema, or `binary` for bytes. */
  content: Record<string, z.ZodType | 'binary'>;
  /** The description for every content type. */
  example?: unknown;
  /** Examples for single content types. */
  examples?: Record<string, unknown>;
};

export type RouteAnswer = Partial<RouteBody> & {
  description: string;
  headers?: Record<string, string>;
};

export function json(schema: z.ZodType, example?: unknown): RouteBody {
  return { content: { 'application/json': schema }, example };
}

export function answer(description: string, schema?: z.ZodType, example?: unknown): RouteAnswer {
  return { description, ...(schema ? json(schema, example) : {}) };
}

const errorTexts: Record<number, string> = {
  400: 'The request is malformed; `validation_errors` names each field.',
  401: 'The key is missing or wrong.',
  403: 'Not allowed in this state, or from this place: without keys only this machine is answered.',
  404: 'There is no such thing.',
  408: 'The body stopped coming.',
  409: 'It is not in a state that allows this.',
  413: 'The body is larger than this route takes.',
  415: 'The content type is not one that this route takes.',
  416: 'The range lies outside the file.',
  422: 'Well-formed, but the values cannot be used.',
  429: 'At capacity, or too many wrong keys; `Retry-After` says when to ask again.',
  500: 'An error of ours; the log says which.',
  503: 'Not ready, when the process has just started for example: the reason is in the message.',
  504: 'It took longer than its deadline.',
  507: 'The room for files is used up.',
};

export function errorAnswer(status: number): RouteAnswer {
  return answer(errorTexts[status] ?? 'The request failed.', ErrorBody);
}
