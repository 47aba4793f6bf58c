/** Converts whole days of a time zone to instants, which the API requires. Uses no document. */

/**
 * The start of this day (`2026-03-29`), plus `daysOn` days, in the zone ('' is the computer's zone).
 * @param {string} day
 * @param {string} zone
 */
export function startOfDay(day, zone, daysOn = 0) {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  const asUtc = Date.UTC(year, month - 1, date + daysOn);
  // The zone's offset is computed twice, since the clocks may have changed between the two instants.
  const near = asUtc - aheadMs(asUtc, zone);
  return new Date(asUtc - aheadMs(near, zone)).toISOString();
}

/**
 * @param {number} atMs
 * @param {string} zone
 */
function aheadMs(atMs, zone) {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone === '' ? undefined : zone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  }).formatToParts(atMs);
  /** @param {Intl.DateTimeFormatPartTypes} type */
  const of = (type) => Number(parts.find((part) => part.type === type)?.value);
  return (
    Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) - atMs
  );
}
