import { expect, test } from 'vitest';
import { redactStep, type RedactOutput } from '../../../src/language/redaction/redact.ts';

const redact = (text: string, asked: string[], before?: RedactOutput): RedactOutput =>
  redactStep({ text, asked, entityTypes: ['PCI'], form: 'MARKER', ...(before && { state: before.state }) }); // prettier-ignore
const textOf = ({ released }: RedactOutput): string => released.map(({ text }) => text).join(' / ');

test.each([
  ['The three wins.', 'March twenty seven.', '[CREDIT_CARD_EXPIRATION_1].'],
  ['When does it x buyer?', 'September twenty seven.', '[CREDIT_CARD_EXPIRATION_1].'],
  ['Bowed until.', 'Ten of thirty two.', '[CREDIT_CARD_EXPIRATION_1].'],
  ['And what about the M. J..', 'Tom, November 2028.', 'Tom, [CREDIT_CARD_EXPIRATION_1].'],
  ['And the data drawn out.', 'Oh nine, twenty seven', '[CREDIT_CARD_EXPIRATION_1]'],
  ['Great and the expi date.', 'Six, twenty, twenty, seven.', '[CREDIT_CARD_EXPIRATION_1].'],
  ['And the number on the track.', 'Looks like four, four, one.', 'Looks like [CVV_1].'],
  ['And the Cd.', 'One seven two.', '[CVV_1].'],
  ['Ballot until.', 'October twenty eighth.', '[CREDIT_CARD_EXPIRATION_1].'],
  ['When does it rain out?', 'Four, three, twenty, nine.', '[CREDIT_CARD_EXPIRATION_1].'],
  ['Ballot until.', "You're3.29.", '[CVV_1].'],
])('to the misheard question "%s", "%s" is "%s"', (question, answer, covered) => {
  expect(textOf(redact(answer, [question]))).toBe(covered);
});

test.each([
  ['And that is valid through.', "It's oh, five, twenty, eight.", "It's [CREDIT_CARD_EXPIRATION_1]."],
  ['And your expiry.', 'It says eleven for D one here.', 'It says [CREDIT_CARD_EXPIRATION_1] here.'],
  ['And the expiry?', 'Nine off twenty seven.', '[CREDIT_CARD_EXPIRATION_1].'],
  ['And the expiry?', 'The end of January, sorry.', 'The end of [CREDIT_CARD_EXPIRATION_1], sorry.'],
  ['And the security code?', 'For oh one.', '[CVV_1].'],
  ['The three figures at the back.', 'Remember, there is four to seven.', 'Remember, there is [CVV_1].'],
  ['The C, s, C, if you would.', 'Yeah, four or one.', 'Yeah, [CVV_1].'],
])('to "%s", the misheard "%s" is "%s"', (question, answer, covered) => {
  expect(textOf(redact(answer, [question]))).toBe(covered);
}); // prettier-ignore

test.each([
  ['How many people are in your party?', 'Four oh two.'],
  ['What was the flight number?', 'Nine twenty seven.'],
  ['Which apartment is it?', 'Four oh two.'],
  ['When is it due?', 'June twenty two.'],
  ['When is your appointment?', 'June twenty two.'],
  ['When does your lease end?', 'October twenty seven.'],
  ['What time works for you?', 'Nine thirty.'],
  ['Anything else?', 'The second of june.'],
  ['On which day do you fly?', 'May twenty ninth.'],
  ['And when would that have been, roughly?', 'October twenty eighth.'],
  ['What is your order number?', 'Four four one seven, two two nine five.'],
  ['Can I help?', 'There is a fee of twelve thirty on my card.'],
  ['When does your card expire?', 'I do not know, the second one maybe.'],
])('to "%s", "%s" stays', (question, answer) => {
  expect(textOf(redact(answer, [question]))).toBe(answer);
});

test('while the two speak of a card, numbers that nothing explains are taken out', () => {
  const card = redact('four one one one one one one one one one one one one one one one', ['Your card number?']); // prettier-ignore
  expect(textOf(redact('Twelve twenty eight.', ['And the exploration of it.'], card))).toBe(
    '[CREDIT_CARD_EXPIRATION_1].',
  );
  expect(textOf(redact('Two hundred and six.', ['And the cloud.'], card))).toBe('[CVV_1].');
  const zip = redact('One oh oh one seven.', ['And your zip code?'], card);
  expect(textOf(zip)).toBe('One oh oh one seven.');
  const lease = redact('October twenty seven.', ['When does your lease end?'], card);
  expect(textOf(lease)).toBe('October twenty seven.');
  let later = card;
  for (let turn = 0; turn < 9; turn++) later = redact('Yes, thanks.', ['Are you there?'], later);
  expect(textOf(redact('Two hundred and six.', ['And the cloud.'], later))).toBe(
    'Two hundred and six.',
  );
});

test('the date of a card is covered where the agent reads it back in other words', () => {
  const asked = redact('And your expiry?', []);
  const answer = redactStep({
    text: 'It is October, twenty nine.',
    asked: ['And your expiry?'],
    entityTypes: ['PCI'],
    form: 'MARKER',
    state: { numbers: asked.state.numbers },
  });
  for (const back of ['ten twenty nine', 'October twenty ninth', '10/29'])
    expect(
      textOf(
        redactStep({
          text: `Okay, ${back}, is that right?`,
          asked: [],
          entityTypes: ['PCI'],
          form: 'MARKER',
          state: { numbers: answer.state.numbers },
        }),
      ),
    ).toBe('Okay, [CREDIT_CARD_EXPIRATION_1], is that right?');
});

test.each([
  ['The little date down here is oh nine twenty seven.', 'The little date down here is [CREDIT_CARD_EXPIRATION_1].'],
  ['Mine says 09/27 on the plastic.', 'Mine says [CREDIT_CARD_EXPIRATION_1] on the plastic.'],
  ['Nine slash twenty seven for this one.', '[CREDIT_CARD_EXPIRATION_1] for this one.'],
  ['The XP is ten twenty seven.', 'The XP is [CREDIT_CARD_EXPIRATION_1].'],
  ['My inspiration is March twenty seven.', 'My inspiration is [CREDIT_CARD_EXPIRATION_1].'],
  ['It lasts until May twenty eight.', 'It lasts until [CREDIT_CARD_EXPIRATION_1].'],
  ['The meeting is on nine twenty seven.', 'The meeting is on nine twenty seven.'],
  ['My number is oh nine two seven.', 'My number is oh nine two seven.'],
  ['My order is zero nine twenty seven.', 'My order is zero nine twenty seven.'],
])('without a question, "%s" is "%s"', (said, covered) => {
  expect(textOf(redact(said, []))).toBe(covered);
}); // prettier-ignore
