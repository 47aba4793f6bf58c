import { openingSigns, openingWeights } from '../../../src/language/summary/boundaries.ts';
import type { SpokenTurn } from '../../../src/language/types.ts';
import { chapterCalls, type ChapterCall } from './chapter-calls.ts';
import { lines, turnsOf, type CallFixture, type Split } from './language-scores.ts';
import { wrapUpCalls, type WrapUpPart } from './wrap-up-calls.ts';

type SignName = keyof typeof openingWeights;
type LabelledTurn = { values: number[]; isOpening: boolean; weight: number };

const names = Object.keys(openingWeights) as SignName[];
const steps = 600;
/** Keeps weights small: there are few calls. */
const restraint = 10;

/** The calls of both sets with known chapters. */
export function callsWithChapters(part: Split): ChapterCall[] {
  const older = lines<CallFixture>(`calls-${part}`).map((call) => ({ id: call.id, turns: turnsOf(call), starts: call.chapters })); // prettier-ignore
  return [...chapterCalls(part), ...older];
}

/** Calls of these parts of the wrap-ups: each is about one topic. */
export function callsOfOneTopic(parts: readonly WrapUpPart[]): ChapterCall[] {
  return parts.flatMap(wrapUpCalls).map(({ id, turns }) => ({ id, turns, starts: [1] }));
}

/** Two or three calls told as one, without the greetings between them. */
export function joinedCalls(calls: readonly ChapterCall[], count: number): ChapterCall[] {
  let seed = 1;
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  return Array.from({ length: count }, (_, place) => {
    const turns: SpokenTurn[] = [];
    const starts = [1];
    const parts = 2 + Math.floor(random() * 2);
    for (let part = 0; part < parts; part++) {
      const { turns: all = [] } = calls[Math.floor(random() * calls.length)] ?? {};
      const first = part === 0 ? 0 : Math.max(1, all.findIndex(({ role }) => role === 'customer')); // prettier-ignore
      const isShortEnd = part < parts - 1 && (all.at(-1)?.text.length ?? 0) < 40;
      if (part > 0) starts.push(turns.length);
      turns.push(...all.slice(first, isShortEnd ? -1 : undefined));
    }
    return { id: `joined ${place}`, turns, starts };
  });
}

/** The weights that the calls teach: written calls count six times as much as joined ones and those of one topic. */
export function learntWeights(written: readonly ChapterCall[]): Record<SignName, number> {
  const single = callsOfOneTopic(['first', 'second']);
  const samples = [
    ...written.flatMap((call) => samplesOf(call, 3)),
    ...[...joinedCalls(single, 40), ...single].flatMap((call) => samplesOf(call, 0.5)),
  ];
  const size = names.length;
  const mean = names.map((_, at) => samples.reduce((sum, { values }) => sum + (values[at] ?? 0), 0) / samples.length); // prettier-ignore
  const spread = names.map((_, at) => Math.sqrt(samples.reduce((sum, { values }) => sum + ((values[at] ?? 0) - (mean[at] ?? 0)) ** 2, 0) / samples.length) || 1); // prettier-ignore
  const rows = samples.map(({ values }) => values.map((value, at) => (at === 0 ? 1 : (value - (mean[at] ?? 0)) / (spread[at] ?? 1)))); // prettier-ignore
  const total = samples.reduce((sum, { weight }) => sum + weight, 0);
  const weights = new Array<number>(size).fill(0);
  const speed = new Array<number>(size).fill(0);
  for (let step = 0; step < steps; step++) {
    const slope = weights.map((weight, at) => (at === 0 ? 0 : restraint * weight));
    for (const [place, row] of rows.entries()) {
      const { isOpening = false, weight = 0 } = samples[place] ?? {};
      const sum = row.reduce((all, value, at) => all + value * (weights[at] ?? 0), 0);
      const error = (1 / (1 + Math.exp(-sum)) - (isOpening ? 1 : 0)) * weight * (isOpening ? 2 : 1);
      for (const [at, value] of row.entries()) slope[at] = (slope[at] ?? 0) + error * value;
    }
    for (let at = 0; at < size; at++) {
      speed[at] = 0.9 * (speed[at] ?? 0) - (0.4 * (slope[at] ?? 0)) / total;
      weights[at] = (weights[at] ?? 0) + (speed[at] ?? 0);
    }
  }
  const plain = weights.map((weight, at) => (at === 0 ? weight : weight / (spread[at] ?? 1)));
  plain[0] = plain.reduce((sum, weight, at) => sum - (at === 0 ? -weight : weight * (mean[at] ?? 0)), 0); // prettier-ignore
  return Object.fromEntries(names.map((name, at) => [name, plain[at] ?? 0])) as Record<SignName, number>; // prettier-ignore
}

/** The turns beside an opening teach nothing: an annotator might have taken them as well. */
function samplesOf({ turns, starts }: ChapterCall, weight: number): LabelledTurn[] {
  const inner = starts.slice(1);
  return openingSigns(turns).flatMap((signs, i) =>
    i < 3 || i >= turns.length - 2 || inner.some((start) => Math.abs(start - i) === 1)
      ? []
      : [{ values: names.map((name) => signs[name]), isOpening: inner.includes(i), weight }],
  );
}
