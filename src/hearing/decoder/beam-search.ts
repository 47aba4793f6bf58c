import { commonIndexes } from '../common-indexes.ts';
import { likeliest, logProbability, type LogProbabilities } from './log-probabilities.ts';

/**
 * The model's answer after some tokens. `attention` is the weight that the model gave to each frame of the audio, if
 * known.
 */
export type NextToken = LogProbabilities & { attention?: Float32Array | undefined };

/** A model that writes one token after the other. It keeps what it computed for the beams of the last step. */
export type Steps = {
  /** The probabilities of the first token. */
  first(): NextToken;
  /**
   * Reads several tokens in one run, if the model can. Returns the probabilities before the first token and after each
   * one. The probability of a given token is known even if it is not among the likeliest.
   */
  after?(tokens: readonly number[]): NextToken[];
  /** Keeps the first `count` of the tokens read by `after`, and forgets the rest. */
  keep?(count: number): void;
  /**
   * Returns the probabilities after each of these beams. A beam is the index of a beam of the last step, with one more
   * token.
   */
  next(beams: readonly { parent: number; token: number }[]): NextToken[];
};

/** Changes the likelihood of texts. The search keeps one opaque state of this bias for each text. */
export type TokenBias = {
  readonly start: object;
  /** Returns tokens that the search should consider after this state, besides the likeliest ones. */
  continuing(state: object, said: LogProbabilities): number[];
  /** Returns the state after one more token, and how much this token changes the sum of the text. */
  after(state: object, token: number, logProbability: number): { state: object; change: number };
};

export type BeamOptions = {
  /** The search follows this many texts at once; 1 takes the likeliest token at each step. */
  width: number;
  /** A text with more tokens than this is cut. */
  mostTokens: number;
  endToken: number;
  /** Tokens with which the text must begin. They are known from an earlier reading, together with their audio. */
  given?: readonly number[] | undefined;
  /**
   * The tokens of an earlier reading of nearly the same audio. The search checks them in one run and keeps those it
   * would have written itself. The text does not change, and each kept token saves a step. Needs a width of 1.
   */
  draft?: readonly number[] | undefined;
  /** Returns true if a token with this attention is the last one wanted. Needs a width of 1. */
  enough?: ((attention: Float32Array) => boolean) | undefined;
  /** A bonus for expected words, or a price for others. */
  bias?: TokenBias | undefined;
  /** The sum of log-probabilities is divided by this power of the length. Otherwise short texts would always win. */
  lengthPower?: number;
};

/** One text with the log-probability of each token. If the text has ended, its last token is the end token. */
export type Hypothesis = {
  tokens: readonly number[];
  logProbabilities: readonly number[];
  /** For each token, its attention to each frame, if the model provides it. */
  attention: readonly (Float32Array | undefined)[];
  ended: boolean;
  /** The log-probabilities of the given tokens. Low values mean that the audio does not begin with them. */
  given: readonly number[];
  /** For each token, the share of the likely texts that contain it, weighted by their likelihood. */
  shared: readonly number[];
};

const usualLengthPower = 0.5;
/**
 * An open text is dropped if it is this many nats below the best ended text. Once as many texts have ended as there are
 * beams, every open text below the best ended one is dropped.
 */
const hopeless = 2;
/** A text this many nats below the likeliest text of the same length is dropped, because it hardly ever recovers. */
const farBehind = 4;

type Beam = Omit<Hypothesis, 'given' | 'shared'> & { sum: number; bias: object | undefined };
type Candidate = {
  parent: number;
  token: number;
  sum: number;
  logProbability: number;
  bias: object | undefined;
};

/**
 * Finds the likeliest text. Several texts are followed at once, because the likeliest first token may lead to an
 * unlikely text. A greedy search then repeats itself or loses words.
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

/** The start of the search: an empty text, or the beginning of the draft that the model confirms. */
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

/** For each token of a text, the share of the likelihood of all texts that contain the token. */
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
