import { expect, test } from 'vitest';
import { recordOf } from '../../../../src/language/wrap-up/record.ts';
import { summarize } from '../../../../src/language/wrap-up/summarize.ts';
import { entitiesOfTurns } from '../../../../src/language/values/of-turns.ts';

/* Records of turns as recognisers write them: without small words, without marks, with breaks in mid-sentence. */

const about = { day: '2026-12-01', callingCode: '44' };

function recordFrom(...texts: string[]) {
  const turns = texts.map((text, place) => ({ role: place % 2 === 0 ? 'agent' : 'customer', text, start: place * 3, end: place * 3 + 2 })); // prettier-ignore
  return recordOf(turns, { entities: entitiesOfTurns(turns, about, 'en'), ...about });
}

function doneAfter(...texts: string[]): string[] {
  return recordFrom('How can I help?', 'My lamp arrived broken.', ...texts).done.map(({ text }) => text); // prettier-ignore
}

test.each([
  ["I've cancel the order for you.", 'Agent cancelled the order'],
  ["I'd log that as a claim for you, reference 91835.", 'Agent logged that as a claim (reference 91835)'], // prettier-ignore
  ['I put a credit on for you.', 'Agent put a credit on'],
  ['Cancelled it for you.', 'Agent cancelled it'],
  ['Sorry about that, I spent the twenty pounds back to your card just now.', "Agent sent the £20.00 back to the customer's card"], // prettier-ignore
  ["I've gone ahead and. Refunded the twenty pounds.", 'Agent refunded the £20.00'],
])('"%s" tells a deed', (said, told) => {
  expect(doneAfter(said)).toEqual([told]);
});

test.each([
  "I'd cancel that for you if you had the number.",
  "I'd move you to the family plan for you.",
  'We cancel your order for you whenever you need.',
  'We have been cut off from your line.',
  'I would log that for you.',
  'Cancelled orders are refunded within a week.',
])('"%s" tells none', (said) => {
  expect(doneAfter(said)).toEqual([]);
});

test('what the agent set out to do is done once it has gone through, and is no promise any more', () => {
  const record = recordFrom(
    'How can I help?',
    'My lamp arrived broken.',
    "What I'll do is get another one out to you.",
    'Thanks.',
    "Right, that's all gone through for you.",
  );
  expect(record.done.map(({ text, turns }) => [text, turns])).toEqual([
    ['Agent agreed to get another one out to the customer', [2, 4]],
  ]);
  expect(record.outcome.value).toBe('resolved');
});

test('an order that the customer gave before the last sentence of a turn is what was done', () => {
  const record = recordFrom(
    'Shall I take you off the list?',
    "Could you take me off for now. I don't know yet.",
    "That's done for you.",
  );
  expect(record.done.map(({ text }) => text)).toEqual(['Agent took the customer off for now']);
});

test('two statements without a mark between them are told apart', () => {
  const record = recordFrom(
    'How can I help?',
    'My lamp arrived broken.',
    'I will send a new one on Friday it takes two days.',
  );
  expect(record.promises.map(({ what, until }) => [what, until])).toEqual([['send a new one', '2026-12-04']]); // prettier-ignore
});

test.each([
  ['I will send the claim again. It takes about three weeks and if they reject it we will call you.', [['send the claim again', '2026-12-22']]],
  ['I will refund the $25. The refund will be on your account within five working days.', [['refund the $25', '2026-12-08']]],
  ['You get the $25 back as a credit within two days, and the investigation takes up to a month.', [['get the $25 back as a credit', '2026-12-03']]],
  ["The new card arrives in five working days. You'll have it on Friday.", [['arrive', '2026-12-04']]],
  ['I will credit $90 for the last three months to your next bill.', [["credit $90 for the last three months to the customer's next bill", undefined]]],
  ['You get one free every two days.', []],
] as const)('the promises of "%s" have their time', (said, promises) => {
  const record = recordFrom('How can I help?', 'My lamp arrived broken.', said);
  expect(record.promises.map(({ what, until }) => [what, until])).toEqual(promises);
}); // prettier-ignore

test('politeness and orders behind a comma are no part of a promise', () => {
  const record = recordFrom(
    'The surveyor will be in touch by Monday, keep the receipt.',
    "I'll pop in tomorrow, then, thank you ever so much.",
  );
  expect(record.promises.map(({ what, until }) => [what, until])).toEqual([
    ['be in touch', '2026-12-07'],
    ['pop in', '2026-12-02'],
  ]);
});

test('a promise beside a condition is kept, one under it is none', () => {
  const record = recordFrom(
    "If it isn't back, ring us and we'll get someone out, I'll also drop you a text when it's fixed.",
    'Thanks.',
  );
  expect(record.promises.map(({ what }) => what)).toEqual([
    'drop the customer a text when it is fixed',
  ]);
});

test('a greeting and a name that may be misheard are no part of the reason', () => {
  const record = recordFrom(
    'Claims, this is Gary.',
    "Hello, Gareth, Joyce Woodlock here, the washing machine's flooded the kitchen.",
  );
  expect(record.reason?.text).toBe(
    'Customer reported that the washing machine has flooded the kitchen.',
  );
});

test('amounts, hours and days are kept as they were meant', () => {
  const { facts } = recordFrom(
    'When was the delivery?',
    'Saturday. You took fifty three pounds twenty of me, and twenty four pounds, ninety nine.',
    "They say it is back by ten o'clock tonight.",
  );
  expect(facts.map(({ kind, value }) => [kind, value])).toEqual([
    ['date', '2026-11-28'],
    ['amount', '53.20'],
    ['amount', '24.99'],
    ['time', '22:00'],
  ]);
});

test.each([
  ["What's your staff number?", 'One of four, four seven.', ['10447']],
  ['Could I take your customer number please?', 'Six one nine dash to two ho.', ['619220']],
  ["Let's get that card stopped. Can I take your account number?", "It's double 401927.", ['4401927']],
  ['Have you got the order reference?', 'Hang on, for mp30418.', ['MP30418']],
  // Something else is said, or another thing was asked for.
  ['What is your account number?', 'One of four men had it, for all I know.', []],
  ['What is your account number?', 'I have two of them to find.', []],
  ['And the last four digits of the card number?', 'Four two of four.', []],
  ['And what is the number on the back of your card?', 'One two of four.', []],
  ['It is about your card. What is the number?', 'Four two to of nine.', []],
])('after "%s" the number in "%s" is %s', (asked, said, values) => {
  const { facts } = recordFrom(asked, said);
  const numbers = facts.filter(({ kind }) => kind === 'number').map(({ value }) => value);
  expect(numbers).toEqual(values);
}); // prettier-ignore

test('a question that ends with a full stop asks for a day of the past', () => {
  const { facts } = recordFrom(
    'That is not right, when was the delivery.',
    'Saturday, Saturday morning.',
  );
  expect(facts.map(({ value }) => value)).toEqual(['2026-11-28']);
});

test('the test call reads as a person would write it, with the errors of its recognition', () => {
  const said = [
    'Thank you for cooking. Falling riverside books my name is Daniel. How can I help you?',
    'Hello, Daniel, my name is Emily Johnson. I would like a refund because my order was damaged.',
    'I am sorry to hear that, what is your order number?',
    'The order number is 472916.',
    'Thank you and what is your phone number',
    'My phone number is 212-555-0147.',
    'Thank you, I can see your order. The price was $89.',
    'I have called three times and nobody helped me. This is terrible service and I am very angry.',
    'I understand and I apologize I will refund $89 to your credit card today',
    "That is wonderful news. Thank you so much. I'm really happy with your help.",
    'You are welcome emily you will have your money by Friday have a great day',
    'Thank you very much, Daniel.',
    ...['Bye.', 'Bye now.', 'Take care.', 'Goodbye.', 'Bye bye.'],
  ];
  const turns = said.map((text, place) => ({ role: place % 2 === 0 ? 'agent' : 'customer', text, start: place * 3, end: place * 3 + 2 })); // prettier-ignore
  const context = { entities: entitiesOfTurns(turns, about, 'en'), ...about };
  expect(summarize(turns, 'general', context)).toBe(
    "Caller: Emily Johnson. Customer wanted a refund because their order was damaged (472916); they have called three times. Agent will refund $89 to the customer's credit card the same day. The customer will get their money by Friday, 4 December.",
  );
});

test('a complaint says what somebody did, and a promise to tell somebody something is no line', () => {
  const turns = [
    ['agent', 'How can I help?'],
    ['customer', 'I want to file a complaint about the technician. He yelled at my dog.'],
    ['agent', "I've filed the complaint. I will call you on Friday."],
    ['customer', "I'll tell her."],
  ].map(([role = '', text = ''], place) => ({ role, text, start: place * 3, end: place * 3 + 2 }));
  expect(summarize(turns, 'general', about)).toBe(
    'Customer wanted to file a complaint about the technician; he yelled at their dog. Agent filed the complaint. They will call the customer on Friday, 4 December.',
  );
});

test.each([
  ['I send you a new one on Friday.', 'send the customer a new one', '2026-12-04'],
  ['All text you the code.', 'text the customer the code', undefined],
  ['He be there on Friday.', 'be there', '2026-12-04'],
  ['You get it by Friday.', 'get it', '2026-12-04'],
  ['We usually send it on Friday.', undefined, undefined],
  ['I get a lot of calls.', undefined, undefined],
])('"%s" without its "will" is the promise that was meant, or none', (said, what, until) => {
  const { promises } = recordFrom(said, 'Thanks.');
  expect(promises.map((promise) => [promise.what, promise.until])).toEqual(what === undefined ? [] : [[what, until]]); // prettier-ignore
});
