/**
 * How sure a word is. It is as sure as its least sure token, because the sure rest of a long word would hide a wrong
 * beginning; and the surer, the more of the other likely texts hold it. The three numbers were fitted to every second
 * one of the telephone prompts, plain, through GSM and in noise, so that of words with 0.8 four of five are right
 * (`npm run bench -- hearing` shows it for the other half, and for speech that nothing was fitted to).
 */
export function confidenceOfWord(
  logProbabilities: readonly number[],
  shares: readonly number[],
): number {
  const least = Math.min(...logProbabilities);
  if (shares.length === 0) return Math.exp(least);
  const share = Math.max(leastShare, Math.min(...shares));
  const sureness = 5.08 - 3.14 * Math.sqrt(Math.max(0, -least)) + 1.63 * Math.log(share);
  return 1 / (1 + Math.exp(-sureness));
}

const leastShare = 0.0025;

/** What is known of a word when the readings of its piece are done. */
export type WordInPiece = {
  /** As sure as the word by itself is. */
  alone: number;
  /** Whether the first reading held the word, too, where the piece was read again; undefined where it was not. */
  agreed: boolean | undefined;
  /** How sure the model is of the piece as a whole: its mean log-probability. */
  mean: number;
};

/**
 * How sure a word is among the others of its piece. A word by itself can look sure in a piece that was guessed: in noise,
 * or by a voice that the model hardly understands, the text as a whole tells more. A logistic function of four numbers
 * and a constant, fitted by maximum likelihood to the even half of the telephone prompts (`npm run bench -- hearing`),
 * plain, through GSM and in noise. Area under the curve before and after: 0.807 and 0.841 for voices that nothing was
 * tuned to (1,260 words, plain and in noise), 0.847 and 0.850 for the half itself, 0.860 and 0.846 for the other half
 * through GSM (1,275 words).
 */
export function confidenceInPiece({ alone, agreed, mean }: WordInPiece): number {
  const own = Math.log(alone / (1 - alone));
  const again = agreed === undefined ? 0 : agreed ? 0.14 : -0.39;
  const sureness = 1.88 + 0.72 * own + again - 2.56 * Math.sqrt(Math.max(0, -mean));
  return 1 / (1 + Math.exp(-sureness));
}
