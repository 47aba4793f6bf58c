import { beforeAll, describe, expect, test } from 'vitest';
import { CompandingCheck } from '../../../src/audio/companding-check.ts';
import { linearToAlaw, linearToMulaw, mulawToLinear } from '../../../src/audio/g711.ts';
import { loadConversation } from '../../../src/player/conversation.ts';

const compandingVerdict = (payload: Uint8Array, declared: 'mulaw' | 'alaw') =>
  new CompandingCheck(declared).push(payload);

let speech: { leg: string; mulaw: Buffer; alaw: Buffer }[];

beforeAll(async () => {
  const { legs } = await loadConversation();
  speech = Object.entries(legs).map(([leg, mulaw]) => ({
    leg,
    mulaw,
    alaw: Buffer.from(mulaw.map((code) => linearToAlaw(mulawToLinear[code] ?? 0))),
  }));
});

describe('telling mu-law from A-law by the samples', () => {
  test('every stretch of both speakers is told right, by both laws', () => {
    for (const { mulaw, alaw } of speech)
      for (let at = 0; at + 16_000 < mulaw.length; at += 8_000) {
        expect(compandingVerdict(mulaw.subarray(at, at + 16_000), 'mulaw')).not.toBe('other-law');
        expect(compandingVerdict(alaw.subarray(at, at + 16_000), 'alaw')).not.toBe('other-law');
        expect(compandingVerdict(mulaw.subarray(at, at + 16_000), 'alaw')).not.toBe('as-declared');
        expect(compandingVerdict(alaw.subarray(at, at + 16_000), 'mulaw')).not.toBe('as-declared');
      }
  });

  test('the verdict comes within the first second of speech, whatever the size of the frames', () => {
    for (const size of [1, 80, 160, 240, 1_600]) {
      const check = new CompandingCheck('alaw');
      const { mulaw } = speech[0]!;
      // The customer speaks from about the sixth second on.
      const from = mulaw.findIndex(
        (code, at) => at > 1_000 && code !== 0xff && mulaw[at - 1] !== 0xff,
      );
      for (let at = from; at < from + 8_000; at += size)
        check.push(mulaw.subarray(at, Math.min(at + size, from + 8_000)));
      expect(check.verdict).toBe('other-law');
    }
  });

  test('silence, a tone of either law and noise raise no alarm', () => {
    expect(compandingVerdict(Buffer.alloc(80_000, 0xff), 'mulaw')).toBe('undecided');
    expect(compandingVerdict(Buffer.alloc(80_000, 0xd5), 'alaw')).toBe('undecided');
    const tone =
      (hz: number) =>
      (at: number): number =>
        Math.round(8_000 * Math.sin((2 * Math.PI * hz * at) / 8_000));
    for (const hz of [350, 440, 770, 1_336]) {
      const samples = Array.from({ length: 16_000 }, (_, at) => tone(hz)(at));
      expect(compandingVerdict(Buffer.from(samples.map(linearToMulaw)), 'mulaw')).not.toBe(
        'other-law',
      );
      expect(compandingVerdict(Buffer.from(samples.map(linearToAlaw)), 'alaw')).not.toBe(
        'other-law',
      );
    }
    let state = 5;
    const noise = Buffer.from(
      Array.from(
        { length: 16_000 },
        () => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) >> 20,
      ),
    );
    expect(compandingVerdict(noise, 'mulaw')).not.toBe('other-law');
    expect(compandingVerdict(noise, 'alaw')).not.toBe('other-law');
  });
});
