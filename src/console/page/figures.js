/** @import { Feeling, CallFigures, Party, Role, SpokenEntry } from './shapes.ts' */

/**
 * How a conversation goes, counted from its utterances while it is still going on. The server's own figures
 * replace these when the call has ended.
 */
const deadAirFromS = 3;
const interruptsFromS = 0.3;
const backchannelS = 0.7;

/**
 * @param {readonly SpokenEntry[]} utterances
 * @param {number} durationS
 * @param {readonly { start: number, end: number }[]} [hidden]
 * @returns {CallFigures}
 */
export function figuresOf(utterances, durationS, hidden = []) {
  const talk = { customer: 0, agent: 0 };
  const interruptions = { customer: 0, agent: 0 };
  const lastEnd = { customer: 0, agent: 0 };
  const deadAir = { total: 0, longest: 0, count: 0 };
  let at = 0;
  // Nobody knows what was said in a gap or a pause: it ends a silence as words do.
  /** @type {{ start: number, end: number, role?: Role }[]} */
  const stretches = [...utterances, ...hidden];
  const heard = stretches.sort((a, b) => a.start - b.start);
  for (const { role, start, end } of heard) {
    if (role === undefined || role === 'mixed') {
      addSilence(deadAir, start - at);
      at = Math.max(at, end);
      continue;
    }
    const other = role === 'customer' ? 'agent' : 'customer';
    talk[role] += Math.max(0, end - Math.max(start, lastEnd[role]));
    if (lastEnd[other] - start >= interruptsFromS && end - start >= backchannelS)
      interruptions[role]++;
    addSilence(deadAir, start - at);
    lastEnd[role] = Math.max(lastEnd[role], end);
    at = Math.max(at, end);
  }
  addSilence(deadAir, durationS - at);
  if (utterances.some(({ role }) => role === 'mixed'))
    return { talk: null, talk_ratio: null, interruptions: null, dead_air: deadAir };
  const all = talk.customer + talk.agent;
  /** @param {Party} role */
  const share = (role) => (all === 0 ? 0 : talk[role] / all);
  return {
    talk,
    talk_ratio: { customer: share('customer'), agent: share('agent') },
    interruptions,
    dead_air: deadAir,
  };
}

/**
 * @param {{ total: number, longest: number, count: number }} deadAir
 * @param {number} seconds
 */
function addSilence(deadAir, seconds) {
  if (seconds < deadAirFromS) return;
  deadAir.total += seconds;
  deadAir.longest = Math.max(deadAir.longest, seconds);
  deadAir.count++;
}

/** @type {Partial<Record<Feeling['sentiment'], number>>} */
const values = { positive: 1, neutral: 0, mixed: 0, negative: -1 };

/**
 * One point per sentence whose sentiment is known.
 * @param {readonly SpokenEntry[]} utterances
 * @param {Role} role
 */
export function sentimentCourse(utterances, role) {
  return utterances
    .filter((utterance) => utterance.role === role)
    .flatMap((utterance) => utterance.sentiments)
    .filter(({ sentiment }) => sentiment in values)
    .map(({ start, end, sentiment, emotion, text }) => ({
      start,
      text,
      at: (start + end) / 2,
      value: values[sentiment] ?? 0,
      sentiment,
      emotion,
    }));
}

/**
 * The feeling that weighs most in one utterance; undefined where there is none to show.
 * @param {readonly Feeling[]} sentiments
 */
export function moodOf(sentiments) {
  const known = sentiments.filter(({ sentiment }) => sentiment in values);
  const feelings = new Set(known.map(({ sentiment }) => sentiment));
  feelings.delete('neutral');
  if (feelings.size === 0) return undefined;
  const sentiment = feelings.size > 1 ? 'mixed' : [...feelings][0];
  const emotion = known.find((item) => item.sentiment === sentiment)?.emotion;
  return { sentiment, emotion: emotion === 'neutral' ? undefined : emotion };
}
