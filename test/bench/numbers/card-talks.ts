import { sayWithFestival, sayWithFlite } from '../../support/recognition/dialogue.ts';
import { levelled } from '../../trials/speakers/human-voices.ts';

/**
 * A third set: an agent asks for the date or the code of a card in many ways, the customer answers in many ways, and
 * some agents read the answer back. The neutral exchanges have short numbers that are no secret. Its voices are in
 * neither of the halves.
 */
export type CardTalk = {
  kind: 'expiry' | 'cvv' | 'neutral';
  question: string;
  answer: string;
  readBack?: string;
};

const expiryQuestions = [
  'And the expiration?',
  'What is the expiration on that one?',
  'Good through when?',
  'Valid until?',
  'And that is valid through?',
  'The date on the front, please.',
  'What date does it show on the front?',
  'Can I get the expiration date off that card?',
  'And when is it good until?',
  'Expires when?',
  'And your expiry?',
  'Could you read me the month and year on the front?',
  'What month and year do you have there?',
  'Now the expiration month and year.',
  'Next I need the valid thru date.',
  'And the date it runs out?',
  'When does this card run out?',
  'Great, and the exp date?',
  'Thanks. Expiration?',
  'Perfect, and the expiry date on there?',
  'What are the four digits under good thru?',
  'Is there a date below the number?',
  'And what about the end date?',
  'Got it, and when will it expire?',
  'Lovely, and the expiry month?',
  'Would you tell me when that one expires?',
  'Okay, month and year?',
  'Do you have the expiry handy?',
  'I have the number, now the date please.',
  'What does it say next to valid thru?',
] as const;

const cvvQuestions = [
  'And the security code?',
  'The three digits on the back?',
  'What is the code on the back of the card?',
  'And the C V V?',
  'Can you flip it over and read me the last three?',
  'The little number by the signature?',
  'And the verification code, please.',
  'What are the digits on the signature strip?',
  'Three digit code?',
  'Now the code on the reverse.',
  'And the number on the back?',
  'Okay, the security number?',
  'What is your card verification value?',
  'Do you see three numbers on the back?',
  'And lastly the C V C.',
  'Turn the card over for me, what is there?',
  'The last three on the back, please.',
  'Could you give me the small code?',
  'And the pin on the back, the short one?',
  'I just need the back of it now.',
  'Perfect, and the code?',
  'Which three numbers follow the signature?',
  'What is the C V V number there?',
  'Almost done, security code?',
  'And the safety code?',
  'The C S C, if you would.',
  'How about the three on the back?',
  'Your security digits, please.',
  'For verification, the three figures at the back?',
  'And the back of the card?',
] as const;

const months = [
  'January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November',
  'December',
]; // prettier-ignore
const units = 'oh one two three four five six seven eight nine'.split(' ');
const unit = (digit: number, zero = 'oh'): string => (digit === 0 ? zero : (units[digit] ?? ''));
const small = (value: number): string =>
  value < 10 ? unit(value) : (['ten', 'eleven', 'twelve'][value - 10] ?? '');
const year = (value: number): string =>
  value === 30 ? 'thirty' : `${value < 30 ? 'twenty' : 'thirty'} ${unit(value % 10)}`;

const expiryAnswers: readonly ((month: number, yearOf: number) => string)[] = [
  (m, y) => `${m < 10 ? `oh ${unit(m)}` : small(m)} ${year(y)}`,
  (m, y) => `${m < 10 ? `zero ${unit(m)}` : small(m)} slash ${year(y)}`,
  (m, y) => `${months[m - 1] ?? ''} ${year(y)}`,
  (m, y) => `${small(m)} of ${year(y)}`,
  (m, y) => `It's ${m < 10 ? `oh ${unit(m)}` : small(m)} ${year(y)}.`,
  (m, y) => `Um, ${months[m - 1] ?? ''} of twenty ${year(y)}.`,
  (m, y) => `${small(m)} ${year(y)}`,
  (m, y) => `That would be ${small(m)}, ${year(y)}.`,
  (m, y) => `Let me see, ${months[m - 1] ?? ''} two thousand ${year(y)}.`,
  (m, y) => `${m < 10 ? `oh ${unit(m)}` : small(m)}, ${unit(Math.floor(y / 10))} ${unit(y % 10)}`,
  (m, y) => `It says ${m < 10 ? `zero ${unit(m)}` : small(m)} ${year(y)} here.`,
  (m, y) => `Okay, so ${m < 10 ? `oh ${unit(m)}` : small(m)}, and then ${year(y)}.`,
  (m, y) => `The end of ${months[m - 1] ?? ''} ${year(y)}, I think.`,
  (m, y) => `${small(m)} twenty ${year(y)}`,
  (m, y) => `Sure, ${small(m)} ${year(y)}.`,
  (m, y) => `Yes, it is ${months[m - 1] ?? ''}, ${year(y)}.`,
  (m, y) => `${m < 10 ? `oh ${unit(m)}` : small(m)} dash ${year(y)}`,
];

const cvvAnswers: readonly ((digits: readonly number[]) => string)[] = [
  (d) => d.map((one) => unit(one)).join(' '),
  (d) => `It's ${d.map((one) => unit(one)).join(' ')}.`,
  (d) => `${unit(d[0] ?? 1, 'zero')} ${unit(d[1] ?? 0, 'zero')} ${unit(d[2] ?? 0, 'zero')}`,
  (d) => `That's ${d.map((one) => unit(one)).join(', ')}.`,
  (d) => `Uh, ${d.map((one) => unit(one)).join(' ')}`,
  (d) => `${unit(d[0] ?? 1)} ${tens(d[1] ?? 0, d[2] ?? 0)}`,
  (d) => `Okay hold on. ${d.map((one) => unit(one)).join(' ')}.`,
  (d) => `I've got ${d.map((one) => unit(one)).join(' ')}.`,
  (d) => `The number there is ${d.map((one) => unit(one)).join(' ')}.`,
  (d) => `Sure. ${d.map((one) => unit(one, 'zero')).join(', ')}.`,
  (d) => `Looks like ${d.map((one) => unit(one)).join(' ')}`,
  (d) => `${unit(d[0] ?? 1)}, uh, ${unit(d[1] ?? 1)} ${unit(d[2] ?? 1)}`,
  (d) =>
    `Yeah, ${unit(d[0] ?? 1)} hundred and ${d[1] === 0 ? unit(d[2] ?? 1) : tens(d[1] ?? 0, d[2] ?? 0)}.`,
];

function tens(high: number, low: number): string {
  if (high === 0) return `oh ${unit(low)}`;
  if (high === 1)
    return 'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
      ' ',
    )[low]!;
  const ten = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')[high - 2] ?? '';
  return low === 0 ? ten : `${ten} ${unit(low)}`;
}

/** Questions and answers whose short numbers are no secret. */
const neutral: readonly (readonly [question: string, answer: string])[] = [
  ['How many people are in your party?', 'Four.'],
  ['What time works for you tomorrow?', 'Nine thirty would be good.'],
  ['What time did the driver come?', 'About ten fifteen.'],
  ['Which apartment number is it?', 'Four oh two.'],
  ['What is your extension?', 'Two one seven.'],
  ['How old is the boiler?', 'Twelve years.'],
  ['Which day do you want the technician?', 'March third.'],
  ['When did you move in?', 'In June twenty twenty two.'],
  ['How much did they charge you?', 'Eighty nine dollars.'],
  ['What size do you wear?', 'Ten and a half.'],
  ['And the house number?', 'One twenty seven.'],
  ['What floor are you on?', 'The twenty first.'],
  ['How long have you waited?', 'Three weeks or so.'],
  ['Which bus do you take?', 'The four oh one.'],
  ['What was the flight number?', 'Nine twenty seven.'],
  ['What temperature is it set to?', 'Seventy two.'],
  ['How many boxes arrived?', 'Two of three.'],
  ['What speed do you get?', 'Around one hundred and fifty.'],
  ['What room are you in?', 'Room three one four.'],
  ['When is your appointment?', 'At two forty five on Monday.'],
  ['What error do you see?', 'Error five oh three.'],
  ['How far away is the store?', 'Six miles.'],
  ['What is the reading on the meter?', 'It says four four oh nine.'],
  ['How many bedrooms do you have?', 'Three, and two baths.'],
  ['What year is the car?', 'Twenty nineteen.'],
  ['When were you born?', 'May fifth nineteen eighty one.'],
  ['What channel was it on?', 'Channel one oh six.'],
  ['Which page is that on?', 'Page two twelve.'],
  ['How many times did you call?', 'Three times since Friday.'],
  ['What is the order number?', 'Five five one two.'],
  ['When will you be home?', 'After six thirty.'],
  ['What is the balance on the card?', 'Three hundred and twelve dollars.'],
  ['What zip code is on the card?', 'One oh oh one seven.'],
  ['What is your date of birth?', 'September twenty seventh.'],
  ['How many nights?', 'Two nights.'],
  ['Which gate is it?', 'Gate twenty two.'],
  ['What was the score?', 'Three to one.'],
  ['How many payments are left?', 'Nine of twelve.'],
  ['When does your lease end?', 'October twenty seven.'],
  ['When did you buy it?', 'In August twenty three.'],
  ['Anything else I can do?', 'Yes, I have one more question.'],
  ['How can I help you today?', 'I want to change my plan to the twenty dollar one.'],
  ['Are you still there?', 'Yes, one second.'],
  ['Can you hold for a minute?', 'Sure, take two.'],
  ['Did you restart the router?', 'Yes, two or three times.'],
  ['Do you have a pen?', 'Yes, go ahead.'],
  ['Which model do you have?', 'The three twenty.'],
  ['What street is that on?', 'Forty second street.'],
  ['Which unit are you in?', 'Unit five oh six.'],
  ['What number bus stop?', 'Stop seven one one.'],
  ['Is this about the invoice?', 'Yes, the one from March.'],
  ['What percentage do you have left?', 'Thirty five percent.'],
  ['How heavy is the parcel?', 'Around four kilos.'],
  ['When do you leave?', 'On the tenth of May.'],
  ['How many copies?', 'One hundred and twenty.'],
  ['What does the counter say?', 'Nine hundred and four.'],
  ['Do you want the small or the large one?', 'The large one for two people.'],
  ['What is the square footage?', 'Nine fifty.'],
  ['How many miles are on it?', 'Sixty thousand.'],
  ['What time do you open?', 'Eight thirty.'],
];

/** All exchanges, the same in each run. */
export function cardTalks(): CardTalk[] {
  const expiry = Array.from({ length: 60 }, (_, i): CardTalk => {
    const [m, y] = [((i * 7) % 12) + 1, 26 + ((i * 5) % 9)];
    const answer = expiryAnswers[i % expiryAnswers.length]!(m, y);
    const question = expiryQuestions[i % expiryQuestions.length]!;
    return { kind: 'expiry', question, answer, ...readBackOf(i, answer) };
  });
  const cvv = Array.from({ length: 60 }, (_, i): CardTalk => {
    const digits = [((i * 3) % 9) + 1, (i * 7 + 4) % 10, (i * 9 + 1) % 10];
    const answer = cvvAnswers[i % cvvAnswers.length]!(digits);
    const question = cvvQuestions[(i * 7) % cvvQuestions.length]!;
    return {
      kind: 'cvv',
      question,
      answer,
      ...readBackOf(i, digits.map((one) => unit(one)).join(' ')),
    };
  });
  const others = neutral.map(([question, answer]): CardTalk => ({
    kind: 'neutral',
    question,
    answer,
  }));
  return [...expiry, ...cvv, ...others];
}

function readBackOf(index: number, said: string): { readBack?: string } {
  if (index % 3 !== 0) return {};
  const plain = said.replace(/^(?:um|uh|it's|sure|yes),? /i, '').replace(/\.$/, '');
  return { readBack: index % 2 === 0 ? `Okay, ${plain}.` : `${plain}, is that right?` };
}

type TalkerVoice = (text: string) => Int16Array;
const flite =
  (voice: string, ...effects: string[]): TalkerVoice =>
  (text) =>
    levelled(sayWithFlite(voice, text, effects));
const festival =
  (...effects: string[]): TalkerVoice =>
  (text) =>
    levelled(sayWithFestival(text, effects));

const customers: readonly TalkerVoice[] = [
  flite('kal'),
  festival('pitch', '-220'),
  flite('awb', 'pitch', '140', 'tempo', '1.12'),
  flite('rms', 'pitch', '-90', 'tempo', '1.15'),
  flite('kal16', 'pitch', '160', 'tempo', '0.92'),
];
const agents: readonly TalkerVoice[] = [
  flite('rms', 'pitch', '60'),
  festival('pitch', '90', 'tempo', '1.1'),
  flite('slt', 'pitch', '-120', 'tempo', '1.1'),
  flite('awb', 'pitch', '-80'),
];

/** The voices of one exchange. */
export function talkers(index: number): { agent: TalkerVoice; customer: TalkerVoice } {
  return { agent: agents[index % agents.length]!, customer: customers[index % customers.length]! };
}
