import express, { type Router } from 'express';
import { Problem } from '../../port/problem.ts';

const record = 'GET, HEAD, PATCH, DELETE';

/** The methods that each address of the API accepts. */
const methodsOf: [path: string, allow: string][] = [
  ...['/v2/live', '/v2/pre-recorded', '/v2/transcription'].flatMap((base): [string, string][] => [
    [base, 'GET, HEAD, POST'],
    [`${base}/:id`, record],
    [`${base}/:id/file`, 'GET, HEAD'],
  ]),
  ['/v2/pre-recorded/:id/cancel', 'POST'],
  ['/v2/transcription/:id/cancel', 'POST'],
  ['/v2/upload', 'POST'],
  ['/file/:id', 'GET, HEAD, DELETE'],
];

/**
 * Answers a request whose method an address does not accept, and lists the methods that it does accept. Mounted after
 * all other routes.
 */
export function otherMethods(): Router {
  const router = express.Router();
  for (const [path, allow] of methodsOf)
    router.all(path, ({ method }, _response, next) => {
      // A browser sends OPTIONS before its request. The framework answers that.
      if (method === 'OPTIONS' || allow.split(', ').includes(method)) {
        next();
        return;
      }
      throw new Problem(405, `${method} is not answered here, only ${allow}`, {
        headers: { allow },
      });
    });
  return router;
}
