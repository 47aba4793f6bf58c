import { readFileSync } from 'node:fs';
import { cosine, directionFrom, numbersOf, type SentenceDirection } from '../meaning/directions.ts';
import type { Meaning } from '../meaning/meaning.ts';

/** A matter as articles call it, and what customers say in its place. */
export type SpokenMatter<Text> = { name: Text; says: readonly Text[] };

/** A question as it was said, and as it is meant: moved towards the names of the matters that customers speak of so. */
export type QuestionDirections = { said: SentenceDirection; meant: SentenceDirection };

/** A question is about few matters. */
const maxMatters = 3;
/** Sentences that are not nearer than this have nothing to do with each other. */
const strange = 0.3;
/** A question is moved so far towards a name for each part by which it is nearer. Learnt from labelled questions. */
const towards = 2;

/** The sayings that come with the program: matters of many call centres. */
export function knownSayings(): SpokenMatter<string>[] {
  return readFileSync(new URL('./sayings.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [name = '', says = ''] = line.split(': ');
      return { name, says: says.split(' | ') };
    });
}

/**
 * Customers tell what happened to them ("we get the keys on friday") and name nothing that an article is called by. A
 * question that is near to two sayings of a matter is looked for nearer to the matter's name.
 */
export class Sayings {
  #known: SpokenMatter<SentenceDirection>[] | undefined;

  get isLearnt(): boolean {
    return this.#known !== undefined;
  }

  /** Learns all or nothing: the model may be lost meanwhile, and then a later call begins anew. */
  async learn(
    meaning: Meaning,
    sayings: readonly SpokenMatter<string>[] = knownSayings(),
  ): Promise<void> {
    const known: SpokenMatter<SentenceDirection>[] = [];
    for (const { name, says } of sayings) {
      const directions: SentenceDirection[] = [];
      for (const text of [name, ...says]) {
        const direction = await meaning.direction(text);
        if (direction === undefined) return;
        directions.push(direction);
      }
      const [ofName, ...ofSayings] = directions;
      if (ofName !== undefined) known.push({ name: ofName, says: ofSayings });
    }
    this.#known = known;
  }

  /** Before they are learnt a question means what it says. */
  meantBy(said: SentenceDirection): QuestionDirections {
    const near = (this.#known ?? [])
      .map(({ name, says }) => ({ name, share: nearnessToTwo(said, says) - strange }))
      .filter(({ share }) => share > 0)
      .toSorted((one, other) => other.share - one.share)
      .slice(0, maxMatters);
    if (near.length === 0) return { said, meant: said };
    const meant = numbersOf(said);
    for (const { name, share } of near)
      for (const [at, value] of numbersOf(name).entries())
        meant[at] = (meant[at] ?? 0) + towards * share * value;
    return { said, meant: directionFrom(meant) };
  }
}

/** One saying alone may be near by chance. */
function nearnessToTwo(said: SentenceDirection, says: readonly SentenceDirection[]): number {
  const [first = 0, second = 0] = says
    .map((one) => cosine(one, said))
    .toSorted((one, other) => other - one);
  return (first + second) / 2;
}
