/** Words that fill a spoken sentence and that a note leaves out, with what it has in their place. */
const fillers: readonly (readonly [RegExp, string])[] = [
  [/\b(?:honestly|basically|actually|literally|obviously|to be honest|i'm afraid|i guess|i mean|you know|kind of|sort of|like i said|as i said|just so you know|for your information|go ahead and|gone ahead and)\b,? ?/gi, ''],
  [/^while (?:i have you|i've got you|i'm on the phone|you're on the line|we're at it),? /i, ''],
  [/^(?:(?:and|but|so|also|then|oh|well|okay|yes|no|now|right|exactly|i see|i do|i understand|you're right|of course|in that case|the thing is|(?:it|the (?:system|computer|screen|record|warehouse|note)) (?:says|shows)|it looks like|it seems|i can see (?:it|that)(?=,)|i can see|what i can do is|i can confirm|what (?:i'm|i am|we're|we are) (?:seeing|looking at|showing|getting)(?: here)? is|the other thing is|the second thing is|one last question|one more question|before i forget)(?: that)?,? )+(?=\p{L}|\d|[$£€])/giu, ''],
  [/,? (?:is that (?:the one|okay|ok|right|correct|still right)|does that (?:work|help)|if that's (?:okay|ok|all right)|for you|right now|at the moment|at all|as well|anyway|then|please|though|i think|i believe)(?=[.?!]*$)/gi, ''],
  [/\blike (?=(?:\d|[$£€]))/gi, ''],
  [/\b(?:just|really|simply|definitely|certainly) (?=\p{L})/giu, ''],
  [/\bin order to\b/gi, 'to'],
  // The sentence before says it already: "a fault on the line, so this isn't your router".
  [/(?<=\S+ \S+ \S+ \S+),? so (?:this|that|it|you|nobody|there)\b[^.?!]*(?=[.?!])/gi, ''],
]; // prettier-ignore

const months = 'January|February|March|April|May|June|July|August|September|October|November|December'; // prettier-ignore
const onDay = new RegExp(`\\bthe (\\d{1,2})(?:st|nd|rd|th) of (${months})\\b`, 'g');
const giving =
  /\b(send|sent|text|texted|email|emailed|mail|mailed|post|posted|give|gave|issue|issued|offer|offered) the customer (?=(?:an?|the|their|another|\d\S*|[$£€]\S+) )/g;

/** A sentence about the customer with fewer words: who gets something is clear, and a day is written as in letters. */
export function shorter(told: string): string {
  return told.replace(giving, '$1 ').replace(onDay, '$1 $2');
}

/** The clause without the words that only speech needs. */
export function terse(clause: string): string {
  let text = clause;
  for (const [pattern, written] of fillers) text = text.replace(pattern, written);
  text = text.replace(/\s+/g, ' ').replace(/\s+([,.?!])/g, '$1').replace(/,([.?!])/g, '$1').trim(); // prettier-ignore
  if (!text.includes(' ')) return clause;
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
