/** What went wrong, in the words of the answer. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let onSignedOut = () => undefined;

/** Called when an answer says that the page's session is over. */
export function whenSignedOut(run) {
  onSignedOut = run;
}

export const get = (path) => ask('GET', path);
export const post = (path, body) => ask('POST', path, body);

async function ask(method, path, body) {
  const response = await fetch(path, {
    method,
    cache: 'no-store',
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  }).catch(() => {
    throw new ApiError(0, 'Trunkline does not answer; is it running?');
  });
  const answer = response.headers.get('content-type')?.startsWith('application/json')
    ? await response.json().catch(() => undefined)
    : undefined;
  if (response.ok) return answer;
  if (response.status === 401 && path !== '/api/session') onSignedOut();
  throw new ApiError(response.status, answer?.message ?? `the answer was ${response.status}`);
}
