import { describe, expect, test } from 'vitest';
import { builtInConversation, loadConversation } from '../../../src/player/conversation.ts';
import { BadLine, randomFrom } from '../../../src/player/faults.ts';
import { encodeLegs, samplesOf } from '../../../src/player/leg-samples.ts';

describe('the built-in conversation', () => {
  test('is about a minute of two speakers in turn, the first words of both within ten seconds', async () => {
    const { turns, legs, durationMs } = await loadConversation();
    expect(durationMs).toBeGreaterThan(50_000);
    expect(durationMs).toBeLessThan(70_000);
    expect(legs.agent.length).toBe(legs.customer.length);
    for (const leg of ['agent', 'customer'] as const)
      expect(turns.find((turn) => turn.leg === leg)?.startMs).toBeLessThan(7_000);
    for (const [at, turn] of turns.entries())
      expect(turn.startMs).toBeGreaterThanOrEqual(turns[at - 1]?.endMs ?? 0);
    const script = turns.map(({ text }) => text).join(' ');
    for (const word of [
      'Emily Johnson',
      'order number',
      'phone number',
      'dollars',
      'angry',
      'happy',
    ])
      expect(script).toContain(word);
  });

  test('one is silent while the other speaks, and every turn is heard', async () => {
    const { turns, legs } = await loadConversation();
    for (const { leg, startMs, endMs } of turns) {
      const other = leg === 'agent' ? legs.customer : legs.agent;
      expect(other.subarray(startMs * 8, endMs * 8).every((code) => code === 0xff)).toBe(true);
      expect(new Set(legs[leg].subarray(startMs * 8, endMs * 8)).size).toBeGreaterThan(100);
    }
  });

  test('all legs go out at the same length, in the carrier’s form', async () => {
    const legs = (await builtInConversation()).map(samplesOf);
    const [first, second] = [
      legs[0]!,
      { ...legs[1]!, samples: legs[1]!.samples.subarray(0, 8_000) },
    ];
    for (const [encoding, rateHz, bytes] of [
      ['mulaw', 8_000, 1],
      ['alaw', 8_000, 1],
      ['slin', 8_000, 2],
    ] as const) {
      const encoded = encodeLegs([first, second], encoding, rateHz);
      expect(encoded.map((leg) => leg.bytes.length)).toEqual([
        first.samples.length * bytes,
        first.samples.length * bytes,
      ]);
    }
  });
});

describe('a bad line', () => {
  test('drops and swaps the share it is told, the same with the same seed, and loses nothing else', () => {
    const frames = Array.from({ length: 10_000 }, (_, at) => String(at));
    const run = (seed: number): { out: string[]; line: BadLine } => {
      const line = new BadLine({ drop: 0.02, reorder: 0.05, seed });
      const out = frames.flatMap((frame) => line.pass([frame])) as string[];
      return { out: [...out, ...(line.flush() as string[])], line };
    };
    const { out, line } = run(3);
    expect(out.length + line.dropped).toBe(frames.length);
    expect(line.dropped).toBeGreaterThan(120);
    expect(line.dropped).toBeLessThan(280);
    expect(line.reordered).toBeGreaterThan(350);
    expect(new Set(out).size).toBe(out.length);
    expect(run(3).out).toEqual(out);
    expect(run(4).out).not.toEqual(out);
  });

  test('without faults everything passes as it came', () => {
    expect(new BadLine({}).pass(['a', 'b'])).toEqual(['a', 'b']);
    const random = randomFrom(1);
    for (let time = 0; time < 1_000; time++) expect(random()).toBeLessThan(1);
  });
});
