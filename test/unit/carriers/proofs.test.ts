import { describe, expect, test } from 'vitest';
import { carriers } from '../../../src/carriers/all.ts';
import { CarriersConfig } from '../../../src/carriers/config.ts';
import type { UpgradeVerdict } from '../../../src/carriers/carrier.ts';
import {
  proofVectors,
  secretCarriers,
  type ProofVector,
} from '../../support/carriers/proof-vectors.ts';

const secret = 'a-secret-of-the-tests';

describe.each(secretCarriers)('the shared secret of %s', (carrier) => {
  const { good, bad } = proofVectors(carrier);
  const verdictOf = ({ request, config }: ProofVector): UpgradeVerdict =>
    carriers[carrier].authenticate(request, {
      config,
      publicUrl: 'https://bridge.example.net',
      nowMs: 0,
      nonces: { remember: () => true },
      judgeSecret: (_secret, isRight) => ({ is: isRight ? 'right' : 'wrong' }),
    });

  test(`lets ${good.length} spellings of it in`, () => {
    expect(good.length).toBeGreaterThanOrEqual(40);
    const refused = good.filter((one) => verdictOf(one).outcome !== 'accepted');
    expect(refused.map(({ what }) => what)).toEqual([]);
  });

  test(`keeps ${bad.length} others out, in words that hold no secret`, () => {
    expect(bad.length).toBeGreaterThanOrEqual(40);
    for (const one of bad) {
      const verdict = verdictOf(one);
      expect(verdict.outcome, one.what).toBe('refused');
      expect(JSON.stringify(verdict), one.what).not.toContain(secret);
    }
  });
});

test.each(['telnyxToken', 'signalwireToken', 'freeswitchToken'])(
  '%s that no header could bring stops the start',
  (setting) => {
    for (const text of ['words with spaces', 'pässwörter', 'tab\tin the middle', 'new\nlines'])
      expect(CarriersConfig.safeParse({ [setting]: [text] }).success, text).toBe(false);
    expect(CarriersConfig.safeParse({ [setting]: [secret, '!"#$%&()*+,-./:;'] }).success).toBe(
      true,
    );
  },
);
