import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Utterance } from '../../../../src/protocol/addons.ts';
import { charactersOf, widthOf } from '../../../../src/language/text/row-width.ts';
import { limitsOf, subtitlesOf } from '../../../../src/language/text/subtitles.ts';
import { readSubtitles, type ReadCue } from '../../../support/speech/subtitle-reader.ts';

type Config = NonNullable<Parameters<typeof subtitlesOf>[1]>;

function said(spoken: [string, number, number][], more: Partial<Utterance> = {}): Utterance {
  const words = spoken.map(([word, start, end], i) => ({
    word: i === 0 ? word : ` ${word}`,
    start,
    end,
    confidence: 1,
  }));
  const text = words.map(({ word }) => word).join('');
  const [start, end] = [words[0]?.start ?? 0, words.at(-1)?.end ?? 0];
  return { text, words, start, end, channel: 0, confidence: 1, language: 'en', ...more };
}

const config = (more: Partial<Config> = {}): Config => ({
  formats: ['srt', 'vtt'],
  style: 'default',
  ...more,
});

function read(utterances: Utterance[], settings: Config): ReadCue[][] {
  return subtitlesOf(utterances, settings).map(({ format, subtitles }) =>
    readSubtitles(subtitles, {
      format,
      newline: settings.style === 'compliance' ? '\r\n' : '\n',
      numbered: format === 'srt' || settings.style === 'compliance',
    }),
  );
}

test('srt has numbers and a comma, vtt a head and a dot', () => {
  const utterances = [
    said([['Hello', 0.5, 0.9], ['there.', 0.9, 1.25]]),
    said([['<b>', 3661.002, 3662]]),
  ]; // prettier-ignore
  expect(subtitlesOf(utterances, config()).map(({ subtitles }) => subtitles)).toEqual([
    '1\n00:00:00,500 --> 00:00:01,250\nHello there.\n\n2\n01:01:01,002 --> 01:01:02,000\n<b>\n\n',
    'WEBVTT\n\n00:00:00.500 --> 00:00:01.250\nHello there.\n\n01:01:01.002 --> 01:01:02.000\n&lt;b&gt;\n\n',
  ]);
});

test('the style compliance ends lines with CRLF, numbers every cue and shows it for a second', () => {
  const utterances = [said([['Yes.', 1, 1.2]])];
  expect(subtitlesOf(utterances, config({ style: 'compliance' }))).toEqual([
    { format: 'srt', subtitles: '1\r\n00:00:01,000 --> 00:00:02,000\r\nYes.\r\n\r\n' },
    {
      format: 'vtt',
      subtitles: 'WEBVTT\r\n\r\n1\r\n00:00:01.000 --> 00:00:02.000\r\nYes.\r\n\r\n',
    },
  ]);
});

test('a transcript without words has a file without cues', () => {
  expect(subtitlesOf([], config()).map(({ subtitles }) => subtitles)).toEqual(['', 'WEBVTT\n\n']);
});

describe('settings', () => {
  const talk = said(
    'one two three four five six seven eight nine ten'
      .split(' ')
      .map((word, i): [string, number, number] => [word, i * 0.5, i * 0.5 + 0.4]),
  );
  const rowsOf = (more: Partial<Config>): string[][] =>
    read([talk], config({ formats: ['srt'], ...more }))[0]?.map(({ rows }) => rows) ?? [];

  test('rows hold as many characters as asked for, cues as many rows', () => {
    expect(rowsOf({ maximum_characters_per_row: 14, maximum_rows_per_caption: 1 })).toEqual([
      ['one two three'],
      ['four five six'],
      ['seven eight'],
      ['nine ten'],
    ]);
    expect(rowsOf({ maximum_characters_per_row: 14, maximum_rows_per_caption: 2 })).toEqual([
      ['one two three', 'four five six'],
      ['seven eight', 'nine ten'],
    ]);
  });

  test('a word longer than a row is cut', () => {
    expect(rowsOf({ maximum_characters_per_row: 3, maximum_rows_per_caption: 5 })[0]).toEqual([
      'one',
      'two',
      'thr',
      'ee',
      'fou',
    ]);
  });

  test('no cue is longer than the maximum duration', () => {
    expect(rowsOf({ maximum_duration: 1 })).toEqual([
      ['one two'],
      ['three four'],
      ['five six'],
      ['seven eight'],
      ['nine ten'],
    ]);
    const long = said([['Aaaah', 0, 40]]);
    expect(read([long], config({ maximum_duration: 2 }))[0]).toMatchObject([{ endMs: 2_000 }]);
  });

  test('a short cue stays for the minimum duration, words after a pause join it meanwhile', () => {
    const utterances = [
      said([['No.', 0, 0.2]]),
      said([['Wait.', 1.6, 2]]),
      said([['Yes.', 9, 9.2]]),
    ];
    const times = (settings: Config): unknown =>
      read(utterances, settings)[0]?.map(({ startMs, endMs, rows }) => [startMs, endMs, rows[0]]);
    expect(times(config())).toEqual([
      [0, 200, 'No.'],
      [1_600, 2_000, 'Wait.'],
      [9_000, 9_200, 'Yes.'],
    ]);
    expect(times(config({ minimum_duration: 3 }))).toEqual([
      [0, 3_000, 'No. Wait.'],
      [9_000, 12_000, 'Yes.'],
    ]);
  });

  test('two people who speak at once are shown one after the other', () => {
    const other = said([['Me', 0.5, 1], ['too.', 1, 3]], { channel: 1 }); // prettier-ignore
    const cues = read([said([['I', 0, 1], ['am.', 1, 3]]), other], config())[0]; // prettier-ignore
    expect(cues?.map(({ startMs, endMs, rows }) => [startMs, endMs, rows[0]])).toEqual([
      [0, 1_500, 'I am.'],
      [1_500, 3_000, 'Me too.'],
    ]);
  });

  test('words of a language without spaces stay together', () => {
    const words = ['こん', 'にちは'].map((word, i) => ({
      word,
      start: i,
      end: i + 1,
      confidence: 1,
    }));
    const utterance = { ...said([]), words, text: 'こんにちは', end: 2, language: 'ja' };
    expect(read([utterance], config())[0]?.[0]?.rows).toEqual(['こんにちは']);
  });
});

describe('languages without spaces', () => {
  /** Each sign is a word, as a recogniser tells it. */
  const signs = (text: string, language: string): Utterance => {
    const words = Array.from(text, (word, i) => ({
      ...{ word, start: i / 8, end: (i + 1) / 8, confidence: 1 },
    }));
    return { ...said([]), words, text, end: words.length / 8, language };
  };
  const rows = (utterance: Utterance, more: Partial<Config> = {}): string[] =>
    (read([utterance], config({ formats: ['srt'], ...more }))[0] ?? []).flatMap((cue) => cue.rows);

  const japanese =
    'お電話ありがとうございます。ご注文の番号をお願いいたします。「一二三四」でよろしいでしょうか。';

  test('rows break between words, no wider than 42 columns, and a mark stays with its word', () => {
    const all = rows(signs(japanese, 'ja'));
    expect(all.join('')).toBe(japanese);
    expect(all.length).toBeGreaterThan(2);
    for (const row of all) {
      expect(widthOf(row, 'columns')).toBeLessThanOrEqual(42);
      expect(row).toMatch(/^[^。、」]/u);
      expect(row).toMatch(/[^「]$/u);
    }
    expect(rows(signs('我的订单号码是一二三四五六七八九十请您帮我查一下谢谢您再见', 'zh'))).toEqual(
      ['我的订单号码是一二三四五六七八九十请您帮我', '查一下谢谢您再见'],
    );
  });

  test('the own option counts characters, and a text without words breaks alike', () => {
    const options = { maximum_characters_per_row: 10, maximum_duration: 30 };
    const all = rows({ ...signs(japanese, 'ja'), words: [] }, options);
    expect(all.join('')).toBe(japanese);
    for (const row of all) expect(charactersOf(row).length).toBeLessThanOrEqual(10);
    expect(all).toEqual(rows(signs(japanese, 'ja'), options));
  });

  test('no row ends inside a sign', () => {
    const family = '👨‍👩‍👧‍👦';
    const flags = '🇪🇸🇫🇷🇩🇪🇮🇹';
    const long = said([[`${family}${flags}e\u0301e\u0301e\u0301e\u0301`, 0, 4]]);
    const all = rows(long, { maximum_characters_per_row: 3, maximum_rows_per_caption: 9 });
    expect(all).toEqual([`${family}🇪🇸🇫🇷`, '🇩🇪🇮🇹e\u0301', 'e\u0301e\u0301e\u0301']);
    const parted = ['e', '\u0301', 'te'].map((word, i) => ({ word, start: i, end: i + 1, confidence: 1 })); // prettier-ignore
    const word = { ...said([]), words: parted, text: 'e\u0301te', end: 3, language: 'fr' };
    expect(rows(word, { maximum_characters_per_row: 1, maximum_rows_per_caption: 9 })).toEqual([
      'e\u0301',
      't',
      'e',
    ]);
  });

  test('words that were written otherwise get no spaces between their signs', () => {
    expect(rows({ ...signs('番号は一二三です', 'ja'), text: '番号は123です' })).toEqual([
      '番号は一二三です',
    ]);
    const mixed = said([['電話', 0, 1], ['Anna', 1, 2], ['です', 2, 3]]); // prettier-ignore
    expect(rows({ ...mixed, language: 'ja' })).toEqual(['電話 Anna です']);
  });
});

const anyWord = fc.oneof(
  fc.stringMatching(/^[a-z]{1,14}[.,!?]?$/),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom('-->', '1', '&amp;', '<i>', '\n\n2\n', '00:00:01,000 --> 00:00:02,000', ' '),
);
const anyTime = fc.oneof(
  { weight: 20, arbitrary: fc.double({ min: 0, max: 60, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(NaN, -1, Infinity, 1e5) },
);
const anyUtterance = fc
  .record({
    words: fc.array(fc.tuple(anyWord, anyTime, anyTime), { maxLength: 40 }),
    channel: fc.integer({ min: 0, max: 2 }),
    isWordless: fc.boolean(),
  })
  .map(({ words, channel, isWordless }) => {
    const utterance = said(words, { channel });
    return isWordless ? { ...utterance, words: [] } : utterance;
  });
const anyConfig = fc
  .record(
    {
      minimum_duration: fc.double({ min: 0, max: 10, noNaN: true }),
      maximum_duration: fc.double({ min: 1, max: 30, noNaN: true }),
      maximum_characters_per_row: fc.integer({ min: 1, max: 60 }),
      maximum_rows_per_caption: fc.integer({ min: 1, max: 5 }),
      style: fc.constantFrom('default' as const, 'compliance' as const),
    },
    { requiredKeys: ['style'] },
  )
  .filter((one) => (one.minimum_duration ?? 0) <= (one.maximum_duration ?? Infinity))
  .map((more) => config(more));

/** Without the white space and the marks that rows cannot hold as they are. */
const lettersOf = (text: string): string =>
  text.replace(/--+>/g, '->').replace(/[\s\p{Cc}\u2028\u2029]+/gu, '');

test(
  'any words with any settings are files that a strict reader takes, in order and within their limits',
  { timeout: 20_000 },
  () => {
    const check = (utterances: Utterance[], settings: Config): void => {
      const limits = limitsOf(settings);
      const [srt = [], vtt = []] = read(utterances, settings);
      expect(vtt).toEqual(srt);
      for (const [i, { startMs, endMs, rows }] of srt.entries()) {
        const next = srt[i + 1];
        expect(endMs).toBeGreaterThan(startMs);
        expect(startMs).toBeGreaterThanOrEqual(srt[i - 1]?.endMs ?? 0);
        expect(endMs - startMs).toBeLessThanOrEqual(limits.maxMs);
        // Shorter than asked for only where the next one follows at once.
        if (endMs - startMs < limits.minMs) expect(next?.startMs).toBe(endMs);
        expect(rows.length).toBeLessThanOrEqual(limits.rows);
        for (const row of rows)
          // A single character that is wider than a row stays whole.
          expect(
            charactersOf(row).length === 1 || widthOf(row, limits.rowUnit) <= limits.rowWidth,
          ).toBe(true);
      }
      const sorted = (text: string): string[] => Array.from(lettersOf(text)).sort();
      const spoken = utterances.map(({ text }) => text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' '));
      // Two rows may meet in what looks like an arrow, so that each is read by itself.
      expect(sorted(srt.flatMap(({ rows }) => rows.map(lettersOf)).join(''))).toEqual(
        sorted(lettersOf(spoken.join(' '))),
      );
    };
    fc.assert(fc.property(fc.array(anyUtterance, { maxLength: 8 }), anyConfig, check), {
      numRuns: 150,
    });
  },
);

test('a space inside of a word with a sign of a language without spaces is no caption of its own', () => {
  const [srt] = read([said([['𠀀\u0000$', 0, 4]])], config({}));
  expect(srt?.map(({ rows }) => rows)).toEqual([['𠀀 $']]);
});
