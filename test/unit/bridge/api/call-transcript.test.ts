import { expect, test } from 'vitest';
import {
  transcriptFormats,
  transcriptPieces,
  transcriptText,
} from '../../../../src/bridge/api/call-transcript.ts';
import type { Turn } from '../../../../src/protocol/events.ts';

const turn = (text: string) => ({ role: 'customer' as const, text, start: 61.5, end: 62 });
const fileOf = (text: string, format: 'txt' | 'csv' | 'vtt' | 'srt') =>
  transcriptText({ id: 'c1', state: 'ended', transcript: [turn(text)] }, format);

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

/** Turns of two parties, who interrupt each other and now and then are quiet. */
function conversation(count: number): Turn[] {
  let state = 7;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  let start = 0;
  return Array.from({ length: count }, (_, at) => {
    start += next(30) === 0 ? 14 : next(3);
    const text = Array.from({ length: 1 + next(20) }, () => ['yes', 'because', '12', 'a --> b', 'no <i>'][next(5)]).join(' '); // prettier-ignore
    return { utterance_id: `utt_${at}`, role: next(3) === 0 ? 'agent' : 'customer', text, start, end: start + 1 + next(6) }; // prettier-ignore
  });
}

async function* inPages(turns: readonly Turn[], size: number): AsyncGenerator<Turn[]> {
  for (let at = 0; at < turns.length; at += size) yield turns.slice(at, at + size);
  if (turns.length === 0) yield [];
  await Promise.resolve();
}

test.each(transcriptFormats)('a transcript in pieces is the whole one: %s', async (format) => {
  for (const [count, size] of [
    [0, 10],
    [1, 10],
    [250, 10],
    [500, 500],
    [1_200, 100],
  ] as const) {
    // prettier-ignore
    const transcript = conversation(count);
    const call = { id: 'c1', state: 'ended' as const };
    const pieces: string[] = [];
    for await (const piece of transcriptPieces({ ...call, pages: inPages(transcript, size) }, format)) pieces.push(piece); // prettier-ignore
    expect([count, pieces.join('')]).toEqual([count, transcriptText({ ...call, transcript }, format)]); // prettier-ignore
    if (count === 1_200) expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(pieces.join('').length / 3); // prettier-ignore
  }
});
