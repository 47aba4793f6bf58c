import type { Request } from 'express';

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
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Trunkline</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page/style.css">
<script src="/page/theme.js"></script>
</head>
<body>
<header class="bar"><span class="brand">Trunkline</span></header>
<main id="main">
<div class="view">
<h1>${title}</h1>
<p>${why}</p>
<p><a href="/#/calls">Show the calls</a></p>
</div>
</main>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
