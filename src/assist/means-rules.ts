import { readFileSync } from 'node:fs';
import type { SentenceDirection } from '../meaning/directions.ts';
import type { Meaning } from '../meaning/meaning.ts';
import { kindsOf, type KindSample, type KindWeights } from '../meaning/sentence-kinds.ts';
import { digestOf } from '../lib/digest.ts';
import { heardWords, isNegator } from './heard-text.ts';

/** A hint is shown from this likelihood on. */
export const hintThreshold = 0.4;
/** Alerts, tags, pauses and signals need this much: they reach more people than the agent. */
export const strongThreshold = 0.55;
/** A final of fewer words says too little to have a meaning. */
const leastWords = 3;
/** Weights of at most this many groups of rules are kept: those of playbooks that somebody is writing. */
const maxWeightsKept = 12;

export type MeansRole = 'customer' | 'agent';
/** The sentences of a trigger `means`. */
export type MeansSpec = {
  rule: string;
  role: MeansRole;
  like: readonly string[];
  /** Sentences that are none of these, although they look like it. */
  unlike: readonly string[];
  threshold: number;
};
type ExampleGroup = {
  playbook: string;
  role: MeansRole;
  members: { number: number; spec: MeansSpec }[];
  weights?: KindWeights | undefined;
};

let neutral: string[] | undefined;

/** Lines of calls that are about nothing that a rule waits for. They come with the program. */
export function neutralLines(): readonly string[] {
  neutral ??= readFileSync(new URL('./starter/neutral.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'));
  return neutral;
}

/**
 * The triggers `means` of a set of rules. Those of one playbook and one role are learnt together, each as one kind of
 * sentence beside "nothing": so a playbook does the same alone and among others. Nothing is found before they are
 * taught.
 */
export class MeansRules {
  readonly #groups: ExampleGroup[] = [];
  readonly #specs: MeansSpec[] = [];
  #meaning: Meaning | undefined;

  add(playbook: string, spec: MeansSpec): number {
    const number = this.#specs.push(spec) - 1;
    let group = this.#groups.find((one) => one.playbook === playbook && one.role === spec.role);
    if (group === undefined)
      this.#groups.push((group = { playbook, role: spec.role, members: [] }));
    group.members.push({ number, spec });
    return number;
  }

  get size(): number {
    return this.#specs.length;
  }

  get isTaught(): boolean {
    return this.#groups.every(({ weights }) => weights !== undefined);
  }

  get groups(): readonly { playbook: string; role: MeansRole; specs: readonly MeansSpec[] }[] {
    return this.#groups.map(({ playbook, role, members }) => ({
      playbook,
      role,
      specs: members.map(({ spec }) => spec),
    }));
  }

  /** Learns from the examples. Returns false if there is no model. A group that was learnt before is not learnt again. */
  async teach(meaning: Meaning, kept: KeptWeights): Promise<boolean> {
    for (const group of this.#groups) {
      const specs = group.members.map(({ spec }) => spec);
      group.weights ??= await kept.of(specs, async () => {
        const samples = await samplesOf(specs, meaning);
        return samples && meaning.learn(samples, specs.length + 1);
      });
      if (group.weights === undefined) return false;
    }
    this.#meaning = meaning;
    return true;
  }

  /** True if a final of this party may meet a trigger, so that its direction is needed. */
  wants(role: string, text: string): boolean {
    if (this.#meaning === undefined || !this.#groups.some((group) => group.role === role)) return false; // prettier-ignore
    return text.trim().split(/\s+/, leastWords).length >= leastWords;
  }

  /** The direction of a final of a live call, or undefined if it does not come in time. */
  live(text: string): Promise<SentenceDirection | undefined> {
    return this.#meaning?.live(text) ?? Promise.resolve(undefined);
  }

  /** The direction of a final of a call that is over. */
  stored(text: string): Promise<SentenceDirection | undefined> {
    return this.#meaning?.direction(text) ?? Promise.resolve(undefined);
  }

  /** The triggers that the sentence meets, each with its likelihood. */
  in(role: string, text: string, direction: SentenceDirection): Map<number, number> {
    const found = new Map<number, number>();
    const isDenial = denies(text);
    for (const { role: of, weights, members } of this.#groups) {
      if (of !== role || weights === undefined) continue;
      const shares = kindsOf(weights, direction, isDenial);
      for (const [at, { number, spec }] of members.entries()) {
        const share = shares[at + 1] ?? 0;
        if (share >= spec.threshold) found.set(number, share);
      }
    }
    return found;
  }
}

function denies(text: string): boolean {
  return heardWords(text).some(({ word }) => isNegator(word));
}

/** Examples with their directions: kind 0 is "nothing". Undefined without a model. */
export async function samplesOf(
  specs: readonly Pick<MeansSpec, 'like' | 'unlike'>[],
  meaning: Meaning,
): Promise<KindSample[] | undefined> {
  const nothing = [...neutralLines(), ...specs.flatMap(({ unlike }) => unlike)];
  const lines = [nothing, ...specs.map(({ like }) => like)];
  const samples: KindSample[] = [];
  for (const [kind, texts] of lines.entries())
    for (const text of texts) {
      const direction = await meaning.direction(text);
      if (direction === undefined) return undefined;
      samples.push({ direction, kind, denies: denies(text) });
    }
  return samples;
}

/** Weights that were learnt, by the examples. Whoever tries a playbook again and again has them learnt once. */
export class KeptWeights {
  readonly #kept = new Map<string, KindWeights>();

  async of(
    specs: readonly MeansSpec[],
    learn: () => Promise<KindWeights | undefined>,
  ): Promise<KindWeights | undefined> {
    const key = digestOf(JSON.stringify(specs.map(({ like, unlike }) => [like, unlike])));
    const weights = this.#kept.get(key) ?? (await learn());
    if (weights === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, weights);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxWeightsKept && oldest !== undefined) this.#kept.delete(oldest);
    return weights;
  }
}
