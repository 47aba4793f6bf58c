import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { progressLine } from '../../../src/hearing/models/pull-progress.ts';
import {
  barLine,
  bytesText,
  type Progress,
  ProgressBars,
  progressText,
  shareOf,
} from '../../../src/lib/progress-bars.ts';

const uploading = (done: number, all: number): Progress => ({
  doing: 'uploading',
  amount: bytesText(done, all),
  share: shareOf(done, all),
});

describe('progress', () => {
  test('says what is done of what', () => {
    expect(progressText(uploading(50e6, 200e6))).toBe('uploading 50.0 of 200.0 MB (25 %)');
    expect(progressText(uploading(0, 0))).toBe('uploading 0.0 of 0.0 kB');
    expect(progressText({ doing: 'transcribing' })).toBe('transcribing');
    const pulled = { source: 'a mirror', receivedBytes: 12.5e6, totalBytes: 50e6 };
    expect(progressLine('tiny-en', pulled)).toBe('downloading tiny-en: 12.5 of 50.0 MB (25 %)');
    const made = { ...pulled, receivedBytes: 1, totalBytes: 3, isConverting: true };
    expect(progressLine('tiny-en', made)).toBe('converting tiny-en: step 1 of 3 (33 %)');
  });

  test('a bar shows the end of a name that is too long', () => {
    const half = { doing: 'transcribing', amount: '60 of 120 s', share: 0.5 };
    const bar = ' [##########----------] transcribing 60 of 120 s (50 %)';
    expect(barLine('call.wav', half, 100)).toBe(`call.wav${bar}`);
    expect(barLine(`${'long/'.repeat(30)}call.wav`, half, 70)).toBe(`…/long/call.wav${bar}`);
  });

  test('a line is never wider than the terminal, whatever the name', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'ü', '通', '/', '.') }),
        fc.integer({ min: 20, max: 200 }),
        fc.integer({ min: 0, max: 10_000 }),
        (label, columns, doneS) => {
          const line = barLine(label, uploading(doneS, 8_100), columns);
          const width = Array.from(line).reduce((sum, sign) => sum + (sign === '通' ? 2 : 1), 0);
          expect(width).toBeLessThanOrEqual(columns);
        },
      ),
    );
  });

  test('without a terminal each new state is one line, and the same one is not repeated', () => {
    const written: string[] = [];
    const bars = new ProgressBars({ write: (text) => written.push(text) });
    for (let bytes = 0; bytes < 100; bytes++) bars.update('a.wav', uploading(bytes, 100));
    bars.update('a.wav', { doing: 'waiting for its turn' });
    bars.update('a.wav', { doing: 'waiting for its turn' });
    bars.end('a.wav', 'done');
    bars.close();
    expect(written).toEqual([
      'a.wav: uploading 0.0 of 0.1 kB (0 %)\n',
      'a.wav: waiting for its turn\n',
      'a.wav: done\n',
    ]);
  });

  test('a terminal without a size is taken for one of 80 columns', () => {
    const written: string[] = [];
    const write = (text: string) => written.push(text);
    const bars = new ProgressBars({ isTTY: true, columns: 0, rows: 0, write });
    bars.update('call.wav', { doing: 'waiting for its turn' });
    bars.say('hello');
    bars.close();
    expect(written[1]).toBe('call.wav [--------------------] waiting for its turn');
  });

  test('at a terminal the bars are drawn over each other, and lines that stay go above them', () => {
    const written: string[] = [];
    const terminal = {
      isTTY: true,
      columns: 80,
      rows: 3,
      write: (text: string) => written.push(text),
    };
    const bars = new ProgressBars(terminal);
    for (const label of ['a', 'b', 'c', 'd']) bars.update(label, { doing: 'waiting' });
    bars.say('hello');
    expect(written.splice(0)).toEqual(['hello\n', expect.stringMatching(/^a .*\nb .*$/)]);
    bars.end('a', 'done');
    expect(written.splice(0)).toEqual(['\u001b[1A\r\u001b[J', 'a: done\n', expect.stringMatching(/^b .*\nc .*$/)]); // prettier-ignore
    bars.close();
    expect(written).toEqual(['\u001b[1A\r\u001b[J']);
  });
});
