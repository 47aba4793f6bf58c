import { expect, test } from 'vitest';
import { answerTo, Expectations } from '../../../../src/bridge/call/expectations.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import type { Role } from '../../../../src/protocol/events.ts';

/** The expectations of a call with an agent and a customer, and what the customer's recogniser was told. */
function twoParties() {
  const told: unknown[] = [];
  const legOf = (role: Role) => ({
    isDone: false,
    record: { id: role, channels: 1 as const },
    roleOf: () => role,
    positionS: () => 0,
    audio: {
      expect: (_channel: number, answer: unknown) => {
        if (role === 'customer') told.push(answer);
      },
    },
  });
  const [agent, customer] = [legOf('agent'), legOf('customer')];
  return {
    agent,
    customer,
    told,
    expectations: new Expectations(systemClock, () => [agent, customer]),
  };
}

const said = (text: string, start: number, end = start + 2) => ({ channel: 0, text, start, end });

test('an open question is expected to be answered before it is over', () => {
  const { agent, expectations, told } = twoParties();
  expectations.saying(agent, said('Okay and what is', 0));
  expect(told).toEqual([]);
  expectations.saying(agent, said('Okay and what is your account number', 0));
  expectations.saying(agent, said('Okay and what is your account number please', 0));
  expect(told).toEqual(['digits']);
  expectations.heard(agent, said('Okay and what is your account number, please?', 0));
  expect(told).toEqual(['digits', 'digits']);
});

test('an open sentence of the speaker, and words from before the answer, ask for nothing', () => {
  const { agent, customer, expectations, told } = twoParties();
  expectations.saying(customer, said('what is your account number', 0));
  expectations.heard(customer, said('Four four one nine.', 3, 6));
  told.length = 0;
  expectations.saying(agent, said('what is your account number', 2));
  expect(told).toEqual([]);
  expectations.saying(agent, said('and what is your account number', 7));
  expect(told).toEqual(['digits']);
});

test('what was requested through the API stays while somebody speaks', () => {
  const { agent, expectations, told } = twoParties();
  expectations.order({ answer: 'letters', role: 'customer', seconds: 30 });
  expectations.saying(agent, said('what is your account number', 0));
  expect(told).toEqual(['letters']);
  expectations.close();
});

test.each([
  ['What is your e-mail address?', 'email'],
  ['Could you spell your email for me, please?', 'letters'],
  ['I will send you an email later.', undefined],
  ['How much did they charge you?', 'amount'],
  ['When did it arrive?', 'date'],
  ['Which day works for you?', 'date'],
  ['What is your account number?', 'digits'],
  ['How much longer will it take?', undefined],
])('after "%s" the answer is expected to be %s', (question, answer) => {
  expect(answerTo([question])).toBe(answer);
});
