import { beforeAll, expect, test } from 'vitest';

type StartOfDay = (day: string, zone: string, daysOn?: number) => string;
type AskedOf = (query: URLSearchParams, zone: string) => URLSearchParams;

let startOfDay: StartOfDay;
let askedOf: AskedOf;
beforeAll(async () => {
  const page = '../../../src/console/page';
  ({ startOfDay } = (await import(`${page}/days.js`)) as { startOfDay: StartOfDay });
  ({ askedOf } = (await import(`${page}/call-query.js`)) as { askedOf: AskedOf });
});

test.each([
  ['2026-01-15', 'UTC', 0, '2026-01-15T00:00:00.000Z'],
  ['2026-01-15', 'Europe/Berlin', 0, '2026-01-14T23:00:00.000Z'],
  ['2026-07-15', 'Europe/Berlin', 1, '2026-07-15T22:00:00.000Z'],
  // The day on which clocks are set has 23 or 25 hours.
  ['2026-03-29', 'Europe/Berlin', 0, '2026-03-28T23:00:00.000Z'],
  ['2026-03-29', 'Europe/Berlin', 1, '2026-03-29T22:00:00.000Z'],
  ['2026-10-25', 'Europe/Berlin', 0, '2026-10-24T22:00:00.000Z'],
  ['2026-10-25', 'Europe/Berlin', 1, '2026-10-25T23:00:00.000Z'],
  ['2026-12-31', 'America/New_York', 1, '2027-01-01T05:00:00.000Z'],
  ['2026-01-15', 'Asia/Kathmandu', 0, '2026-01-14T18:15:00.000Z'],
  ['2026-01-15', 'Pacific/Kiritimati', 0, '2026-01-14T10:00:00.000Z'],
  ['2026-03-08', 'America/New_York', 0, '2026-03-08T05:00:00.000Z'],
  ['2026-11-01', 'America/New_York', 1, '2026-11-02T05:00:00.000Z'],
])('%s in %s, %d days on, begins at %s', (day, zone, daysOn, begins) => {
  expect(startOfDay(day, zone, daysOn)).toBe(begins);
});

test('days of an address are asked for as whole days of the zone; moments and what is no day go on as they are', () => {
  const asked = (text: string) =>
    Object.fromEntries(askedOf(new URLSearchParams(text), 'Asia/Tokyo'));
  expect(asked('from_date=2026-02-01&to_date=2026-02-28&carrier=x')).toEqual({
    from_date: '2026-01-31T15:00:00.000Z',
    to_date: '2026-02-28T15:00:00.000Z',
    carrier: 'x',
  });
  for (const value of ['2026-02-01T10:00:00Z', 'yesterday', '2026-13-45'])
    expect(asked(`from_date=${value}`)).toEqual({ from_date: value });
});
