import { expect, test } from 'vitest';
import { redactStep, type RedactionState } from '../../../src/language/redaction/redact.ts';

type Party = 'agent' | 'customer';

/** The texts that leave a talk, in which "A: " is the agent. Each turn ends the wait of the other party. */
function shown(lines: readonly string[]): string[] {
  let numbers: RedactionState['numbers'] = {};
  const states = new Map<Party, Omit<RedactionState, 'numbers'>>();
  const said: { party: Party; text: string }[] = [];
  const texts: string[] = [];
  const step = (party: Party, text: string | undefined): void => {
    const asked = said.filter((turn) => turn.party !== party).map((turn) => turn.text);
    const { released, state } = redactStep({
      ...(text === undefined ? { text: '', flush: true } : { text, mayHold: true }),
      entityTypes: ['PCI', 'SSN'],
      form: 'MARKER',
      asked: asked.slice(-4),
      state: { ...states.get(party), numbers },
    });
    numbers = state.numbers;
    states.set(party, state);
    texts.push(...released.map((one) => one.text));
  };
  for (const line of lines) {
    const party = line.startsWith('A: ') ? 'agent' : 'customer';
    step(party === 'agent' ? 'customer' : 'agent', undefined);
    step(party, line.slice(3));
    said.push({ party, text: line.slice(3) });
  }
  for (const party of ['agent', 'customer'] as const) step(party, undefined);
  return texts;
}

const number =
  /\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|eleven|twelve|\w+teen|\w+ty|hundred|thousand)\b/gi;

test.each([
  ['goes on after an interruption', ['A: Your card number?', "C: It's a Visa, four one one one.", 'A: mm-hm', 'C: Sorry, I dropped it. Where was I?', 'A: You gave me half of it.', 'C: Right. Two two two two, three three three three.']],
  ['is read back in hundreds', ['A: Your card number please.', "C: It's four thousand one hundred eleven, one one one one.", 'A: Four thousand one hundred eleven, one one one one. Go on.', 'C: Eleven eleven, eleven twelve.']],
  ['is read out by the agent', ['A: Okay, so the card is five three oh eight.', 'C: Yes.', 'A: Four oh six three.', 'C: Right.', 'A: Eight four twelve.']],
  ['is offered', ['A: Thank you.', 'C: Do you want my card number? Five three oh eight four oh six three.', 'A: Sure.', 'C: Eight four one two oh five three eight.']],
  ['begins with what it starts with', ['A: The card number please.', 'C: It starts with four one one one. Then triple zero, one.']],
  ['is told at a hold', ["A: Please hold.", "C: Okay, I'll just read it out, four one one one, two two two two", 'C: three three three three, four four four four']],
  ['has its date and its code in its last piece', ['C: I would like to pay. My card is five three oh eight', 'C: four oh six three', 'C: eight four one two', 'C: oh five three eight, oh nine twenty eight, one two three.']],
  ['was left in the middle, before anybody spoke of it', ['C: four two four two', 'C: three six five three', 'C: Sorry, somebody is at the door.']],
  ['has a date that looks like its last digits', ['A: The number on the card?', 'C: double four two five', 'C: six two nine seven', 'C: and six three double five one nine six two', 'A: Good through?', 'C: Oh three slash thirty three.']],
  ['is read back behind words about an order', ['C: I would like to order two of them.', 'A: Card number please.', 'C: So five, three, six, one', 'A: five, three, six, one,']],
  ['is read back in pairs at once', ['A: What card will you be using?', 'C: It is fifty one seventy two', 'A: Fifty one seventy two.']],
  ['is a tax number', ['A: Tax I D?', 'C: Four one eight six three seven five nine two.']],
  ['is an account behind a routing number', ['A: Routing number?', 'C: Zero two one, zero zero zero, zero two one.', 'A: And account?', 'C: One two three four five six seven eight nine.']],
  ['is read out behind words that nobody understood', ['A: With cart?', 'C: My disease for five to zero, nine, three, four, seven, seven, two, six, seven, zero, seven, zero, two.']],
  ['is corrected behind a misheard question', ['A: Go head.', 'C: By three, three, one. One, one, eight, five. Four, one, zero, zero. No way. Seven, zero, four, one. Three, seven, three, one.']],
  ['has groups that were heard as words', ['A: Go head.', 'C: Five, one one eight. They know horses. Eight, four, one, five.']],
  ['is said in pairs behind a misheard question', ['A: Hm?', 'C: My busiest fifty one sixty three, eighty nine forty five, oh zero fifty nine, eighty ninety seven.']],
  ['has groups that leave alone, behind a question for a "car"', ['A: Which car are we charging?', 'C: Five three three one.', 'A: Yes.', 'C: One one eight five.']],
  ['begins behind a nod', ['A: How can I help you?', 'C: I want to pay.', 'A: Go ahead.', 'C: It is 4040.', 'A: Yes.', 'C: Then 4751.']],
  ['is one of several "cards"', ['A: Go ahead with the number of your cards.', 'C: By three, three, one One, one, eight, five Four, one, zero, zero. No way.', 'C: Seven, zero, four, one three, seven, three, one.']],
  ['is a "cart"', ['A: What cart will you be using today?', 'C: Yes, one second, it reads four, nine, three, nine']],
  ['has a date with a misheard zero', ['A: Valid on til?', 'C: Go five, twenty eight.']],
])('a card that %s is covered', (_, lines) => {
  const left = shown(lines)
    .map((text) => text.replace(/\[[A-Z_]+_\d+\]/g, ''))
    .filter((text) => (text.match(number)?.length ?? 0) > 1);
  expect(left).toEqual([]);
}); // prettier-ignore

test.each([
  ['A: Your card is on file, the one ending in four two four two.'],
  ['A: Your card number?', 'C: One moment.', 'A: Meanwhile, what is the best number for you?', 'C: You can call me at two one two, five five five, oh one four seven.'],
  ['C: I paid by card, and the tracking number is nine four zero zero one one one.'],
  ['C: I want a new card. My order is four four one seven.'],
  ['C: It is the library card four four one seven.'],
  ['C: I lost the card on 2026-11-27.'],
  ['C: The card came on 11/27/2026.'],
  ['A: Your order number?', 'C: One two three four, five six seven eight, nine one two three.'],
  ['C: It is two one two, five five five, oh one four seven, again, two one two, five five five, oh one four seven.'],
  ['C: In twenty nineteen we had three hundred people, in twenty twenty four hundred, and in twenty one five hundred.'],
  ['A: Which car are we talking about?', 'C: The red one with two doors.'],
])('another number beside talk of a card stays: %s', (...lines) => {
  expect(shown(lines).join(' ')).not.toContain('[');
}); // prettier-ignore

test('a partial that goes on with what waits is covered, whatever follows its digits', () => {
  const about = { entityTypes: ['PCI'], form: 'MARKER' as const, asked: ['Please hold.'] };
  const first = redactStep({
    ...about,
    text: "I'll just read it out, four one one one, two two two two",
    mayHold: true,
    state: { numbers: {} },
  });
  const partial = redactStep({
    ...about,
    text: 'three three three three, four four four four, and it expires oh nine',
    partial: true,
    state: first.state,
  });
  expect(partial.released[0]?.text).toMatch(/^\[CREDIT_CARD_1\], and/);
});
