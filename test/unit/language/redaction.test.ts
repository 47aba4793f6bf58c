import { describe, expect, test } from 'vitest';
import { foundTypes } from '../../../src/language/entities/found-types.ts';
import { performTask } from '../../../src/language/perform.ts';
import { redactionProblem } from '../../../src/language/redaction/redaction-names.ts';
import { entityPresets } from '../../../src/protocol/entity-types.ts';
import { redactAll, type RedactAllInput } from '../../../src/language/redaction/redact-all.ts';
import { redactStep } from '../../../src/language/redaction/redact.ts';
import type { RedactInput, RedactOutput } from '../../../src/language/redaction/redact.ts';

function redact(text: string, more: Partial<RedactInput> = {}): RedactOutput {
  return redactStep({
    text,
    entityTypes: ['PCI', 'NAME', 'NAME_GIVEN', 'EMAIL_ADDRESS'],
    form: 'MARKER',
    ...more,
  });
}
const texts = (output: RedactOutput): string[] => output.released.map((released) => released.text);

test('the same person keeps the same marker however the name is written', () => {
  const first = redact('This is Laura Bennett, card 4111 1111 1111 1111.');
  expect(texts(first)).toEqual(['This is [NAME_1], card [CREDIT_CARD_1].']);
  const second = redact("it's laura bennett at laura dot bennett at example dot com", {
    state: first.state,
  });
  expect(texts(second)).toEqual(["it's [NAME_1] at [EMAIL_1]"]);
  const third = redact('four one one one, one one one one, one one one one, one one one one', {
    state: second.state,
  });
  expect(texts(third)).toEqual(['[CREDIT_CARD_1]']);
});

test('a mask keeps the length and the spaces', () => {
  expect(texts(redact('my card is 4111 1111 1111 1111', { form: 'MASK' }))).toEqual([
    'my card is #### #### #### ####',
  ]);
});

test('words are redacted with their text and keep their time', () => {
  const words = ['my', 'card', 'is', '4111', '1111', '1111', '1111'].map((word, i) => ({
    word: ` ${word}`,
    start: i,
    end: i + 0.5,
    confidence: 0.9,
  }));
  const [released] = redact(' my card is 4111 1111 1111 1111', { words }).released;
  expect(released?.words.map((word) => word.word)).toEqual([
    ' my',
    ' card',
    ' is',
    ' [CREDIT_CARD_1]',
  ]);
  expect(released?.words.at(-1)).toMatchObject({ start: 3, end: 6.5 });
});

describe('a number cut over two utterances', () => {
  test('is held and let go redacted when the rest comes', () => {
    const first = redact('my card number is four one one one, one one one one', {
      mayHold: true,
      id: 'a',
    });
    expect(first).toMatchObject({ held: true, released: [] });
    expect(first.holdMs).toBeGreaterThan(0);
    const second = redact('one one one one one one one one thanks', {
      mayHold: true,
      id: 'b',
      state: first.state,
    });
    expect(second.held).toBe(false);
    expect(second.released.map(({ id, text }) => [id, text])).toEqual([
      ['a', 'my card number is [CREDIT_CARD_1]'],
      ['b', '[CREDIT_CARD_1] thanks'],
    ]);
  });

  test('in four pieces is held until the last of them has come', () => {
    let state: RedactInput['state'];
    const released: (string | undefined)[] = [];
    for (const text of ['it is 4111', '1111 11', '11', '1111 thanks']) {
      const output = redact(text, { mayHold: true, ...(state ? { state } : {}) });
      released.push(...texts(output));
      state = output.state;
    }
    const number = '[CREDIT_CARD_1]';
    expect(released).toEqual([`it is ${number}`, number, number, `${number} thanks`]);
  });

  test('lets go what only waited for digits that never came', () => {
    const first = redact('it is 4111', { mayHold: true });
    const second = redact('that was the order', { mayHold: true, state: first.state });
    expect(texts(second)).toEqual(['it is 4111', 'that was the order']);
  });

  test('is let go as it is when nothing comes within the bound', () => {
    const first = redact('the code ends in 4111 1111', { mayHold: true });
    expect(first.held).toBe(true);
    expect(texts(redact('', { flush: true, state: first.state }))).toEqual([
      'the code ends in 4111 1111',
    ]);
  });

  test('is covered in its second half when the first was already sent', () => {
    const first = redact('so it is 4111 1111');
    expect(texts(first)).toEqual(['so it is 4111 1111']);
    const second = redact('1111 1111 okay', { state: first.state });
    expect(texts(second)).toEqual(['[CREDIT_CARD_1] okay']);
  });

  test('holds nothing that cannot be the head of a card', () => {
    for (const text of [
      'the price is 45',
      'call me at half past nine',
      'I have two dogs',
      'thanks a lot',
    ])
      expect(redact(text, { mayHold: true }).held).toBe(false);
  });
});

test('a partial is covered where a number is still being said, and leaves no trace', () => {
  const output = redact('my card is 4111 11', { partial: true });
  expect(texts(output)).toEqual(['my card is [CREDIT_CARD_1]']);
  expect(output.state).toEqual({ numbers: {} });
});

test('an entity by itself is known again from the conversation', () => {
  const first = redact('my order is 448201, thanks', { entityTypes: ['NUMERICAL_PII'] });
  expect(texts(first)).toEqual(['my order is [NUMERICAL_PII_1], thanks']);
  expect(texts(redact('448201', { entityTypes: ['NUMERICAL_PII'], state: first.state }))).toEqual([
    '[NUMERICAL_PII_1]',
  ]);
});

describe('digits of a removed secret that are said again', () => {
  const asked = { entityTypes: ['PCI'] };
  const after = (question: string, secret: string): RedactOutput =>
    redact(secret, { ...asked, asked: [question] });

  test.each([
    ['What is your card number?', 'four two', 'it was forty two last week'],
    ['What is your card number?', '42', '42'],
    ['What is your card number?', '42', 'we had 42 of them, or 42'],
    ['What is your card number?', 'four one seven', 'I live in number 417'],
    ['And the expiry?', 'oh five twenty seven', 'room 52, or 52'],
    ['And the code on the back?', 'nine zero one', 'I paid 901 dollars'],
    ['And the code on the back?', 'four two', '42'],
  ])('leave other numbers alone (%s %s)', (question, secret, later) => {
    const { state } = after(question, secret);
    expect(texts(redact(later, { ...asked, state }))).toEqual([later]);
  });

  test.each([
    ['What is your card number?', '4111 1111 1111 4155', 'four one five five, right?'],
    ['What is your card number?', 'four one five five', 'so 4155 it is'],
    ['And the code on the back?', 'nine zero one', 'nine oh one, thanks'],
    ['And the expiry?', 'oh five twenty seven', 'so that is 0527'],
  ])('are covered from four on, a security code from three (%s %s)', (question, secret, later) => {
    const { state } = after(question, secret);
    expect(texts(redact(later, { ...asked, state }))[0]).toMatch(/\[(?:CREDIT_CARD|CVV)/);
  });
});

test('presets stand for their types, an empty list for everything', () => {
  const text = 'I am 42 years old, from Leeds, and paid $40';
  expect(texts(redact(text, { entityTypes: ['GDPR'] }))).toEqual([
    'I am [AGE_1], from [LOCATION_CITY_1], and paid $40',
  ]);
  expect(texts(redact(text, { entityTypes: [] }))).toEqual([
    'I am [AGE_1], from [LOCATION_CITY_1], and paid [MONEY_1]',
  ]);
});

test('every type of every preset is one that can be found', () => {
  for (const [preset, types] of Object.entries(entityPresets))
    expect([preset, types.filter((type) => !foundTypes.includes(type))]).toEqual([preset, []]);
});

test.each([
  ['PCl', 'is no entity type, did you mean PCI?'],
  ['pci', 'is no entity type, did you mean PCI?'],
  ['GDRP', 'is no entity type, did you mean GDPR?'],
  ['EMAIL', 'is no entity type'],
  ['__proto__', 'is no entity type'],
  ['constructor', 'is no entity type'],
  [
    'MEDICAL_CODE',
    'is an entity type of the interface that is not found here: no text would be redacted of it',
  ],
  ['PCI', undefined],
  ['NAME', undefined],
])('redaction of %s: %s', (name, problem) => {
  expect(redactionProblem(name)).toBe(problem);
});

test('a list with a name that means nothing redacts nothing and says so', () => {
  const block = performTask('redact', {
    text: 'my card is 4111 1111 1111 1111',
    entityTypes: ['PCl'],
    form: 'MARKER',
  });
  expect(block).toMatchObject({ success: false, results: null });
});

test.each([
  ['I take fifty milligrams twice a day', 'HEALTH_INFORMATION', 'I take [DOSE_1] twice a day'],
  ['I had an MRI in May', 'HEALTH_INFORMATION', 'I had an [MEDICAL_PROCESS_1] in May'],
  ['we are both republicans', 'GDPR_SENSITIVE', 'we are both [POLITICAL_AFFILIATION_1]'],
  ['my son is gay', 'GDPR_SENSITIVE', 'my son is [SEXUALITY_1]'],
  ['he is bald', 'APPI_SENSITIVE', 'he is [PHYSICAL_ATTRIBUTE_1]'],
])('%j by %s is %j', (text, preset, shown) => {
  expect(texts(redact(text, { entityTypes: [preset] }))).toEqual([shown]);
});

test.each([
  ['my name is Daniel', 'my name is [NAME_1]'],
  ['Hello, Daniel, how can I help?', 'Hello, [NAME_1], how can I help?'],
  ["it's zorblax z o r b l a x", "it's [NAME_1] [NAME_1]"],
  // One digit was misheard: no check digit is right, and it is a card all the same.
  ['my card is 4111 1111 1111 1112', 'my card is [CREDIT_CARD_1]'],
  ['it runs out in June 2027', 'it runs out in [CREDIT_CARD_EXPIRATION_1]'],
  ['my contract runs out in June 2027', 'my contract runs out in June 2027'],
])('by NAME and PCI, %j is %j', (text, shown) => {
  expect(texts(redact(text, { entityTypes: ['NAME', 'PCI'] }))).toEqual([shown]);
});

describe('a finished transcript', () => {
  const piecesOf = (...said: [voice: string, text: string][]) =>
    said.map(([voice, text], index) => ({ voice, index, text, words: [] }));
  const texts = (said: [string, string][], batches: number) => {
    let state: RedactAllInput['state'];
    const all = piecesOf(...said);
    const size = Math.ceil(all.length / batches);
    const released: string[] = [];
    for (let from = 0; from < all.length; from += size) {
      const isLast = from + size >= all.length;
      const input: RedactAllInput = { pieces: all.slice(from, from + size), entityTypes: ['CVV', 'CREDIT_CARD'], form: 'MARKER', isLast }; // prettier-ignore
      if (state) input.state = state;
      const output = redactAll(input);
      state = output.state;
      for (const { index, text } of output.pieces) released[index] = text;
    }
    return released;
  };
  const said: [string, string][] = [
    ['agent', 'And the three digits on the back?'],
    ['customer', 'Seven two five.'],
    ['agent', 'Thank you. Which floor do you live on?'],
    ['customer', 'On the 14th floor.'],
  ];

  test.each([1, 2, 4])(
    'takes the question of the other voice as a cue, in %i batches',
    (batches) => {
      const [, code, , floor] = texts(said, batches);
      expect(code).toBe('[CVV_1].');
      expect(floor).toBe('On the 14th floor.');
    },
  );
});

describe('a number that is said slowly, in groups of which each waits in vain', () => {
  const card = ['Four one one one.', 'One one one one.', 'One one one one.', 'One one one one.'];

  /** The texts that leave when the deadline of each wait passes before the second next group comes. */
  function slowly(finals: readonly string[], asked: readonly string[] = []): string[] {
    let state: RedactInput['state'];
    const left: string[] = [];
    for (const [index, text] of finals.entries()) {
      const step = redact(text, { mayHold: true, asked, ...(state ? { state } : {}) });
      left.push(...texts(step));
      state = step.state;
      if (index % 2 === 0 || !step.held) continue;
      const late = redact('', { flush: true, asked, state });
      left.push(...texts(late));
      state = late.state;
    }
    return [...left, ...texts(redact('', { flush: true, asked, ...(state ? { state } : {}) }))];
  }

  test.each([
    ['behind the words of the speaker', ['The number of my card is', ...card]],
    ['without any announcement', ['Hold on a second.', ...card]],
    ['with its first digits in a sentence', ['It says four one one one.', ...card.slice(1)]],
  ])('is covered %s', (_what, finals) => {
    const left = slowly(finals).join(' ');
    const digits = left.toLowerCase().match(/\b(?:one|four)\b/g) ?? [];
    expect([left, digits.length <= 4]).toEqual([left, true]);
    expect(left).toContain('[CREDIT_CARD_1]');
  });

  test('leaves other numbers as they are', () => {
    const phone = ['Hold on a second.', 'Two one two.', 'Five five five.', 'Oh one four seven.'];
    expect(slowly(phone)).toEqual(phone);
    const order = ['My order number is', 'four four four two', 'nine one six'];
    expect(slowly(order)).toEqual(order);
    const lost = ['I lost my card.', 'Two days ago.', 'I called three times.'];
    expect(slowly(lost)).toEqual(lost);
  });
});
