import { contentWords } from '../text/content.ts';
import type { SpokenTurn } from '../types.ts';
import { clausesOf, wordsIn, type Clause } from './clauses.ts';

/** A title has at most this many words. */
const mostWords = 8;
const mostWordsQuoted = 12;
/** The first turns of a chapter say what it is about. */
const turnsRead = 5;

const chatter =
  /\b(?:how (?:can|may) i help|what can i (?:do|help)|thanks? (?:you )?for calling|my name(?:'s| is)|this is|speaking|you've reached|you're talking to|anything else|sorry to hear|how are you|date of birth|good (?:morning|afternoon|evening)|bear with)\b|^(?:hi|hiya|hello|hey)\b|\b(?:here)[.?]$/i;

const introduction =
  /^(?:it's|this is|my name's|my name is|i'm) [\p{L}'-]+(?: [\p{L}'-]+)?(?:, | and | )(?=(?:i'm|i've|i|we|my|our)\b)/iu;

/** Words that people say before the matter itself. Each pattern ends where the matter begins. */
const leads: readonly RegExp[] = [
  /^(?:and|but|so|also|then|oh|well|now|right|um|uh|besides|anyway|by the way|yes|yeah|hi|hello)[, ]+/i,
  /^(?:while (?:i|we|you)(?:'ve| have|'re| are)? [^,]{2,30}|before i (?:forget|go)|one (?:more|other|last|quick) (?:thing|question|point)[^,:]{0,18}|the (?:next|other|second|last) (?:thing|question|point)(?: i wanted to ask| is| was)*|there's also|another (?:thing|question)(?: is)?|from my side|on (?:a|another) [a-z]+ note)[,: ]+/i,
  /^(?:i|we)(?:'ve| have|'m| am|'re| are|'d| would)?(?: (?:also|just|only|really|actually|still))* (?:want(?:ed)? to (?:ask|know|check|talk|hear)(?: you)?(?: about| if| whether)?|like to (?:ask|know|check)(?: about| if| whether)?|(?:been )?(?:calling|ringing|phoning)(?: you)?(?: about| because| regarding| to)?|(?:been )?(?:looking at|wondering (?:about|if|whether))|(?:can |could )?(?:see|noticed?)(?: (?:here )?that)?|need to (?:know|ask)(?: about| if)?|was (?:also )?wondering (?:about|if|whether))\b ?/i,
  /^i(?:'ve)? (?:just )?(?:got|had|received) an? (?:letter|email|e-mail|text|message|note) (?:that|which)? ?(?:says|said|saying) (?:that )?/i,
  /^(?:while|before) (?:i'm|i am|we're|you're|i've got you|i forget|you go) (?:on the (?:phone|line)|here|at it)?,? ?/i,
  /^(?:the |our |my )?[a-z]+(?: [a-z]+)? (?:also )?(?:noticed|told me|said|asked us(?: in [a-z]+)?)(?: that| whether| if)? /i,
  /^about (?=\w)/i,
  /^(?:(?:can|could|would|will) you (?:please |just )*(?:tell me|check|look|say|let me know)(?: if| whether| about)? |do you know (?:if|whether|when|where|how) |is it true that |what about |how about |what happens (?:to|with) |and what about )/i,
  /^(?:shall i|should i|shall we|can i|could i|may i|can we|could we|could you|can you|would you(?: also)? like (?:me )?(?:to)?|do you want (?:me )?to|do i (?:have|need) to|are you (?:ever )?(?:still )?(?:going to)?|do you(?: guys)? (?:have|do|offer)|did you|is there(?: also)?|are there|is|are|does|do)(?= )/i,
  /^(?:what (?:shall|should|do|can) i do with|how (?:do|can|shall) (?:i|we) (?:get|do)?|when (?:does|do|will|is|can)|what (?:time )?(?:is|are|does|will)|who|where (?:is|are|do|can) ?(?:i|we)?)(?= )/i,
  /^(?:i|we)(?:'ve| have|'d)?(?: (?:also|just|still|already|really))* (?:seen|lost|need(?:ed)?|want(?:ed)?|would like|like|got|had|have|got|paid for|booked|ordered|bought|received|get|trying)(?: to)?(?= )/i,
  /^(?:i'm|i am|we're|we are)(?: (?:also|just|still|really))* (?:(?:going to|trying to|looking (?:for|to)|interested in|hoping to|having)(?= )|(?=\w+ing\b))/i,
  /^(?:there's|there is|there are|it's about|it's|you're|we use|you guys)(?= )/i,
  /^(?:to )?(?:have|hear about|know)(?= )/i,
  /^(?:he|she|they|we|i) (?:can|could|may|might) (?=\w)/i,
];
const determiner =
  /^(?:my|our|your|the|a|an|this|that|these|those|some|any|his|her|their|one of (?:those|the)) (?=\w)/i;
/** The title ends before a new clause. */
const nextClause =
  /(?:[,;:.?!]| - )(?= |$)|(?<!\bhundred|thousand)\s+(?:and|but|so|because|which|who|when|where|if|that (?:i|we|you|says|is)|as|(?:i|we|you)(?:'ve|'d|'ll|'m|'re)? [a-z]+)\b/i;
/** Words that a title cannot end with. */
const looseEnd =
  /(?: (?:a|an|the|my|your|our|to|of|for|in|on|at|from|with|by|and|or|is|are|was|were|be|that|this|some|any|it|them|me|us|you|too|also|as well|now|again|please|still|just|only|quite|really|i|we|has|have|had|will|would|can|could|not|very|so|up to|anymore|any more|here|there|then))+$/i;

/** The title of a chapter: what it is about in a few words, or the first words of it. */
export function titleOf(turns: readonly SpokenTurn[], { isFirst = false } = {}): string {
  const all = clausesOf(turns.slice(0, turnsRead)).map((clause) => ({ ...clause, text: clause.text.replace(introduction, '') })); // prettier-ignore
  const said = all.filter(({ text }) => !chatter.test(text));
  // The one who answers greets first: what the call is about, the other says.
  const isCallers = isFirst && said.some(({ role, turn }) => role === 'customer' && turn < 3);
  const clauses = isCallers ? said.filter(({ role }) => role === 'customer') : said;
  const opener = clauses.find(({ text }) => contentWords(text).length >= 2) ?? clauses[0];
  const own = clauses.filter(({ role }) => role === opener?.role).slice(0, 4);
  let best: { title: string; score: number } | undefined;
  for (const [order, clause] of own.entries()) {
    const title = matterOf(clause);
    const score = scoreOf(title, clause.text) - order * 0.6;
    if (score > (best?.score ?? 0.8)) best = { title, score };
  }
  return best?.title ?? cut(withoutLead(opener?.text ?? turns[0]?.text ?? ''));
}

/** A title names a thing, and best what is the matter with it. */
function scoreOf(title: string, said: string): number {
  const words = contentWords(title).length;
  if (words === 0 || leansBack.test(title)) return 0;
  return (
    0.6 +
    Math.min(words, 4) * 0.3 +
    (/\b(?:my|our|your|the|an?) \w/i.test(said) ? 0.5 : 0) +
    (matters.test(said) ? 0.4 : 0) -
    (wordsIn(title) < 2 ? 0.3 : 0)
  );
}

const leansBack =
  /^(?:it|that|this|he|she|they|we can|you can|let me|i (?:can|could|will|don't|didn't|was|wasn't))\b/i;
const matters =
  /\b(?:want|need|like|wrong|lost|broke\w*|stop\w*|never|didn't|doesn't|don't|can't|cannot|isn't|missing|late|damaged|charged|cancel\w*|change|move|moving|denied|keeps?)\b/i;

function withoutLead(text: string): string {
  let matter = text.replace(/[.?!…]+$/, '');
  for (let round = 0; round < 2; round++)
    for (const lead of leads) {
      const rest = matter.replace(lead, '').trim();
      if (contentWords(rest).length > 0) matter = rest;
    }
  return matter;
}

function matterOf({ text }: Clause): string {
  let matter = withoutLead(text).replace(determiner, '');
  const end = nextClause.exec(matter)?.index;
  if (end !== undefined && contentWords(matter.slice(0, end)).length > 0)
    matter = matter.slice(0, end);
  const short = shortened(matter)
    .replace(looseEnd, '')
    .replace(/[,;:\s]+$/, '');
  return short.slice(0, 1).toUpperCase() + short.slice(1);
}

/** A text that is too long ends before the last words that are joined to it. */
function shortened(matter: string): string {
  const words = matter.split(/\s+/);
  if (words.length <= mostWords) return matter;
  const kept = words.slice(0, mostWords);
  const joint = kept.findLastIndex((word, at) => at >= 2 && joints.test(word));
  return kept.slice(0, joint >= 2 ? joint : mostWords).join(' ');
}

const joints = /^(?:of|to|for|in|on|at|from|with|by|since|until|after|before|every)$/i;

/** The first words, where nothing is found that names the matter. */
function cut(text: string): string {
  const words = text.split(/\s+/);
  const shown = words.length > mostWordsQuoted ? `${words.slice(0, mostWordsQuoted).join(' ')}…` : words.join(' '); // prettier-ignore
  return shown.slice(0, 1).toUpperCase() + shown.slice(1);
}
