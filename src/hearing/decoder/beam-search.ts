import { commonIndexes } from '../common-indexes.ts';
import { likeliest, logProbability, type LogProbabilities } from './log-probabilities.ts';
import type { BiasState, VocabularyBias } from './vocabulary-bias.ts';

/** What a model says after some tokens. `attention` is what it pays to each frame of the audio meanwhile, if known. */
export type NextToken = LogProbabilities & { attention?: Float32Array | undefined };

/** A model that writes one token after the other. It keeps what it computed for the beams of the last step. */
export type Steps = {
  /** What comes first. */
  first(): NextToken;
  /**
   * Reads tokens at once, where the model can: what comes first, and what comes after each of them. How likely each of the
   * tokens was is known, too, whether it is one of the likeliest or not.
   */
  after?(tokens: readonly number[]): NextToken[];
  /** Forgets all but so many of these tokens. */
  keep?(count: number): void;
  /** What comes after each of these beams. A beam is one of the last step, by its index, and one more token. */
  next(beams: readonly { parent: number; token: number }[]): NextToken[];
};

export type BeamOptions = {
  /** How many texts are followed at once; 1 takes the likeliest token at each step. */
  width: number;
  /** A text that has not ended after so many tokens is cut. */
  mostTokens: number;
  endToken: number;
  /** The text goes on after these tokens, which are known: they were read before, with the audio before. */
  given?: readonly number[] | undefined;
  /**
   * What an earlier reading of nearly the same audio wrote. Its tokens are read at once, and those that this reading
   * would have written as well are taken over, so the text is the same and each of them saves a step. Needs a width of 1.
   */
  draft?: readonly number[] | undefined;
  /**
   * Whether a token that looks at the audio like this is the last that is wanted, whatever comes after it. Needs a width
   * of 1.
   */
  enough?: ((attention: Float32Array) => boolean) | undefined;
  /** The bonus for words that are expected. */
  bias?: VocabularyBias | undefined;
  /** The sum of log-probabilities is divided by this power of the length: otherwise short texts would always win. */
  lengthPower?: number;
};

/** One text, with the log-probability of each of its tokens; the token of the end is the last where it came. */
export type Hypothesis = {
  tokens: readonly number[];
  logProbabilities: readonly number[];
  /** What was paid to each frame for each token, where the model tells it. */
  attention: readonly (Float32Array | undefined)[];
  ended: boolean;
  /** The log-probabilities of the tokens that were given: low ones say that the audio does not begin with them. */
  given: readonly number[];
  /** For each token the share of the likely texts that hold it, too, each counted by how likely it is. */
  shared: readonly number[];
};

const usualLengthPower = 0.5;
/**
 * An open text that is so many nats below the best ended one is not worth another step. Where as many have ended as
 * there are beams, every open text that is below the best is not.
 */
const hopeless = 2;
/** A text that is so far behind the likeliest at the same length is not followed: it hardly ever comes back. */
const farBehind = 4;

type Beam = Omit<Hypothesis, 'given' | 'shared'> & { sum: number; bias: BiasState | undefined };
type Candidate = {
  parent: number;
  token: number;
  sum: number;
  logProbability: number;
  bias: BiasState | undefined;
};

/**
 * The likeliest text that a model writes. Several texts are followed at once, because the likeliest first token can
 * lead to an unlikely text: a greedy reading then repeats itself or loses words.
 */
export function beamSearch(steps: Steps, options: BeamOptions): Hypothesis {
  const { beam, given, ...begin } = begun(steps, options);
  let open: Beam[] = [beam];
  let { said } = begin;
  const ended: Beam[] = [];
  while (open.length > 0) {
    const candidates = open.flatMap((beam, parent) =>
      candidatesAfter(beam, parent, said[parent], options),
    );
    candidates.sort((a, b) => b.sum - a.sum);
    const likeliestSum = candidates[0]?.sum ?? 0;
    const going: { beam: Beam; parent: number; token: number }[] = [];
    for (const candidate of candidates) {
      if (going.length === options.width || candidate.sum < likeliestSum - farBehind) break;
      const { parent, token } = candidate;
      const beam = grown(
        open[parent],
        candidate,
        said[parent]?.attention,
        token === options.endToken,
      );
      if (beam.ended) ended.push(beam);
      else going.push({ beam, parent, token });
    }
    open = going.map(({ beam }) => beam);
    const looksAt = open[0]?.attention.at(-1);
    if (looksAt && options.enough?.(looksAt)) break;
    const best = Math.max(...ended.map(({ sum }) => sum));
    const hope = open[0]?.sum ?? -Infinity;
    if (hope < (ended.length >= options.width ? best : best - hopeless)) break;
    if ((open[0]?.tokens.length ?? 0) >= options.mostTokens) break;
    if (going.length > 0) said = steps.next(going);
  }
  const chosen = ended.length > 0 ? ended : open;
  const best = likeliestOf(chosen, options.lengthPower ?? usualLengthPower);
  return { ...best, given, shared: sharesOf(best.tokens, [...ended, ...open]) };
}

type Begun = { beam: Beam; said: NextToken[]; given: readonly number[] };

/** The text so far: nothing, or what of the draft holds. */
function begun(
  steps: Steps,
  { given: known = [], draft = [], bias, endToken }: BeamOptions,
): Begun {
  const empty = { tokens: [], logProbabilities: [], attention: [], ended: false, sum: 0 };
  const beam = { ...empty, bias: bias?.start };
  const given: number[] = [];
  const hoped = bias ? [] : draft;
  if (steps.after && steps.keep && known.length + hoped.length > 0) {
    const said = steps.after([...known, ...hoped]);
    for (const [at, token] of known.entries()) given.push(logProbabilityOf(said[at], token));
    const told = said.slice(known.length);
    const differs = hoped.findIndex(
      (token, at) => token === endToken || likeliestOfOne(told[at]) !== token,
    );
    const tokens = differs < 0 ? hoped : hoped.slice(0, differs);
    steps.keep(known.length + tokens.length);
    const logProbabilities = tokens.map((token, at) => logProbabilityOf(told[at], token));
    const attention = tokens.map((_, at) => told[at]?.attention);
    const sum = logProbabilities.reduce((total, one) => total + one, 0);
    const last = told[tokens.length];
    return {
      beam: { ...beam, tokens, logProbabilities, attention, sum },
      said: last ? [last] : [],
      given,
    };
  }
  let said = [steps.first()];
  for (const token of known) {
    given.push(logProbabilityOf(said[0], token));
    said = steps.next([{ parent: 0, token }]);
  }
  return { beam, said, given };
}

function logProbabilityOf(said: NextToken | undefined, token: number): number {
  return said ? logProbability(said, token) : -Infinity;
}

function likeliestOfOne(said: NextToken | undefined): number | undefined {
  return said && likeliest(said, 1)[0];
}

function candidatesAfter(
  beam: Beam,
  parent: number,
  said: NextToken | undefined,
  { width, bias }: BeamOptions,
): Candidate[] {
  if (!said) return [];
  const tokens = new Set(likeliest(said, width + 1));
  if (bias && beam.bias) for (const token of bias.continuing(beam.bias, said)) tokens.add(token);
  const candidates = Array.from(tokens, (token): Candidate => {
    const own = logProbability(said, token);
    if (!bias || !beam.bias)
      return { parent, token, sum: beam.sum + own, logProbability: own, bias: undefined };
    const { state, change } = bias.after(beam.bias, token, own);
    return { parent, token, sum: beam.sum + own + change, logProbability: own, bias: state };
  });
  return candidates
    .filter(({ sum }) => sum > -Infinity)
    .sort((a, b) => b.sum - a.sum)
    .slice(0, width + 1);
}

function grown(
  beam: Beam | undefined,
  { token, logProbability, sum, bias }: Candidate,
  attention: Float32Array | undefined,
  ended: boolean,
): Beam {
  return {
    tokens: [...(beam?.tokens ?? []), token],
    logProbabilities: [...(beam?.logProbabilities ?? []), logProbability],
    attention: [...(beam?.attention ?? []), attention],
    ended,
    sum,
    bias,
  };
}

function likeliestOf(
  beams: readonly Beam[],
  lengthPower: number,
): Omit<Hypothesis, 'given' | 'shared'> {
  const none = { tokens: [], logProbabilities: [], attention: [], ended: false };
  let best: Omit<Hypothesis, 'given' | 'shared'> = none;
  let most = -Infinity;
  for (const beam of beams) {
    const score = beam.sum / Math.max(1, beam.tokens.length) ** lengthPower;
    if (score <= most) continue;
    most = score;
    best = beam;
  }
  const { tokens, logProbabilities, attention, ended } = best;
  return { tokens, logProbabilities, attention, ended };
}

/** How much of the likelihood of all texts lies on those that hold each token of one of them. */
function sharesOf(tokens: readonly number[], texts: readonly Beam[]): number[] {
  const most = Math.max(...texts.map(({ sum }) => sum));
  const shares = tokens.map(() => 0);
  let total = 0;
  for (const text of texts) {
    const weight = Math.exp(text.sum - most);
    total += weight;
    for (const index of commonIndexes(tokens, text.tokens))
      shares[index] = (shares[index] ?? 0) + weight;
  }
  return shares.map((share) => share / total);
}
