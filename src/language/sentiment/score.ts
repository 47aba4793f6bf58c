import {
  courtesies,
  irritations,
  sentimentLexicon,
  sentimentPatterns,
} from '../data/sentiment-lexicon.ts';
import type { Emotion } from '../../protocol/addons.ts';
import { isCommon } from '../entities/gazetteer.ts';
import type { SentimentScore } from '../types.ts';
import { isExempt } from './exempt.ts';
import { leaningOf } from './leaning.ts';

type LexiconEntry = { value: number; emotion: Emotion };

type LexiconNode = {
  next: Map<string, LexiconNode>;
  stems: [string, LexiconNode][];
  entry?: LexiconEntry;
};

/** The lexicon as a tree of words. Finding the longest phrase at a word takes as many steps as the phrase has words. */
const root: LexiconNode = { next: new Map(), stems: [] };

for (const line of sentimentLexicon.split('\n')) {
  const [phrases, value, emotion] = line.split('|').map((part) => part.trim());
  if (!phrases || !emotion) continue;
  for (const phrase of phrases.split(',')) {
    let node = root;
    for (const word of phrase.trim().split(/[\s-]+/)) {
      let next = node.next.get(word);
      if (!next) node.next.set(word, (next = { next: new Map(), stems: [] }));
      node = next;
    }
    // The first entry of a phrase wins: strong groups stand before weak ones.
    node.entry ??= { value: Number(value), emotion: emotion as Emotion };
  }
}

function entryAt(
  words: readonly string[],
  i: number,
): { entry: LexiconEntry; end: number } | undefined {
  let node: LexiconNode | undefined = root;
  let found: { entry: LexiconEntry; end: number } | undefined;
  for (let at = i; at < words.length; at++) {
    node = node.next.get(words[at] ?? '');
    if (!node) break;
    if (node.entry) found = { entry: node.entry, end: at + 1 };
  }
  return found;
}

const negators = new Set(
  "not no never n't nor neither hardly barely scarcely without cannot cant dont doesnt didnt isnt wasnt wont couldnt nothing nobody none".split(
    ' ',
  ),
);
const boosters = new Set(
  'very really so extremely absolutely totally completely utterly incredibly super truly such deeply terribly highly particularly seriously genuinely'.split(
    ' ',
  ),
);
const contrasts =
  /\b(?:but|though|although|however|yet|except|unfortunately|sadly|only|while|whereas|still|despite|shame|pity|which is|which was)\b/g;
const contrastWord =
  /^(?:but|though|although|however|yet|except|unfortunately|sadly|while|whereas|despite)$/;
const fillers = new Set(
  'um uh er erm uhm hmm mm ah like just well i mean you know'.split(' ').slice(0, 9),
);

/** The score of a text that is empty or in an unknown language. */
export const unknownSentiment: SentimentScore = { label: 'unknown', emotion: 'neutral' };

/**
 * Scores one sentence without the rest of the call. Neutral: information, requests, a problem stated without judgement,
 * courtesies. Negative: anger, worry, blame, a bad judgement, sarcasm by its meaning. Positive: praise, relief, more
 * than formal thanks. Mixed: a good and a bad judgement in one sentence.
 */
export function scoreSentiment(sentence: string): SentimentScore {
  // A label needs only a few seconds of speech. The cut bounds the cost of the patterns on any input.
  const plain = normalize(withoutNames(sentence.slice(0, 1_500)));
  if (!isEnglish(plain)) return unknownSentiment;
  const kept = courtesies
    .reduce((text, phrase) => text.replace(phrase, ' , '), plain)
    .replace(/\s+/g, ' ')
    .trim();
  const tally = new Tally(contrastsOf(kept));
  for (const [pattern, value, emotion] of sentimentPatterns) {
    const match = value === 0 ? null : pattern.exec(kept);
    if (match) tally.add(value, emotion, match.index);
  }
  weighWords(kept, tally);
  let irritation = isShouted(sentence) ? 0.6 : 0;
  for (const [pattern, weight] of irritations) if (pattern.test(kept)) irritation += weight;
  tally.irritate(irritation);
  const heard = tally.label(kept);
  const words = kept.match(/[\p{L}']+/gu)?.length ?? 0;
  if (heard.label !== 'neutral' || words < fewestWords || acknowledgement.test(plain)) return heard;
  // The lexicon found nothing, but the counted examples may still lean one way.
  const leaning = leaningOf(kept);
  if (leaning === 'negative') return { label: leaning, emotion: 'disappointment' };
  return leaning === 'positive' ? { label: leaning, emotion: 'contentment' } : heard;
}

/** Shorter sentences say nothing by their wording: "This is Sam", "No, that's all". */
const fewestWords = 6;

/**
 * Removes names, which express no feeling even if their words do: "This is Joy Payne", "Good Hope Clinic, how may I
 * help?".
 */
function withoutNames(sentence: string): string {
  const kept = sentence
    .replace(
      /\b([Tt]his is|[Nn]ame is|[Nn]ame's|[Ss]peaking (?:with|to|for)|[Tt]hrough to|[Cc]alling|[Ii]t's (?=M))((?: (?:Mrs?|Ms|Dr)\.?)?(?: \p{Lu}[\p{Ll}'-]+){1,3})(?=[\s,.!?]|$)/gu,
      '$1 ,',
    )
    .replace(/^\p{Lu}[\p{Ll}']+(?: (?:and|of|\p{Lu}[\p{Ll}']+)){0,3} \p{Lu}[\p{Ll}']+(?=,)/u, '');
  return /\p{L}{2}/u.test(kept) ? kept : sentence;
}

/** True if at least two words of four or more letters are in capitals. */
function isShouted(sentence: string): boolean {
  return (sentence.match(/\b[A-Z]{4,}\b/g)?.length ?? 0) >= 2;
}

/** Positions of "but" and similar words. Each side is weighed alone. */
function contrastsOf(text: string): number[] {
  return [...text.matchAll(contrasts)].map((match) => match.index);
}

function normalize(text: string): string {
  const words = text
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/s'(?=\s|$)/g, 's')
    .replace(/[^\p{L}\p{N}'.,!?%-]+/gu, ' ')
    .replace(/\s*([.,!?]+)/g, ' $1 ')
    .trim()
    .split(/\s+/)
    .filter((word) => !fillers.has(word) || word === 'like' || word === 'just');
  // A stutter counts once: "i'm i'm", "no no", "so so much". A repeated pair of words stays, since it may be emphasis.
  const kept: string[] = [];
  for (const word of words) if (word !== kept.at(-1)) kept.push(word);
  return kept.join(' ').replace(/ ([.,!?]+)/g, '$1');
}

/** True if enough words are known English. One or two words in Latin letters count as English. */
function isEnglish(text: string): boolean {
  const words = text.match(/[\p{L}']+/gu) ?? [];
  if (words.length === 0) return false;
  const latin = words.filter((word) => /^[a-z'à-ÿ]+$/.test(word));
  if (latin.length * 2 < words.length) return false;
  if (latin.length < 3) return true;
  const known = latin.filter((word) => isCommon(word) || entryAt([word], 0) !== undefined).length;
  return known * 5 >= latin.length * 2;
}

function weighWords(text: string, tally: Tally): void {
  const words = text
    .replace(/([.,!?]+)/g, ' $1 ')
    .replaceAll('-', ' ')
    .trim()
    .split(/\s+/);
  const places: number[] = [];
  let place = 0;
  for (const word of words) {
    place = Math.max(place, text.indexOf(word, place));
    places.push(place);
    place += word.length;
  }
  for (let i = 0; i < words.length; i++) {
    const found = entryAt(words, i);
    if (!found) continue;
    const { entry, end } = found;
    let value = entry.value;
    const isPhrase = end - i > 1;
    if (!isExempt(words, i, end)) {
      if (isBoosted(words, i)) value *= 1.4;
      if (!(isPhrase && startsNegated(words[i] ?? '')) && isNegated(words, i))
        // "not good" is bad. "not terrible" is hardly praise, and "never disappointed" has its own entry.
        value = value > 0 ? -Math.max(1.2, value * 0.8) : Math.abs(value) >= 2 ? 0.5 : 0.8;
      tally.add(value, entry.emotion, places[i] ?? 0);
    }
    i = end - 1;
  }
}

function startsNegated(word: string): boolean {
  return /(?:n't|not|no|never|cannot|couldn't|without)$/.test(word);
}

function isBoosted(words: readonly string[], i: number): boolean {
  return boosters.has(words[i - 1] ?? '') || boosters.has(words[i - 2] ?? '');
}

/** True if a "not" is among the four words before, in the same clause. */
function isNegated(words: readonly string[], i: number): boolean {
  for (let at = i - 1; at >= Math.max(0, i - 4); at--) {
    const word = words[at] ?? '';
    if (/^[.,!?]/.test(word) || contrastWord.test(word) || word === 'and' || word === 'because')
      return false;
    if (word === 'only' || word === 'just') continue;
    // "never felt so humiliated" strengthens the word instead of negating it.
    if (
      word === 'never' &&
      words.slice(at + 1, i).some((between) => /^(?:so|such|anything|more)$/.test(between))
    )
      return false;
    if (word === 'no' && at < i - 2) continue;
    if (negators.has(word) || word.endsWith("n't"))
      return !(word === 'no' && at === 0 && words[at + 1] === ',') && words[at + 1] !== 'only';
    if (
      /^(?:that|which|who|if|i|you|it|he|she|they)$/.test(word) &&
      at < i - 1 &&
      !negators.has(words[at - 1] ?? '')
    )
      continue;
  }
  return false;
}

const acknowledgement =
  /^(?:(?:oh|okay|ok|alright|right|yes|yeah|yep|um|ah|great|perfect|good|lovely|brilliant|excellent|wonderful|fantastic|super|awesome|cool|nice|fine|sure|thanks|thank you|cheers|then|that's|that works|sounds|so|got it|i see|very well|bye|no|nope|great stuff|works for me|for me|me|works)[,.! ]*)+$/;

class Tally {
  #good = 0;
  #bad = 0;
  readonly #contrasts: readonly number[];
  readonly #clauses: { good: number; bad: number }[];
  #strongest: { size: number; emotion: Emotion } = { size: 0, emotion: 'neutral' };
  #strongestBad: { size: number; emotion: Emotion } = { size: 0, emotion: 'disappointment' };

  constructor(contrasts: readonly number[]) {
    this.#contrasts = contrasts;
    this.#clauses = Array.from({ length: contrasts.length + 1 }, () => ({ good: 0, bad: 0 }));
  }

  add(value: number, emotion: Emotion, place: number): void {
    const before = this.#contrasts.findIndex((contrast) => contrast > place);
    const clause = this.#clauses.at(before);
    if (!clause) return;
    if (value > 0) {
      this.#good += value;
      clause.good += value;
    } else {
      this.#bad -= value;
      clause.bad -= value;
      if (-value > this.#strongestBad.size)
        this.#strongestBad = {
          size: -value,
          emotion: isBadEmotion(emotion) ? emotion : 'disappointment',
        };
    }
    if (Math.abs(value) > this.#strongest.size)
      this.#strongest = { size: Math.abs(value), emotion };
  }

  /** Adds a sign of irritation. Such signs count only together, and only without a good word. */
  irritate(weight: number): void {
    if (weight < 0.95 || this.#good >= 1) return;
    this.#bad += weight;
    const clause = this.#clauses[0];
    if (clause) clause.bad += weight;
    if (this.#strongestBad.size < 1) this.#strongestBad = { size: 1, emotion: 'anger' };
  }

  label(text: string): SentimentScore {
    const isContrasted = this.#contrasts.length > 0;
    const weak = 0.55;
    // Plain problem words do not add up to a judgement: at least one word must judge by itself.
    if (this.#strongestBad.size < 1 && !(isContrasted && this.#good >= 1))
      this.#bad = Math.min(this.#bad, 0.9);
    const goodSide = this.#clauses.some(
      (clause) => clause.good > clause.bad && clause.good >= weak,
    );
    const badSide = this.#clauses.some((clause) => clause.bad > clause.good && clause.bad >= weak);
    if (isContrasted && goodSide && badSide && Math.max(this.#good, this.#bad) >= 1)
      return { label: 'mixed', emotion: this.#strongestBad.emotion };
    if (this.#bad >= 1 && this.#bad >= this.#good * 0.8)
      return { label: 'negative', emotion: this.#strongestBad.emotion };
    if (this.#good >= 1.2 && this.#good > this.#bad) {
      if (
        acknowledgement.test(text) &&
        !/^(?:excellent|fantastic|amazing|wonderful|awesome|brilliant)!+$/.test(text)
      )
        return { label: 'neutral', emotion: 'neutral' };
      return {
        label: 'positive',
        emotion: isBadEmotion(this.#strongest.emotion) ? 'contentment' : this.#strongest.emotion,
      };
    }
    if (this.#bad >= 1) return { label: 'negative', emotion: this.#strongestBad.emotion };
    return { label: 'neutral', emotion: 'neutral' };
  }
}

function isBadEmotion(emotion: Emotion): boolean {
  return /^(?:anger|confusion|contempt|disappointment|disgust|distress|embarrassment|fear|pain|sadness|negative_surprise)$/.test(
    emotion,
  );
}
