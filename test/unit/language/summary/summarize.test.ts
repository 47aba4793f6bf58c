import { expect, test } from 'vitest';
import { summarize } from '../../../../src/language/summary/summarize.ts';

const turn = (role: string, text: string, start: number) => ({ role, text, start, end: start + 2 });

test('a single nameless voice is not called by its channel, two voices are', () => {
  const alone = [turn('channel 0', 'My card is lost and I need a new one.', 0)];
  expect(summarize(alone, 'general')).toBe('My card is lost and I need a new one.');
  expect(summarize(alone, 'bullet_points')).toBe('- My card is lost and I need a new one.');
  const two = [...alone, turn('channel 1', 'We have blocked the old card.', 3)];
  expect(summarize(two, 'general')).toContain('Channel 0: My card');
  expect(summarize([turn('customer', 'My card is lost.', 0)], 'general')).toMatch(/^Customer: /);
});
