import { expect, test } from 'vitest';
import { recordOf } from '../../../../src/language/wrap-up/record.ts';
import { entitiesOfTurns } from '../../../../src/language/values/of-turns.ts';
import { scoreWrapUps, wrapUpCalls } from '../../../support/language/wrap-up-calls.ts';

const about = { day: '2026-12-01', callingCode: '1' };

/** Turns of agent and customer by turns, the agent first. */
function recordFrom(...texts: string[]) {
  const turns = texts.map((text, place) => ({ role: place % 2 === 0 ? 'agent' : 'customer', text, start: place * 3, end: place * 3 + 2 })); // prettier-ignore
  return recordOf(turns, { entities: entitiesOfTurns(turns, about, 'en'), ...about });
}

test.each([
  ['first', 30],
  ['second', 30],
  ['third', 10],
  ['fourth', 10],
] as const)(
  'the records of the %s part of eighty calls are right, proven and name nobody wrongly',
  { timeout: 60_000 },
  (part, size) => {
    const calls = wrapUpCalls(part);
    expect(calls.length).toBe(size);
    expect(new Set(calls.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(Math.min(12, size));
    const score = scoreWrapUps(calls);
    for (const field of [score.reason, score.done, score.outcome, score.promises, score.facts])
      expect(field.f1).toBeGreaterThanOrEqual(0.8);
    expect(score.promises.precision).toBeGreaterThanOrEqual(0.9);
    expect(score.promises.recall).toBeGreaterThanOrEqual(0.75);
    expect(score.withoutSource).toEqual([]);
    expect(score.wrongNames).toEqual([]);
  },
);

test('an offer is not an agreement', () => {
  const record = recordFrom(
    'How can I help you?',
    'My lamp arrived broken.',
    'I can send you a new one on Friday, or I could refund it. Would you like me to refund it?',
    'I need to think about it.',
    'Of course. If you call us tomorrow, we will send it on Friday.',
    'Okay. Bye.',
  );
  expect(record.done).toEqual([]);
  expect(record.promises).toEqual([]);
  expect(record.outcome).toEqual({ value: 'open', turns: [3] });
});

test('a promise that the other party declines is none', () => {
  const record = recordFrom(
    'How can I help you?',
    'The atlas is missing from my order.',
    'I will send you a replacement today.',
    "I'd rather have my money back.",
    "I've refunded thirty dollars. I'll email you the receipt tomorrow.",
    'Thank you.',
  );
  expect(record.promises).toEqual([
    { who: 'agent', what: 'email the customer the receipt', subject: 'Agent', until: '2026-12-02', isOn: true, turns: [4] }, // prettier-ignore
  ]);
  expect(record.done).toEqual([{ text: 'Agent refunded $30.00', turns: [4] }]);
});

test('a matter that "it" names is told by the words that asked for it, with both turns as proof', () => {
  const record = recordFrom(
    'Riverside Dental, this is Kate.',
    "I'd like to cancel my cleaning on Tuesday.",
    'No problem, it is cancelled.',
    'Thanks.',
  );
  expect(record.done).toEqual([
    { text: "Agent cancelled the customer's cleaning on Tuesday", turns: [1, 2] },
  ]);
});

test('a task that the agent began counts once the agent says that it is done', () => {
  const said = (last: string) =>
    recordFrom(
      'Help desk.',
      'I need a new password.',
      'Let me reset your password.',
      'Okay.',
      last,
      'Thanks.',
    ).done;
  expect(said('Done. Anything else?')).toEqual([
    { text: "Agent agreed to reset the customer's password", turns: [2, 4] },
  ]);
  expect(said('Hm, the system is slow today.')).toEqual([]);
});

test.each([
  ['by Friday', '2026-12-04'],
  ['tomorrow morning', '2026-12-02'],
  ['within three to five business days', '2026-12-08'],
  ['within 48 hours', '2026-12-03'],
  ['by the end of the week', '2026-12-04'],
  ['by the end of the month', '2026-12-31'],
  ['on the 15th', '2026-12-15'],
  ['by January eighth', '2027-01-08'],
  ['some time', undefined],
])('a promise "%s" is due on %s', (words, until) => {
  const [promise] = recordFrom(
    'How can I help?',
    'I need a letter.',
    `I will send the letter ${words}.`,
    'Good.',
  ).promises;
  expect(promise).toMatchObject({ who: 'agent', subject: 'Agent' });
  expect(promise?.until).toBe(until);
});

test('an action of before the call and a refusal are nothing that was done', () => {
  expect(
    recordFrom(
      'How can I help you?',
      'Where is my parcel?',
      "We've shipped it last week. I haven't refunded anything. We have received your letter.",
      'I see.',
    ).done,
  ).toEqual([]);
});

test('if the parties are not known nobody is named, and facts remain', () => {
  const turns = [
    { role: 'channel 0', text: 'My name is Laura Bennett and I lost $40.', start: 0, end: 3 },
    { role: 'channel 1', text: "I've refunded it and I will call you tomorrow.", start: 4, end: 7 },
  ];
  const record = recordOf(turns, { entities: entitiesOfTurns(turns, about, 'en'), ...about });
  expect(record).toMatchObject({ reason: null, done: [], promises: [], mood: null });
  expect(record.facts.map(({ kind }) => kind)).not.toContain('name');
  expect(record.facts).toContainEqual({ kind: 'amount', text: '$40', value: '40.00', currency: 'USD', turns: [0], isCustomers: false }); // prettier-ignore
});

test('a wrong number leaves the record empty', () => {
  const record = recordFrom('Harbor Insurance.', 'Is that Sheila?', 'No.', 'Sorry, wrong number.');
  expect(record).toMatchObject({ reason: null, done: [], promises: [], facts: [] });
  expect(record.outcome).toEqual({ value: 'unknown', turns: [] });
});

test('a weekday in a sentence about the past is the last one', () => {
  const dates = (text: string) =>
    recordFrom('How can I help you?', text, 'I see.', 'Thanks.').facts.map(({ value }) => value);
  expect(dates('Somebody hit my car on Sunday.')).toEqual(['2026-11-29']);
  expect(dates('I can bring it on Sunday.')).toEqual(['2026-12-06']);
});

test('the mood goes from the first feeling to the last, with the turns that show it', () => {
  const record = recordFrom(
    'How can I help you?',
    'This is terrible. My parcel is broken and I am really angry.',
    "I've refunded it.",
    'Wonderful, thank you so much, that is great.',
  );
  expect(record.mood).toEqual({ from: 'negative', to: 'positive', turns: [1, 3] });
});

test('a day that the agent corrects is the day of the promise', () => {
  const record = recordFrom(
    'How can I help?',
    'I need a new card.',
    'I will send the card tomorrow. It should arrive on Thursday.',
    "Thursday's a holiday.",
    "Oh, you're right. Then it'll be Friday, I'm sorry.",
    'Fine.',
  );
  expect(record.promises.at(-1)).toMatchObject({ what: 'arrive', until: '2026-12-04', turns: [2, 4] }); // prettier-ignore
});

test('a promise names the thing that the words before it named, and "I will get that over to you" adds none', () => {
  const record = recordFrom(
    'How can I help?',
    'I want to change my address.',
    'Please send us the reading by December tenth.',
    "I'll send it on Monday.",
    "Great. I'll email you the quote today.",
    'Perfect.',
    "I'll get that over to you.",
    'Thanks.',
  );
  expect(record.promises.map(({ subject, what }) => `${subject} ${what}`)).toEqual([
    'Customer send the reading',
    'Agent email the customer the quote',
  ]);
});

test('a day of the past is the last one, and one that was booked is to come', () => {
  const { facts } = recordFrom(
    'How did you like the viewing on Wednesday?',
    'The parcel says delivered on Friday. I signed up on the nineteenth.',
    "I've booked the visit for Saturday.",
    'Thanks.',
  );
  const days = facts.filter(({ kind }) => kind === 'date').map(({ value }) => value);
  expect(days).toEqual(['2026-11-25', '2026-11-27', '2026-11-19', '2026-12-05']);
});

test.each([
  ['heard for sure', [], 'I see.', ['Gwen Parry']],
  ['doubtful and never confirmed', ['gwen'], 'Thank you, Glenn.', []],
  ['doubtful, and repeated by the agent', ['parry'], 'Thank you, Mrs Parry.', ['Gwen Parry']],
])('a name that is %s', (_, doubtful, answer, names) => {
  const said = ['Who am I speaking to?', "It's Gwen Parry, I need to move my appointment.", answer, 'Thanks.']; // prettier-ignore
  const turns = said.map((text, at) => ({
    role: at % 2 === 0 ? 'agent' : 'customer',
    text,
    start: at * 3,
    end: at * 3 + 2,
    doubtful: at === 1 ? doubtful : [],
  }));
  const { facts } = recordOf(turns, {});
  expect(facts.filter(({ kind }) => kind === 'name').map(({ value }) => value)).toEqual(names);
});

test('a doubtful name that the caller spells is the name', () => {
  const turns = ['How can I help you?', 'My name is Gwen Parry and I need to move my appointment.', 'Could you spell it?', 'P A R R Y.'].map(
    (text, at) => ({ role: at % 2 === 0 ? 'agent' : 'customer', text, start: at * 3, end: at * 3 + 2, doubtful: at === 1 ? ['parry'] : [] }),
  ); // prettier-ignore
  const names = recordOf(turns, {}).facts.filter(({ kind }) => kind === 'name');
  expect(names.map(({ value }) => value)).toEqual(['Gwen Parry']);
});
