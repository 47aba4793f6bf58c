import { readFileSync } from 'node:fs';
import type { CallRules } from '../../../src/assist/call-rules.ts';

export type LabelledLine = { role: string; text: string; rules: string[] };

/** Rules that need more than one line. */
const ofSeveralLines = new Set(['verified', 'gets-upset', 'dead-air']);

/**
 * Lines of calls, each with the situations that it is about. One writer, who had not seen the rules, wrote both sets in
 * different voices. No line of the second was looked at while the phrases were written.
 */
function linesOf(name: string): LabelledLine[] {
  return readFileSync(new URL(`../../fixtures/assist/${name}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as LabelledLine);
}

/** The rules that a call of this one line fires. */
export function firedBy(
  call: CallRules,
  { role, text }: LabelledLine,
  direction?: Parameters<CallRules['heard']>[0]['direction'],
): string[] {
  const said = { utteranceId: 'u', legId: 'l', role, start: 0, end: 5, text };
  // Hints that wait for their turn have it within these seconds.
  const hits = [
    ...call.heard(direction === undefined ? said : { ...said, direction }),
    ...call.advance(15),
  ];
  return [...new Set(hits.map(({ rule }) => rule))].filter((rule) => !ofSeveralLines.has(rule));
}

/** The figures of a set: whether the rules that fire are the ones that its lines are about. */
export async function scoreOf(
  name: string,
  fired: (line: LabelledLine) => string[] | Promise<string[]>,
): Promise<{ recall: number; precision: number; falseHits: number }> {
  let [found, wrong, missed, neutral, falseHits] = [0, 0, 0, 0, 0];
  for (const line of linesOf(name)) {
    const rules = await fired(line);
    found += rules.filter((rule) => line.rules.includes(rule)).length;
    wrong += rules.filter((rule) => !line.rules.includes(rule)).length;
    missed += line.rules.filter((rule) => !rules.includes(rule)).length;
    if (line.rules.length > 0) continue;
    neutral++;
    if (rules.length > 0) falseHits++;
  }
  const figures = { recall: found / (found + missed), precision: found / (found + wrong), falseHits: falseHits / neutral }; // prettier-ignore
  console.log(name, figures);
  return figures;
}
