import { groupsAfter, product, unionsOf, type Union } from './clusters.ts';

/** A client's hints about the number of speakers. */
export type SpeakerHints = {
  number?: number | undefined;
  min?: number | undefined;
  max?: number | undefined;
};

/** A window for grouping: its direction, its length, and the seconds that it represents. */
export type VoicePiece = { embedding: Float32Array; seconds: number; spanS: number };

/** Shorter windows say too little about a voice. They join the groups that longer windows form. */
const shortestS = 1;
/**
 * At most this many windows are grouped. For a long file, an even selection is grouped, and the remaining windows join
 * these groups.
 */
export const mostGrouped = 300;
/** Groups of windows belong to one voice if their similarity is at least this. */
const alike = 0.45;
/** Two voices are the same if the similarity of their mean directions is at least this. */
const sameVoice = 0.65;
/** A voice that speaks less than this in the whole file is joined to another one. */
const leastS = 3;
/** With a known number of speakers a voice may speak less than that, */
const leastOfGivenS = 1.5;
/** but a cough in a long file, of which few windows are selected, is no voice. */
const leastOfGivenPieces = 3;
/** The largest number of speakers, whatever a client requests. */
export const mostSpeakers = 20;

/**
 * The hints for one channel. A client counts the people of the whole file. Each channel with speech has at least one of
 * them, so a channel has at most the people that the others leave. Nobody knows which channel the rest use.
 */
export function hintsOfChannel(hints: SpeakerHints, spokenChannels: number): SpeakerHints {
  if (spokenChannels < 2) return hints;
  const most = hints.number ?? (hints.max === 0 ? undefined : hints.max);
  return most === undefined ? {} : { max: Math.max(1, most - spokenChannels + 1) };
}

/** The voice of each window, as numbers from 0 in no order. */
export function voicesOf(pieces: readonly VoicePiece[], hints: SpeakerHints): number[] {
  const long = pieces.filter(({ seconds }) => seconds >= shortestS);
  const known = long.length > 0 ? long : pieces;
  const voices = voicesOfKnown(known, hints);
  if (new Set(voices).size < 2) return pieces.map(() => 0);
  let next = 0;
  return followed(
    pieces,
    pieces.map((piece) => (piece === known[next] ? (voices[next++] ?? 0) : -1)),
  );
}

/** The voices of all windows. Those without a voice (below 0) join the nearest one. */
export function followed(pieces: readonly VoicePiece[], voices: readonly number[]): number[] {
  const known = pieces.flatMap((piece, at) => ((voices[at] ?? -1) < 0 ? [] : [{ piece, at }]));
  const groups = new Groups(
    known.map(({ piece }) => piece),
    known.map(({ at }) => voices[at] ?? 0),
  );
  return pieces.map((piece, at) => {
    const voice = voices[at] ?? -1;
    return voice < 0 ? groups.nearest(piece.embedding) : voice;
  });
}

function voicesOfKnown(pieces: readonly VoicePiece[], hints: SpeakerHints): number[] {
  const { number, min = 1, max } = hints;
  // Some clients send 0 for "no limit".
  const most = max === undefined || max === 0 ? mostSpeakers : Math.min(max, mostSpeakers);
  const given = number ?? (min >= most ? min : undefined);
  if (given === 1) return pieces.map(() => 0);
  const choice = new Choice(pieces);
  const found = settled(pieces, choice.alike());
  const count = new Set(found).size;
  const wanted = given ?? Math.max(min, Math.min(count, most));
  return count === wanted ? found : choice.inGroups(Math.min(wanted, mostSpeakers));
}

/** An even selection of the windows, which the others join. */
class Choice {
  readonly #pieces: readonly VoicePiece[];
  readonly #chosen: readonly number[];
  readonly #choice: readonly VoicePiece[];
  readonly #unions: readonly Union[];

  constructor(pieces: readonly VoicePiece[]) {
    const count = Math.min(pieces.length, mostGrouped);
    this.#pieces = pieces;
    this.#chosen = Array.from({ length: count }, (_, i) => Math.floor((i * pieces.length) / count));
    this.#choice = this.#chosen.flatMap((index) => pieces[index] ?? []);
    this.#unions = unionsOf(this.#choice.map(({ embedding }) => embedding));
  }

  /** Joins groups while two of them are similar enough. */
  alike(): number[] {
    const { length } = this.#unions;
    const first = this.#unions.findIndex(({ likeness }) => likeness < alike);
    return this.#all(this.#after(first < 0 ? length : first));
  }

  /**
   * Divides the windows into this many voices, each of which speaks for a while: a remnant of another voice does not
   * count. If there are too few such voices, shorter ones count.
   */
  inGroups(number: number): number[] {
    for (let count = number; count <= this.#choice.length; count++) {
      const labels = this.#after(this.#choice.length - count);
      const speaking = this.#speaking(labels);
      if (speaking.size >= number)
        return this.#all(labels.map((label) => (speaking.has(label) ? label : -1)));
    }
    return this.#all(this.#after(Math.max(0, this.#choice.length - number)));
  }

  #speaking(labels: readonly number[]): Set<number> {
    // Each selected window stands for this many windows.
    const each = this.#pieces.length / this.#choice.length;
    const groups = new Map<number, { pieces: number; seconds: number }>();
    for (const [index, label] of labels.entries()) {
      const { pieces, seconds } = groups.get(label) ?? { pieces: 0, seconds: 0 };
      const spanS = this.#choice[index]?.spanS ?? 0;
      groups.set(label, { pieces: pieces + 1, seconds: seconds + spanS * each });
    }
    const speaking = [...groups].filter(
      ([, { pieces, seconds }]) => pieces >= leastOfGivenPieces && seconds >= leastOfGivenS,
    );
    return new Set(speaking.map(([label]) => label));
  }

  #after(unions: number): number[] {
    return groupsAfter(this.#unions.slice(0, unions), this.#choice.length);
  }

  #all(labels: readonly number[]): number[] {
    const labelOf = new Map(this.#chosen.map((index, at) => [index, labels[at] ?? 0]));
    return followed(
      this.#pieces,
      this.#pieces.map((_, index) => labelOf.get(index) ?? -1),
    );
  }
}

/** Joins voices that hardly speak to others, and joins voices that are the same. */
function settled(pieces: readonly VoicePiece[], labels: readonly number[]): number[] {
  return dissolved(pieces, merged(pieces, dissolved(pieces, labels)));
}

function dissolved(pieces: readonly VoicePiece[], labels: readonly number[]): number[] {
  let voices = [...labels];
  for (;;) {
    const groups = new Groups(pieces, voices);
    const slightest = groups.slightest();
    if (groups.size < 2 || slightest.seconds >= leastS) return voices;
    groups.remove(slightest.label);
    voices = voices.map((label, index) =>
      label === slightest.label
        ? groups.nearest(pieces[index]?.embedding ?? new Float32Array(0))
        : label,
    );
  }
}

function merged(pieces: readonly VoicePiece[], labels: readonly number[]): number[] {
  let voices = [...labels];
  for (;;) {
    const pair = new Groups(pieces, voices).mostAlike();
    if (!pair || pair.likeness < sameVoice) return voices;
    voices = voices.map((label) => (label === pair.other ? pair.one : label));
  }
}

/** The mean direction of each group, and how long the group speaks. */
class Groups {
  readonly #middles = new Map<number, Float32Array>();
  readonly #seconds = new Map<number, number>();

  constructor(pieces: readonly VoicePiece[], labels: readonly number[]) {
    for (const [index, { embedding, spanS }] of pieces.entries()) {
      const label = labels[index] ?? 0;
      const middle = this.#middles.get(label) ?? new Float32Array(embedding.length);
      for (let k = 0; k < middle.length; k++) middle[k] = (middle[k] ?? 0) + (embedding[k] ?? 0);
      this.#middles.set(label, middle);
      this.#seconds.set(label, (this.#seconds.get(label) ?? 0) + spanS);
    }
    for (const [label, middle] of this.#middles) {
      const length = Math.sqrt(product(middle, middle)) || 1;
      this.#middles.set(
        label,
        middle.map((value) => value / length),
      );
    }
  }

  get size(): number {
    return this.#middles.size;
  }

  remove(label: number): void {
    this.#middles.delete(label);
  }

  nearest(embedding: Float32Array): number {
    let best = { label: 0, likeness: -Infinity };
    for (const [label, middle] of this.#middles) {
      const likeness = product(embedding, middle);
      if (likeness > best.likeness) best = { label, likeness };
    }
    return best.label;
  }

  slightest(): { label: number; seconds: number } {
    let least = { label: 0, seconds: Infinity };
    for (const [label, seconds] of this.#seconds)
      if (seconds < least.seconds) least = { label, seconds };
    return least;
  }

  mostAlike(): { one: number; other: number; likeness: number } | undefined {
    let best: { one: number; other: number; likeness: number } | undefined;
    for (const [one, middle] of this.#middles)
      for (const [other, second] of this.#middles) {
        const likeness = product(middle, second);
        if (one < other && likeness > (best?.likeness ?? -Infinity))
          best = { one, other, likeness };
      }
    return best;
  }
}
