import { startOfDay } from './days.js';

/**
 * The query in the address, after the `?`. It uses the parameter names of /api/calls.
 * @param {string} hash
 */
export function queryOf(hash) {
  const at = hash.indexOf('?');
  return new URLSearchParams(at === -1 ? '' : hash.slice(at + 1));
}

/**
 * The address of a list with this query, which a person can save or send.
 * @param {URLSearchParams} query
 */
export function addressOf(query) {
  const text = query.toString();
  return text === '' ? '#/calls' : `#/calls?${text}`;
}

/**
 * A copy of the query with one parameter changed, or removed by ''. The new list begins with its first page.
 * @param {URLSearchParams} query
 * @param {string} name
 * @param {string} value
 */
export function changed(query, name, value) {
  const next = new URLSearchParams(query);
  next.delete('cursor');
  if (value === '') next.delete(name);
  else next.set(name, value);
  return next;
}

/** @type {[string, number][]} */
const days = [
  ['from_date', 0],
  ['to_date', 1],
];
const aDay = /^\d{4}-\d{2}-\d{2}$/;

/**
 * The query for /api/calls: a day in the address becomes a whole day in the displayed time zone.
 * @param {URLSearchParams} query
 * @param {string} zone
 */
export function askedOf(query, zone) {
  const asked = new URLSearchParams(query);
  for (const [name, daysOn] of days) {
    const value = asked.get(name) ?? '';
    // The API refuses a day that does not exist, and says so.
    if (aDay.test(value) && !Number.isNaN(Date.parse(value)))
      asked.set(name, startOfDay(value, zone, daysOn));
  }
  return asked;
}

/**
 * True if the address is that of the list of calls.
 * @param {string} hash
 */
export function isListAddress(hash) {
  return /^(?:#\/?(?:calls\/?)?(?:\?.*)?)?$/.test(hash);
}
