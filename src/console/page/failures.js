/** A failed request with the message of the answer. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * The message about a failure for a person.
 * @param {unknown} error
 */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * True if nobody answered, or only a proxy in front of Trunkline.
 * @param {unknown} error
 */
export function isUnanswered(error) {
  return error instanceof ApiError && error.status === 0;
}

/**
 * @param {unknown} error
 * @param {number} status
 */
export function isStatus(error, status) {
  return error instanceof ApiError && error.status === status;
}
