import { expect, test } from 'vitest';
import {
  batchHeaderBytes,
  readSegmentHeader,
  recordHeaderBytes,
  scanSegment,
  sealBatch,
  segmentHeaderBytes,
  writeRecordHeader,
  writeSegmentHeader,
} from '../../../../src/bridge/journal/format.ts';

function segment(batches: number): Buffer {
  const header = Buffer.alloc(segmentHeaderBytes);
  writeSegmentHeader(header, 4_000_000_000);
  const parts = [header];
  for (let batch = 0; batch < batches; batch++) {
    const bytes = Buffer.alloc(batchHeaderBytes + 2 * (recordHeaderBytes + 160));
    let at = batchHeaderBytes;
    for (let leg = 1; leg <= 2; leg++) {
      writeRecordHeader(bytes, at, 3_000_000_000 + leg, 1, 160, 2 ** 40 + batch * 160);
      bytes.fill(batch, at + recordHeaderBytes, at + recordHeaderBytes + 160);
      at += recordHeaderBytes + 160;
    }
    sealBatch(bytes, at);
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

function scan(bytes: Buffer): { batches: number[]; damagedBytes: number } {
  const batches: number[] = [];
  const { damagedBytes } = scanSegment(bytes, ({ leg, position, payload, kind }) => {
    expect(kind).toBe(1);
    expect(position).toBe(2 ** 40 + payload[0]! * 160);
    expect(payload).toHaveLength(160);
    if (leg === 3_000_000_001) batches.push(payload[0]!);
  });
  return { batches, damagedBytes };
}

test('written batches are read again, legs and positions of any size', () => {
  expect(readSegmentHeader(segment(1))).toEqual({ run: 4_000_000_000 });
  expect(scan(segment(5))).toEqual({ batches: [0, 1, 2, 3, 4], damagedBytes: 0 });
  expect(readSegmentHeader(Buffer.from('nothing of ours'))).toBeUndefined();
});

test('torn at any byte, every whole batch before it is read and nothing of the torn one', () => {
  const whole = segment(3);
  const batchBytes = (whole.length - segmentHeaderBytes) / 3;
  for (let end = segmentHeaderBytes; end < whole.length; end++) {
    const { batches } = scan(whole.subarray(0, end));
    expect(batches).toHaveLength(Math.floor((end - segmentHeaderBytes) / batchBytes));
  }
});

test('one flipped bit anywhere costs its own batch and no other', () => {
  const whole = segment(3);
  const batchBytes = (whole.length - segmentHeaderBytes) / 3;
  for (let at = segmentHeaderBytes; at < whole.length; at++) {
    const bytes = Buffer.from(whole);
    bytes[at] = bytes[at]! ^ (1 << (at & 7));
    const lost = Math.floor((at - segmentHeaderBytes) / batchBytes);
    const { batches, damagedBytes } = scan(bytes);
    expect(batches).toEqual([0, 1, 2].filter((batch) => batch !== lost));
    expect(damagedBytes).toBe(batchBytes);
  }
});
