/** Words that fill a spoken sentence and that a note leaves out, with what it has in their place. */
const fillers: readonly (readonly [RegExp, string])[] = [
  [/\b(?:honestly|basically|actually|literally|obviously|to be honest|i'm afraid|i guess|i mean|you know|kind of|sort of|like i said|as i said|just so you know|for your information|go ahead and|gone ahead and)\b,? ?/gi, ''],
  [/^while (?:i have you|i've got you|i'm on the phone|you're on the line|we're at it),? /i, ''],
  [/^(?:(?:and|but|so|also|then|oh|well|okay|yes|no|now|right|exactly|i see|i do|i understand|you're right|of course|in that case|the thing is|(?:it|the (?:system|computer|screen|record|warehouse|note)) (?:says|shows)|it looks like|it seems|i can see|what i can do is|i can confirm|the other thing is|the second thing is|one last question|one more question|before i forget)(?: that)?,? )+(?=\p{L}|\d|[$£€])/giu, ''],
  [/,? (?:is that (?:the one|okay|ok|right|correct|still right)|does that (?:work|help)|if that's (?:okay|ok|all right)|for you|right now|at the moment|at all|as well|anyway|then|please|though|i think|i believe)(?=[.?!]*$)/gi, ''],
  [/\blike (?=(?:\d|[$£€]))/gi, ''],
  [/\b(?:just|really|simply|definitely|certainly|probably) (?=\p{L})/giu, ''],
  [/\bin order to\b/gi, 'to'],
]; // prettier-ignore

/** The clause without the words that only speech needs. */
export function terse(clause: string): string {
  let text = clause;
  for (const [pattern, written] of fillers) text = text.replace(pattern, written);
  text = text.replace(/\s+/g, ' ').replace(/\s+([,.?!])/g, '$1').replace(/,([.?!])/g, '$1').trim(); // prettier-ignore
  if (!text.includes(' ')) return clause;
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
