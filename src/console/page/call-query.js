import { startOfDay } from './days.js';

/**
 * The query of the address, after the `?`: it has the names of the query of /api/calls.
 * @param {string} hash
 */
export function queryOf(hash) {
  const at = hash.indexOf('?');
  return new URLSearchParams(at === -1 ? '' : hash.slice(at + 1));
}

/**
 * The address of such a list: a person can keep it or send it.
 * @param {URLSearchParams} query
 */
export function addressOf(query) {
  const text = query.toString();
  return text === '' ? '#/calls' : `#/calls?${text}`;
}

/**
 * With one thing of the query changed; '' takes it away. Another list begins with its first page.
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
 * The query for /api/calls: a day of the address becomes a whole day of the zone in which times are shown.
 * @param {URLSearchParams} query
 * @param {string} zone
 */
export function askedOf(query, zone) {
  const asked = new URLSearchParams(query);
  for (const [name, daysOn] of days) {
    const value = asked.get(name) ?? '';
    // A day that there is not is left to the answer, which says so.
    if (aDay.test(value) && !Number.isNaN(Date.parse(value)))
      asked.set(name, startOfDay(value, zone, daysOn));
  }
  return asked;
}

/**
 * True where the address means the list of calls.
 * @param {string} hash
 */
export function isListAddress(hash) {
  return /^(?:#\/?(?:calls\/?)?(?:\?.*)?)?$/.test(hash);
}
