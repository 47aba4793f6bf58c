import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { entitiesOverFinals } from '../../../src/language/values/over-finals.ts';
import { writtenText } from '../../../src/language/values/written.ts';

const written = (text: string, callingCode: string | undefined = '1', language = 'en'): string =>
  writtenText(text, { language, callingCode });

/** Sentences as they are said, and as a person reads them. */
const sentences: Record<string, readonly (readonly [string, string])[]> = {
  digits: [
    ['The order number is four, seven, two, nine, one, six.', 'The order number is 472916.'],
    ['it is four seven two nine one six', 'It is 472916'],
    ['my account number is double four one oh nine triple seven', 'My account number is 44109777'],
    ["It's four seven two, no wait, four seven three.", "It's 472, no wait, 473."],
    ['My customer number is 4 7 2 9 1 6.', 'My customer number is 472916.'],
    ['My policy number is twenty four, seventeen, ninety.', 'My policy number is 241790.'],
    ['the reference is eight um four nine, two, two, one.', 'The reference is 849221.'],
    ['nine, one, six.', '916.'],
    ['Dial nine one one.', 'Dial 911.'],
    ['my zip code is nine oh two one oh', 'My zip code is 90210'],
  ],
  'amounts with a point': [
    ['It was one thousand two hundred fifty point five euros.', 'It was €1,250.50.'],
    ['I paid twelve point oh five dollars.', 'I paid $12.05.'],
    ['one point two million dollars', '$1,200,000'],
    ['four point five six seven dollars', 'four point five six seven dollars'],
  ],
  'telephone numbers': [
    ['My phone number is two, one, two, five, five, five, zero, one, four, seven.', 'My phone number is 212-555-0147.'], // prettier-ignore
    ['Reach me at plus one two one two five five five oh one four seven.', 'Reach me at +1 212 555 0147.'], // prettier-ignore
    ['call me on plus four four two oh seven nine four six oh nine five eight', 'Call me on +442079460958'], // prettier-ignore
    ["it's five five five, oh one four seven", "It's 555-0147"],
    ['my number is eight hundred five five five oh one nine nine', 'My number is 800-555-0199'],
    ['my number is 212-555-0147', 'my number is 212-555-0147'],
    ['My number is (212) 555-0147.', 'My number is (212) 555-0147.'],
    ["six one seven, five five five, oh one two three, that's my cell", "617-555-0123, that's my cell"], // prettier-ignore
    ['the mobile is two one two five five five um oh one four seven', 'The mobile is 212-555-0147'],
    ['one eight hundred, five five five, one two three four', '1-800-555-1234'],
  ],
  'cards and what belongs to them': [
    ['My card number is four two four two, four two four two, four two four two, four two four two.', 'My card number is 4242 4242 4242 4242.'], // prettier-ignore
    ['the card is 4242 4242 4242 4242', 'the card is 4242 4242 4242 4242'],
    ["it's three seven eight two, eight two two four six three one, oh oh oh five", "It's 3782 822463 10005"], // prettier-ignore
    ['forty two forty two forty two forty two forty two forty two forty two forty two', '4242 4242 4242 4242'], // prettier-ignore
    ['The expiry date is oh four twenty nine.', 'The expiry date is 04/29.'],
    ['it expires oh four slash twenty nine', 'It expires 04/29'],
    ['the security code is one two three', 'The security code is 123'],
    ['my social security number is one two three, four five, six seven eight nine', 'My social security number is 123-45-6789'], // prettier-ignore
    ['My social is 123-45-6789.', 'My social is 123-45-6789.'],
    ['[CREDIT_CARD_1] and then four, two, four, two.', '[CREDIT_CARD_1] and then 4242.'],
  ],
  codes: [
    ['the booking code is R M five five three one', 'The booking code is RM5531'],
    ['It is B as in Bravo, three, nine, K for kilo, seven, seven.', 'It is B39K77.'],
    ['my confirmation code is A B dash one two three four', 'My confirmation code is AB-1234'],
    ['My reservation is Q7XK29.', 'My reservation is Q7XK29.'],
    ['the locator on my ticket says tango four nine bravo two two', 'The locator on my ticket says T49B22'], // prettier-ignore
    ['the order code is Z X four four eight two oh one', 'The order code is ZX448201'],
    ['licence number is D one two three four five six seven', 'Licence number is D1234567'],
    ['The code is A, B, C, four, five, six.', 'The code is ABC456.'],
    ['Two or three of them, one of which broke.', 'Two or three of them, one of which broke.'],
    ['Rooms B3 B4 B5 B6 and A2A.', 'Rooms B3 B4 B5 B6 and A2A.'],
    ['One, two, three, testing.', 'One, two, three, testing.'],
  ],
  'days and times': [
    ['it was on march third', 'It was on March 3rd'],
    ['it arrives on the twenty first of june', 'It arrives on the 21st of June'],
    ['I was born on march third nineteen eighty six', 'I was born on March 3rd, 1986'],
    ['The contract ends on December thirty first, twenty twenty six.', 'The contract ends on December 31st, 2026.'], // prettier-ignore
    ['It was March 3rd.', 'It was March 3rd.'],
    ['appointment is next tuesday at three thirty pm', 'Appointment is next Tuesday at 3:30 pm'],
    ['Three thirty p.m. works.', '3:30 p.m. works.'],
    ['at half past three', 'at half past three'],
    ['call me at seven in the morning', 'Call me at 7 in the morning'],
    ['It may take three days. The first time was in May.', 'It may take three days. The first time was in May.'], // prettier-ignore
  ],
  amounts: [
    ['They charged me eighty nine dollars.', 'They charged me $89.'],
    ['i will refund 89 to your credit card today', 'I will refund $89 to your credit card today'],
    ['the bill was eighty nine dollars and fifty cents', 'The bill was $89.50'],
    ['It cost twelve hundred dollars.', 'It cost $1,200.'],
    ['two thousand three hundred forty five dollars', '$2,345'],
    ['there is a charge of nineteen ninety nine', 'There is a charge of $19.99'],
    ['the price was nineteen ninety five dollars', 'the price was nineteen ninety five dollars'],
    ['forty pounds and ten pence', '£40.10'],
    ['a couple hundred dollars', 'a couple hundred dollars'],
    ['I waited twenty minutes for one person.', 'I waited twenty minutes for one person.'],
  ],
  addresses: [
    ['my email is john dot smith at gmail dot com', 'My email is john.smith@gmail.com'],
    ['you can write to maria underscore lopez at outlook dot com', 'You can write to maria_lopez@outlook.com'], // prettier-ignore
    ["it's s m i t h at example dot com", "It's smith@example.com"],
    ['my e-mail is kevin 4 2 at hotmail dot com', 'My e-mail is kevin42@hotmail.com'],
    ['send it to info at riverside dash books dot co dot uk', 'Send it to info@riverside-books.co.uk'], // prettier-ignore
    ['the address is peter dot jones nineteen eighty at yahoo dot com', 'The address is peter.jones1980@yahoo.com'], // prettier-ignore
    ['john.smith@gmail.com', 'john.smith@gmail.com'],
    ['go to www dot example dot com slash help', 'Go to www.example.com/help'],
    ["i'll look at it", "I'll look at it"],
    ['laura dot bennett at example dot com', 'laura.bennett@example.com'],
  ],
  'spelled names and capitals': [
    ['my last name is Hartwell h a r t w e l l', 'My last name is Hartwell H-A-R-T-W-E-L-L'],
    ['My name is Shawn, S-H-A-W-N.', 'My name is Shawn, S-H-A-W-N.'],
    ["it's Kowalski, k, o, w, a, l, s, k, i", "It's Kowalski, K-O-W-A-L-S-K-I"],
    ['B. R. E. N. N. E. R.', 'B-R-E-N-N-E-R.'],
    ['my name is emily johnson', 'My name is Emily Johnson'],
    ["i am, and i'm what i said, i", "I am, and I'm what I said, I"],
    ['see you on friday or in december', 'See you on Friday or in December'],
    ['Mike, m i k e', 'Mike, M-I-K-E'],
    ['well, i think so', 'Well, I think so'],
    // A recogniser that writes neither marks nor capitals is not told where a sentence begins.
    ['thank you so much', 'thank you so much'],
    ['Thank you for calling riverside books my name is daniel how can i help you', 'Thank you for calling Riverside Books my name is Daniel how can I help you'], // prettier-ignore
    ['it is spelled h i', 'it is spelled h i'],
  ],
};

describe.each(Object.entries(sentences))('%s', (_kind, pairs) => {
  test.each(pairs)('"%s" is written for a reader', (said, read) => {
    expect(written(said)).toBe(read);
    // A text that was written once stays.
    expect(written(read)).toBe(read);
  });
});

test('the currency of a bare amount is that of the country, and without a country it stays as it was said', () => {
  expect(written('I paid forty.', '44')).toBe('I paid £40.');
  expect(written('I paid forty dollars.', '61')).toBe('I paid $40.');
  expect(writtenText('I paid forty.', { language: 'en' })).toBe('I paid forty.');
  expect(writtenText('I paid forty dollars.', { language: 'en' })).toBe('I paid $40.');
});

test('an address that is half written is written whole, and a number at the end has a full stop', () => {
  const written = (text: string) => writtenText(text, { language: 'en', callingCode: '1' });
  expect(written('My email is peter.whitlock at gmail.com.')).toBe('My email is peter.whitlock@gmail.com.'); // prettier-ignore
  expect(written('Write to Susan. Osborne at outlook.com')).toBe('Write to susan.osborne@outlook.com'); // prettier-ignore
  expect(written('I paid seventy six dollars,')).toBe('I paid $76.');
  expect(written('I paid seventy six dollars, and then,')).toBe('I paid $76, and then,');
});

test('a language without number words here gets its first capital alone', () => {
  expect(written('ich habe vier, drei, zwei', '49', 'de')).toBe('Ich habe vier, drei, zwei');
  expect(written('i tre e i quattro', '39', 'it')).toBe('i tre e i quattro');
});

const names = 'zero one two three four five six seven eight nine'.split(' ');

/** Digits as people say them: in groups, with "oh", "double" and "um". */
const saidDigits = fc
  .array(
    fc.record({
      digit: fc.nat(9),
      mark: fc.constantFrom(' ', ', ', ' um ', '. ', ' '),
      form: fc.nat(5),
    }),
    { minLength: 1, maxLength: 20 },
  ) // prettier-ignore
  .map((all) => ({
    text: all
      .map(({ digit, mark, form }) => {
        const name = digit === 0 && form % 2 === 0 ? 'oh' : (names[digit] ?? '');
        return `${form === 5 ? 'double ' : ''}${name}${mark}`;
      })
      .join(''),
    digits: all.map(({ digit, form }) => String(digit).repeat(form === 5 ? 2 : 1)).join(''),
  }));

const cues = fc.constantFrom(
  'my account number is ', 'the code is ', 'my phone number is ', 'it is ', '', 'my card number is ',
  'they charged me ', 'my social security number is ', 'it expires ', 'I was born on march ',
); // prettier-ignore

/** The digits of a text in a row, in figures and in words. */
function digitsOf(text: string): string {
  let digits = '';
  let times = 1;
  for (const [word] of text.toLowerCase().matchAll(/[a-z]+|\d/g)) {
    const value = word === 'oh' ? 0 : names.indexOf(word);
    if (word === 'double') times = 2;
    else if (/\d/.test(word) || value >= 0) {
      digits += String(/\d/.test(word) ? word : value).repeat(times);
      times = 1;
    }
  }
  return digits;
}

test('no digit is dropped or added, whatever is said around it', () => {
  fc.assert(
    fc.property(cues, saidDigits, (cue, { text, digits }) => {
      const read = written(`${cue}${text}`);
      expect([read, digitsOf(read)]).toEqual([read, digits]);
    }),
    { numRuns: 2_000 },
  );
});

test('what is written means what was said', () => {
  const about = { day: '2026-03-04', callingCode: '1' };
  const valuesOf = (text: string) =>
    entitiesOverFinals({ finals: [text], asked: [], about, language: 'en' })
      .filter(({ type }) => !/^(?:NAME|ORGANIZATION)/.test(type))
      .map(({ type, value, currency }) => [type, value, currency]);
  const strange = new Set([
    // The letters' names said that it is a code.
    'It is B as in Bravo, three, nine, K for kilo, seven, seven.',
    'the locator on my ticket says tango four nine bravo two two',
  ]);
  for (const [said, read] of Object.values(sentences).flat())
    if (!strange.has(said)) expect([read, valuesOf(read)]).toEqual([read, valuesOf(said)]);
});
