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
export const erase = (path) => ask('DELETE', path);

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
  // Read even where nothing is in it: a body that nobody reads counts as a request that was given up.
  const text = await response.text().catch(() => '');
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  const answer = isJson ? parsed(text) : undefined;
  if (response.ok) return answer;
  throw refusal(path, response.status, answer);
}

/** An answer that was cut on its way says nothing. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a refused field was is said after the message, in the words of the service. */
function refusal(path, status, answer) {
  if (status === 401 && path !== '/api/session') onSignedOut();
  const fields = Array.isArray(answer?.validation_errors) ? answer.validation_errors : [];
  const message = answer?.message ?? `the answer was ${status}`;
  return new ApiError(status, [message, ...fields].join(': '));
}

/** Sends a file as a form, which is the one request that tells how far it has come. */
export function upload(path, file, { signal, onSent }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const lost = () =>
      reject(new ApiError(0, 'The connection was lost before the file was whole.'));
    request.open('POST', path);
    request.responseType = 'json';
    request.upload.addEventListener('progress', ({ loaded }) => onSent(loaded));
    request.addEventListener('error', lost);
    request.addEventListener('timeout', lost);
    request.addEventListener('abort', () => reject(signal.reason));
    request.addEventListener('load', () => {
      const { status, response } = request;
      if (status >= 200 && status < 300) resolve(response);
      else reject(refusal(path, status, response));
    });
    signal.addEventListener('abort', () => request.abort());
    const form = new FormData();
    form.append('audio', file);
    request.send(form);
  });
}
