import { soundDistance, soundOf } from '../language/rewrite/pronunciation.ts';
import { isNegator, type PlainWord } from './heard-text.ts';

/** One phrase trigger as the matcher needs it. */
export type PhraseSpec = {
  role: 'customer' | 'agent' | undefined;
  wordings: readonly (readonly string[])[];
  /** Groups of wordings that must all be said within so many words of each other, in any order. */
  near: { groups: readonly (readonly (readonly string[])[])[]; within: number } | undefined;
  notNear: { wordings: readonly (readonly string[])[]; within: number } | undefined;
  /** Names: even one word counts if it sounds alike. */
  sounds: boolean;
  loose: boolean;
  /** True if "I do not want to ..." counts as well. */
  negated: boolean;
};

export type PhraseMatch = {
  /** Indexes of words, the end after the last. */
  from: number;
  to: number;
  /** 1 for the very words, less where they only sound alike. */
  score: number;
};

/** The distance up to which a wording of three words and more counts, by sound. */
const nearDistance = 0.1;
const looseDistance = 0.15;
const nameDistance = 0.2;
/** The distance up to which one word of a wording counts as the other. */
const wordDistance = 0.35;
/** A wording of fewer words counts by its very words alone: a near single word is a coin toss. */
const wordsForSound = 3;
/** A phrase has fewer words than this. */
const wordsAtMost = 16;
/** At most this many places of one group of a phrase are compared with each other in a final. */
const maxPlaces = 32;
/** A negation reaches this many words ahead, whatever stands between. */
const negationReach = 5;
/** It reaches as far as this where no new sentence begins in between: "I never said that I would like to cancel". */
const longReach = 9;
/** "Instead of" reaches this far. */
const besideReach = 3;
/** "That I", "if we" go on with the sentence; another "I" may begin one that nobody put a mark before. */
const joining = new Set('that if as for think believe say said saying mean suppose'.split(' '));
const subjects = new Set(['i', 'you', 'we', 'they', 'he', 'she', 'it', 'there']);

type Use = { spec: number; group: number; limit: number };
/** Thousands of them are kept, so none holds its words: they are found by their ids. */
type Wording = {
  ids: readonly number[];
  limit: number;
  /** Shared by all wordings of a group that have no other use. */
  uses: readonly Use[];
  /** Made when it is first compared. */
  sound: string | undefined;
};
/** The rules of a phrase without its wordings. */
type PhraseRule = Pick<PhraseSpec, 'role' | 'sounds' | 'negated'> & {
  groups: number;
  within: number;
  notWithin: number;
};

/** No group: the wording alone is the phrase. */
const alone = -1;
const excluded = -2;

/**
 * All phrases of a set of rules, compared with a final at once. Exact wordings are found by their text. A wording that
 * the recogniser misheard is found by its two rarest words: at least one of them is usually right.
 */
export class PhraseMatcher {
  readonly #rules: PhraseRule[] = [];
  readonly #wordings: Wording[] = [];
  readonly #byText = new Map<string, number>();
  readonly #ids = new Map<string, number>();
  readonly #words: string[] = [];
  /** For the sound of a word, the wordings that have it, each as sixteen times its number plus the word's place. */
  readonly #byAnchor = new Map<string, number[]>();
  /** Names of one word, by their consonants without one of them. */
  readonly #byName = new Map<string, number[]>();
  #longest = 0;

  /** Takes one phrase, and returns its number. Its wordings are not kept: they would be most of the memory. */
  add(spec: PhraseSpec): number {
    const { role, sounds, negated, near, notNear } = spec;
    const groups = near?.groups.length ?? 0;
    const [within, notWithin] = [near?.within ?? 0, notNear?.within ?? 0];
    const at = this.#rules.push({ role, sounds, negated, groups, within, notWithin }) - 1;
    this.#addAll(spec, at);
    return at;
  }

  /** Makes it ready after the last phrase, in steps, so that thousands of wordings need not hold up others. */
  *finishing(): Generator<undefined> {
    const rarity = this.#rarity();
    for (const [at, wording] of this.#wordings.entries()) {
      this.#anchor(wording, at, rarity);
      if (at % 100 === 0) yield;
    }
  }

  #addAll(spec: PhraseSpec, at: number): void {
    const limit = spec.sounds ? nameDistance : spec.loose ? looseDistance : nearDistance;
    const add = (wordings: readonly (readonly string[])[], group: number): void => {
      const uses = [{ spec: at, group, limit }];
      for (const words of wordings) this.#add(words, uses, limit);
    };
    add(spec.wordings, alone);
    for (const [group, wordings] of (spec.near?.groups ?? []).entries()) add(wordings, group);
    if (spec.notNear) add(spec.notNear.wordings, excluded);
  }

  get size(): number {
    return this.#wordings.length;
  }

  #add(words: readonly string[], uses: readonly Use[], limit: number): void {
    const text = words.join(' ');
    const known = this.#wordings[this.#byText.get(text) ?? -1];
    if (known === undefined) {
      const ids = words.map((word) => this.#idOf(word));
      this.#byText.set(text, this.#wordings.push({ ids, limit, uses, sound: undefined }) - 1);
      this.#longest = Math.max(this.#longest, ids.length);
      return;
    }
    known.uses = [...known.uses, ...uses];
    known.limit = Math.max(known.limit, limit);
  }

  #idOf(word: string): number {
    const known = this.#ids.get(word);
    if (known !== undefined) return known;
    this.#ids.set(word, this.#words.length);
    return this.#words.push(word) - 1;
  }

  #wordsOf({ ids }: Wording): string[] {
    return ids.map((id) => this.#words[id] ?? '');
  }

  #rarity(): number[] {
    const rarity = this.#words.map(() => 0);
    for (const { ids } of this.#wordings)
      for (const id of new Set(ids)) rarity[id] = (rarity[id] ?? 0) + 1;
    return rarity;
  }

  #anchor(wording: Wording, number: number, rarity: readonly number[]): void {
    const isByName = wording.uses.some(({ spec }) => this.#rules[spec]?.sounds === true);
    if (wording.ids.length < wordsForSound && !isByName) return;
    const ranked = wording.ids
      .map((id, at) => {
        const word = this.#words[id] ?? '';
        return { at, key: skeleton(soundOf(word)), rank: rankOf(word, rarity[id] ?? 0) };
      })
      .filter(({ key }) => key.length > 1)
      .toSorted((a, b) => a.rank - b.rank)
      .slice(0, 2);
    for (const { at, key } of ranked) {
      const anchor = number * wordsAtMost + at;
      indexed(this.#byAnchor, key, anchor);
      if (isByName && wording.ids.length === 1)
        for (const near of lessOne(key)) indexed(this.#byName, near, anchor);
    }
  }

  /** The wordings that may stand at a word, by what it sounds like, alone or with the next word. */
  #anchorsAt(words: readonly PlainWord[], place: number): readonly number[] {
    const sound = words[place]?.sound ?? '';
    const anchors = this.#byAnchor.get(skeleton(sound)) ?? [];
    if (this.#byName.size === 0) return anchors;
    const joined = [sound, sound + (words[place + 1]?.sound ?? '')].map(skeleton);
    const near = joined.flatMap((key) => lessOne(key).flatMap((less) => this.#byName.get(less) ?? [])); // prettier-ignore
    return [...anchors, ...near];
  }

  /** The first match of each phrase in these words, by the index of the phrase. Matches end after `from`. */
  in(words: readonly PlainWord[], role: string, from = 0): Map<number, PhraseMatch> {
    const said = new Map<number, Map<number, PhraseMatch[]>>();
    const note = (wording: number, match: PhraseMatch): void => {
      for (const { spec, group, limit } of this.#wordings[wording]?.uses ?? []) {
        if (1 - match.score > limit + 1e-9) continue;
        const groups = said.get(spec) ?? new Map<number, PhraseMatch[]>();
        said.set(spec, groups);
        const found = groups.get(group) ?? [];
        groups.set(group, found);
        if (found.length < maxPlaces) found.push(match);
      }
    };
    this.#exact(words, note);
    this.#bySound(words, note);
    const matches = new Map<number, PhraseMatch>();
    for (const [at, groups] of said) {
      const rule = this.#rules[at];
      if (rule === undefined || (rule.role !== undefined && rule.role !== role)) continue;
      const match = chosen(rule, groups, words, from);
      if (match !== undefined) matches.set(at, match);
    }
    return matches;
  }

  #exact(words: readonly PlainWord[], note: (wording: number, match: PhraseMatch) => void): void {
    for (let from = 0; from < words.length; from++) {
      let text = '';
      for (let to = from; to < Math.min(words.length, from + this.#longest); to++) {
        const word = words[to]?.word ?? '';
        // No wording has a word that none of them knows.
        if (!this.#ids.has(word)) break;
        text = text === '' ? word : `${text} ${word}`;
        const wording = this.#byText.get(text);
        if (wording !== undefined) note(wording, { from, to: to + 1, score: 1 });
      }
    }
  }

  #bySound(words: readonly PlainWord[], note: (wording: number, match: PhraseMatch) => void): void {
    const heard = new HeardSounds(words, this.#ids);
    const tried = new Set<number>();
    words.forEach((_, place) => {
      for (const anchor of this.#anchorsAt(words, place)) {
        const wording = Math.floor(anchor / wordsAtMost);
        const target = this.#wordings[wording];
        if (target === undefined) continue;
        const begin = place - (anchor % wordsAtMost);
        if (!heard.mayBe(target.ids, begin)) continue;
        const name = wording * 1_024 + begin + 16;
        if (tried.has(name)) continue;
        tried.add(name);
        const said = this.#wordsOf(target);
        target.sound ??= soundOf(said.join(' '));
        const match = bestWindow(heard, begin, { words: said, sound: target.sound, limit: target.limit }); // prettier-ignore
        if (match !== undefined) note(wording, match);
      }
    });
  }
}

/** The words of a final, ready to be compared with many wordings. */
class HeardSounds {
  readonly words: readonly PlainWord[];
  readonly #ids: Int32Array;
  readonly #sound: string;
  readonly #starts: Int32Array;

  constructor(words: readonly PlainWord[], ids: ReadonlyMap<string, number>) {
    this.words = words;
    this.#ids = Int32Array.from(words, ({ word }) => ids.get(word) ?? -1);
    this.#sound = words.map(({ sound }) => sound).join('');
    this.#starts = new Int32Array(words.length + 1);
    words.forEach(({ sound }, at) => {
      this.#starts[at + 1] = (this.#starts[at] ?? 0) + sound.length;
    });
  }

  sound(from: number, to: number): string {
    return this.#sound.slice(this.#starts[from], this.#starts[to]);
  }

  length(from: number, to: number): number {
    return (this.#starts[to] ?? 0) - (this.#starts[from] ?? 0);
  }

  /** At least half of the words of a wording are there as they are. Without this, its sound is not compared. */
  mayBe(ids: readonly number[], begin: number): boolean {
    const wanted = ids.length < wordsForSound ? 0 : Math.ceil(ids.length / 2);
    let found = 0;
    for (let at = 0; at < ids.length && found < wanted; at++) {
      const id = ids[at];
      const place = begin + at;
      if (this.#ids[place] === id || this.#ids[place - 1] === id || this.#ids[place + 1] === id)
        found++;
    }
    return found >= wanted;
  }
}

/** The window of words about `begin` that sounds most like the wording. The very words are left to the tree. */
function bestWindow(
  heard: HeardSounds,
  begin: number,
  target: { words: readonly string[]; sound: string; limit: number },
): PhraseMatch | undefined {
  const { limit, sound } = target;
  const { words } = heard;
  const count = target.words.length;
  let best: PhraseMatch | undefined;
  for (let from = Math.max(0, begin - 1); from <= begin + 1; from++)
    for (
      let to = Math.max(from + 1, from + count - 1);
      to <= Math.min(words.length, from + count + 1);
      to++
    ) {
      // prettier-ignore
      const longest = Math.max(heard.length(from, to), sound.length);
      if (Math.abs(heard.length(from, to) - sound.length) > limit * longest) continue;
      const distance = soundDistance(heard.sound(from, to), sound, limit);
      if (distance > limit || 1 - distance <= (best?.score ?? 0)) continue;
      if (distance === 0 && isExact(words, from, target.words)) continue;
      if (!hasItsWords(words.slice(from, to), target.words)) continue;
      best = { from, to, score: Math.round((1 - distance) * 1_000) / 1_000 };
    }
  return best;
}

function isExact(words: readonly PlainWord[], from: number, wording: readonly string[]): boolean {
  return wording.every((word, at) => words[from + at]?.word === word);
}

/**
 * Each telling word of a wording has a word of its own that sounds like it. Of the whole, "my phone number" is close to
 * "new phone number".
 */
function hasItsWords(window: readonly PlainWord[], wording: readonly string[]): boolean {
  if (wording.length === 1) return true;
  const telling = wording.filter((word) => !everyday.has(word));
  const missing = telling.filter((word) => {
    const sound = soundOf(word);
    // "Than me" is not "phone me": an everyday word is heard for another of its kind, hardly for a telling one.
    return !window.some(
      (heard) =>
        !everyday.has(heard.word) &&
        soundDistance(heard.sound, sound, wordDistance) <= wordDistance,
    );
  });
  // A word may be heard as two, or two as one, where enough others stand.
  return missing.length <= (telling.length >= 4 ? 1 : 0);
}

function chosen(
  rule: PhraseRule,
  groups: ReadonlyMap<number, PhraseMatch[]>,
  words: readonly PlainWord[],
  from: number,
): PhraseMatch | undefined {
  const candidates = [...(groups.get(alone) ?? []), ...togetherIn(rule, groups)].filter(
    (match) =>
      match.to > from &&
      (rule.negated || !isNegated(words, match)) &&
      !isExcluded(rule, groups.get(excluded) ?? [], match),
  );
  return candidates.toSorted((a, b) => b.score - a.score || a.from - b.from || a.to - b.to)[0];
}

/** The shortest stretches that have a wording of every group. */
function togetherIn(rule: PhraseRule, groups: ReadonlyMap<number, PhraseMatch[]>): PhraseMatch[] {
  if (rule.groups === 0) return [];
  let together: PhraseMatch[] = groups.get(0) ?? [];
  for (let group = 1; group < rule.groups; group++)
    together = together.flatMap((one) =>
      (groups.get(group) ?? []).flatMap((other) => {
        const from = Math.min(one.from, other.from);
        const to = Math.max(one.to, other.to);
        const overlaps = one.from < other.to && other.from < one.to;
        if (overlaps || to - from > rule.within) return [];
        return [{ from, to, score: Math.min(one.score, other.score) }];
      }),
    );
  return together;
}

/** "I do not want to cancel" is no wish to cancel; "can't I cancel" is one. */
function isNegated(words: readonly PlainWord[], { from, to }: PhraseMatch): boolean {
  const first = words[from];
  if (first === undefined) return false;
  let reach = longReach;
  for (let at = from - 1; at >= Math.max(0, from - reach); at--) {
    const word = words[at];
    if (word === undefined || word.clause !== first.clause) return false;
    const before = words[at - 1]?.word ?? '';
    if (subjects.has(word.word) && !joining.has(before)) reach = negationReach;
    if (from - at <= besideReach && setsAside(before, word.word)) return true;
    if (!isNegator(word.word)) continue;
    const next = words[at + 1]?.word ?? '';
    const isQuestion = subjects.has(next) && at + 1 < to && /^(can|do|does|did|could|would|will|is|are|why)$/.test(before); // prettier-ignore
    if (!isQuestion) return true;
  }
  return false;
}

/** "Instead of a refund", "rather than cancel", "decided against leaving". */
function setsAside(before: string, word: string): boolean {
  return (
    (word === 'of' && before === 'instead') ||
    (word === 'than' && before === 'rather') ||
    (word === 'against' && before === 'decided')
  );
}

function isExcluded(
  rule: PhraseRule,
  exclusions: readonly PhraseMatch[],
  { from, to }: PhraseMatch,
): boolean {
  const within = rule.notWithin;
  return exclusions.some((other) => other.to > from - within && other.from < to + within);
}

const classOf: Record<string, string> = { b: 'p', d: 't', g: 'k', v: 'f', z: 's', x: 's', c: 's', j: 's', n: 'm' }; // prettier-ignore

/** The consonants of a sound, those that are confused as one letter. */
function skeleton(sound: string): string {
  let bare = /^[aeiouAOY]/.test(sound) ? 'a' : '';
  for (const letter of sound) {
    if (/[aeiouAOYhw]/.test(letter)) continue;
    const merged = classOf[letter] ?? letter;
    if (!bare.endsWith(merged)) bare += merged;
  }
  return bare;
}

function indexed(index: Map<string, number[]>, key: string, anchor: number): void {
  const known = index.get(key) ?? [];
  index.set(key, known);
  known.push(anchor);
}

/** A key, and the key without each of its letters: two keys that differ in one letter share one of these. */
function lessOne(key: string): string[] {
  return [key, ...Array.from(key, (_, at) => key.slice(0, at) + key.slice(at + 1))];
}

const everyday = new Set(
  'i you he she it we they me my your our their the a an to of in on at for with from by is am are was be been do does did have has had can could will would shall should may might must not no this that these those there here what when where why how who which if or and but as up out about get got go going want need make take know think say tell some any all than then us him them so too very'.split(
    ' ',
  ),
);

function rankOf(word: string, rarity: number): number {
  return (everyday.has(word) ? 1_000_000 : 0) + rarity - word.length / 100;
}
