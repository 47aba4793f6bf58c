import type { Doc } from './doc.ts';
import {
  ambiguousGiven,
  base,
  casedAs,
  cityEnd,
  countryEnd,
  family,
  given,
  isCommon,
  isOtherCapital,
  isPlainWord,
  organizationPhrases,
  stateEnd,
  closesClause,
} from './gazetteer.ts';

const titles = new Set('mr mrs ms miss mister missus mx sir madam mstr prof professor'.split(' '));
const particles = new Set(
  'van von de der den del della di da la le el al bin ibn ben ter ten dos das du mac mc st saint'.split(
    ' ',
  ),
);
const kin = new Set(
  'wife husband son daughter brother sister mother father mum mom dad boss manager colleague neighbor neighbour friend partner fiance fiancé roommate flatmate aunt uncle cousin grandmother grandfather grandson granddaughter niece nephew plumber electrician engineer technician supervisor agent representative adviser advisor tenant landlord landlady lawyer accountant assistant driver courier girlfriend boyfriend baby child ex-husband carer builder mechanic'.split(
    ' ',
  ),
);

type Strength = 'strong' | 'weak' | 'none';

/** Finds doctors. Names behind a cue or a title follow, then names from the lists. */
export function findDoctors(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    if (!/^(?:dr|doctor|doc)$/.test(doc.word(i)) || doc.isTaken(i)) continue;
    const from = doc.word(i + 1) === '.' ? i + 2 : i + 1;
    if (!isNameWord(doc, from, 'strong') || isSmallWord(doc, from)) continue;
    if (
      !doc.hasCase &&
      isCommon(doc.word(from)) &&
      // In "the doctor said" the everyday word after "doctor" is no name.
      !(given.has(doc.word(from)) && !isPlainWord(doc.word(from))) &&
      !(family.has(base(doc.word(from))) && !isPlainWord(base(doc.word(from))))
    )
      continue;
    doc.claimName('NAME_MEDICAL_PROFESSIONAL', i, nameEnd(doc, from));
  }
}

export function findPeople(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i) || doc.tokens[i]?.kind !== 'word') continue;
    const end = personAt(doc, i);
    if (end > 0) i = end - 1;
  }
}

function personAt(doc: Doc, i: number): number {
  const word = base(doc.word(i));
  const titled = isTitled(doc, i);
  const cue = titled ? 'strong' : cueAt(doc, i);
  const asked = familyCue(doc, i);
  // A particle can begin a surname: "Mr. van der Meer".
  const opens = titled && particles.has(doc.word(i)) && doc.tokens[i + 1]?.kind === 'word';
  if (!opens && !accepts(doc, i, word, asked ? 'strong' : cue)) return 0;
  const end = nameEnd(doc, i);
  if (end === 0) return 0;
  const words = doc.tokens
    .slice(i, end)
    .filter((token) => token.kind === 'word' && !/^[a-z]$/.test(token.lower));
  const isFull = words.length >= 2 && !opens && !isHyphenated(doc, i, end);
  const type = isFull
    ? 'NAME'
    : asked || titled || ((family.has(word) || isUnderName(doc, i)) && !given.has(word))
      ? 'NAME_FAMILY'
      : 'NAME_GIVEN';
  return doc.claimName(type, i, end) ? end : 0;
}

function isHyphenated(doc: Doc, from: number, to: number): boolean {
  return to === from + 3 && doc.word(from + 1) === '-';
}

function isTitled(doc: Doc, i: number): boolean {
  const before = doc.word(i - 1);
  if (titles.has(before))
    return (
      !(
        before === 'miss' && /^(?:i|you|we|they|to|will|would|didn't|don't)$/.test(doc.word(i - 2))
      ) &&
      before !== 'sir' &&
      before !== 'madam'
    );
  return before === '.' && titles.has(doc.word(i - 2));
}

function familyCue(doc: Doc, i: number): boolean {
  const near = `${doc.word(i - 4)} ${doc.word(i - 3)} ${doc.word(i - 2)} ${doc.word(i - 1)}`;
  return (
    /(?:last name|surname|family name|maiden name)(?: is| was|'s|:| ,)*(?: um| uh)?$/.test(near) &&
    !isSmallWord(doc, i)
  );
}

/** The strength of the evidence, before or behind the token, that it begins a name. */
function cueAt(doc: Doc, i: number): Strength {
  let at = i - 1;
  while (/^(?:um|uh|er|,|like|actually|:|")$/.test(doc.word(at)) && at > i - 4) at -= 1;
  const one = doc.word(at);
  const two = doc.word(at - 1);
  const three = doc.word(at - 2);
  if (/^(?:named|name's)$/.test(one)) return 'strong';
  if (/^(?:is|was)$/.test(one) && (two === 'name' || (two === 'here' && three === 'name')))
    return 'strong';
  if (/^(?:is|was)$/.test(one) && hasNameBefore(doc, at - 1)) return 'strong';
  if (
    one === 'name' &&
    (two === 'first' || two === 'under' || (two === 'the' && three === 'under'))
  )
    return 'strong';

  if (
    /^(?:to|with)$/.test(one) &&
    /^(?:speak|speaking|spoke|spoken|talk|talking|talked)$/.test(two)
  )
    return 'strong';
  if (one === 'for' && /^(?:ask|asking|looking|asked)$/.test(two)) return 'weak';
  if (one === 'with' && /^(?:speaking|talking)$/.test(two)) return 'strong';
  if (one === 'of' && /^(?:behalf|name)$/.test(two)) return 'strong';
  if (one === 'under' && /^(?:booking|reservation|booked|it's|is|account|order)$/.test(two))
    return 'weak';
  if (one === 'by' && /^(?:signed|served|helped|named)$/.test(two)) return 'weak';
  if (one === 'is' && two === 'this') return behindName(doc, i) ? 'strong' : 'weak';
  if (/^(?:i'm|im)$/.test(one) || (one === 'am' && two === 'i'))
    return behindName(doc, i) ? 'strong' : 'none';
  if (one === "it's" || (one === 'is' && /^(?:it|that)$/.test(two)))
    return behindName(doc, i) ? 'strong' : 'weak';
  if (kin.has(one) || (doc.word(i - 1) === ',' && kin.has(doc.word(i - 2)))) return 'weak';
  if (/^(?:hi|hello|hey|dear|thanks|cheers|morning|afternoon|evening|bye|goodbye|sorry)$/.test(one))
    return 'weak';
  if (one === 'you' && two === 'thank') return 'weak';
  if (
    one === 'called' &&
    /^(?:someone|somebody|lady|man|guy|gentleman|woman|colleague|agent|person|he's|she's|was|is)$/.test(
      two,
    )
  )
    return 'weak';
  if (behindName(doc, i)) return 'weak';
  return 'none';
}

/** Matches a surname as bookings use it: "It's under the name X". */
function isUnderName(doc: Doc, i: number): boolean {
  const near = `${doc.word(i - 3)} ${doc.word(i - 2)} ${doc.word(i - 1)}`;
  return (
    /\bunder (?:the )?(?:name|name of|surname)$|under the name$/.test(near) ||
    /^name of$/.test(`${doc.word(i - 2)} ${doc.word(i - 1)}`)
  );
}

/** True behind a phrase such as "the name on the account is" or "my full name, um, is". */
function hasNameBefore(doc: Doc, at: number): boolean {
  for (let i = at; i > Math.max(-1, at - 5); i--) {
    if (doc.word(i) === 'name') return true;
    if (
      !/^(?:on|the|account|card|order|booking|policy|full|last|first|here|here's|of|my|for|it)$/.test(
        doc.word(i),
      )
    )
      return false;
  }
  return false;
}

/** Matches a name by what follows it: "X speaking", "X here", "X calling from", "X from the support team". */
function behindName(doc: Doc, i: number): boolean {
  for (let at = i + 1; at <= i + 3; at++) {
    const word = doc.word(at);
    if (/^(?:speaking)$/.test(word)) return true;
    if (word === 'here' && (closesClause(doc, at + 1) || doc.word(at + 1) === '')) return true;
    if (
      word === 'calling' &&
      /^(?:from|about|on|for|because|to|regarding|again|with)$/.test(doc.word(at + 1))
    )
      return true;
    if (
      word === 'from' &&
      at <= i + 2 &&
      /^(?:the|support|customer|billing|accounts|sales|technical)$/.test(doc.word(at + 1))
    )
      return true;
    if (doc.tokens[at]?.kind === 'mark' && word !== '-') return false;
  }
  return false;
}

function isSmallWord(doc: Doc, i: number): boolean {
  return /^(?:the|a|an|my|your|is|it|not|and|or|of|to|in|on|i|you|we|he|she|they|that|this|just|so|very|here|there|what|who|how|someone|somebody|anyone|um|uh|like|still|going|calling|on|with|for|at|from|your|our|correct|spelled|spelt|wrong|right|really|already|also|been|being|no|yes|account|billing|customer|support|technical|sales|all|about|me|her|him|them|us)$/.test(
    doc.word(i),
  );
}

function accepts(doc: Doc, i: number, word: string, cue: Strength): boolean {
  if (isSmallWord(doc, i) || /^[a-z]$/.test(word) || word.length < 2) return false;
  if (doc.hasCase && !casedAs(doc, i)) return false;
  const isGiven = given.has(word);
  const isFamily = family.has(word);
  const isWord = isCommon(word);
  if (isOtherCapital(word) && !(cue === 'strong' && isGiven && word !== 'may')) return false;
  const isFirm = organizationPhrases.match(doc.tokens, i) > 0 && !isGiven && !isFamily;
  if (isFirm) return false;
  const followed = followsSurname(doc, i);
  if (cue === 'strong') {
    if (isGiven) return true;
    if (doc.hasCase)
      return !isWord || (isFamily && (isTitled(doc, i) || followed || familyCue(doc, i)));
    if (isFamily && !isWord) return true;
    return !isWord
      ? /^[\p{L}'-]+$/u.test(word)
      : isFamily && (isTitled(doc, i) || familyCue(doc, i)) && closesClause(doc, i + 1);
  }
  if (cue === 'weak') {
    if (isGiven && !(isWord || ambiguousGiven.has(word))) return true;
    if (isGiven && doc.hasCase) return true;
    if (isGiven) return followed || (!isWord && closesClause(doc, i + 1));
    if (doc.hasCase && doc.isNameCased(i))
      return (
        !isWord &&
        !isPlace(doc, i) &&
        !/^(?:thanks|sorry)$/.test(word) &&
        (followed ||
          /^(?:is|am|name)$/.test(doc.word(i - 1)) ||
          titles.has(doc.word(i - 1)) ||
          closesClause(doc, i + 1))
      );
    return followed && !isWord;
  }
  if (isGiven && !isWord && !ambiguousGiven.has(word))
    return doc.hasCase || !isPlace(doc, i) || followed;
  if (isGiven) {
    // A name that is also a word needs a capital inside a sentence, or a surname.
    if (doc.hasCase)
      return (
        (!doc.startsSentence(i) &&
          !isPlace(doc, i) &&
          !/^(?:in|at|on|the|a|to|near)$/.test(doc.word(i - 1)) &&
          !isMonthWord(word)) ||
        (followed && !isFollowedByPlain(doc, i) && !/^(?:in|near)$/.test(doc.word(i - 1)))
      );
    return followed && !isWord && !isFollowedByPlain(doc, i);
  }
  if (!doc.hasCase || !doc.isNameCased(i)) return false;
  const isRun =
    followed && doc.isNameCased(i + 1) && !isWord && !isPlace(doc, i) && !isAcronym(doc, i);
  if (isRun && !/^(?:in|at|the|from|with|near|via|by)$/.test(doc.word(i - 1))) return true;
  return (
    isFamily &&
    !isWord &&
    !doc.startsSentence(i) &&
    !isPlace(doc, i) &&
    !/^(?:in|at|the|from|near|to|with)$/.test(doc.word(i - 1)) &&
    !doc.isNameCased(i + 1)
  );
}

function isMonthWord(word: string): boolean {
  return /^(?:april|may|june|august|summer|autumn)$/.test(word);
}

function isAcronym(doc: Doc, i: number): boolean {
  const text = doc.tokens[i]?.text ?? '';
  return text.length >= 2 && text === text.toUpperCase();
}

function isPlace(doc: Doc, i: number): boolean {
  return cityEnd(doc, i) > 0 || stateEnd(doc, i, false) > 0 || countryEnd(doc, i) > 0;
}

function followsSurname(doc: Doc, i: number): boolean {
  return nameEnd(doc, i) > i + 1;
}

/** In small letters, a surname that is an everyday word counts only if the clause ends behind it. */
function isFollowedByPlain(doc: Doc, i: number): boolean {
  const word = base(doc.word(i + 1));
  return !doc.hasCase && isCommon(word) && !closesClause(doc, i + 2);
}

/**
 * The end of the name that begins at the token. A name may have first names, initials, particles, surnames and hyphens.
 */
function nameEnd(doc: Doc, i: number): number {
  let end = i + 1;
  if ((doc.tokens[i]?.lower ?? '').endsWith("'s") && !family.has(doc.word(i))) return end;
  for (let words = 0; words < 4; words++) {
    const mark = doc.tokens[end];
    if (
      mark?.text === '-' &&
      !mark.spaced &&
      doc.tokens[end + 1]?.kind === 'word' &&
      !(doc.tokens[end + 1]?.spaced ?? true)
    ) {
      end += 2;
      continue;
    }
    let at = end;
    // An initial and its dot.
    if (
      doc.hasCase &&
      /^[A-Z]$/.test(doc.tokens[at]?.text ?? '') &&
      doc.word(at + 1) === '.' &&
      isNameWord(doc, at + 2, 'none')
    )
      at += 2;
    const start = at;
    while (particles.has(doc.word(at)) && at < start + 2 && doc.tokens[at]?.kind === 'word') {
      at += 1;
      if (doc.word(at) === '-' && !(doc.tokens[at]?.spaced ?? true)) at += 1;
    }
    const hasParticle = at > start;
    if (!isSurnameAt(doc, at, hasParticle, i)) break;
    end = at + 1;
    if ((doc.tokens[at]?.lower ?? '').endsWith("'s")) break;
  }
  return end;
}

function isNameWord(doc: Doc, i: number, strength: Strength): boolean {
  const token = doc.tokens[i];
  if (token?.kind !== 'word' || doc.isTaken(i) || token.lower.length < 2) return false;
  const word = base(token.lower);
  if (doc.hasCase)
    return (
      token.capital && !isOtherCapital(word) && (strength === 'strong' || !isSmallWord(doc, i))
    );
  return given.has(word) || family.has(word) || !isCommon(word);
}

function isSurnameAt(doc: Doc, at: number, hasParticle: boolean, first: number): boolean {
  const token = doc.tokens[at];
  if (token?.kind !== 'word' || doc.isTaken(at) || token.lower.length < 2) return false;
  if (doc.tokens[at - 1]?.kind === 'mark' && !/^[.'-]$/.test(doc.word(at - 1))) return false;
  const word = base(token.lower);
  if (isOtherCapital(word) || isSmallWord(doc, at)) return false;
  const isFirst = at === first + 1;
  if (doc.hasCase) {
    if (!token.capital || doc.startsSentence(at)) return false;
    return family.has(word) || given.has(word) || (!isPlainWord(word) && !isAcronym(doc, at));
  }
  if (organizationPhrases.match(doc.tokens, at) > 0 && !family.has(word)) return false;
  if (family.has(word) && (!isCommon(word) || closesName(doc, at + 1))) return true;
  // Two first names in a row are two people or a form of address, unless the second ends the clause.
  if (given.has(word))
    return (
      !isCommon(word) && isFirst && (closesName(doc, at + 1) || family.has(base(doc.word(at + 1))))
    );
  if (isCommon(word) || stateEnd(doc, at, true) > 0 || countryEnd(doc, at) > 0) return false;
  return (
    (hasParticle || isFirst || at === first + 2) &&
    /^[\p{L}'-]{3,}$/u.test(word) &&
    !/(?:n't|'m|'re|'ve|'ll|'d)$/.test(word)
  );
}

function closesName(doc: Doc, at: number): boolean {
  return (
    closesClause(doc, at) ||
    /^(?:calling|speaking|here|from|again|um|uh|[a-z]|spelled|spelt)$/.test(doc.word(at))
  );
}
