/**
 * The model's scores for the next token. The log-probability of a token is its score minus `norm`. Scores are not
 * normalised in advance, because most of them are never used.
 */
export type LogProbabilities = {
  /** Empty if only the likeliest tokens were requested. */
  scores: Float32Array;
  norm: number;
  /** The likeliest tokens with their log-probabilities, best first, if the model's graph selects them. */
  best?: ReadonlyMap<number, number>;
};

/**
 * A token this many nats below the best score is left out of the norm. All such tokens together change the norm by less
 * than 0.01, but their exponentials take nearly all of its time. The loops here use indexes, because iterators are
 * several times slower.
 */
const negligible = 13;

export function logProbabilitiesOf(scores: Float32Array): LogProbabilities {
  let best = -Infinity;
  for (let token = 0; token < scores.length; token++) {
    const score = scores[token] ?? -Infinity;
    if (score > best) best = score;
  }
  const least = best - negligible;
  let sum = 0;
  for (let token = 0; token < scores.length; token++) {
    const score = scores[token] ?? -Infinity;
    if (score > least) sum += Math.exp(score - best);
  }
  return { scores, norm: best + Math.log(sum) };
}

/**
 * The mean of several readings' probabilities for the same next token. If the readings disagree, the exponentials sum
 * to less than one, which expresses the doubt.
 */
export function meanOf(readings: readonly LogProbabilities[]): LogProbabilities {
  const [first, ...others] = readings;
  if (!first || others.length === 0) return first ?? { scores: new Float32Array(), norm: 0 };
  const scores = first.scores.slice();
  let norm = first.norm;
  for (const other of others) {
    norm += other.norm;
    for (let token = 0; token < scores.length; token++)
      scores[token] = (scores[token] ?? 0) + (other.scores[token] ?? -Infinity);
  }
  for (let token = 0; token < scores.length; token++)
    scores[token] = (scores[token] ?? 0) / readings.length;
  return { scores, norm: norm / readings.length };
}

export function logProbability({ scores, norm, best }: LogProbabilities, token: number): number {
  return best?.get(token) ?? (scores[token] ?? -Infinity) - norm;
}

/** The most probable tokens, best first. */
export function likeliest({ scores, best }: LogProbabilities, count: number): number[] {
  if (best && best.size >= count) return [...best.keys()].slice(0, count);
  const tokens: number[] = [];
  let least = -Infinity;
  for (let token = 0; token < scores.length; token++) {
    const score = scores[token] ?? -Infinity;
    if (tokens.length === count && !(score > least)) continue;
    let at = tokens.length;
    while (at > 0 && (scores[tokens[at - 1] ?? 0] ?? -Infinity) < score) at--;
    tokens.splice(at, 0, token);
    if (tokens.length > count) tokens.pop();
    least = scores[tokens.at(-1) ?? 0] ?? -Infinity;
  }
  return tokens;
}
