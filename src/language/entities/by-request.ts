import { cardinalAt, smallAt, yearAt } from '../text/numbers.ts';
import type { Doc } from './doc.ts';
import type { requestedTypes } from './found-types.ts';

const words: Partial<Record<(typeof requestedTypes)[number], RegExp>> = {
  DAY: /^(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?$/,
  MONTH: /^(?:january|february|april|june|july|august|september|october|november|december)$/,
  OCCUPATION:
    /^(?:nurse|teacher|plumber|electrician|lawyer|accountant|driver|carpenter|builder|mechanic|cleaner|chef|waiter|waitress|pilot|dentist|pharmacist|architect|programmer|journalist|farmer|firefighter|pensioner|student|solicitor|hairdresser|paramedic|surgeon|therapist|professor|librarian|photographer)s?$/,
  GENDER: /^(?:male|female|man|woman|boy|girl|transgender|nonbinary)$/,
  LANGUAGE:
    /^(?:english|spanish|french|german|italian|portuguese|chinese|mandarin|cantonese|japanese|korean|arabic|hindi|urdu|polish|dutch|russian|turkish|swahili|tagalog|vietnamese|punjabi|bengali)$/,
  MARITAL_STATUS: /^(?:married|divorced|widowed|widow|widower|single|separated|engaged)$/,
  RELIGION:
    /^(?:christian|catholic|protestant|muslim|jewish|hindu|buddhist|sikh|atheist|islam|christianity|judaism|hinduism|buddhism)$/,
  ZODIAC_SIGN:
    /^(?:aries|taurus|gemini|virgo|libra|scorpio|sagittarius|capricorn|aquarius|pisces)$/,
  CONDITION:
    /^(?:diabetes|asthma|cancer|arthritis|epilepsy|dementia|depression|anxiety|hypertension|pneumonia|migraines?|eczema|stroke|autism|adhd|hiv|covid|flu|pregnant|pregnancy|allergy|allergies|diabetic|asthmatic)$/,
  DRUG: /^(?:ibuprofen|paracetamol|aspirin|insulin|antibiotics?|penicillin|amoxicillin|metformin|statins?|morphine|codeine|prednisone|warfarin|lisinopril|xanax|prozac|ventolin|acetaminophen|tylenol|advil)$/,
  INJURY:
    /^(?:fracture|fractured|concussion|sprain|sprained|bruise|bruised|whiplash|burns?|laceration)$/,
  ORIGIN:
    /^(?:american|british|canadian|australian|indian|pakistani|chinese|nigerian|irish|scottish|welsh|mexican|brazilian|polish|romanian|jamaican|filipino|somali|hispanic|latino|asian|african|caucasian)$/,
  MEDICAL_PROCESS:
    /^(?:surgery|surgeries|chemotherapy|chemo|radiotherapy|dialysis|physiotherapy|physio|biopsy|biopsies|mri|x-ray|xray|ultrasound|mammogram|colonoscopy|endoscopy|vaccination|vaccinations|transfusion|transplant|caesarean|abortion|amputation|angioplasty|hysterectomy|vasectomy)$/,
  PHYSICAL_ATTRIBUTE:
    /^(?:blonde|brunette|redhead|bald|bearded|freckles|freckled|obese|overweight|underweight|tattoo|tattoos|tattooed|left-handed|wheelchair|blind|deaf)$/,
  POLITICAL_AFFILIATION:
    /^(?:republican|republicans|democrat|democrats|socialist|communist|libertarian|labour|tory|tories|conservatives|marxist)$/,
  SEXUALITY:
    /^(?:gay|lesbian|bisexual|heterosexual|homosexual|queer|asexual|pansexual|transsexual)$/,
};

export function findRequested(doc: Doc, types: ReadonlySet<string>): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i)) continue;
    for (const [type, pattern] of Object.entries(words))
      if (types.has(type) && pattern.test(doc.word(i)) && doc.claim(type, i, i + 1)) break;
    if (types.has('AGE')) claimAge(doc, i);
    if (types.has('DURATION')) claimDuration(doc, i);
    if (types.has('YEAR')) claimYear(doc, i);
    if (types.has('IP_ADDRESS')) claimIp(doc, i);
    if (types.has('BLOOD_TYPE')) claimBlood(doc, i);
    if (types.has('STATISTICS')) claimShare(doc, i);
    if (types.has('DOSE')) claimDose(doc, i);
    if (types.has('PASSWORD'))
      claimBehind(doc, i, /^(?:password|passcode|passphrase)$/, 'PASSWORD');
    if (types.has('USERNAME')) claimBehind(doc, i, /^(?:username|login)$/, 'USERNAME');
  }
}

function claimAge(doc: Doc, i: number): void {
  const number = smallAt(doc.tokens, i);
  if (!number || number.value > 120) return;
  let at = number.next;
  if (doc.word(at) === '-') at += 1;
  const isYears = /^(?:years?|year)$/.test(doc.word(at));
  const after = doc.word(at + 1) === '-' ? at + 2 : at + 1;
  if (isYears && doc.word(after) === 'old') doc.claim('AGE', i, after + 1);
  else if (
    /^(?:i'm|am|is|she's|he's|aged|age|turned|was)$/.test(doc.word(i - 1)) &&
    number.value > 0 &&
    /^(?:|,|\.|and|now|in|she|he|i|so)$/.test(doc.word(number.next))
  )
    doc.claim('AGE', i, number.next);
}

function claimDuration(doc: Doc, i: number): void {
  const number = cardinalAt(doc.tokens, i);
  const isArticle = /^(?:a|an|half)$/.test(doc.word(i));
  const at = number?.next ?? (isArticle ? i + 1 : 0);
  if (
    at > 0 &&
    /^(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|fortnight|decade)$/.test(doc.word(at))
  )
    if (doc.word(at + 1) !== 'old') doc.claim('DURATION', i, at + 1);
}

function claimYear(doc: Doc, i: number): void {
  const year = yearAt(doc.tokens, i);
  if (year && /^(?:in|since|from|until|year|of|by|to)$/.test(doc.word(i - 1)))
    doc.claim('YEAR', i, year.next);
}

function claimIp(doc: Doc, i: number): void {
  const text = doc.text.slice(doc.tokens[i]?.start, (doc.tokens[i]?.start ?? 0) + 16);
  const match = /^(?:\d{1,3}\.){3}\d{1,3}(?!\d)/.exec(text);
  if (match) doc.claim('IP_ADDRESS', i, i + 7);
}

function claimBlood(doc: Doc, i: number): void {
  if (!/^(?:a|b|o|ab)$/.test(doc.word(i)) || !/^(?:positive|negative)$/.test(doc.word(i + 1)))
    return;
  doc.claim('BLOOD_TYPE', i, i + 2);
}

function claimShare(doc: Doc, i: number): void {
  const number = cardinalAt(doc.tokens, i);
  if (number && /^(?:percent|%)$/.test(doc.word(number.next)))
    doc.claim('STATISTICS', i, number.next + 1);
}

/** Claims an amount of a drug: "fifty milligrams", "5 ml", "two tablets", "10 units". */
function claimDose(doc: Doc, i: number): void {
  const number = cardinalAt(doc.tokens, i);
  if (
    number &&
    /^(?:mg|mcg|ml|iu|milligrams?|micrograms?|millilit(?:er|re)s?|units?|tablets?|pills?|capsules?|puffs?|drops?|teaspoons?)$/.test(
      doc.word(number.next),
    )
  )
    doc.claim('DOSE', i, number.next + 1);
}

function claimBehind(doc: Doc, i: number, cue: RegExp, type: string): void {
  if (!cue.test(doc.word(i)) || !/^(?:is|:)$/.test(doc.word(i + 1))) return;
  const from = i + 2;
  let to = from;
  while (to < from + 6 && doc.tokens[to] && (to === from || !doc.tokens[to]?.spaced)) to += 1;
  if (doc.tokens[to - 1]?.kind === 'mark' && /[.,!?]/.test(doc.word(to - 1))) to -= 1;
  const isWord =
    /^(?:wrong|not|incorrect|correct|the|a|my|too|still|reset|expired|invalid|asking|saying)$/.test(
      doc.word(from),
    );
  if (to > from && !isWord) doc.claim(type, from, to);
}
