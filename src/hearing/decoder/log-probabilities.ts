/**
 * What a model says of the next token: the log-probability of a token is its score less `norm`. The scores stay as the
 * model gave them, because most of them are never looked at.
 */
export type LogProbabilities = {
  /** Empty where the likeliest tokens are enough. */
  scores: Float32Array;
  norm: number;
  /** The likeliest tokens with their log-probabilities, the best first, where the model tells them itself. */
  best?: ReadonlyMap<number, number>;
};

/**
 * So many nats below the best score a token counts nothing: the thousands that are there change the norm by less than
 * 0.01. Their exponentials are nearly the whole price of a norm and are left out. The loops here count their way,
 * because iterators make them several times as dear.
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
 * The mean of what several readings say of the same next token. Its exponentials sum to less than one where the
 * readings contradict each other: such a token is less sure, and its log-probability says so.
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
