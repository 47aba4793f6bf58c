import { mean } from '../../lib/mean.ts';

/**
 * How sure a word is by itself: the surer, the likelier its tokens are on average, and the more of the other likely
 * texts hold them. The mean of the tokens tells more than the least of them: a rare word is written with several, of
 * which one is often doubted although the word is right. The numbers were fitted to every second one of the telephone
 * prompts, plain, through GSM and in noise, so that of words with 0.8 four of five are right (`npm run bench -- hearing`
 * shows it for the other half, and for speech that nothing was fitted to).
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
/** Below this a word is as sure as it can be, in nats for each token. */
const leastDoubt = 0.003;

/** What is known of a word when the readings of its piece are done. */
export type WordInPiece = {
  /** As sure as the word by itself is. */
  alone: number;
  /** The least sure by itself of this word and its neighbours. */
  around: number;
  /** Whether the first reading held the word, too, where the piece was read again; undefined where it was not. */
  agreed: boolean | undefined;
  /** How sure the model is of the piece as a whole: its mean log-probability. */
  mean: number;
};

/** So many words on each side of a word are its neighbours. */
export const neighbours = 4;

/**
 * How sure a word is among the others of its piece. A word by itself can look sure in a piece that was guessed: in noise,
 * or by a voice that the model hardly understands, the text as a whole tells more, and a wrong word seldom comes alone. A
 * logistic function of five numbers and a constant, fitted by maximum likelihood to the even half of the telephone
 * prompts (`npm run bench -- hearing`), plain, through GSM and in noise, and chosen among others by dividing that half
 * in ten. Area under the curve: 0.860 for the half itself (4,930 words), 0.851 for the other half through GSM (1,275
 * words), 0.853 for voices that nothing was tuned to, plain and in noise (1,260 words).
 */
export function confidenceInPiece({ alone, around, agreed, mean: ofPiece }: WordInPiece): number {
  const again = agreed === undefined ? 0 : agreed ? 0.287 : -0.444;
  const asAWhole = -2.115 * Math.sqrt(Math.max(0, -ofPiece));
  return logistic(
    0.865 + 0.774 * surenessOf(alone) + 0.338 * surenessOf(around) + again + asAWhole,
  );
}

/** No word is so sure or unsure that the others of its piece tell nothing. */
const mostSureness = 6;

export function surenessOf(confidence: number): number {
  const sureness = Math.log(confidence / (1 - confidence));
  return Math.max(-mostSureness, Math.min(mostSureness, sureness));
}

export function logistic(sureness: number): number {
  return 1 / (1 + Math.exp(-sureness));
}
