/*
 * Retells a sentence as a listener would write it down: the customer's "I want my money back" becomes "Customer wants
 * their money back". Only words that refer to persons are changed. A sentence with unclear grammar is quoted, because a
 * wrong retelling is worse than a quotation.
 */

/** The words for a person as subject, as object and as owner. */
type Person = { subject: string; object: string; possessive: string };

const customer: Person = { subject: 'the customer', object: 'the customer', possessive: "the customer's" }; // prettier-ignore
const agent: Person = { subject: 'the agent', object: 'the agent', possessive: "the agent's" };
/** The customer's "you" and "your" mean the company, not the person who took the call. */
const company: Person = { subject: 'the company', object: 'the company', possessive: "the company's" }; // prettier-ignore

const again: Person = { subject: 'they', object: 'them', possessive: 'their' };

const adverbs = new Set(
  'just really also already even never still only always normally usually now probably definitely currently recently actually then'.split(
    ' ',
  ),
);
const modals = new Set(
  "will would can could shall should may might must won't wouldn't can't cannot couldn't shouldn't mustn't didn't had hadn't was wasn't used".split(
    ' ',
  ),
);
/** The verb form after a singular noun, by the form after "I", "we" or "you". */
const singular: Readonly<Record<string, string>> = {
  am: 'is', are: 'is', were: 'was', have: 'has', do: 'does', "don't": "doesn't", "haven't": "hasn't",
  "aren't": "isn't", "weren't": "wasn't", go: 'goes', get: 'gets', want: 'wants', need: 'needs', think: 'thinks',
  like: 'likes', love: 'loves', prefer: 'prefers', know: 'knows', live: 'lives', use: 'uses', pay: 'pays',
  keep: 'keeps', see: 'sees', hope: 'hopes', wish: 'wishes', call: 'calls', work: 'works', understand: 'understands',
  agree: 'agrees', believe: 'believes', drive: 'drives', travel: 'travels', owe: 'owes', remember: 'remembers',
  expect: 'expects', recommend: 'recommends', suggest: 'suggests', apologize: 'apologizes', apologise: 'apologises',
  receive: 'receives', order: 'orders', send: 'sends', offer: 'offers', guess: 'guesses', feel: 'feels', say: 'says',
  mean: 'means', read: 'reads', hear: 'hears', help: 'helps', own: 'owns', rent: 'rents', save: 'saves', change: 'changes',
}; // prettier-ignore
const plurals = new Map(Object.entries(singular).map(([plural, one]) => [one, plural]));

/** A verb as it stands behind "they": "wants" gives "want", and a past stays. */
export function behindThey(verb: string): string {
  return verb === 'is' ? 'are' : (plurals.get(verb) ?? verb);
}

const irregularPast = new Set(
  'bought brought told took paid sent got had left lost made found went came said saw did knew thought wrote gave threw filled spoke heard read forgot chose broke fell felt kept put rang ran sold stood understood woke wore cut hit let set cost meant met paid sat slept spent spilled began drove flew grew held rode rose sang'.split(
    ' ',
  ),
);
/**
 * Contractions such as "I'm", "we're" and "you've" as two words. "'d" is ambiguous, so a sentence with it is quoted.
 */
const contractions: Readonly<Record<string, string>> = {
  "i'm": 'i am', "i'll": 'i will', "i've": 'i have', "we're": 'we are', "we'll": 'we will', "we've": 'we have',
  "you're": 'you are', "you'll": 'you will', "you've": 'you have', "i'd": 'i would', "we'd": 'we would', "you'd": 'you would',
}; // prettier-ignore

/** Words with which people pass to the next matter. A written record does not need them. */
const beginnings =
  /^(?:(?:the other thing(?: i wanted to ask)?(?: is)?|one more thing|one last thing|before i forget|while i'm on the phone|by the way|as i said|in that case|then|not yet|no|yes|exactly)[,:]? +)+(?=\p{L})/iu;
const regrets = /,? ?\bi'm afraid\b,?/i;

const words = /[\p{L}\p{N}][\p{L}\p{N}'’.-]*[\p{L}\p{N}]|[\p{L}\p{N}]/gu;
const subjects = new Set(['i', 'we', 'you']);

/**
 * The sentence in the third person, or undefined if it must be quoted. `name` begins the sentence ("Customer", "They").
 */
export function toldOf(text: string, role: string, name: string): string | undefined {
  if (text.endsWith('?') || (role !== 'customer' && role !== 'agent')) return undefined;
  // The sentence quotes somebody or gives an order, so its words must stay as they are.
  if (/["“”]|^(?:please|keep|ignore|switch|go|call|try|tell|give|make|let|put|don't)\b/i.test(text))
    return undefined;
  const speaker = role === 'customer' ? customer : agent;
  const listener = role === 'customer' ? company : customer;
  const plain = text.replace(beginnings, '').replace(regrets, '');
  const parts = partsOf(plain === '' ? text : plain);
  let hasSpeaker = false;
  let hasListener = false;
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at];
    if (part === undefined || !part.isWord) continue;
    const word = part.text.toLowerCase();
    const isFirst = !parts.slice(0, at).some((one) => one.isWord);
    if (subjects.has(word)) {
      const isSpeaker = word !== 'you';
      const isSubject = isFirst || !isObject(parts, at);
      // The sentence has both "I" and "you" several times. "They" would be ambiguous.
      const known = isSpeaker ? hasSpeaker : hasListener;
      // An agent's "we" means the company: "we are full on the 9th".
      const person = isSpeaker ? (word === 'we' && role === 'agent' ? company : speaker) : listener;
      if (isSubject && isInverted(parts, at)) return undefined;
      if (isSubject && isSpeaker && hasSpeaker && isRunOn(parts, at)) {
        // Recognised speech may lack the full stop: "I apologize I will refund it".
        const space = parts[at - 1];
        if (space !== undefined) space.text = '. ';
        part.text = 'They';
        if (!agrees(parts, at, true)) return undefined;
        continue;
      }
      if (known && hasSpeaker && hasListener) part.text = isSubject ? person.subject : person.object;
      else part.text = known ? (isSubject ? again.subject : again.object) : isSubject ? person.subject : person.object; // prettier-ignore
      const isNamed = isFirst && isSpeaker && person !== company;
      if (isNamed) part.text = name;
      if (isSubject && !agrees(parts, at, part.text.toLowerCase() === again.subject))
        return undefined;
      if (isSpeaker) hasSpeaker = true;
      else hasListener = true;
      continue;
    }
    const place = placeOf(word);
    if (place === undefined) continue;
    const known = place.isSpeaker ? hasSpeaker : hasListener;
    const other = place.isSpeaker ? hasListener : hasSpeaker;
    // An agent's "our engineer" is the company's.
    const owner = role === 'agent' && /^(?:our|ours|us)$/.test(word) ? company : speaker;
    const person =
      known && !other && owner === speaker ? again : place.isSpeaker ? owner : listener;
    part.text =
      place.kind === 'reflexive' ? (known ? 'themselves' : person.object) : person[place.kind];
    if (isFirst && place.isSpeaker && owner !== company && place.kind === 'possessive')
      part.text = possessiveOf(name);
    if (place.isSpeaker) hasSpeaker = true;
    else hasListener = true;
  }
  if (!hasSpeaker && !hasListener) return undefined;
  const told = parts.map((part) => part.text).join('');
  return told.slice(0, 1).toUpperCase() + told.slice(1);
}

type SentencePart = { text: string; isWord: boolean };

function partsOf(text: string): SentencePart[] {
  const parts: SentencePart[] = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(words)) {
    if (index > end) parts.push({ text: text.slice(end, index), isWord: false });
    end = index + found.length;
    const apart = contractions[found.toLowerCase().replace('’', "'")];
    const [first, second] = apart?.split(' ') ?? [];
    if (first === undefined || second === undefined) parts.push({ text: found, isWord: true });
    else
      parts.push(
        { text: first, isWord: true },
        { text: ' ', isWord: false },
        { text: second, isWord: true },
      );
  }
  if (end < text.length) parts.push({ text: text.slice(end), isWord: false });
  return parts;
}

function placeOf(
  word: string,
): { kind: keyof Person | 'reflexive'; isSpeaker: boolean } | undefined {
  if (word === 'my' || word === 'our') return { kind: 'possessive', isSpeaker: true };
  if (word === 'me' || word === 'us') return { kind: 'object', isSpeaker: true };
  if (word === 'mine' || word === 'ours') return { kind: 'possessive', isSpeaker: true };
  if (word === 'myself' || word === 'ourselves') return { kind: 'reflexive', isSpeaker: true };
  if (word === 'your' || word === 'yours') return { kind: 'possessive', isSpeaker: false };
  if (word === 'yourself') return { kind: 'reflexive', isSpeaker: false };
  return undefined;
}

/** True for "you" after a verb or a preposition: "I'll send you a form". */
function isObject(parts: readonly SentencePart[], at: number): boolean {
  if (parts[at]?.text.toLowerCase() !== 'you') return false;
  const next = wordAfter(parts, at);
  if (next === undefined) return true;
  // "Let you know", "help you get": the verb behind has no subject.
  const before =
    parts
      .slice(0, at)
      .findLast((part) => part.isWord)
      ?.text.toLowerCase() ?? '';
  if (/^(?:let|lets|letting|help|helps|helping|make|makes|making|see|saw|watch)$/.test(before))
    return true;
  const verb = next.text.toLowerCase();
  return !(modals.has(verb) || Object.hasOwn(singular, verb) || adverbs.has(verb) || isPast(verb));
}

/** Makes the verb agree with its new subject. Returns false if the verb is unknown. */
function agrees(parts: SentencePart[], at: number, isPlural: boolean): boolean {
  let place = at;
  for (;;) {
    const next = wordAfter(parts, place);
    if (next === undefined) return false;
    place = parts.indexOf(next);
    const verb = next.text.toLowerCase().replace('’', "'");
    if (adverbs.has(verb)) continue;
    // "I do, the number is ..." answers a question that the summary does not contain.
    if (Object.hasOwn(singular, verb) && /^[,;]/.test(parts[place + 1]?.text ?? '')) return false;
    if (verb === 'am') next.text = isPlural ? 'are' : 'is';
    else if (verb === 'was' && isPlural) next.text = 'were';
    else if (modals.has(verb) || isPast(verb)) return true;
    else if (!Object.hasOwn(singular, verb)) return false;
    else if (!isPlural) next.text = singular[verb] ?? verb;
    return true;
  }
}

function isPast(verb: string): boolean {
  return (verb.length > 4 && verb.endsWith('ed')) || irregularPast.has(verb);
}

function wordAfter(parts: readonly SentencePart[], at: number): SentencePart | undefined {
  // A mark between the two words ends the clause: "you, I think".
  const between = parts[at + 1];
  if (between !== undefined && !between.isWord && between.text.trim() !== '') return undefined;
  return parts.slice(at + 1).find((part) => part.isWord);
}

/** True for the word order of a question ("Can I", "do you"), whatever mark ends the sentence. */
function isInverted(parts: readonly SentencePart[], at: number): boolean {
  const before = parts
    .slice(0, at)
    .findLast((part) => part.isWord)
    ?.text.toLowerCase();
  return before !== undefined && (auxiliaries.has(before) || modals.has(before));
}

/** True right behind a verb that takes no clause as its object: a sentence of its own begins here. */
function isRunOn(parts: readonly SentencePart[], at: number): boolean {
  const between = parts[at - 1];
  if (between === undefined || between.isWord || between.text.trim() !== '') return false;
  const verb = parts[at - 2]?.text.toLowerCase() ?? '';
  return runOnVerbs.has(verb);
}

const runOnVerbs = new Set(
  'apologize apologizes apologise apologises understand understands agree agrees apologized apologised understood agreed'.split(
    ' ',
  ),
);

const auxiliaries = new Set("do does did don't doesn't is are am have has isn't aren't".split(' '));

function possessiveOf(name: string): string {
  return name === 'They' ? 'Their' : `${name}'s`;
}

/** True if enough common small words are English. Only then is "me" the pronoun and "I" a person. */
export function isEnglish(texts: readonly string[]): boolean {
  let all = 0;
  let usual = 0;
  for (const text of texts.slice(0, 200))
    for (const [word] of text.toLowerCase().slice(0, 2_000).matchAll(words)) {
      all++;
      if (usualWords.has(word)) usual++;
    }
  return all > 0 && usual / all >= 0.2;
}

const usualWords = new Set(
  "the a an i i'm i'll i've you your my is it it's to and of in on for that with this have was be will can we are at do not me so but".split(
    ' ',
  ),
);
