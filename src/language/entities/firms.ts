import type { Doc } from './doc.ts';
import {
  base,
  casedAs,
  closesClause,
  family,
  given,
  isCommon,
  isOtherCapital,
  landmarkPhrases,
  medicalEnds,
  organizationEnds,
  organizationPhrases,
  organizationWords,
} from './gazetteer.ts';

const small = new Set(
  'the a an my your our their his her its this that these those is are was were be been am i you we he she it they at in on for from with to of by and or but so um uh about any some no not which what who another same new old other first last next every all both each local nearest own into near outside inside than as if when while has have had do did does can could will would should may might going go went get got just like really very called call calling thanks thank through via under over after before between both one two three either there here'.split(
    ' ',
  ),
);
const placeKinds = new Set(
  'airport station mall stadium arena terminal harbour harbor museum zoo aquarium theatre theater cinema cathedral'.split(
    ' ',
  ),
);
const placePairs = new Set([
  'shopping centre',
  'shopping center',
  'shopping mall',
  'bus station',
  'train station',
  'railway station',
  'retail park',
  'convention center',
  'convention centre',
  'international airport',
  'outlet mall',
  'service station',
  'science museum',
]);
const institutional = new Set(
  "saint st general memorial children's childrens community regional county city university royal central national northern southern eastern western mercy sacred holy lady good".split(
    ' ',
  ),
);
const firmCues =
  /^(?:calling|from|with|for|at|by|to|through|via|called|using|of|is|and|welcome|reached|contact|against|join|joined|or|than|into|chose|choose|use|on|had|have|like)$/;

/**
 * Finds clinics, airports, stations and firms: by the kind that their name contains, or by name if they are widely
 * known.
 */
export function findFirms(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i)) continue;
    const landmark = landmarkPhrases.match(doc.tokens, i);
    if (landmark > 0 && casedAs(doc, i) && doc.isFree(i, landmark)) {
      const end = /^(?:airport|station)$/.test(doc.word(landmark)) ? landmark + 1 : landmark;
      doc.claimName('LOCATION', i, end);
      i = end - 1;
      continue;
    }
    const medical = medicalEnds.match(doc.tokens, i);
    if (medical > 0 && claimEnding(doc, 'ORGANIZATION_MEDICAL_FACILITY', i, medical)) continue;
    const place = placeKindEnd(doc, i);
    if (place > 0 && claimEnding(doc, 'LOCATION', i, place)) continue;
  }
  claimGreeting(doc);
  for (let i = 0; i < doc.tokens.length; i++) if (!doc.isTaken(i)) claimKnown(doc, i);
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i)) continue;
    let end = organizationEnds.match(doc.tokens, i);
    // Several endings in a row belong to one name: "Riverstone Properties LLC".
    for (let more = 0; more < 3 && end > 0 && casedAs(doc, end); more++) {
      const next = organizationEnds.match(doc.tokens, end);
      if (next === 0) break;
      end = next;
    }
    if (end > 0) claimEnding(doc, 'ORGANIZATION', i, end);
  }
}

function placeKindEnd(doc: Doc, i: number): number {
  if (placePairs.has(`${doc.word(i)} ${doc.word(i + 1)}`)) return i + 2;
  return placeKinds.has(base(doc.word(i))) ? i + 1 : 0;
}

/**
 * The words before the ending that belong to the name. With capitals the capitals decide; without them the words must
 * not be everyday words.
 */
function claimEnding(doc: Doc, type: string, ending: number, end: number): boolean {
  const isFirm = type === 'ORGANIZATION';
  if (doc.hasCase && !doc.isNameCased(ending) && (isFirm || !doc.isNameCased(ending - 1)))
    return false;
  let from = ending;
  let names = 0;
  for (let steps = 0; steps < 5; steps++) {
    const at = from - 1;
    const token = doc.tokens[at];
    if (!token || doc.isTaken(at)) break;
    if (token.kind === 'mark') {
      const isJoint =
        token.text === '&' ||
        token.text === '-' ||
        (token.text === '.' && doc.word(at - 1).length <= 2) ||
        (token.text === ',' && /^(?:inc|llc|ltd)$/.test(doc.word(ending)) && from === ending);
      if (!isJoint || doc.tokens[at - 1]?.kind !== 'word') break;
      from = at;
      continue;
    }
    if (token.kind === 'number') break;
    if (doc.hasCase) {
      if (token.lower === 'and' && doc.isNameCased(at - 1) && !doc.startsSentence(at - 1)) {
        from = at;
        continue;
      }
      if (
        !doc.isNameCased(at) ||
        (doc.startsSentence(at) && (small.has(token.lower) || isCommon(token.lower)) && names > 0)
      )
        break;
      if (small.has(token.lower) || isOtherCapital(token.lower)) break;
      names += 1;
    } else {
      if (small.has(token.lower) || isVerbLike(token.lower)) break;
      const isName =
        institutional.has(token.lower) ||
        given.has(base(token.lower)) ||
        !isCommon(base(token.lower));
      if (isName) names += 1;
      else if (!isFirm || steps >= 2) break;
    }
    from = at;
  }
  while (from < ending && (doc.tokens[from]?.kind === 'mark' || doc.word(from) === 'and'))
    from += 1;
  if (from === ending) return false;
  if (!doc.hasCase) {
    if (isFirm) {
      // Without capitals, a kind of firm alone names no firm: "the gas company", "a repair service".
      const before = doc.word(from - 1);
      if (
        /^(?:the|a|an|my|your|our|their|his|her|any|some|this|that|another|no|which|local)$/.test(
          before,
        ) &&
        names === 0
      )
        return false;
      if (
        names === 0 &&
        !(
          firmCues.test(before) &&
          ending - from >= 1 &&
          closesClause(doc, end) &&
          !isPlainPair(doc, from, end)
        )
      )
        return false;
    } else if (names === 0) return false;
  } else if (names === 0) return false;
  if (
    type === 'LOCATION' &&
    /^(?:train|bus|railway|petrol|gas|police|fire|power|charging|service|work|base|radio|tv)$/.test(
      doc.word(from),
    ) &&
    from === ending - 1
  )
    return false;
  return doc.claimName(type, from, end);
}

function isVerbLike(word: string): boolean {
  return /^(?:bought|ordered|booked|paid|said|says|told|sent|send|work|works|worked|use|used|need|want|wanted|tried|reach|contact|fix|fixed|make|made|take|took|see|saw|find|found|leave|left|keep|kept|ask|asked|switch|switched|change|changed|join|joined|own|run|visit|visited|charge|charged|cancel|cancelled|deliver|delivered)$/.test(
    word,
  );
}

/** True for kinds of things, which are no firms: "customer service", "health insurance", "home delivery". */
function isPlainPair(doc: Doc, from: number, end: number): boolean {
  const words = doc.tokens.slice(from, end).map((token) => token.lower);
  return words.every((word) =>
    /^(?:customer|health|home|car|travel|life|dental|medical|pet|technical|tech|support|service|services|mobile|broadband|internet|phone|cable|wireless|fast|express|bank|credit|debit|online|business|gas|water|electric|power|energy|repair|delivery|shipping|cleaning|insurance|company|tool|tools|hot|cold|drinking|media|social|public|private|data|wifi|home|tv|television|computer|school|high|primary|summer|holiday|hotel|security|direct|new|old|same|different|several|two|system|network|networks|records|medical|book|books|rental|store|app|web|site|office|main|local|car|rental|billing|sales|returns|accounts|account|claims)$/.test(
      word,
    ),
  );
}

/** Claims a widely known firm. A name that is also a word needs a capital inside the sentence or a cue. */
function claimKnown(doc: Doc, i: number): void {
  const end = organizationPhrases.match(doc.tokens, i);
  if (end === 0 || !doc.isFree(i, end)) return;
  const word = base(doc.word(i));
  const isOne = end === i + 1;
  const isWord = isOne && (organizationWords.has(word) || isCommon(word) || given.has(word));
  if (doc.hasCase && !(doc.tokens[i]?.capital ?? false)) {
    // Recognisers often drop a firm's capital. Without it, only a name that is no ordinary word counts.
    if (isWord || (isOne && word.length < 4)) return;
  }
  if (isWord && !isCued(doc, i, end)) return;
  const more = organizationEnds.match(doc.tokens, end);
  const isLonger =
    more > 0 &&
    casedAs(doc, end) &&
    (doc.hasCase ||
      /^(?:airlines|airways|bank|insurance|inc|llc|ltd|energy|mobile|broadband|rewards|motors|hotel|hotels|logistics|express)$/.test(
        doc.word(end),
      ));
  doc.claimName('ORGANIZATION', i, isLonger ? more : end);
}

function isCued(doc: Doc, i: number, end: number): boolean {
  const before = doc.word(i - 1);
  const next = doc.word(end);
  if (organizationEnds.match(doc.tokens, end) > 0 && (!doc.hasCase || doc.isNameCased(end)))
    return true;
  const word = base(doc.word(i));
  if (given.has(word) && /^(?:this|name|i'm|mr|mrs|ms|miss|hi|hello)$/.test(doc.word(i - 1)))
    return false;
  if (doc.hasCase && doc.isNameCased(i) && !doc.startsSentence(i)) {
    if (
      given.has(word) &&
      !isCommon(word) &&
      !/^(?:with|from|at|via|through|by|my|a|an|bank|card|account)$/.test(before)
    )
      return false;
    return !/^(?:mr|mrs|ms|miss)$/.test(before);
  }
  if (doc.hasCase) return false;
  const isShopVerb =
    /^(?:from|at|with|via|through|to|by|for|bank|account|store|using)$/.test(before) &&
    closesClause(doc, end);
  if (
    /^(?:target|three|two|square|frontier|enterprise|gap|boots|sky|ring|nest|oracle|canon|sprint|spirit|discover|target|charter|orange|apple|chase|delta|united|southwest|progressive|halifax|ford|visa|subway|norton|zoom|slack|stripe|wise|hilton|dell|nationwide|fidelity|vanguard|staples)$/.test(
      word,
    )
  )
    return (
      (isShopVerb &&
        /^(?:buy|bought|ordered|order|switched|switch|account|bank|banked|work|store|flying|flew|flight|phone|contract|card|got|shop|paid|pay|over|back|app|from|insured|rented|car|signed|was|is|laptop|computer|went|go|going|transfer|transferred)$/.test(
          doc.word(i - 2),
        )) ||
      (/^(?:my|a|the|your)$/.test(before) &&
        /^(?:account|card|app|flight|phone|store|bank|tv|box|subscription|doorbell|contract)$/.test(
          next,
        ) &&
        !/^(?:ring|orange|target|gap|three|two|square|wise|discover)$/.test(word))
    );
  return isShopVerb;
}

/** Claims the firm in a greeting: "thanks for calling X this is", "welcome to X". */
function claimGreeting(doc: Doc): void {
  for (let i = 1; i < doc.tokens.length; i++) {
    if (doc.isTaken(i) || doc.isTaken(i - 1)) continue;
    const before = `${doc.word(i - 2)} ${doc.word(i - 1)}`;
    const isGreeting =
      before === 'for calling' ||
      before === 'for contacting' ||
      before === 'for choosing' ||
      before === 'welcome to' ||
      before === "you've reached" ||
      before === 'have reached' ||
      before === 'hello from' ||
      before === 'behalf of' ||
      /^(?:work|works|worked|working) (?:for|at)$/.test(before);
    if (!isGreeting) continue;
    let end = i;
    while (end < doc.tokens.length && end < i + 6 && isFirmWord(doc, end, i)) end += 1;
    while (end > i && (doc.tokens[end - 1]?.kind === 'mark' || doc.word(end - 1) === 'and'))
      end -= 1;
    const names = doc.tokens.slice(i, end).filter((token) => token.kind === 'word').length;
    if (names === 0) continue;
    const isPerson =
      given.has(base(doc.word(i))) && (names === 1 || family.has(base(doc.word(i + 1))));
    const isAllCommon = doc.tokens
      .slice(i, end)
      .every((token) => token.kind === 'mark' || isCommon(token.lower));
    const isKind =
      organizationEnds.match(doc.tokens, end - 1) === end ||
      organizationPhrases.match(doc.tokens, i) > 0;
    if (
      isPerson ||
      (isAllCommon && !isKind && !(doc.hasCase && names >= 2)) ||
      (isAllCommon && isPlainPair(doc, i, end))
    )
      continue;
    if (/^(?:behalf of)$/.test(before) && !isKind) continue;
    if (
      medicalEnds.match(doc.tokens, end - 1) === end ||
      /^(?:hospital|clinic)$/.test(doc.word(end - 1))
    )
      doc.claimName('ORGANIZATION_MEDICAL_FACILITY', i, end);
    else doc.claimName('ORGANIZATION', i, end);
  }
}

function isFirmWord(doc: Doc, at: number, from: number): boolean {
  const token = doc.tokens[at];
  if (!token || doc.isTaken(at)) return false;
  if (token.kind === 'mark')
    return (token.text === '&' || token.text === '-' || token.text === "'") && at > from;
  if (doc.hasCase)
    return (
      (doc.isNameCased(at) && !/^(?:my|this|i|you're|how|who|today)$/.test(token.lower)) ||
      (at > from &&
        token.lower === 'and' &&
        doc.isNameCased(at + 1) &&
        !given.has(doc.word(at + 1)))
    );
  if (
    /^(?:this|my|you're|you|how|i'm|it's|today|your|who|can|may|what|so|um|uh|about|again|back|me|us|customer|i|we|the|a|our|if|for|please|in|on|because|as|but|they|he|she|that|is|here|with|from|and|am|speaking)$/.test(
      token.lower,
    )
  )
    return false;
  return !(
    at > from &&
    given.has(token.lower) &&
    /^(?:speaking|here|can|how)$/.test(doc.word(at + 1))
  );
}
