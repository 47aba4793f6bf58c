import { expect, test } from 'vitest';
import { summarize } from '../../../../src/language/wrap-up/summarize.ts';

const turn = (role: string, text: string, start: number) => ({ role, text, start, end: start + 2 });

/** Turns of agent and customer by turns, the agent first. */
const call = (...texts: string[]) =>
  texts.map((text, place) => turn(place % 2 === 0 ? 'agent' : 'customer', text, place * 3));

test('a single nameless voice is not called by its channel, two voices are', () => {
  const alone = [turn('channel 0', 'My card is lost and I need a new one.', 0)];
  expect(summarize(alone, 'general')).toBe('My card is lost and I need a new one.');
  expect(summarize(alone, 'bullet_points')).toBe('- My card is lost and I need a new one.');
  const two = [...alone, turn('channel 1', 'We have blocked the old card.', 3)];
  expect(summarize(two, 'general')).toContain('Channel 0: My card');
});

test('if the roles are known the call is told in the third person', () => {
  const turns = call(
    'Thank you for calling Harbor Insurance, this is Ben.',
    'My card was stolen and I need a new one.',
    "I've blocked the old card. I'll send you a new one on Friday.",
    'Thank you. Can I still use the app?',
  );
  expect(summarize(turns, 'general')).toBe(
    'Customer reported that their card was stolen and they need a new one. Agent blocked the old card. ' +
      'They will send the customer a new one on Friday.',
  );
});

test("a caller is named by the caller's own words alone", () => {
  const named = (text: string, before = 'How can I help you?') =>
    summarize(call(before, text, 'I will cancel the booking for Emily Johnson today.', 'Yes please, cancel the booking.'), 'general'); // prettier-ignore
  expect(named('Hi, my name is Laura Bennett and I want to cancel my booking.')).toMatch(/^Caller: Laura Bennett\./); // prettier-ignore
  expect(named('Laura Bennett. I want to cancel my booking.', 'Your full name, please?')).toMatch(/^Caller: Laura Bennett\./); // prettier-ignore
  expect(named('I want to cancel the booking of my colleague, Laura Bennett told me to.')).not.toContain('Caller:'); // prettier-ignore
  expect(named('I spoke to Laura Bennett yesterday and I want to cancel my booking.')).not.toContain('Caller:'); // prettier-ignore
});

test('a matter that was done in three words is told', () => {
  const turns = call(
    'Riverside Dental, this is Kate speaking, my supervisor is Helen Park.',
    "I'd like to cancel my cleaning on Tuesday.",
    'No problem, it is cancelled.',
    "Thanks, I'll call back next week.",
  );
  expect(summarize(turns, 'general')).toBe(
    "Customer wanted to cancel their cleaning on Tuesday. Agent cancelled the customer's cleaning on Tuesday. " +
      'Customer will call back next week.',
  );
});

test('a sentence without its full stop is told as two', () => {
  const turns = call(
    'How can I help you?',
    'My order was damaged and I want a refund.',
    'I understand and i apologize i will refund 89 to your credit card today',
    'Thank you so much.',
  );
  expect(summarize(turns, 'general')).toContain(
    "Agent will refund 89 to the customer's credit card today.",
  );
});

test.each([
  [['Harbor Insurance, this is Ben.', 'Oh sorry, I have the wrong number.', 'No problem, bye.']],
  [['Hello?', 'Hello.', 'Thank you, bye.']],
])('a call that had no matter says so', (texts) => {
  expect(summarize(call(...texts), 'general')).toBe('Short call, nothing to summarise.');
});

test('a sentence that cannot be retold is quoted, and another language is left alone', () => {
  const question = call('How can I help?', 'Do you have my refund of $40 for the broken lamp?');
  expect(summarize(question, 'general')).toBe(
    'Customer asked: "Do you have my refund of $40 for the broken lamp?"',
  );
  const spanish = call('¿En qué puedo ayudarle?', 'Me robaron la tarjeta y me cobraron 40 euros.');
  expect(summarize(spanish, 'general')).not.toContain('them');
  expect(summarize(spanish, 'general')).toContain('Me robaron la tarjeta');
});
