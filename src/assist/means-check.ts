import type { Meaning } from '../meaning/meaning.ts';
import { kindsOf, maxExamplesLearnt, type KindSample } from '../meaning/sentence-kinds.ts';
import { hintThreshold, samplesOf, strongThreshold, type MeansRules } from './means-rules.ts';

/** The examples are cut into so many parts. Each is judged by rules that learnt from the others. */
const parts = 5;
const nothing = 'nothing';

type JudgedExample = { kind: number; shares: Float64Array };

/**
 * Says how well the examples of rules teach: how many of them would be found, and how much of what is found would be
 * right, if they had been left out; and which examples look like those of another rule. A line for each.
 */
export async function checkMeans(
  groups: MeansRules['groups'],
  meaning: Meaning,
): Promise<string[]> {
  const lines: string[] = [];
  for (const { specs, role } of groups) {
    const samples = await samplesOf(specs, meaning);
    if (samples === undefined) return lines;
    if (samples.length > maxExamplesLearnt)
      lines.push(
        `${samples.length} examples (${role}): ${maxExamplesLearnt} of them are learnt; rules with many give way`,
      );
    const judged = await judgedByOthers(samples, specs.length + 1, meaning);
    const texts = [undefined, ...specs.flatMap(({ like }) => like)];
    const first = judged.length - (texts.length - 1);
    for (const [at, { rule, threshold }] of specs.entries()) {
      const kind = at + 1;
      const hint = figuresOf(judged, kind, threshold);
      const strong = figuresOf(judged, kind, strongThreshold);
      lines.push(`${rule} (${role}): from ${threshold} on ${hint}; from ${strongThreshold} on ${strong}`); // prettier-ignore
    }
    const names = [nothing, ...specs.map(({ rule }) => rule)];
    for (const [at, { kind, shares }] of judged.entries()) {
      if (kind === 0) continue;
      const other = shares.findIndex((share, one) => one > 0 && one !== kind && share >= hintThreshold); // prettier-ignore
      if (other > 0) lines.push(`  "${texts[at - first + 1] ?? ''}" of ${names[kind] ?? ''} looks like ${names[other] ?? ''}`); // prettier-ignore
    }
  }
  return lines;
}

async function judgedByOthers(
  samples: readonly KindSample[],
  kinds: number,
  meaning: Meaning,
): Promise<JudgedExample[]> {
  const judged: JudgedExample[] = [];
  for (let part = 0; part < parts; part++) {
    const others = samples.filter((_, at) => at % parts !== part);
    const weights = await meaning.learn(others, kinds);
    if (weights === undefined) return [];
    for (const [at, { kind, direction, denies }] of samples.entries())
      if (at % parts === part) judged[at] = { kind, shares: kindsOf(weights, direction, denies) };
  }
  return judged;
}

function figuresOf(judged: readonly JudgedExample[], kind: number, threshold: number): string {
  const found = judged.filter(({ shares }) => (shares[kind] ?? 0) >= threshold);
  const right = found.filter((one) => one.kind === kind).length;
  const all = judged.filter((one) => one.kind === kind).length;
  const precision = found.length === 0 ? 'nothing' : `${Math.round((100 * right) / found.length)} % right`; // prettier-ignore
  return `${Math.round((100 * right) / all)} % found, ${precision}`;
}
