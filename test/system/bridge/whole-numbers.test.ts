import { expect, test } from 'vitest';
import { until } from '../../support/process/until.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
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

test('sessions of a redacted call listen for the words of questions for secrets, others do not', async () => {
  const vocabulary = async (config: object): Promise<unknown> => {
    await using call = await startCall({ ...config });
    const [session] = call.speech.sessions.values();
    const { custom_vocabulary_config: asked } = session?.request['realtime_processing'] as AnyJson;
    return asked?.vocabulary;
  };
  expect(await vocabulary(secretsOnly)).toEqual(['expiry', 'expiration date', 'security code', 'CVV', 'social security number']); // prettier-ignore
  expect(await vocabulary({ redactEntities: ['NAME'] })).toBeUndefined();
  const spanish = { language_config: { languages: ['es'], code_switching: false } };
  expect(await vocabulary({ ...secretsOnly, session: spanish })).toBeUndefined();
});

test('an answer that is reported before its question is covered all the same', async () => {
  await using call = await startCall(secretsOnly);
  await call.say('customer', 'uh oh six seven', 3);
  await call.say('agent', 'And the three digits on the back.', 1, { isLate: true });
  await call.say('customer', 'June twenty seven', 7);
  await call.say('agent', 'And the expiry date.', 5, { isLate: true });
  const everything = await everythingOf(call);
  for (const secret of ['six seven', 'twenty seven'])
    expect(everything.toLowerCase().includes(secret), secret).toBe(false);
  expect(call.said('customer')).toEqual(['uh [CVV_1]', '[CREDIT_CARD_EXPIRATION_1]']);
});

test('a number with pauses is one entity with its value, told again under its name when more of it is said', async () => {
  await using call = await startCall({});
  await call.say('agent', 'What is your order number?', 1);
  await call.say('customer', 'Four seven two.', 3);
  await call.say('customer', 'Nine one six.', 5);
  await call.say('agent', 'And a phone number?', 7);
  await call.say('customer', 'Two one two five five five.', 9);
  await call.say('customer', 'Oh one four seven, no wait, oh one four eight.', 11);
  await call.say('agent', 'How much was it?', 14);
  await call.say('customer', 'Eighty nine dollars.', 16);
  await call.say('customer', 'I see.', 18);
  await call.end();
  const events = await call.events();
  const told = events.filter(({ type }) => type === 'call.entities');
  const entities = told.flatMap(({ data }) => data.results);
  const orders = entities.filter(({ entity_type }) => entity_type === 'NUMERICAL_PII');
  expect(orders.map(({ value }) => value)).toEqual(['472', '472916']);
  expect(new Set(orders.map(({ id }) => id)).size).toBe(1);
  const finals = events.filter(({ type }) => type === 'call.transcript').map(({ data }) => data);
  expect(
    orders[1].pieces.map(({ utterance_id }: { utterance_id: string }) => utterance_id),
  ).toEqual(finals.slice(1, 3).map(({ utterance_id }) => utterance_id));
  const whole = { NUMERICAL_PII: '472916', PHONE_NUMBER: '+12125550148', MONEY: '89.00' };
  for (const [type, value] of Object.entries(whole))
    expect(entities.findLast(({ entity_type }) => entity_type === type)?.value).toBe(value);
  // The events of the whole call have each once.
  for (const name of ['call.summary', 'call.completed']) {
    const data = events.find(({ type }) => type === name)?.data;
    const values = data.entities.map((entity: AnyJson) => [entity.entity_type, entity.value]);
    expect([name, values]).toEqual([name, Object.entries(whole)]);
  }
  expect(entities.find(({ entity_type }) => entity_type === 'MONEY')?.currency).toBe('USD');
  // An utterance in which there is nothing is no event.
  expect(told.some(({ data }) => data.utterance.text === 'I see.')).toBe(false);
});

test('a redacted entity has no value, whatever its pieces, and the others have theirs', async () => {
  await using call = await startCall(secretsOnly);
  await call.say('agent', 'And the expiry date?', 1);
  await call.say('customer', 'oh four', 3);
  await call.say('customer', 'twenty nine', 4);
  await call.say('agent', 'Your order number?', 6);
  await call.say('customer', 'four seven two nine one six thanks', 8);
  await call.end();
  const events = await call.events();
  const entities = events
    .filter(({ type }) => type === 'call.entities')
    .flatMap(({ data }) => data.results);
  const values = entities.map(({ entity_type, text, value }) => [entity_type, text, value]);
  expect(values).toContainEqual(['NUMERICAL_PII', 'four seven two nine one six', '472916']);
  for (const [type, text, value] of values.filter(([type]) => type !== 'NUMERICAL_PII'))
    expect([type, text, value]).toEqual([type, '[CREDIT_CARD_EXPIRATION_1]', undefined]);
  expect(/2029|oh four/.test(JSON.stringify(events))).toBe(false);
});

test('a person reads figures wherever the call is shown, and the words stay as they were said', async () => {
  await using call = await startCall({});
  await call.say('agent', 'What is your order number?', 1);
  await call.say('customer', 'the order number is four, seven, two, nine, one, six.', 3);
  await call.say(
    'customer',
    'it was on march third and my phone number is two one two, five five five, oh one four seven',
    7,
  );
  await call.say(
    'agent',
    'I apologize and i will refund eighty nine dollars to your card today.',
    12,
  );
  await call.end();
  const read = [
    'What is your order number?',
    'The order number is 472916.',
    'It was on March 3rd and my phone number is 212-555-0147',
    'I apologize and I will refund $89 to your card today.',
  ];
  const events = await call.events();
  const finals = events.filter(({ type }) => type === 'call.transcript').map(({ data }) => data);
  expect(finals.map(({ text }) => text)).toEqual(read);
  const words: string[] = finals.map(({ words: all }) => all.map((one: AnyJson) => one.word.trim()).join(' ')); // prettier-ignore
  expect(words[1]).toBe('the order number is four, seven, two, nine, one, six.');
  expect(words[3]).toContain('eighty nine dollars');
  const json = await call.json();
  expect(json.transcript.map(({ text }: AnyJson) => text)).toEqual(read);
  for (const name of ['call.summary', 'call.completed']) {
    const data = events.find(({ type }) => type === name)?.data;
    expect(data.transcript.map(({ text }: AnyJson) => text)).toEqual(read);
    expect(data.summary.text).toMatch(/472916.*\$89/s);
    const values = data.entities.map(({ entity_type: type, value }: AnyJson) => [type, value]);
    expect(values).toEqual(
      expect.arrayContaining([
        ['NUMERICAL_PII', '472916'],
        ['PHONE_NUMBER', '+12125550147'],
        ['MONEY', '89.00'],
      ]),
    );
  }
});

test('with redaction, what stays is in figures and what goes is gone', async () => {
  await using call = await startCall(secretsOnly);
  await call.say('agent', 'What is the card number?', 1);
  await call.say('customer', 'Four two four two, four two four two, four two four two, four two four two.', 3); // prettier-ignore
  await call.say('customer', 'And they charged me eighty nine dollars.', 8);
  await call.end();
  expect(call.said('customer')).toEqual(['[CREDIT_CARD_1].', 'And they charged me $89.']);
});
