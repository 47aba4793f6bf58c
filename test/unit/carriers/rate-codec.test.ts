import { describe, expect, test } from 'vitest';
import type { CarrierEvent, CarrierStart, Codec } from '../../../src/carriers/carrier.ts';
import { RateCodec } from '../../../src/carriers/rate-codec.ts';

const start = (sampleRate: number, tracks = ['inbound', 'outbound']): CarrierStart => ({
  carrierCallId: 'c',
  streamId: 's',
  encoding: 'pcm16',
  sampleRate,
  tracks: tracks.map((name) => ({ name })),
  carrierIds: {},
  parameters: {},
  closingEndsCall: false,
});

/** A codec that says what it is told. */
function saying(...turns: CarrierEvent[][]): Codec {
  return { decode: () => turns.shift() ?? [], flush: () => [] };
}

function hear(codec: Codec, turns: number): CarrierEvent[] {
  return Array.from({ length: turns }, () => codec.decode(Buffer.alloc(0), true)).flat();
}

function tone(rateHz: number, toneHz: number, seconds: number): Int16Array {
  return Int16Array.from({ length: rateHz * seconds }, (_, at) =>
    Math.round(12_000 * Math.sin((2 * Math.PI * toneHz * at) / rateHz)),
  );
}

const audioOf = (events: CarrierEvent[], track: string): Int16Array => {
  const bytes = Buffer.concat(
    events.flatMap((event) => (event.type === 'audio' && event.track === track ? [event.payload] : [])),
  );
  return new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}; // prettier-ignore

describe('audio at a rate that the speech interface does not take', () => {
  test.each([12_000, 22_050, 24_000, 64_000, 96_000, 192_000])(
    '%i Hz: the same tone at 16,000 Hz, as long, on each track, in frames of any length',
    (rateHz) => {
      const said = tone(rateHz, 1_000, 1);
      const bytes = Buffer.from(said.buffer);
      const turns: CarrierEvent[][] = [[{ type: 'start', start: start(rateHz) }]];
      for (let at = 0, length = 2; at < bytes.length; at += length, length = (length * 7) % 4_096)
        for (const track of ['inbound', 'outbound'])
          turns.push([{ type: 'audio', track, payload: bytes.subarray(at, at + length) }]);
      turns.push([{ type: 'stop' }]);
      const heard = hear(new RateCodec(saying(...turns)), turns.length);
      expect(heard[0]).toEqual({
        type: 'start',
        start: { ...start(16_000), resampledFromHz: rateHz },
      });
      expect(heard.at(-1)).toEqual({ type: 'stop' });
      const expected = tone(16_000, 1_000, 1);
      for (const track of ['inbound', 'outbound']) {
        const audio = audioOf(heard, track);
        expect(audio.length).toBe(16_000);
        let worst = 0;
        // The edges ring: before and behind the tone there is silence.
        for (let at = 200; at < 15_800; at++)
          worst = Math.max(worst, Math.abs(audio[at]! - expected[at]!));
        expect(worst).toBeLessThan(12);
      }
    },
  );

  test('frequencies that would fold back into speech are taken out', () => {
    const bytes = Buffer.from(tone(24_000, 11_000, 1).buffer);
    const turns: CarrierEvent[][] = [
      [{ type: 'start', start: start(24_000, ['inbound']) }],
      [{ type: 'audio', track: 'inbound', payload: bytes }],
    ];
    const audio = audioOf(hear(new RateCodec(saying(...turns)), 2), 'inbound');
    expect(Math.max(...audio.subarray(500, -500).map(Math.abs))).toBeLessThan(4);
  });

  test('losses, keys and counts pass as they are; a close without a stop gives out the rest', () => {
    const others: CarrierEvent[] = [
      { type: 'lost', track: 'inbound', durationMs: 20, cause: 'hole' },
      { type: 'dtmf', digit: '5' },
      { type: 'count', what: 'malformed' },
    ];
    const payload = Buffer.alloc(960);
    const codec = new RateCodec(
      saying([{ type: 'start', start: start(24_000, ['inbound']) }], others, [
        { type: 'audio', track: 'inbound', payload },
      ]),
    );
    const heard = hear(codec, 3);
    expect(heard.slice(1, 4)).toEqual(others);
    expect(audioOf([...heard, ...codec.flush()], 'inbound').length).toBe(320);
    expect(codec.flush()).toEqual([]);
  });
});

test('audio at a rate of the interface is not touched', () => {
  const payload = Buffer.from([1, 2, 3, 4]);
  const turns: CarrierEvent[][] = [
    [{ type: 'start', start: start(8_000) }],
    [{ type: 'audio', track: 'inbound', payload }],
  ];
  const heard = hear(new RateCodec(saying(...turns)), 2);
  expect(heard).toEqual([
    { type: 'start', start: start(8_000) },
    { type: 'audio', track: 'inbound', payload },
  ]);
  expect(heard[1]?.type === 'audio' && heard[1].payload === payload).toBe(true);
});
