import { expect, test } from 'vitest';
import { until } from '../../support/process/until.ts';
import { startCall, type SpokenCall } from '../../support/bridge/spoken-call.ts';

const secretsOnly = { redactEntities: ['PCI', 'SSN'] };

/** Everything that anybody can read of the call. */
async function everythingOf(call: SpokenCall): Promise<string> {
  await call.end();
  return JSON.stringify([await call.events(), await call.json(), call.feed()]);
}

test('a card in four finals, its date and its code reach nobody, whoever says them again', async () => {
  await using call = await startCall(secretsOnly);
  await call.say('agent', 'What is the card number?', 1);
  for (const [at, text] of [
    [3, 'four two four two'],
    [5, 'uh four two four two'],
    [7, 'four two four two'],
    [9, 'four two four two'],
  ] as const)
    await call.say('customer', text, at);
  await call.say('agent', 'Four two four two. Expiry?', 11);
  await call.say('customer', 'uh oh four', 13);
  await call.say('customer', 'twenty nine', 14);
  await call.say('agent', 'The code?', 16);
  await call.say('customer', 'three seven', 18);
  await call.say('customer', 'nine', 19);
  await call.say('agent', 'Thank you, three seven nine.', 21);
  await call.say('customer', 'Right.', 23);
  const everything = await everythingOf(call);
  expect(everything).toContain('[CREDIT_CARD_1]');
  for (const secret of ['four two', 'oh four', 'twenty nine', 'three seven', '4242'])
    expect(everything.toLowerCase().includes(secret), secret).toBe(false);
  expect(call.said('customer')).toEqual([
    '[CREDIT_CARD_1]',
    '[CREDIT_CARD_1]',
    '[CREDIT_CARD_1]',
    '[CREDIT_CARD_1]',
    'uh [CREDIT_CARD_EXPIRATION_1]',
    '[CREDIT_CARD_EXPIRATION_1]',
    '[CVV_1]',
    '[CVV_1]',
    'Right.',
  ]);
  expect(call.said('agent').at(-1)).toBe('Thank you, [CVV_1].');
  // Nothing of it stays at the speech service, and the recording has a tone where it was said.
  await until(() => call.speech.sessions.size === 0);
  const loudness = await call.loudness();
  for (const { second, isSecret } of [
    { second: 3.1, isSecret: true },
    { second: 18.1, isSecret: true },
    { second: 19, isSecret: true },
    { second: 16.1, isSecret: false },
    { second: 23, isSecret: false },
  ])
    expect(
      loudness(second).every((channel) => channel > 1_000),
      `at ${second} s`,
    ).toBe(isSecret);
});
