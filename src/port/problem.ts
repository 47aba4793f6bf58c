import type { ErrorRequestHandler, Request, Response } from 'express';
import { randomUUID } from 'node:crypto';
import { problemPage, wantsPage } from './problem-page.ts';

/** An error with a status to answer. Any route may throw it, and it is sent as the interface's error body. */
export class Problem extends Error {
  readonly status: number;
  readonly validationErrors: string[] | undefined;
  readonly headers: Record<string, string>;

  constructor(
    status: number,
    message: string,
    options: {
      validationErrors?: string[];
      headers?: Record<string, string>;
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Problem';
    this.status = status;
    this.validationErrors = options.validationErrors;
    this.headers = options.headers ?? {};
  }
}

/** The id of a request: `G-` and eight hex digits, as clients of the interface expect to see and to quote it. */
export function newRequestId(): string {
  return `G-${randomUUID().slice(0, 8)}`;
}

function requestIdOf(response: Response): string {
  const id: unknown = response.locals['requestId'];
  return typeof id === 'string' ? id : newRequestId();
}

function sendProblem(request: Request, response: Response, problem: Problem): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const path = pathOf(request.originalUrl);
  response.set(problem.headers).status(problem.status).vary('accept');
  if (wantsPage(request, path)) response.type('text/html').send(problemPage(problem));
  else response.json(problemBody(problem, path, requestIdOf(response)));
}

/** The error body of the interface. */
export function problemBody(problem: Problem, path: string, requestId: string): object {
  return {
    timestamp: new Date().toISOString(),
    path,
    request_id: requestId,
    statusCode: problem.status,
    message: problem.message,
    ...(problem.status === 400 && problem.validationErrors
      ? { validation_errors: problem.validationErrors }
      : {}),
  };
}

/** Returns the path of a request target even if the target is not a URL. Clients do ask for `///`, for example. */
export function pathOf(target: string): string {
  return URL.parse(target, 'http://local')?.pathname ?? target.split(/[?#]/, 1)[0] ?? '';
}

/**
 * The last handler of the app. It sends a problem as it is, translates an error of the body parser, and answers any
 * other error with 500.
 */
export function problemHandler(onUnexpected: (error: unknown) => void): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    sendProblem(request, response, asProblem(error, onUnexpected));
  };
}

function asProblem(error: unknown, onUnexpected: (error: unknown) => void): Problem {
  if (error instanceof Problem) return error;
  const type =
    typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined;
  switch (type) {
    case 'entity.parse.failed':
      return new Problem(400, 'Validation failed', {
        validationErrors: ['body must be valid JSON'],
      });
    case 'entity.too.large':
      return new Problem(413, 'payload too large');
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return new Problem(415, 'unsupported content encoding');
    case 'request.aborted':
    case 'request.size.invalid':
      return new Problem(400, 'request was cut short');
    default:
      // Express could not decode a parameter of the path, such as %E0%A4%A.
      if (error instanceof URIError)
        return new Problem(400, 'Validation failed', {
          validationErrors: ['path must be percent-encoded UTF-8'],
        });
      onUnexpected(error);
      return new Problem(500, 'Internal error');
  }
}
