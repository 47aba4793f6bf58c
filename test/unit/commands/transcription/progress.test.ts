import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  barLine,
  ProgressBars,
  stateText,
  type FileState,
} from '../../../../src/commands/transcription/file-progress.ts';

describe('progress', () => {
  test('says what is done of what', () => {
    expect(stateText({ at: 'uploading', bytes: 50e6, ofBytes: 200e6 })).toBe(
      'uploading 50.0 of 200.0 MB (25 %)',
    );
    expect(stateText({ at: 'reading', doneS: 30.9, ofS: 120 })).toBe(
      'transcribing 30 of 120 s (25 %)',
    );
    expect(stateText({ at: 'reading', doneS: 0, ofS: 0 })).toBe('transcribing');
  });

  test('a bar shows the end of a name that is too long', () => {
    const state: FileState = { at: 'reading', doneS: 60, ofS: 120 };
    const bar = ' [##########----------] transcribing 60 of 120 s (50 %)';
    expect(barLine('call.wav', state, 100)).toBe(`call.wav${bar}`);
    expect(barLine(`${'long/'.repeat(30)}call.wav`, state, 70)).toBe(`…/long/call.wav${bar}`);
  });

  test('a line is never wider than the terminal, whatever the name', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'ü', '通', '/', '.') }),
        fc.integer({ min: 20, max: 200 }),
        fc.integer({ min: 0, max: 10_000 }),
        (label, columns, doneS) => {
          const line = barLine(label, { at: 'reading', doneS, ofS: 8_100 }, columns);
          const width = Array.from(line).reduce((sum, sign) => sum + (sign === '通' ? 2 : 1), 0);
          expect(width).toBeLessThanOrEqual(columns);
        },
      ),
    );
  });

  test('without a terminal each new state is one line, and the same one is not repeated', () => {
    const written: string[] = [];
    const bars = new ProgressBars({ write: (text) => written.push(text) });
    for (let bytes = 0; bytes < 100; bytes++)
      bars.update('a.wav', { at: 'uploading', bytes, ofBytes: 100 });
    bars.update('a.wav', { at: 'waiting', why: 'waiting for its turn' });
    bars.update('a.wav', { at: 'waiting', why: 'waiting for its turn' });
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
    bars.update('call.wav', { at: 'waiting', why: 'waiting for its turn' });
    bars.say('hello');
    bars.close();
    expect(written[1]).toBe('call.wav [--------------------] waiting for its turn\n');
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
    for (const label of ['a', 'b', 'c', 'd']) bars.update(label, { at: 'waiting', why: 'waiting' });
    bars.say('hello');
    expect(written.splice(0)).toEqual(['hello\n', expect.stringMatching(/^a .*\nb .*\n$/)]);
    bars.end('a', 'done');
    expect(written.splice(0)).toEqual(['\u001b[2A\r\u001b[J', 'a: done\n', expect.stringMatching(/^b .*\nc .*\n$/)]); // prettier-ignore
    bars.close();
    expect(written).toEqual(['\u001b[2A\r\u001b[J']);
  });
});
