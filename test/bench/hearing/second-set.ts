/**
 * Sentences as callers say them, for measuring only: no number, threshold or word list of the recogniser was ever
 * chosen with a look at them. Whoever tunes with them makes a third set.
 */
const namesAndNumbers = [
  'My name is Gwendolyn Pritchard and I live in Harrisburg.',
  'The order was placed by Mister Okafor on the nineteenth of June.',
  'Can I talk to Doctor Lindqvist, please?',
  'My number is five five five, zero one four two, nine eight seven.',
  'The total came to three hundred and forty two dollars and sixteen cents.',
  'It is flat twelve, eighty four Cathedral Road, Cardiff.',
  'The reference ends with seven seven three one.',
  'We moved from Albuquerque to Minneapolis in two thousand nineteen.',
  'Please transfer me to Beatrice in the claims department.',
  'My birthday is the second of November, nineteen seventy eight.',
  'The code on the back of the card is four zero nine.',
  'I paid sixty five pounds for a quarter of an hour.',
  'Theodore and Priscilla are both on the policy.',
  'The train leaves at a quarter past six from platform nine.',
  'I ordered forty boxes and only fourteen arrived.',
];
const shortAnswers = [
  'Yes.',
  'No, the other one.',
  'That is right.',
  'Not really.',
  'Okay, go ahead.',
  'I do not know.',
  'Maybe on Thursday.',
  'No thanks.',
  'Yes, please do.',
  'Wait a moment.',
];
const spelledWords = [
  'It is spelled S M Y T H E.',
  'B as in boy, R as in Robert, O, W, N.',
  'The postcode is K one A, zero B one.',
  'That is J A C O B, at home.',
  'The licence plate reads F X T, four four two.',
];
const talk = [
  'The washing machine stops in the middle of the cycle and then the door stays locked.',
  'I was told that somebody would call me yesterday afternoon, and nobody did.',
  'If the parcel is damaged you can refuse it, and we will send another one free of charge.',
  'Our heating has been off since the weekend and there is a baby in the house.',
  'Could you explain why there are two charges for the same ticket?',
  'I can see the payment here, but it has not been assigned to your account yet.',
  'The screen goes black as soon as I plug in the charger.',
  'You will get a text message with a link, and it is valid for one day.',
  'We would like to change the booking from a double room to two singles.',
  'Let me put you on hold while I check with the warehouse.',
  'The doctor is away this week, but her colleague has a free slot tomorrow.',
  'I never signed that contract and I want it cancelled right now.',
  'Your colleague was very kind, but she could not help me either.',
  'The bus did not stop although I was standing there and waving.',
  'Please turn the router off, wait for ten seconds and turn it on again.',
];

export const kindsOfSecondSet = {
  'names and numbers': namesAndNumbers,
  'short answers': shortAnswers,
  'spelled words': spelledWords,
  talk,
};
