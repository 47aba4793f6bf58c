import { toldOf } from '../summary/third-person.ts';

/** Contractions that the retelling leaves alone because they are ambiguous, where the next words make them clear. */
const clear: readonly (readonly [RegExp, string])[] = [
  [/\bi'd (?=(?:also |really |just )?(?:like|love|prefer|rather|appreciate)\b)/gi, 'I would '],
  [/\bwe'd (?=(?:also |really |just )?(?:like|love|prefer|rather|appreciate)\b)/gi, 'we would '],
  [/\b(it|that|he|she|they)'ll\b/gi, '$1 will'],
  // "Once it's fixed" tells a state.
  [/(?<=\b(?:when|once|until|till|if|as soon as) (?:it|that|everything))'s (?=\w+ed\b)/gi, ' is '],
  // "The floor's ruined" tells a state; "the boiler's packed in" what happened.
  [/(?<=\b(?:the|my|our|your|this|that) \w+)'s (?=(?!(?:stopp|di|arriv|end|expir|start|crash|explod|pack|snapp|fail|happen|crack|turn|vanish|disappear)ed\b)\w+ed(?:[.,;!]|$))/gi, ' is '],
  [/\b(\w+)'s (?=(?:now |all |been |just )*(?:\w+ed|gone|put|set|sent|done|taken|down|broken|snapped|cut)\b)/gi, '$1 has '],
]; // prettier-ignore

/** Words that fill a spoken sentence and that nobody would write down. */
const spoken =
  /\b(?:just|actually|basically|obviously|literally|for you|go ahead and|gone ahead and|please|anyway|like i said|as i said|(?<!let )you know|i mean)\b,? ?/gi;

export function plainOf(text: string): string {
  let plain = text;
  for (const [pattern, written] of clear) plain = plain.replace(pattern, written);
  return plain
    .replace(spoken, '')
    .replace(/\s+/g, ' ')
    .replace(/\s+([,.?!])/g, '$1')
    .trim();
}

/** The statement told of "Customer" or "Agent", or undefined where its grammar is not plain. */
export function retold(text: string, role: string, name: string): string | undefined {
  return toldOf(plainOf(text), role, name);
}

/** Small letters at the beginning, unless the first word is a name or "I". */
export function inMidSentence(text: string): string {
  return /^(?:A|An|The|They|Their|It|It's|This|That|There|We|He|She|His|Her|Its|Some|Someone|Somebody|Nobody|No|One|Two|Three|Only|Yesterday|Today|On|In|At|From|With|Since|Last|Every|When|After|Since|What|Why|How|Where|Which|Who|Whether)\b/.test(
    text,
  )
    ? text.slice(0, 1).toLowerCase() + text.slice(1)
    : text;
}

export function withoutEnd(text: string): string {
  return text.replace(/[.?!…,;:\s]+$/, '');
}
