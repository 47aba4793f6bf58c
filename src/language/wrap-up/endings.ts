const refuses =
  /\b(?:i can't (?:refund|do|change|help|see|give|cancel)|we can't|cannot|can't be|unable to|nothing (?:i|we|else) can|not possible|don't do|doesn't do|i'm afraid (?:not|the|that|tickets|we|there)|that's a no|so i can't)\b/i;
const undecided =
  /\b(?:(?:need|have|want|like) to think|think about it|think it over|ask (?:the|my) (?:wife|husband|partner|boss)|get back to you|let you know|i'll call you|i'll ring you)\b/i;
const transfers = /\b(?:transfer you|put you through|pop you through|connect you|pass you (?:over|on))\b/i; // prettier-ignore
const works =
  /\b(?:(?:it|that|everything) works(?: now)?|it's working|i'm in(?= now|[.,!]|$)|that's me in|it's (?:back|come back|fine now)|looks (?:normal|good|fine)|(?:it's|that's) (?:fixed|sorted))\b/i;

/** The customer's word that what was wrong is right now. */
export function saysItWorks(text: string): boolean {
  return works.test(text);
}

/** "I'll put you through now" ends the call, and nobody waits for it. */
export function saysTransfer(text: string): boolean {
  return transfers.test(text);
}

/** The end of a call of which the words speak. */
export function endingOf(
  text: string,
  role: string,
): 'works' | 'transfer' | 'refusal' | 'undecided' | undefined {
  if (role === 'customer')
    return saysItWorks(text) ? 'works' : undecided.test(text) ? 'undecided' : undefined;
  return saysTransfer(text) ? 'transfer' : refuses.test(text) ? 'refusal' : undefined;
}
