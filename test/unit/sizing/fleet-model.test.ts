import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import {
  costOf,
  costs,
  needOf,
  partsOf,
  type FleetFigures,
  type CallLoad,
  type Need,
} from '../../support/sizing/fleet-model.ts';

const page = readFileSync(resolve(import.meta.dirname, '../../../config/docs/sizing.md'), 'utf8');
const figures = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../../support/sizing/figures.json'), 'utf8'),
) as FleetFigures;

const loads: [CallLoad, CallLoad, CallLoad] = [
  { calls: 20, callS: 5, finals: 0 },
  { calls: 20, callS: 25, finals: 0 },
  { calls: 20, callS: 25, finals: 250 },
];

test('three loads give back the parts that they were made of, and foretell a fourth', () => {
  const parts = { perCall: 80, perSecond: 0.25, perFinal: 17 };
  const found = partsOf([
    [loads[0], costOf(parts, loads[0])],
    [loads[1], costOf(parts, loads[1])],
    [loads[2], costOf(parts, loads[2])],
  ]);
  for (const [name, value] of Object.entries(parts))
    expect(found[name as keyof typeof found]).toBeCloseTo(value, 9);
  expect(costOf(found, { calls: 3, callS: 10, finals: 7 })).toBeCloseTo(240 + 7.5 + 119, 9);
});

test('loads that say the same thing twice are refused', () => {
  const twice = { calls: 40, callS: 5, finals: 0 };
  expect(() => partsOf([[loads[0], 1], [loads[1], 2], [twice, 2]])).toThrow('three loads'); // prettier-ignore
});

test('ten times the calls need ten times as much of everything that is not shared', () => {
  const [small, large] = [needOf(1_000, figures), needOf(10_000, figures)];
  for (const name of ['eventsPerS', 'recogniserCores', 'carrierMbitPerS', 'recordingsTB'] as const)
    expect(large[name] / small[name]).toBeCloseTo(10, 1);
  expect(large.fleets).toBeGreaterThan(small.fleets);
});

/** The first cell of a row of the page, and what the model says of it. */
const rows: Record<string, keyof Need> = {
  'calls begun, a second': 'callsBegunPerS',
  'events to the CRM, a second': 'eventsPerS',
  'bridge nodes, one more than needed': 'nodes',
  'cores that recognise, with our own model': 'recogniserCores',
  'statements, a second': 'statementsPerS',
  'transactions, a second': 'transactionsPerS',
  'rows written, a second': 'rowsWrittenPerS',
  'write-ahead log, MB a second': 'walMBPerS',
  'cores of Postgres, half busy': 'databaseCores',
  'connections to Postgres': 'connections',
  'fleets, each with its own Postgres': 'fleets',
  'carriers, Mbit a second': 'carrierMbitPerS',
  'speech, Mbit a second': 'speechMbitPerS',
  'Postgres, Mbit a second': 'databaseMbitPerS',
  'CRM, Mbit a second': 'crmMbitPerS',
  'rows of 90 days, TB': 'rowsTB',
  'recordings of 30 days, TB': 'recordingsTB',
};

test('the page says what the model says', () => {
  expect(Object.keys(figures.parts)).toEqual([...costs]);
  const needs = [1_000, 10_000, 100_000].map((calls) => needOf(calls, figures));
  const wrong = Object.entries(rows).flatMap(([title, name]) => {
    const cells = needs.map((need) => Number(need[name].toPrecision(2)).toLocaleString('en'));
    const row = `| ${title} | ${cells.join(' | ')} |`;
    return page.includes(row) ? [] : [row];
  });
  expect(wrong).toEqual([]);
});
