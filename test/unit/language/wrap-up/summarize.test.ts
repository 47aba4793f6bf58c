import { expect, test } from 'vitest';
import { performTask } from '../../../../src/language/perform.ts';
import { entitiesOfTurns } from '../../../../src/language/values/of-turns.ts';
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

test('a short call is told with what the agent found, but not with offers and deeds', () => {
  const turns = call(
    'Thank you for calling Harbor Parcels, this is Ben.',
    'My parcel did not come and I was at home all day.',
    "I'm sorry to hear that. The van broke down on Main Street. I could send it by express for twenty dollars if you want.",
    'No, the normal way is fine.',
    "I've booked the delivery for December 3rd. That's all done for you. You'll get a call within two hours.",
    'Thank you.',
  );
  const text = summarize(turns, 'general', { day: '2026-12-01' });
  expect(text).toContain('The van broke down on Main Street.');
  expect(text).toContain('within two hours');
  expect(text).not.toMatch(/express|twenty|all done/);
  expect(summarize(turns, 'concise')).not.toContain('broke down');
});

const onDay = (...texts: string[]): string => {
  const about = { day: '2026-12-01', callingCode: '1' };
  const turns = call(...texts);
  return summarize(turns, 'general', { ...about, entities: entitiesOfTurns(turns, about, 'en') });
};

test('the rest of the story, the cause, the price agreed on and what is asked of the customer stand beside the record', () => {
  const text = onDay(
    'Thank you for calling Harbor Boats, this is Ben.',
    'Hi, I want to keep my boat here over the winter. The engine shows a fault.',
    'I see. Your berth lies in the old harbour. A winter berth is two hundred dollars. Is that all right?',
    "Yes, that's fine.",
    "I've booked the berth. Please send us a photo of the engine. A photo costs nothing.",
    'Okay, and do I have to pay the winter fee now?',
    "No, in spring. I'm sorry about that.",
    'Thank you.',
  );
  expect(text).toContain('the engine shows a fault. They want to keep their boat here over the winter.'); // prettier-ignore
  expect(text).toContain('A winter berth is $200.00; the customer agreed.');
  expect(text).toContain('Agent asked the customer to send the company a photo of the engine.');
  expect(text).toContain('Customer asked: "Do I have to pay the winter fee now?" Agent answered: "No, in spring."'); // prettier-ignore
  expect(text).not.toMatch(/Harbor|Ben|sorry|Thank/);
});

test('a price that the customer does not take is told as named, and one of a choice is not told as agreed', () => {
  const asked = onDay(
    'Harbor Boats, how can I help?',
    'What does a winter berth cost?',
    'About two hundred dollars for a small boat.',
    'I need to think about it.',
    'Of course.',
  );
  expect(asked).toContain('Agent named the price: "About two hundred dollars for a small boat".');
  expect(asked).toContain('needs to think about it.');
  const choice = onDay(
    'Harbor Boats, how can I help?',
    'I want to keep my boat here.',
    'The berth is two hundred dollars. I can also offer you a place in the hall, or I could ask the yard.',
    'Okay, let me think. No.',
    'All right.',
  );
  expect(choice).not.toContain('agreed');
});

test('what points back is told with the sentence before it, and an answer with its question', () => {
  const text = onDay(
    'Harbor Boats, how can I help?',
    'I want to rent a boat, could we get the big one?',
    'We have six small berths. They cost nine dollars a day.',
    'Hm. And when does the crane come?',
    'It comes at noon.',
    'Do you need the old key back?',
    'Please send it.',
    'When do I get my deposit back, by the 30th?',
    'Yes, on the 28th.',
  );
  expect(text).toContain('deposit back, by the 30th?" Agent answered: "Yes, on the 28th."');
  expect(text).toContain('wanted to rent a boat; they asked to get the big one.');
  expect(text).toContain('The company has six small berths. They cost $9.00 a day.');
  expect(text).toContain('Customer asked: "When does the crane come?" Agent answered: "It comes at noon."'); // prettier-ignore
  expect(text).toContain('Agent asked the customer to send the old key.');
});

test('a condition is told whole, how the customer is reached too, and a number by a short question for it', () => {
  const text = onDay(
    'Harbor Boats, how can I help?',
    'My engine is broken.',
    'Which agreement is it?',
    'Nine zero three three seven one five.',
    "I've booked the repair. Once the engine is here we'll send you a new key. If you come on Monday, they'll show you the yard.",
    'Good. Reach me at dana dot marsh at example dot org.',
    'If you like, I could send it by post.',
    'No, thank you.',
  );
  expect(text).toContain('(agreement number 9033715)');
  expect(text).toContain('Once the engine is here the company will send the customer a new key.');
  expect(text).toContain('Agent said: "If you come on Monday, they\'ll show you the yard."');
  expect(text).toContain('Customer gave the email dana.marsh@example.org.');
  expect(text).not.toContain('by post');
});

test('what the customer stated is told where no reason was found, and half a sentence is not', () => {
  const text = onDay(
    'Harbor Boats, how can I help?',
    'This is Dana Marsh. We live on a boat. Tim has a fever.',
    "I'll tell the crew. The crew needs to. The ferry waits because.",
    'Thank you.',
  );
  expect(text).toContain('Tim has a fever.');
  expect(text).not.toMatch(/needs to\.|because\./);
});

test('a yes to something else agrees to no price', () => {
  const text = onDay(
    'Harbor Boats, how can I help?',
    'My boat is damaged.',
    'I have opened a claim. There is a fee of fifty dollars.',
    "Okay, that's all. Bye.",
  );
  expect(text).toContain('There is a fee of $50.00.');
  expect(text).not.toContain('agreed');
});

test('when it happened is told, and a number or an introduction is no reason', () => {
  const text = onDay(
    'Harbor Boats, your member number?',
    'Four four one nine zero two.',
    'Thank you. How can I help?',
    "This is Dana Marsh, Tim's mother. My claim for the boat was denied.",
    'When was that?',
    'Friday morning, at ten.',
    'Your cover for boats ended in October.',
    'Thank you.',
  );
  expect(text).toContain(
    'reported that their claim for the boat was denied (member number 441902)',
  );
  expect(text).toMatch(/That was on the morning of Friday, (?:27 November|4 December)/);
  expect(text).toContain("The customer's cover for boats ended in October.");
});

test('a refusal and a transfer are told where they end the call', () => {
  expect(
    onDay(
      'Harbor Boats, how can I help?',
      'I want my money back for the berth.',
      "I'm afraid berths can't be refunded in winter.",
      'That is a pity. Goodbye.',
    ),
  ).toContain("Berths can't be refunded in winter.");
  expect(
    onDay(
      'Harbor Boats, how can I help?',
      'I have a question about the crane. The crane hit my boat.',
      "You want the yard office. I'll put you through now.",
      'Thank you.',
    ),
  ).toContain('Agent will transfer the customer to the yard office now.');
});

test('a day that only the call knows is told with its date', () => {
  const text = onDay(
    'Harbor Boats, how can I help?',
    'My boat was hit yesterday and the crane came on Friday. I need it tomorrow morning.',
    "I've booked the crane for tomorrow evening. The yard is closed today.",
    'Thank you.',
  );
  expect(text).toContain('was hit on Monday, 30 November');
  expect(text).toContain('for the evening of Wednesday, 2 December');
  expect(text).not.toMatch(/tomorrow|yesterday|today/);
  const noDay = summarize(call('Hello?', 'My boat was hit yesterday.', "I've booked the crane."), 'general'); // prettier-ignore
  expect(noDay).toContain('was hit yesterday');
});

test('a number is told by what it was asked for', () => {
  const text = onDay(
    'Harbor Boats, how can I help?',
    'I want to cancel my berth.',
    'What is your contract number?',
    'It is four four seven one two.',
    "I've cancelled the berth.",
    'Thank you.',
  );
  expect(text).toContain('(contract number 44712)');
});

test('"he" and "them" are told by the word before them, or stay', () => {
  const text = onDay(
    'Harbor Boats, how can I help?',
    'My engine is broken.',
    "I've told our mechanic. He'll call you on Friday. Could you send us the papers?",
    "I'll send them tomorrow.",
    'Thank you.',
  );
  expect(text).toContain('The mechanic will call the customer on Friday, 4 December.');
  expect(text).toContain('Customer will send the papers on Wednesday, 2 December.');
  const several = onDay(
    'Harbor Boats, how can I help?',
    'My engine is broken.',
    "I've booked a repair. We need the papers and the keys.",
    "I'll send them tomorrow.",
  );
  expect(several).not.toMatch(/send the (?:papers|keys) on/);
});

test('what still goes on is not told as done, and neither is what failed', () => {
  const going = onDay(
    'Harbor Boats, how can I help?',
    'My permit was refused.',
    "I'm resubmitting the permit.",
    'Thank you.',
  );
  expect(going).toContain('Agent is resubmitting the permit.');
  const done = onDay(
    'Harbor Boats, how can I help?',
    'I want to cancel my berth.',
    "I'm cancelling your berth.",
    'Okay.',
    "That's all done.",
    'Thank you.',
  );
  expect(done).toContain("Agent cancelled the customer's berth.");
  const failed = onDay(
    'Harbor Boats, how can I help?',
    'My code does not work.',
    "I've entered the code. It has expired.",
    'Oh.',
  );
  expect(failed).toContain('Agent has entered the code, but it has expired.');
  expect(failed).not.toContain('Agent entered');
});

test('if the customer says that it works now, the summary says so', () => {
  const turns = call(
    'IT service desk, how can I help?',
    'I am locked out of the portal.',
    "I've reset your password. Try it again.",
    "Oh yes, that's me in, thank you.",
  );
  expect(summarize(turns, 'general')).toMatch(/Agent reset .* Customer said that it works now\.$/);
  const place = turns.map((one) => ({ ...one, text: one.text.replace("that's me in", "I'm in flat four") })); // prettier-ignore
  expect(summarize(place, 'general')).not.toContain('works now');
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

test.each([
  [
    'the closing is in no promise',
    "I've processed a refund. You will have your money within five business days, and you have a great day, okay?",
    'Agent processed a refund. Promised within five business days.',
  ],
  [
    'a state is told as what was done',
    "That card's now stopped, nobody can use it.",
    'Agent stopped the card.',
  ],
  [
    'what was set up is told with its parts',
    "Okay. That's all set up, six lots of sixty pounds starting the first of December.",
    'Agent set up six lots of £60.00 starting the 1st of December.',
  ],
  [
    'the reason behind an action is left out',
    "I've closed the card, so nothing else can go through.",
    'Agent closed the card.',
  ],
  [
    'what goes on is told so',
    "I'm dispatching the on-call plumber to you right now.",
    'Agent is dispatching the on-call plumber to the customer.',
  ],
  [
    'an action that was gone ahead with is one',
    'I went ahead and assigned a new driver.',
    'Agent assigned a new driver.',
  ],
  [
    'its number stands beside it',
    'I have opened a claim. The claim number is two zero five seven six.',
    'Agent opened a claim (claim number 20576).',
  ],
  [
    'a colloquial future is a promise',
    "I'm also gonna waive the delivery fee.",
    'Agent will waive the delivery fee.',
  ],
  [
    'the last day of a contract is no promise',
    "So your last day will be November thirtieth. I've scheduled the disconnect.",
    'Agent scheduled the disconnect.',
  ],
  [
    'our people are those of the company',
    "That's you booked in with our engineer.",
    "Agent booked the customer in with the company's engineer.",
  ],
  [
    'a person is let know',
    "We'll let you know either way.",
    'Agent will let the customer know either way.',
  ],
  [
    'without the day of the call a time stands as it was said',
    'You get the $25 back as a credit within two days.',
    'The customer will get the $25 back as a credit within two days.',
  ],
  [
    'times and days are written in figures',
    'I have moved your appointment to December seventh at eleven a.m.',
    "Agent moved the customer's appointment to December 7th at 11 a.m.",
  ],
])('%s', (_, said, told) => {
  const turns = call('How can I help you?', 'My lamp is broken.', said, 'Thank you.');
  expect(summarize(turns, 'general')).toBe(`Customer reported that their lamp is broken. ${told}`);
});

test.each([
  [
    "My printer prints everything in pink. I changed the cartridge, but it's still pink.",
    'Customer reported that their printer prints everything in pink. They changed the cartridge.',
  ],
  [
    "I was meant to have the contract by last Friday and there's still no sign of it.",
    "Customer reported that they were meant to have the contract by last Friday; there's still no sign of it.",
  ],
  [
    "I'm ringing to make a complaint actually. One of your conductors shouted at my lad.",
    "Customer called to make a complaint: one of the company's conductors shouted at their lad.",
  ],
  [
    "My name is Marisol Vega, I run a small bakery and we're looking for a quote on forty pallets a month.",
    'Caller: Marisol Vega. Customer was looking for a quote on forty pallets a month.',
  ],
  [
    'Hi Javier, so I bought the Orbit Nine like three weeks ago and it stopped charging.',
    'Customer reported that they bought the Orbit Nine three weeks ago and it stopped charging.',
  ],
  [
    'I have an appointment with Doctor Osei on the second. Can we move it?',
    'Customer reported that they have an appointment with Doctor Osei on the 2nd; they asked to move it.',
  ],
  [
    "The washing machine's flooded the kitchen and the floor's ruined.",
    'Customer reported that the washing machine has flooded the kitchen and the floor is ruined.',
  ],
  ['Faye turns, I need to shut off my internet.', 'Customer needed to shut off their internet.'],
  [
    "The motor makes a burning smell I don't want another one.",
    "Customer reported that the motor makes a burning smell they don't want another one.",
  ],
])('the reason "%s" is told with its matter', (said, told) => {
  expect(summarize(call('How can I help you?', said, 'I see.', 'Thanks.'), 'general')).toBe(told);
});

test('a call about one topic has no chapters, one about two has both', () => {
  const chapters = (turns: ReturnType<typeof call>) =>
    performTask('call', { turns, summaryType: 'general', language: 'en' }).results?.chapters;
  const one = call(
    'How can I help you?',
    'My parcel with the garden chairs has not arrived, it should have come on Monday.',
    'I am sorry, the driver could not find your house. The parcel is at the depot.',
    'Okay, thank you.',
  );
  expect(chapters(one)).toEqual([]);
  const two = [
    ...one,
    ...call(
      'Is there anything else?',
      'Yes, another thing: my invoice for October shows a discount that is too small.',
      'The discount on the invoice was five percent, it should be ten. I will correct the invoice.',
      'Great, that discount matters to me.',
      'The invoice is corrected.',
      'Thank you, bye.',
    ),
  ].map((turn, at) => ({ ...turn, start: at * 3, end: at * 3 + 2 }));
  expect(chapters(two)).toHaveLength(2);
});

test('thanks stand in no promise, and one of two offers is nothing that was done', () => {
  const text = summarize(
    call(
      'How can I help you?',
      'My lamp is broken.',
      'I have added you to the list, or I can give you six months at fourteen.',
      'I will send the receipts next week, thank you for your help.',
    ),
    'general',
  );
  expect(text).toBe('Customer reported that their lamp is broken. They will send the receipts next week.'); // prettier-ignore
});

test('how often somebody called stands in the record, a number once, and a day as it was promised', () => {
  const turns = call(
    'How can I help you?',
    'My parcel never arrived. I have called three times about this.',
    'I have opened an investigation. The case number is 66120. I have told the depot. The case number is 66120.',
    'And then?',
    "I'll call you on Monday. I'll pass it on.",
    'Thank you.',
  );
  expect(summarize(turns, 'general', { day: '2026-12-02' })).toBe(
    'Customer reported that their parcel never arrived; they have called three times. Agent opened an investigation (case number 66120). They will call the customer on Monday, 7 December.',
  );
});

test('an amount of pounds and pence is one amount', () => {
  const text = summarize(
    call(
      'How can I help you?',
      "You've taken fifty three pounds twenty off me.",
      'I see.',
      'Thanks.',
    ),
    'general',
  );
  expect(text).toContain('£53.20 off them');
});

test.each([
  ["I'll email you the floor plan this evening.", 'Agent will email the customer the floor plan the same evening.'],
  ["I'll email you the floor plan in a few minutes.", 'Agent will email the customer the floor plan within minutes.'],
  ["I'll email you the floor plan today.", 'Agent will email the customer the floor plan the same day.'],
])('the promise "%s" keeps its part of the day', (said, told) => {
  const turns = call('How can I help you?', 'My floor plan never arrived.', said, 'Thank you.');
  expect(summarize(turns, 'general', { day: '2026-12-02' })).toContain(told);
}); // prettier-ignore

test('a long call\'s reason stands without "reported that", and times that were offered stand no more', () => {
  const chat = Array.from({ length: 14 }, () => 'Yes, I see.');
  const turns = call(
    'How can I help you?',
    "Hi Nadia my name's Tomasz Kowalczyk I had a little accident yesterday and I want to report it.",
    'Do you have the plate of the van?',
    'Yes, it is 7 A B C 9 1 2.',
    ...chat,
    'I have Wednesday the 9th at 4 p.m. or Friday the 11th at 9:15.',
    'Friday please.',
    'I have booked you in for Friday the 11th at 9:15.',
    'Thank you.',
  );
  const told = summarize(turns, 'general');
  expect(told).toMatch(/^Caller: Tomasz Kowalczyk\. Customer had a little accident yesterday\. /);
  expect(told).toContain('Agent booked the customer in for Friday the 11th at 9:15.');
  expect(told).not.toContain('They wants');
  expect(told).not.toMatch(/Wednesday|Nadia|\(7ABC912\)/);
});

test('a long call is told in fewer words, and a number that the reason has is not told again', () => {
  const chat = Array.from({ length: 14 }, () => 'Yes, I see.');
  const turns = call(
    'How can I help you?',
    'My router is broken, the order code is HB7731.',
    ...chat,
    'The line test shows a fault on the outside line, so this is not your router. I will send you a new one on the 12th of December.',
    'The code is HB7731.',
  );
  const told = summarize(turns, 'general');
  expect(told).toContain('Agent will send a new one on 12 December.');
  expect(told).toContain('The line test shows a fault on the outside line.');
  expect(told.match(/HB7731/g)).toHaveLength(1);
});

test('a sum stands beside what is done with it', () => {
  const text = onDay(
    'Green Shop, how can I help?',
    'My plant arrived broken.',
    "I've ordered you a new plant. I'm also going to waive the delivery fee, that's $7.50.",
    'Thank you, bye.',
  );
  expect(text).toContain('will waive the delivery fee ($7.50).');
});

test('a number, a day and a person are told for what they were said of', () => {
  const code = onDay(
    'Harbour Phones, Ida speaking.',
    "Hi, I moved to you on Monday and I was to keep my old number, but there's a new one.",
    'The code had expired. Text C-O-D-E to 44219, and you get a new code at once.',
    'Okay, it says KLM552913.',
    "Perfect. I've entered the code. Your old number will be there on Friday.",
    'Great, thanks.',
  );
  expect(code).not.toContain('KLM552913');
  expect(code).toContain('Agent entered the code.');
  const drops = onDay(
    'Green Hill Pharmacy, Tom speaking.',
    "Hello, it's Vera Lund. My eye drops run out on Sunday and the refill isn't in your app.",
    "What's the prescription number, Mrs Lund?",
    '603-3185.',
    "Thanks. I've sent a request to the doctor.",
    'Thank you.',
  );
  expect(drops).toContain('(prescription number 6033185)');
  const courses = onDay(
    'Harbour Courses, Mia speaking.',
    "Hello, I'd like to sign my son up for the sailing course in March.",
    'The course on Saturdays is full, but there are two places on Tuesday at 4.',
    "Tuesday doesn't work.",
    "I've added your son to the list.",
    'Thank you.',
  );
  expect(courses).toContain('there are two places on Tuesday at 4.');
  const line = onDay(
    'Valley Internet, Sam speaking.',
    'Hi, please shut off my line at the end of the month, I am moving.',
    "Sure. So your last day will be November 30th. I've scheduled the disconnect for that day. I'll email you a label.",
    "Okay. I'll drop it off at the post office this weekend.",
    'Great, bye.',
  );
  expect(line).toContain(
    'Customer asked the company to shut off their line at the end of the month',
  );
  expect(line).toMatch(/scheduled the disconnect for \w+, 30 November\./);
  expect(line).not.toContain('drop the label off');
  const table = onDay(
    'Blue Lake Boats, Hanna speaking.',
    "Hi, I booked a canoe for two today at 5, and your page says it's been deleted.",
    "I've put you back in, canoe for two at 5:30. Five o'clock is gone, I'm afraid.",
    'That is all right. Thank you.',
  );
  expect(table).toContain('Agent put the customer back in, canoe for two at 5:30.');
});

test('half sentences, asides and what nobody said are left out', () => {
  const bill = onDay(
    'Bright Water, Paul here.',
    "I've got a bill here for $612. In a flat for one!",
    "Can I have your customer number, it's at the top right.",
    '509-3384.',
    'That bill was estimated. Would you be able to read me the meter now?',
    '18440.',
    "I've recalculated the bill. I can transfer you to our advisers if you like?",
    'No, that is fine.',
    "I'm going to hang up now, it's because we close. Goodbye.",
  );
  expect(bill).not.toMatch(/In a flat|top right|be able|transfer|hang up|phone number/);
  expect(bill).toContain('(customer number 5093384)');
  const line = onDay(
    'Corner Pharmacy, Bea speaking.',
    'Hi, I dropped off a form for my pills on Friday and nobody called.',
    "I'm sorry. I'll put the answer online tonight, so you needn't call. We'll get it to you by the 30th at the latest.",
    'Thank you.',
  );
  expect(line).toContain('on Friday, 27 November');
  expect(line).not.toContain('at the latest the same day');
});
