import { expect, test } from 'vitest';
import { transcriptFile } from '../../../../src/bridge/api/call-transcript.ts';

const turn = (text: string) => ({ role: 'customer' as const, text, start: 61.5, end: 62 });
const fileOf = (text: string, format: 'txt' | 'csv' | 'vtt' | 'srt') =>
  transcriptFile({ id: 'c1', state: 'ended', transcript: [turn(text)] }, format).text;

test.each(['=1+1', '+1', '-1', '@sum(a1)'])(
  'a spreadsheet runs nothing that was said: %s',
  (text) => {
    expect(fileOf(text, 'csv')).toContain(`"customer","'${text}"`);
  },
);

test('marks and line breaks in words stay within their cell, line and cue', () => {
  const text = 'say "yes"\r\n\r\n00:00 --> <b>no</b>';
  expect(fileOf(text, 'csv')).toContain('"say ""yes"" 00:00 --> <b>no</b>"');
  expect(fileOf(text, 'txt')).toBe('[1:01] Customer: say "yes" 00:00 --> <b>no</b>\n');
  expect(fileOf(text, 'vtt')).not.toMatch(/<b>|00:00 -->/);
  expect(fileOf(text, 'srt').split('\n\n').filter(Boolean)).toHaveLength(1);
});
