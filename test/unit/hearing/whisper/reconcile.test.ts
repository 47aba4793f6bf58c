import { expect, test } from 'vitest';
import { reconciled } from '../../../../src/hearing/whisper/reconcile.ts';

/** Words one after the other, 0.5 s each from a second on; `unit` for all. */
function said(text: string, from = 0, unit = 0, confidence = 0.9) {
  return text.split(' ').map((word, index) => ({
    word,
    start: from + index * 0.5,
    end: from + index * 0.5 + 0.4,
    confidence,
    unit,
  }));
}
const textOf = (words: readonly { word: string }[]) => words.map(({ word }) => word).join(' ');

test('the words are the second reader’s, the times the first’s wherever both have a word', () => {
  const first = said('press one to reach the color');
  const second = said('Press one to reach the caller.').map((word) => ({
    ...word,
    start: word.start + 0.14,
  }));
  const words = reconciled(first, second);
  expect(textOf(words)).toBe('Press one to reach the caller.');
  expect(words.map(({ start, end }) => [start, end])).toEqual(
    first.map(({ start, end }) => [start, end]),
  );
});

test('a word that both have is surer than one that they disagree on', () => {
  const words = reconciled(
    said('the last color was', 0, 0, 0.6),
    said('the last caller was', 0, 0, 0.9),
  );
  const [the, , caller] = words.map(({ confidence }) => confidence);
  expect(the).toBeGreaterThan(0.9);
  expect(caller).toBeLessThan(0.75);
  const doubted = reconciled(said('yes', 0, 0, 0.9), said('yes', 0, 0, 0.3));
  expect(doubted[0]?.confidence, 'both have it, and the second reader doubts it').toBeLessThan(0.8);
});

test('a word of the second alone lies between its neighbours, wherever its heads put it', () => {
  const first = said('send to voicemail');
  for (const stray of [0, 0.45, 5]) {
    const second = [
      ...said('send', 0),
      { word: 'it', start: stray, end: stray + 0.1, confidence: 0.8, unit: 0 },
      ...said('to voicemail', 0.5),
    ];
    const words = reconciled(first, second);
    expect(textOf(words)).toBe('send it to voicemail');
    const it = words[1]!;
    expect(it.start).toBeGreaterThanOrEqual(0.4);
    expect(it.start).toBeLessThan(0.5);
    expect(it.end).toBeGreaterThan(it.start);
  }
});

test('a word or two that only the first heard go, several that the second passed over stay', () => {
  expect(textOf(reconciled(said('I uh mean no'), said('I mean no')))).toBe('I mean no');
  const first = said('please hold the line while I look for you');
  const second = [...said('Please hold'), ...said('for you.', 3.5)];
  expect(textOf(reconciled(first, second))).toBe('Please hold the line while I look for you.');
});

test('a unit of speech that the second reader passed over keeps its words', () => {
  const first = [...said('how are you', 0, 0), ...said('yes', 4, 1), ...said('good bye', 6, 2)];
  const second = [...said('How are you?', 0, 0), ...said('Good bye.', 6, 2)];
  const words = reconciled(first, second);
  expect(textOf(words)).toBe('How are you? yes Good bye.');
  expect(words.map(({ unit }) => unit)).toEqual([0, 0, 0, 1, 2, 2]);
});

test('an expected name that the first reader heard stays, whatever the second took it for', () => {
  const first = said('ask Kowalczyk about it');
  const second = said('Ask cold check about it.');
  const names = new Set(['kowalczyk']);
  expect(textOf(reconciled(first, second))).not.toContain('Kowalczyk');
  expect(textOf(reconciled(first, second, { expected: names }))).toContain('Kowalczyk');
});

test('words said twice are paired by their time', () => {
  const first = [...said('no', 0, 0), ...said('no', 5, 1)];
  expect(reconciled(first, said('No.', 5, 1))).toMatchObject([
    { word: 'no', start: 0, unit: 0 },
    { word: 'No.', start: 5, unit: 1 },
  ]);
});

test('a number is the same in figures and in words', () => {
  const [press, five] = reconciled(said('press five', 0, 0, 0.6), said('Press 5.'));
  expect(five?.word).toBe('5.');
  expect(five?.confidence).toBe(press?.confidence);
});

test('a compound that one reader spells as one word and the other as several is said once', () => {
  const first = said('the code is m i s d n thank you');
  const second = [...said('The code is'), ...said('M-I-S-D-N.', 1.6), ...said('Thank you.', 4)];
  const words = reconciled(first, second);
  expect(textOf(words)).toBe('The code is M-I-S-D-N. Thank you.');
  expect(words[3]).toMatchObject({ start: 1.5, end: 3.9 });
  expect(words[3]?.confidence, 'both have it').toBe(words[0]?.confidence);
});

test('a word that the second reader writes as two has the time of the one', () => {
  const words = reconciled(said('to voicemail now'), [
    ...said('to'),
    ...said('voice mail', 0.45),
    ...said('now', 1),
  ]);
  expect(textOf(words)).toBe('to voice mail now');
  const [, voice, mail] = words;
  expect(voice?.start).toBe(0.5);
  expect(voice?.end).toBeCloseTo(0.5 + (0.4 * 5) / 9);
  expect(mail?.start).toBe(voice?.end);
  expect(mail?.end).toBeCloseTo(0.9);
});

test('an expected name stays one word, and several stay several, whatever the second reader writes', () => {
  const about = { expected: new Set(['dragonfly', 'acme']) };
  const divided = reconciled(said('ask dragonfly now'), said('Ask dragon fly now.'), about);
  expect(textOf(divided)).toBe('Ask dragonfly now.');
  const joined = reconciled(said('ask acme corp now'), [
    ...said('Ask Acmecorp'),
    ...said('now.', 1.5),
  ]);
  expect(textOf(joined)).toBe('Ask Acmecorp now.');
  const kept = reconciled(
    said('ask acme corp now'),
    [...said('Ask Acmecorp'), ...said('now.', 1.5)],
    about,
  );
  expect(textOf(kept)).toBe('Ask acme corp now.');
});

test('the same letters of another time or unit are other words', () => {
  const first = [...said('an', 0, 0), ...said('other', 5, 1)];
  const second = [...said('Another', 0, 0), ...said('other.', 5, 1)];
  expect(textOf(reconciled(first, second))).toBe('Another other.');
});

test.each([
  ['three hundred and forty two dollars and sixteen cents', '$342.16'],
  ['five five five zero one four two', '555-0142.'],
  ['seven hundred thirty five people', '735 people'],
])('"%s" and "%s" are one number, which is said once', (spoken, written) => {
  const first = said(`it was ${spoken} and more`);
  const second = [
    ...said('It was'),
    ...said(written, 1.2),
    ...said('and more.', first.length * 0.5 - 1),
  ];
  const words = reconciled(first, second);
  expect(textOf(words)).toBe(`It was ${written} and more.`);
  expect(words[2]).toMatchObject({ start: 1 });
});

test('digits that the readers heard differently are said once, too, and as less sure', () => {
  const first = said('it was five five nine zero one four two and more');
  const second = [...said('It was'), ...said('555-0142', 1.2), ...said('and more.', 4.5)];
  const words = reconciled(first, second);
  expect(textOf(words)).toBe('It was 555-0142 and more.');
  expect(words[2]?.confidence).toBeLessThan(words[0]?.confidence ?? 0);
});
