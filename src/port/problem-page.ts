import type { Request } from 'express';
import { escaped, plainPage } from './plain-page.ts';

/** These paths belong to programs, also where a browser shows the answer: it is read by whoever writes such a program. */
const programs = /^\/(?:api|v2|file|carriers|health|metrics)(?:\/|$)/;

/** True if a browser asks for this address as a page, because a person typed it or followed a link. */
export function wantsPage(request: Request, path: string): boolean {
  return (
    request.method === 'GET' &&
    !programs.test(path) &&
    request.accepts(['application/json', 'text/html']) === 'text/html'
  );
}

/** An error for a person who followed a link, with the way that is left. */
export function problemPage(problem: { status: number; message: string }): string {
  const isMissing = problem.status === 404;
  const title = isMissing ? 'Page not found' : 'This page cannot be shown';
  const why = isMissing
    ? 'No page has this address. The link may have been cut on its way.'
    : `The reason: ${escaped(problem.message)}.`;
  return plainPage(
    title,
    `<div class="view">
<h1>${title}</h1>
<p>${why}</p>
<p><a href="/#/calls">Show the calls</a></p>
</div>`,
  );
}
