import { expect, test } from 'vitest';
import { BridgeConfig } from '../../../../src/bridge/config.ts';
import { Redactor, Speaker, type Final } from '../../../../src/bridge/events/redactor.ts';
import { performTask } from '../../../../src/language/perform.ts';
import type { LanguageRunner } from '../../../../src/language/runner.ts';

function final(text: string, start: number): Final {
  const data = { utterance_id: `00_${start}`, text, language: 'en', confidence: 1, words: [] };
  const times = { start, end: start + 1 };
  const said = { sessionId: 'one', type: 'call.transcript', channel: 0, key: `00_${start}`, text };
  return { ...said, ...times, data: { ...data, ...times } } as unknown as Final;
}

/** The real redaction, whose thread fails at the steps of these numbers. */
function failingAt(...steps: number[]): LanguageRunner {
  let step = 0;
  return {
    run: (task, input) => {
      if (steps.includes(++step)) return Promise.reject(new Error('a fault of ours'));
      return Promise.resolve(performTask(task, input));
    },
    warm: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

test('a fault while a final is redacted hides what waits, and later finals get their own answers', async () => {
  const config = BridgeConfig.parse({ redactEntities: ['CREDIT_CARD'] });
  const redactor = Redactor.from(
    failingAt(2),
    { id: 'call_1', startedAt: 0, direction: undefined, from: undefined, to: undefined },
    config,
  );
  if (redactor === undefined) throw new Error('nothing is to be redacted');
  const faults: unknown[] = [];
  redactor.onFailure((error) => faults.push(error));
  const speaker = new Speaker(undefined);
  const told: [string, string][] = [];
  for (const [at, text] of [
    'my card is 4111 1111',
    '1111 1111 thanks',
    'the second',
    'and the third',
  ].entries()) {
    const { released } = await redactor.final(speaker, final(text, at * 2)); // prettier-ignore
    for (const one of released) told.push([one.key, one.text]);
  }
  expect(told).toEqual([
    ['00_0', '[REDACTED]'],
    ['00_2', '[REDACTED]'],
    ['00_4', 'the second'],
    ['00_6', 'and the third'],
  ]);
  expect(faults).toHaveLength(1);
  expect(speaker.held).toEqual([]);
});
