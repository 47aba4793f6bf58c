import { expect, test } from 'vitest';
import { rangeOf } from '../../../src/port/range.ts';

test.each([
  [undefined, 'whole'],
  ['bytes=0-', { from: 0, to: 100 }],
  ['bytes=10-19', { from: 10, to: 20 }],
  ['bytes=90-1000', { from: 90, to: 100 }],
  ['bytes=-30', { from: 70, to: 100 }],
  ['bytes=-1000', { from: 0, to: 100 }],
  ['bytes=100-', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=20-10', 'whole'],
  ['bytes=0-1,5-6', 'whole'],
  ['items=0-1', 'whole'],
  ['bytes=-', 'whole'],
  [`bytes=${'9'.repeat(400)}-`, 'whole'],
])('the range %s of 100 bytes is read as %j', (header, expected) => {
  expect(rangeOf(header, 100)).toEqual(expected);
});
