import { expect, test } from 'vitest';
import { TokenTable } from '../../../../src/hearing/making/token-table.ts';

function tableOf(...tokens: (string | number[])[]): TokenTable {
  const lines = tokens.map(
    (token, index) => `${Buffer.from(token as string).toString('base64')} ${String(index)}\n`,
  );
  return TokenTable.read(lines.join(''));
}

test('tokens are joined, and the sign for a space becomes one', () => {
  const table = tableOf('▁Good', '▁mor', 'ning', '.');
  expect(table.text([0, 1, 2, 3])).toBe(' Good morning.');
  expect(table.size).toBe(4);
});

test('a character that came byte by byte is one piece', () => {
  const [first = 0, second = 0] = Buffer.from('é');
  const table = tableOf('▁caf', [first], [second], '▁au');
  expect(table.text([0, 1, 2])).toBe(' café');
  expect(table.pieces([0, 1, 2, 3])).toEqual([
    { text: ' caf', from: 0, to: 1 },
    { text: 'é', from: 1, to: 3 },
    { text: ' au', from: 3, to: 4 },
  ]);
});

test('bytes that never become a character hold up nothing behind them', () => {
  const table = tableOf([0xff], 'a');
  const pieces = table.pieces([0, 0, 0, 0, 0, 1]);
  expect(pieces.map(({ to }) => to).at(-1)).toBe(6);
  expect(pieces.every(({ from, to }) => to - from <= 4)).toBe(true);
});

test('a list with a missing line is refused with its place', () => {
  expect(() => TokenTable.read('YQ== 0\nYg== 2\n')).toThrow(/line 2 .* token 1/);
});

test('a text is spelled with as few tokens as there are, or not at all', () => {
  const table = tableOf('▁', '▁mor', 'n', 'ing', 'ning', '▁morn', 'ning');
  expect(table.spell('▁morning')).toEqual([1, 4]);
  expect(table.spell('▁morn▁ing')).toEqual([5, 0, 3]);
  expect(table.spell('')).toEqual([]);
  expect(table.spell('evening')).toBeUndefined();
});

test('some of the tokens are a table of their own, counted anew', () => {
  const table = tableOf('▁', '▁mor', 'ning', '▁noch').only([1, 2]);
  expect(table.size).toBe(2);
  expect(table.spell('▁morning')).toEqual([0, 1]);
  expect(table.text([0, 1])).toBe(' morning');
  expect(table.spell('▁noch')).toBeUndefined();
});
