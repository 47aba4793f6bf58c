import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import { runFaults } from '../../support/faults/live-faults.ts';
import {
  fixtureRecogniser,
  startTestService,
  type TestService,
} from '../../support/speech/speech-service.ts';

let recogniser: Recogniser;
let service: TestService;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
  service = await startTestService({ recogniser });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await recogniser[Symbol.asyncDispose]();
});

test('cut, frozen, doubled and slowed sessions end with the words and bytes of a calm one (16 seeds; 500 in the trial)', async () => {
  const seeds = Array.from({ length: 16 }, (_, index) => index + 1);
  const lanes = [0, 1, 2, 3].map(async (lane) => {
    for (const seed of seeds.filter((each) => each % 4 === lane)) {
      const outcome = await runFaults(service, seed);
      expect(outcome, `seed ${seed}: ${outcome.faults.join(' ')}`).toMatchObject({ wrong: [] });
    }
  });
  await Promise.all(lanes);
}, 120_000);
