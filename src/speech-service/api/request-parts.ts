import type { Request } from 'express';
import { Problem } from '../../port/problem.ts';

export function queryOf(request: Request): URLSearchParams {
  return new URL(request.originalUrl, 'http://local').searchParams;
}

/** A missing body is an empty object. A body of another type is refused instead of being read as empty. */
export function jsonBody(request: Request): unknown {
  const body: unknown = request.body;
  if (body !== undefined) return body;
  if (request.headers['content-type'] === undefined) return {};
  throw new Problem(415, 'content-type must be application/json');
}
