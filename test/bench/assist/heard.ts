import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf } from '../../../src/lib/digest.ts';
import type { RecogniserPool } from '../../../src/hearing/pool/pool.ts';
import { hear, pushAll } from '../../support/recognition/recogniser.ts';
import { inParallel } from '../recognition/figures.ts';
import { onLine, spoken, type LineCondition, type PlannedCall, type SpokenTurn } from './calls.ts';

const wordsPerSecond = 2.5;

type WordOfTurn = { word: string; start: number; end: number; confidence: number };
/** A final of a leg as it was recognised. */
export type HeardUtterance = {
  role: 'customer' | 'agent';
  start: number;
  end: number;
  text: string;
  words: WordOfTurn[];
};
export type CallAsHeard = {
  id: string;
  half: PlannedCall['half'];
  turns: readonly SpokenTurn[];
  finals: readonly HeardUtterance[];
};

/** The results of a recogniser, in a file for each condition, a call a line: a run that was ended goes on where it was. */
class HeardStore {
  readonly #file: string;
  readonly #calls = new Map<string, CallAsHeard>();

  constructor(folder: string, { name }: LineCondition) {
    mkdirSync(folder, { recursive: true });
    this.#file = join(folder, `heard-${name.replaceAll(/[^A-Za-z0-9]+/g, '-')}.jsonl`);
    if (!existsSync(this.#file)) return;
    for (const line of readFileSync(this.#file, 'utf8').split('\n').filter(Boolean)) {
      const { key, call } = JSON.parse(line) as { key: string; call: CallAsHeard };
      this.#calls.set(key, call);
    }
  }

  of(call: PlannedCall): CallAsHeard | undefined {
    return this.#calls.get(keyOf(call));
  }

  keep(call: PlannedCall, heard: CallAsHeard): void {
    this.#calls.set(keyOf(call), heard);
    appendFileSync(this.#file, `${JSON.stringify({ key: keyOf(call), call: heard })}\n`);
  }
}

function keyOf({ id, turns, customer, agent }: PlannedCall): string {
  const said = turns.map(({ role, text, afterS }) => [role, text, afterS]);
  return digestOf(JSON.stringify([id, said, customer, agent])).slice(0, 24);
}

/** The calls as they were written: what a recogniser without a mistake would hear. */
export function writtenCalls(calls: readonly PlannedCall[]): CallAsHeard[] {
  return calls.map(({ id, half, turns: planned }) => {
    let clockS = 0.4;
    const turns = planned.map((turn) => {
      const start = clockS + turn.afterS;
      clockS = start + 0.4 + turn.text.split(' ').length / wordsPerSecond;
      return { ...turn, start, end: clockS };
    });
    const finals = turns.map(({ role, start, end, text }) => ({
      role,
      start,
      end,
      text,
      words: [],
    }));
    return { id, half, turns, finals };
  });
}

/** The calls as they are heard on a line. Only what is not in the store yet is spoken and recognised. */
export async function heardCalls(
  calls: readonly PlannedCall[],
  line: LineCondition,
  by: { folder: string; recogniser: () => Promise<RecogniserPool> },
): Promise<CallAsHeard[]> {
  const store = new HeardStore(by.folder, line);
  const missing = calls.filter((call) => store.of(call) === undefined);
  if (missing.length > 0) {
    const recogniser = await by.recogniser();
    await inParallel(missing, 2, async (call) => {
      const others = calls.filter(({ id }) => id !== call.id).slice(0, 40);
      const at = calls.indexOf(call);
      const near = [3, 7, 11, 17].map((step) => others[(at + step) % others.length]!);
      const babble = line.babbleDb === undefined ? [] : near.map((other) => spoken(other, by.folder).legs.customer); // prettier-ignore
      const { turns, legs, id, half } = spoken(call, by.folder);
      const finals: HeardUtterance[] = [];
      for (const role of ['customer', 'agent'] as const) {
        const heard = hear(recogniser, {
          maximumDurationS: 15,
          numberPauseS: 1.5,
          partials: false,
        });
        pushAll(heard.stream, onLine(legs[role], babble, line));
        await heard.end();
        finals.push(...heard.finals.map(({ start, end, text, words }) => ({ role, start, end, text, words }))); // prettier-ignore
      }
      store.keep(call, { id, half, turns, finals });
    });
  }
  return calls.map((call) => store.of(call)!);
}
