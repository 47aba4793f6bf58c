import { expect, test } from 'vitest';
import { taughtTokens } from '../../../../src/hearing/making/moonshine/taught-tokens.ts';
import { TokenTable } from '../../../../src/hearing/making/token-table.ts';

const zero = 128;

/** A table of these tokens, with the weights of each. */
function modelOf(...tokens: [text: string, weights: readonly [number, number]][]) {
  const lines = tokens.map(
    ([text], index) => `${Buffer.from(text).toString('base64')} ${String(index)}\n`,
  );
  const bytes = [0, 1].flatMap((row) => tokens.map(([, weights]) => zero + (weights[row] ?? 0)));
  return {
    table: TokenTable.read(lines.join('')),
    weights: { dims: [2, tokens.length], bytes: Uint8Array.from(bytes) },
  };
}

test('tokens that learnt no more than the signs are left out, but not the end of a text', () => {
  const { table, weights } = modelOf(
    ['<unk>', [10, 0]],
    ['<s>', [10, 0]],
    ['</s>', [10, 0]],
    ['<<ST_0>>', [60, 1]],
    ['<<ST_1>>', [60, -1]],
    ['▁wieder', [90, 20]],
    ['▁again', [20, 90]],
    ['▁not', [-100, 3]],
    ['▁all', [100, 100]], // 45 degrees: cosine 0.71
    ['▁one', [40, 100]], // 0.37
  );
  expect(taughtTokens(table, weights, zero)).toEqual([0, 1, 2, 6, 7, 9]);
});

test('a table without signs says nothing of its tokens: all are kept', () => {
  const { table, weights } = modelOf(['a', [90, 0]], ['b', [0, 0]], ['c', [1, 1]], ['d', [9, 9]]);
  expect(taughtTokens(table, weights, zero)).toEqual([0, 1, 2, 3]);
});
