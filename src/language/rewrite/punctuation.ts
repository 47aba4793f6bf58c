import { findEntities } from '../entities/find-entities.ts';
import { looksLikeQuestion } from '../summary/clauses.ts';

const names =
  /^(?:NAME|NAME_GIVEN|NAME_FAMILY|NAME_MEDICAL_PROFESSIONAL|ORGANIZATION|ORGANIZATION_MEDICAL_FACILITY|LOCATION_CITY|LOCATION_STATE|LOCATION_COUNTRY|LOCATION_ADDRESS|LOCATION_ADDRESS_STREET|LOCATION)$/;

/** Words that start a new sentence in speech without marks, once the sentence before is long enough. */
const starters =
  /\s(?=(?:okay|ok|alright|thank you|thanks|hello|sorry|please|yes|no|yeah|so|but|and then|and|because)\s+(?:um\s+|uh\s+)*(?:i|i'm|i'll|i've|i'd|we|we'll|we're|you|you'll|you're|they|they're|he|she|it|it's|that's|there's|there is|my|your|let me|can|could|is|are|do|what|when|how|if|the)\b|(?:can|could|would|do|did|will|what|how|when|where|why)\s+(?:you|i|we)\b)/i;
const shortest = 7;

/** Adds sentences, capitals and marks to a text that has none. A text with marks is left as it is. */
export function punctuate(text: string): string {
  if (/[.!?…。]/u.test(text) || !/[a-z]/i.test(text)) return text;
  const lead = /^\s*/.exec(text)?.[0] ?? '';
  return lead + sentencesIn(withNames(text.trim())).map(finish).join(' ');
}

function withNames(text: string): string {
  let out = '';
  let at = 0;
  for (const span of findEntities(text)) {
    if (!names.test(span.type)) continue;
    out +=
      text.slice(at, span.start) +
      span.text.replace(
        /(^|[\s-])(\p{Ll})(?!\p{Ll}{0,2}(?:\s|$)(?=(?:of|the|and)\b))/gu,
        (_, before: string, letter: string) => before + letter.toUpperCase(),
      );
    at = span.end;
  }
  return (out + text.slice(at)).replace(/\bi(?=\b(?:'|\s|$))/g, 'I');
}

function sentencesIn(text: string): string[] {
  const sentences: string[] = [];
  for (const piece of text.split(starters)) {
    const last = sentences.at(-1);
    if (last !== undefined && last.split(/\s+/).length < shortest)
      sentences[sentences.length - 1] = `${last} ${piece}`;
    else sentences.push(piece);
  }
  return sentences;
}

function finish(sentence: string): string {
  const start = sentence.slice(0, 1).toUpperCase() + sentence.slice(1).replace(/[,;:\s-]+$/, '');
  return (
    start +
    (looksLikeQuestion(sentence.replace(/^(?:okay|ok|so|and|but|um|uh|alright)\s+/i, ''))
      ? '?'
      : '.')
  );
}
