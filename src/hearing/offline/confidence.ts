import { mean } from '../../lib/mean.ts';

/**
 * The confidence of a word by itself. It grows with the mean log-probability of its tokens and with the share of the
 * other likely texts that contain them. The mean of the tokens tells more than their minimum: a rare word has several
 * tokens, and one of them is often unsure although the word is right. The numbers were fitted to every second telephone
 * prompt (plain, through GSM and in noise), so that four of five words with 0.8 are right. `npm run bench -- hearing`
 * shows it for the other half, and for speech that nothing was fitted to.
 */
export function confidenceOfWord(
  logProbabilities: readonly number[],
  shares: readonly number[],
): number {
  if (shares.length === 0) return Math.exp(Math.min(...logProbabilities));
  const doubt = Math.max(0, -mean(logProbabilities));
  const shared = mean(shares.map((share) => Math.log(Math.max(leastShare, share))));
  return logistic(1.62 - 0.815 * Math.log(leastDoubt + doubt) + 1.37 * shared);
}

const leastShare = 0.0025;
/** A doubt below this value, in nats per token, makes a word no surer. */
const leastDoubt = 0.003;

/** The facts about a word after all readings of its piece. */
export type WordInPiece = {
  /** The confidence of this word alone. */
  alone: number;
  /** The lowest confidence among this word and its neighbours. */
  around: number;
  /** True if the first reading contained the word, too. Undefined if the piece was not read again. */
  agreed: boolean | undefined;
  /** The model's confidence in the whole piece: its mean log-probability. */
  mean: number;
};

/** This many words on each side of a word are its neighbours. */
export const neighbours = 4;

/**
 * The confidence of a word among the others of its piece. In noise, or with a voice that it hardly understands, the
 * model guesses, and a single guessed word can look sure. The text as a whole tells more, since a wrong word seldom
 * comes alone. The function is logistic, of five numbers and a constant. It was fitted by maximum likelihood to the
 * even half of the telephone prompts (`npm run bench -- hearing`), plain, through GSM and in noise, and chosen among
 * others by dividing that half in ten. Area under the curve: 0.860 for the half itself (4,930 words), 0.851 for the
 * other half through GSM (1,275 words), 0.853 for voices that nothing was tuned to, plain and in noise (1,260 words).
 */
export function confidenceInPiece({ alone, around, agreed, mean: ofPiece }: WordInPiece): number {
  const again = agreed === undefined ? 0 : agreed ? 0.287 : -0.444;
  const asAWhole = -2.115 * Math.sqrt(Math.max(0, -ofPiece));
  return logistic(
    0.865 + 0.774 * surenessOf(alone) + 0.338 * surenessOf(around) + again + asAWhole,
  );
}

/** A word's own confidence is limited to this value, so that the other words always count. */
const mostSureness = 6;

export function surenessOf(confidence: number): number {
  const sureness = Math.log(confidence / (1 - confidence));
  return Math.max(-mostSureness, Math.min(mostSureness, sureness));
}

export function logistic(sureness: number): number {
  return 1 / (1 + Math.exp(-sureness));
}
