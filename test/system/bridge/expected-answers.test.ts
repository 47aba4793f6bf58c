import { expect, test } from 'vitest';
import { startCall } from '../../support/bridge/spoken-call.ts';
import { until } from '../../support/process/until.ts';

const ours = { takesHints: true };

test('the question of one party tells our own service what the other may say, until it is said', async () => {
  await using call = await startCall({}, ours);
  expect(call.hintOf('customer')).toEqual({ channel: 0, expects: null, number_pause: 1.5 });
  await call.say('agent', 'What is the card number?', 1);
  await until(() => call.hintOf('customer')?.['expects'] === 'digits');
  expect(call.hintOf('agent')?.['expects']).toBeNull();
  await call.say('customer', 'four two four two', 3);
  await until(() => call.hintOf('customer')?.['expects'] === null);
  for (const [at, question, answer] of [
    [5, 'When does it expire?', 'date'],
    [8, 'Can you spell that for me?', 'letters'],
    [11, 'And the booking reference?', 'code'],
    [14, 'What is your e-mail address?', 'email'],
    [17, 'How much did they charge?', 'amount'],
  ] as const) {
    await call.say('agent', question, at);
    await until(() => call.hintOf('customer')?.['expects'] === answer);
  }
  await call.end();
});

test('a question counts before it is over, so that a quick answer has its expectation', async () => {
  await using call = await startCall({}, ours);
  call.begin('agent', 'Okay and what is your account number', 1);
  await until(() => call.hintOf('customer')?.['expects'] === 'digits');
  expect(call.hintOf('agent')?.['expects']).toBeNull();
  await call.say('agent', 'Okay, and what is your account number, please?', 1);
  await call.say('customer', 'four two four two', 3);
  await until(() => call.hintOf('customer')?.['expects'] === null);
  await call.end();
});

test('an order says what a party is about to say, for a bounded time', async () => {
  await using call = await startCall({}, ours);
  const answered = await call.order('expect', { answer: 'code', seconds: 1 });
  expect(answered.status).toBe(200);
  expect(await answered.json()).toEqual({ answer: 'code', role: 'customer', seconds: 1 });
  await until(() => call.hintOf('customer')?.['expects'] === 'code');
  await until(() => call.hintOf('customer')?.['expects'] === null);
  await call.order('expect', { answer: 'letters', role: 'agent' });
  await until(() => call.hintOf('agent')?.['expects'] === 'letters');
  await call.order('expect', { answer: null, role: 'agent' });
  await until(() => call.hintOf('agent')?.['expects'] === null);
  await call.end();
});

test('an order that cannot be is refused with the reason', async () => {
  await using call = await startCall({}, ours);
  for (const [body, status, reason] of [
    [{ answer: 'poem' }, 400, 'answer'],
    [{ answer: 'digits', seconds: 1_000 }, 400, 'seconds'],
    [{ answer: 'digits', whom: 'customer' }, 400, 'whom'],
    [{}, 400, 'answer'],
    [{ answer: 'digits', role: 'mixed' }, 409, 'no party with the role'],
  ] as const) {
    const refused = await call.order('expect', body);
    expect(refused.status, JSON.stringify(body)).toBe(status);
    expect(await refused.text()).toContain(reason);
  }
  await call.end();
  expect((await call.order('expect', { answer: 'digits' })).status).toBe(409);
});

test('a service that says nothing of hints gets none, whatever is asked and ordered', async () => {
  await using call = await startCall({});
  await call.say('agent', 'What is the card number?', 1);
  expect((await call.order('expect', { answer: 'digits' })).status).toBe(200);
  await call.say('customer', 'four two four two', 3);
  await call.end();
  for (const { hints } of call.speech.sessions.values()) expect(hints).toEqual([]);
});
