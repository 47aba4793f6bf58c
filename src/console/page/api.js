import { ApiError } from './failures.js';
import { connection } from './page-state.js';

/** @import { AnswerTo, AnswerToPatch, AnswerToPost, ApiCall, CallScore, CallWrapUp, Connected, PlaybookDeleted, PlaybookPreview, PlaybookSaved, SavedSearch } from './shapes.ts' */

/** A request is given up after this time, because a connection may stay open to a process that hangs. */
const answersWithinMs = 30_000;
/** Statuses with which a proxy answers if the process behind it does not. */
const unansweredStatuses = [502, 503, 504];

/** @type {() => void} */
let onSignedOut = () => undefined;

let token = '';

/**
 * From now on requests show this token, and no cookie.
 * @param {string} given
 */
export function useToken(given) {
  token = given;
}

/**
 * The header of the token, where there is one.
 * @returns {Record<string, string>}
 */
export const authorization = () => (token === '' ? {} : { authorization: `Bearer ${token}` });

/**
 * Sets the function to call when an answer shows that the page's session is over.
 * @param {() => void} run
 */
export function whenSignedOut(run) {
  onSignedOut = run;
}

/**
 * @template {string} Path
 * @param {Path} path
 * @returns {Promise<AnswerTo<Path>>}
 */
export const get = (path) => ask('GET', path);

/**
 * @template {string} Path
 * @param {Path} path
 * @param {unknown} [body]
 * @returns {Promise<AnswerToPost<Path>>}
 */
export const post = (path, body) => ask('POST', path, body);

/**
 * @param {`/api/connections/${string}`} path
 * @param {unknown} body
 * @returns {Promise<Connected>}
 */
export const put = (path, body) => ask('PUT', path, body);

/**
 * @template {`/api/calls/${string}` | `/api/people/${string}`} Path
 * @param {Path} path
 * @param {unknown} body
 * @returns {Promise<AnswerToPatch<Path>>}
 */
export const patch = (path, body) => ask('PATCH', path, body);

/**
 * @param {`/api/calls/${string}/wrap-up`} path
 * @param {unknown} body
 * @returns {Promise<CallWrapUp>}
 */
export const putWrapUp = (path, body) => ask('PUT', path, body);

/**
 * @param {`/api/calls/${string}/scores/${string}`} path
 * @param {unknown} body
 * @returns {Promise<CallScore>}
 */
export const putScore = (path, body) => ask('PUT', path, body);

/**
 * @param {`/api/saved-searches/${string}`} path
 * @param {{ query: string }} body
 * @returns {Promise<SavedSearch>}
 */
export const putSearch = (path, body) => ask('PUT', path, body);

/**
 * @param {`/api/calls/${string}/agent`} path
 * @param {unknown} body
 * @returns {Promise<ApiCall>}
 */
export const putAgent = (path, body) => ask('PUT', path, body);

/**
 * @param {`/api/assist/files/${string}`} path
 * @param {{ text: string, digest: string | null }} body
 * @returns {Promise<PlaybookSaved>}
 */
export const putPlaybook = (path, body) => ask('PUT', path, body);

/**
 * @param {string} path
 * @returns {Promise<PlaybookDeleted>}
 */
export const deletePlaybook = (path) => ask('DELETE', path);

/**
 * @param {{ playbook: string }} body
 * @param {AbortSignal} signal
 * @returns {Promise<PlaybookPreview>}
 */
export const preview = (body, signal) => ask('POST', '/api/assist/preview', body, signal);

/**
 * @param {string} path
 * @returns {Promise<{ status?: string, continue_at?: string } | undefined>}
 */
export const erase = (path) => ask('DELETE', path);

/** The answer as text, for saving to a file. */
/** @param {string} path */
export const getText = (path) => asked('GET', path).then(({ text }) => text);

/**
 * @template T
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [cancelled]
 * @returns {Promise<T>}
 */
async function ask(method, path, body, cancelled) {
  const { answer } = await asked(method, path, body, cancelled);
  // The only place where an answer's type is assumed: this page and the API have the same version.
  return /** @type {T} */ (answer);
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [cancelled]
 */
async function asked(method, path, body, cancelled) {
  const signal = AbortSignal.timeout(answersWithinMs);
  const unanswered = () => lost(cancelled);
  const response = await fetch(path, {
    method,
    cache: 'no-store',
    signal: cancelled === undefined ? signal : AbortSignal.any([signal, cancelled]),
    ...(token === '' ? {} : { credentials: 'omit' }),
    headers: {
      ...authorization(),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(unanswered);
  // Browsers count a request whose body is never read as cancelled, so an empty body is read too.
  const text = await response.text().catch(unanswered);
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  if (!isJson && unansweredStatuses.includes(response.status)) unanswered();
  connection.back();
  const answer = isJson ? parsed(text) : undefined;
  if (response.ok) return { text, answer };
  throw refusal(path, response.status, answer);
}

/**
 * @param {AbortSignal} [cancelled]
 * @returns {never}
 */
function lost(cancelled) {
  // The page itself gave the request up.
  cancelled?.throwIfAborted();
  connection.lost();
  throw new ApiError(0, 'Trunkline does not answer; is it running?');
}

/**
 * Parses an answer. One that was cut on its way counts as empty.
 * @param {string} text
 * @returns {unknown}
 */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The message of a refusal, followed by the reason for each refused field.
 * @param {string} path
 * @param {number} status
 * @param {unknown} answer
 */
function refusal(path, status, answer) {
  if (status === 401 && path !== '/api/session') onSignedOut();
  const told = typeof answer === 'object' && answer !== null ? answer : {};
  const fields =
    'validation_errors' in told && Array.isArray(told.validation_errors)
      ? told.validation_errors.map(String)
      : [];
  const message =
    'message' in told && typeof told.message === 'string'
      ? told.message
      : `the answer was ${status}`;
  return new ApiError(status, [message, ...fields].join(': '));
}

/**
 * Sends a file as a form. XMLHttpRequest is used because only it reports the progress of an upload.
 * @param {string} path
 * @param {File} file
 * @param {{ signal: AbortSignal, onSent: (bytes: number) => void }} options
 * @returns {Promise<{ audio_url: string }>}
 */
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
