import type { Request, Response } from 'express';
import { Problem } from '../../port/problem.ts';

export function queryOf(request: Request): URLSearchParams {
  return new URL(request.originalUrl, 'http://local').searchParams;
}

const ignoredTold = 20;

/**
 * Tells the client which fields of its body had no effect. A header carries this, because released clients ignore
 * unknown fields of the body.
 */
export function tellIgnored(response: Response, ignored: readonly string[]): void {
  if (ignored.length === 0) return;
  const names = ignored.slice(0, ignoredTold).map((name) => encodeURIComponent(name.slice(0, 80)));
  response.set('x-ignored-fields', names.join(', '));
}

/** A missing body counts as an empty object. A body of another type is refused instead of being read as empty. */
export function jsonBody(request: Request): unknown {
  const body: unknown = request.body;
  if (body !== undefined) return body;
  if (request.headers['content-type'] === undefined) return {};
  throw new Problem(415, 'content-type must be application/json');
}
