import type { IncomingMessage, ServerResponse } from 'node:http';

/** Tells a client that waits for it (`Expect: 100-continue`) to send its body now. */
export function askForBody(request: IncomingMessage, response: ServerResponse): void {
  if (/^100-continue$/i.test(request.headers.expect ?? '')) response.writeContinue();
}
