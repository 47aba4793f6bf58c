import { expect, test } from 'vitest';
import { parsePhoneNumberFromString } from 'libphonenumber-js/min';
import { expressionFunctions } from '../../../src/crm/expression-functions.ts';
import { randomOf } from '../../support/faults/live-faults.ts';

const { phoneForms, chosenContact, samePhone, callText, hoursMinutes, uuidOf, cutText } =
  expressionFunctions as Record<string, (...given: unknown[]) => unknown>;

/** Countries with lengths, trunk prefixes and formats of their own, each with the begin of a number. */
const plans: [country: string, code: string, begin: string, digits: number][] = [
  ['GB', '44', '20', 10], ['US', '1', '212', 10], ['DE', '49', '30', 10], ['FR', '33', '1', 9],
  ['ES', '34', '91', 9], ['IT', '39', '06', 10], ['NL', '31', '20', 9], ['AU', '61', '2', 9],
]; // prettier-ignore

function someNumbers(count: number, random: () => number): { e164: string; country: string }[] {
  const numbers = new Map<string, string>();
  while (numbers.size < count) {
    const [country, code, begin, digits] = plans[Math.floor(random() * plans.length)]!;
    let rest = begin;
    while (rest.length < digits) rest += String(2 + Math.floor(random() * 8));
    numbers.set(`+${code}${rest}`, country);
  }
  return [...numbers].map(([e164, country]) => ({ e164, country }));
}

/** The twelve ways in which people write a number into a CRM. */
function formsOf(e164: string): string[] {
  const parsed = parsePhoneNumberFromString(e164)!;
  const national = parsed.formatNational();
  const international = parsed.formatInternational();
  return [
    e164, international, international.replaceAll(' ', '-'), international.replaceAll(' ', '.'),
    international.replaceAll(' ', ''), `00${e164.slice(1)}`, national, national.replaceAll(' ', '-'),
    national.replace(/[ ()-]/g, ''), `Tel. ${international}`, `${international} ext. 12`, ` ${national} `,
  ]; // prettier-ignore
}

test('500 numbers in twelve forms among 10,000 contacts: found, and never somebody else', () => {
  const random = randomOf(11);
  const numbers = someNumbers(10_000, random);
  let found = 0;
  let wrong = 0;
  for (const [place, { e164, country }] of numbers.slice(0, 500).entries()) {
    const forms = formsOf(e164);
    const typed = forms[place % forms.length]!;
    // A search by the end of the number: the right one among those that end alike or were typed alike.
    const end = e164.slice(-6);
    const others = numbers
      .filter((one) => one.e164 !== e164 && one.e164.endsWith(end.slice(-3)))
      .slice(0, 20)
      .map((one, index) => ({ id: `other-${index}`, phones: [formsOf(one.e164)[place % 12]], at: '2026-03-01' })); // prettier-ignore
    const list = [...others, { id: 'right', phones: [typed], at: '2026-01-01' }];
    const chosen = chosenContact!(list, e164, country, 'newest');
    if (chosen === 'right') found++;
    else if (chosen !== undefined) wrong++;
  }
  expect(wrong).toBe(0);
  expect(found).toBeGreaterThanOrEqual(495);
});

test('an extension, a withheld number and rubbish are no number', () => {
  for (const text of [
    '204',
    'anonymous',
    '',
    null,
    7,
    '+',
    '+1',
    'x'.repeat(100_000),
    '+'.repeat(64),
  ])
    expect(phoneForms!(text, 'GB')).toBeUndefined();
  expect(samePhone!('204', '204', 'GB')).toBe(false);
});

test('several contacts with one number: the newest, or none where that is asked', () => {
  const list = [
    { id: 1, phones: ['020 7946 0958'], at: '2026-01-01' },
    { id: 2, phones: [null, '+442079460958'], at: '2026-02-01' },
    { id: 3, phones: ['+12079460958'], at: '2026-03-01' },
  ];
  expect(chosenContact!(list, '+442079460958', 'GB', 'newest')).toBe(2);
  expect(chosenContact!(list, '+442079460958', 'GB', 'none')).toBeUndefined();
  expect(chosenContact!(undefined, '+442079460958', 'GB', 'newest')).toBeUndefined();
});

test('the text of a call reads as a note, escapes what a caller said, and keeps its bound', () => {
  const event = {
    data: {
      summary: { text: 'The customer reported <b>fraud</b> & hung up.' },
      sentiment_by_role: { customer: 'negative' },
      entities: [
        { entity_type: 'ORDER_NUMBER', text: 'four seven two', value: '472', role: 'customer' },
        { entity_type: 'NAME_GIVEN', text: 'Daniel', role: 'agent' },
        { entity_type: 'NAME_GIVEN', text: 'Emily', role: 'agent' },
        { entity_type: 'NAME_GIVEN', text: 'Emily', role: 'customer' },
        { entity_type: 'NAME', text: 'Emily Johnson', role: 'customer' },
        { entity_type: 'MONEY', text: 'eighty-nine dollars', value: '89.00', currency: 'USD' },
        { entity_type: 'MONEY', text: 'nine fifty', value: '9.50' },
        { entity_type: 'DATE', text: 'Friday', value: '2026-12-04', role: 'agent' },
        { entity_type: 'DATE', text: 'the tenth', value: '2026-13-40' },
        { entity_type: 'CREDIT_CARD', text: '[CREDIT_CARD_1]' },
      ],
      transcript: [{ role: 'customer', text: 'Hello?', start: 64.2 }],
      page_url: 'https://bridge.example.com/calls/1',
    },
  };
  expect(callText!(event)).toBe(
    [
      'The customer reported <b>fraud</b> & hung up.',
      '',
      'Mood of the customer: negative',
      'Named in the call: Order number 472 · Name Emily Johnson · Amount $89 · Amount 9.50 · Friday 4 December 2026 · Date 2026-13-40',
      'Call in Trunkline: https://bridge.example.com/calls/1',
      '',
      'Transcript',
      '[1:04] Customer: Hello?',
    ].join('\n'),
  );
  const html = callText!(event, { html: true, transcript: false, max: 1_000 }) as string;
  expect(html).toContain('&lt;b&gt;fraud&lt;/b&gt; &amp; hung up.<br>');
  const long = { data: { summary: { text: '<'.repeat(5_000) } } };
  expect((callText!(long, { max: 300 }) as string).length).toBe(300);
  expect(callText!(undefined)).toBe('');
  expect(cutText!('short', 100)).toBe('short');
});

test('a duration of seconds lasts a minute, and a key of our own is always the same UUID', () => {
  expect([0, 59, 61, 3_600, 86_399].map((one) => hoursMinutes!(one))).toEqual([
    '00:01', '00:01', '00:02', '01:00', '24:00',
  ]); // prettier-ignore
  expect(uuidOf!('call_1')).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/); // prettier-ignore
  expect(uuidOf!('call_1')).toBe(uuidOf!('call_1'));
  expect(uuidOf!('call_2')).not.toBe(uuidOf!('call_1'));
});
