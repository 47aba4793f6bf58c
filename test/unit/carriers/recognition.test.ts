import { expect, test } from 'vitest';
import { carriers } from '../../../src/carriers/all.ts';
import { CarriersConfig } from '../../../src/carriers/config.ts';
import { matchTexts } from '../../../src/carriers/recognising-socket.ts';
import { randomFrom } from '../../../src/player/faults.ts';
import {
  fixtureNames,
  readFixture,
  upgradeRequest,
} from '../../support/carriers/carrier-fixture.ts';

/** The verdict of the detecting path on the first texts, as its socket asks for it. */
function recognised(texts: readonly string[]): string {
  const first = matchTexts(texts.slice(0, 1));
  return first === 'more' ? matchTexts(texts.slice(0, 2)) : first;
}

test('10,000 mutated first messages: none is taken for another carrier, and none is proof', () => {
  const random = randomFrom(20);
  const below = (limit: number): number => Math.floor(random() * limit);
  const config = CarriersConfig.parse({});
  const openings = fixtureNames().map((name) => ({
    name: name.split('-')[0] ?? '',
    texts: readFixture(name)
      .flatMap(({ from, isBinary, data }) => (from === 'carrier' && !isBinary ? [data] : []))
      .slice(0, 2),
  }));
  let known = 0;
  for (let round = 0; round < 10_000; round++) {
    const { name, texts } = openings[round % openings.length]!;
    const at = below(texts.length);
    const mutated = texts.map((text, index) => {
      if (index !== at) return text.toString();
      const bytes = Buffer.from(text.subarray(0, random() < 0.2 ? below(text.length) : undefined));
      for (let change = 0; change <= below(3) && bytes.length > 0; change++)
        bytes[below(bytes.length)] = 32 + below(95);
      return bytes.toString();
    });
    const match = recognised(mutated);
    expect([name, 'unknown', 'more'], mutated.join('\n')).toContain(match);
    if (match !== name) continue;
    known++;
    const verdict = carriers[match as keyof typeof carriers].authenticate(upgradeRequest(), {
      config,
      publicUrl: 'https://bridge.example.net',
      nowMs: 0,
      nonces: { remember: () => true },
      judgeSecret: (_secret, isRight) => ({ is: isRight ? 'right' : 'wrong' }),
    });
    expect(verdict.outcome).not.toBe('accepted');
  }
  expect(known).toBeGreaterThan(1_000);
});
