import { connection } from './page-state.js';

/** What went wrong, in the words of the answer. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }

  /** Nobody answered, or only somebody on the way to Trunkline. */
  get isUnanswered() {
    return this.status === 0;
  }
}

/** A socket may be open to a process that stands still. */
const answersWithinMs = 30_000;
/** What a proxy says when nothing answers behind it. */
const unansweredStatuses = [502, 503, 504];

let onSignedOut = () => undefined;

/** Called when an answer says that the page's session is over. */
export function whenSignedOut(run) {
  onSignedOut = run;
}

export const get = (path) => ask('GET', path);
export const post = (path, body) => ask('POST', path, body);
export const patch = (path, body) => ask('PATCH', path, body);
export const erase = (path) => ask('DELETE', path);

/** The answer as it was written: a file to save. */
export const getText = (path) => ask('GET', path, undefined, (text) => text);

async function ask(method, path, body, read = (_text, answer) => answer) {
  const response = await fetch(path, {
    method,
    cache: 'no-store',
    signal: AbortSignal.timeout(answersWithinMs),
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  }).catch(unanswered);
  // Read even where nothing is in it: a body that nobody reads counts as a request that was given up.
  const text = await response.text().catch(unanswered);
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  if (!isJson && unansweredStatuses.includes(response.status)) unanswered();
  connection.back();
  const answer = isJson ? parsed(text) : undefined;
  if (response.ok) return read(text, answer);
  throw refusal(path, response.status, answer);
}

function unanswered() {
  connection.lost();
  throw new ApiError(0, 'Trunkline does not answer; is it running?');
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
