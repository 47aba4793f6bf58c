import { readFileSync } from 'node:fs';
import { Dispositions } from '../../../src/bridge/wrap-up/dispositions.ts';
import { wrapUpFrom } from '../../../src/language/wrap-up/as-wrap-up.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Meaning } from '../../../src/meaning/meaning.ts';
import type { WrapUp } from '../../../src/protocol/wrap-up.ts';
import { recordOfCall, wrapUpCalls } from './wrap-up-calls.ts';

type Labelled = {
  dispositions: { name: string; means: string; examples: string[] }[];
  calls: Record<string, string>;
};

/** Suggestions of the labelled calls. Where `learns` is set, each call is judged with all others as chosen by people. */
export async function dispositionScore(
  meaning: Pick<Meaning, 'direction' | 'isThere'>,
  { learns = false } = {},
): Promise<{ calls: number; right: number; wrong: number; macroF1: number; lines: string[] }> {
  const path = new URL('../../fixtures/language/dispositions.json', import.meta.url);
  const { dispositions: list, calls: ids } = JSON.parse(readFileSync(path, 'utf8')) as Labelled;
  const labels = new Map(Object.entries(ids).flatMap(([name, calls]) => calls.split(' ').map((id): [string, string] => [id, name]))); // prettier-ignore
  const calls = (['first', 'second', 'third', 'fourth'] as const).flatMap(wrapUpCalls);
  const known = calls.flatMap((call) => {
    const label = labels.get(call.id);
    const turns = call.turns.map((turn, at) => ({ ...turn, utterance_id: `utt_${at}` }));
    return label === undefined ? [] : [{ id: call.id, label, turns, record: wrapUpFrom(recordOfCall(call), turns) }]; // prettier-ignore
  });
  const found: { label: string; got: string | null }[] = [];
  const lines: string[] = [];
  for (const { id, label, turns, record } of known) {
    const others = learns ? known.filter((one) => one.id !== id) : [];
    const chosenBefore = (name: string, limit: number): Promise<WrapUp[]> =>
      Promise.resolve(others.filter((one) => one.label === name).slice(0, limit).map((one) => one.record)); // prettier-ignore
    const of = new Dispositions({ list, chosenBefore, meaning, clock: systemClock });
    const { disposition } = await of.suggested(record, turns);
    found.push({ label, got: disposition });
    if (disposition !== label) lines.push(`${id} ${label}: ${disposition ?? 'none'}`);
  }
  const spoken = found.filter(({ got }) => got !== null);
  const right = spoken.filter(({ got, label }) => got === label).length;
  const f1s = [...new Set(found.map(({ label }) => label))].map((name) => {
    const hits = spoken.filter(({ got, label }) => got === name && label === name).length;
    const all = spoken.filter(({ got, label }) => got === name || label === name).length;
    return all === 0 ? 0 : (2 * hits) / (hits + all);
  });
  const macroF1 = f1s.reduce((sum, value) => sum + value, 0) / f1s.length;
  return { calls: known.length, right, wrong: spoken.length - right, macroF1, lines };
}
