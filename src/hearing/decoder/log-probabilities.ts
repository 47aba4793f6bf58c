/**
 * The model's answer for the next token: the log-probability of a token is its score less `norm`. The scores stay as
 * the model gave them, because most of them are never looked at.
 */
export type LogProbabilities = {
  /** Empty where only the likeliest tokens were asked for. */
  scores: Float32Array;
  norm: number;
  /**
   * The likeliest tokens with their log-probabilities, the best first, where the model's graph already selects them.
   */
  best?: ReadonlyMap<number, number>;
};

/**
 * A token this many nats below the best score is left out of the norm. All such tokens together change the norm by less
 * than 0.01, and their exponentials are nearly the whole price of a norm. The loops here use indexes, because iterators
 * make them several times slower.
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
 * The mean of several readings' answers for the same next token. Where the readings contradict each other, the
 * exponentials sum to less than one: the token is less sure, and its log-probability says so.
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

/** The most probable tokens, the best first. */
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
