/** @import { Feeling, CallFigures, Party, Role, SpokenEntry } from './shapes.ts' */

/**
 * Talk figures of a running conversation, computed from its utterances. After the end the server's own figures replace
 * them.
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
  // Nobody knows what was said in a gap or a pause, so it ends a silence as words do.
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

/** @typedef {'positive' | 'neutral' | 'negative'} Mood */

/** @type {Partial<Record<string, Mood>>} */
const moods = { positive: 'positive', neutral: 'neutral', mixed: 'neutral', negative: 'negative' };
const heights = { positive: 1, neutral: 0, negative: -1 };

/**
 * One of the page's three moods for a sentiment; only the API has finer ones. Undefined if the sentiment is unknown.
 * @param {string | null | undefined} sentiment
 */
export function moodIn(sentiment) {
  return moods[sentiment ?? ''];
}

/**
 * The mood of a whole call for the list and the head of its page. A call that was angry and then friendly is mixed:
 * neutral would hide the anger.
 * @param {string | null | undefined} mood
 */
export function callMoodIn(mood) {
  return mood === 'mixed' ? mood : moodIn(mood);
}

/**
 * One point for each sentence whose sentiment is known.
 * @param {readonly SpokenEntry[]} utterances
 * @param {Role} role
 */
export function sentimentCourse(utterances, role) {
  return utterances
    .filter((utterance) => utterance.role === role)
    .flatMap((utterance) => utterance.sentiments)
    .flatMap(({ start, end, sentiment, text }) => {
      const mood = moodIn(sentiment);
      if (mood === undefined) return [];
      return [{ start, text, at: (start + end) / 2, value: heights[mood], mood }];
    });
}

/**
 * The mood of one utterance. Undefined if it is neutral, or if two moods contradict each other.
 * @param {readonly Feeling[]} sentiments
 */
export function moodOf(sentiments) {
  const found = new Set(sentiments.map(({ sentiment }) => moodIn(sentiment)));
  if (found.has('positive') === found.has('negative')) return undefined;
  return found.has('positive') ? 'positive' : 'negative';
}
