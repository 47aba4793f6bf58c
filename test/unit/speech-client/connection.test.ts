import * as ws from 'ws';
import { expect, test } from 'vitest';
import { maskGenerator } from '../../../src/speech-client/connection.ts';

// The published types do not know it.
const { Sender } = ws as unknown as {
  Sender: { frame(data: Buffer, options: object): (Buffer | string)[] };
};

const audio = Buffer.alloc(160, 7);
const framed = (generateMask: (mask: Buffer) => void): (Buffer | string)[] =>
  Sender.frame(audio, {
    fin: true,
    opcode: 2,
    mask: true,
    maskBuffer: Buffer.alloc(4),
    readOnly: true,
    rsv1: false,
    generateMask,
  });

test('the bytes that are sent are a copy, even if chance gives only zeros', () => {
  // The reason for our own generator: here ws hands on the memory itself.
  expect(framed((mask) => mask.fill(0))).toContain(audio);
  const sent = framed(maskGenerator((pool) => pool.fill(0)));
  expect(sent).toHaveLength(1);
  expect(sent).not.toContain(audio);
});

test('masks differ from frame to frame, over the end of the pool too', () => {
  const generate = maskGenerator();
  const masks = Array.from({ length: 5_000 }, () => {
    const mask = Buffer.alloc(4);
    generate(mask);
    return mask.toString('hex');
  });
  expect(new Set(masks).size).toBeGreaterThan(4_990);
});
