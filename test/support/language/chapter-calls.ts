import { readFileSync } from 'node:fs';
import type { SpokenTurn } from '../../../src/language/types.ts';
import type { Split } from './language-scores.ts';

/** A call with the turns at which a topic begins. The first topic begins with the reason for the call. */
export type ChapterCall = { id: string; turns: SpokenTurn[]; starts: number[] };

/** Eight calls a part, two of them about one topic. A line `> topic` stands before the turn that opens it. */
export function chapterCalls(part: Split): ChapterCall[] {
  const path = new URL(`../../fixtures/language/chapters-${part}.txt`, import.meta.url);
  return readFileSync(path, 'utf8').trim().split(/\n\n+/).map(callOf);
}

function callOf(block: string): ChapterCall {
  const [head = '', ...lines] = block.split('\n');
  const call: ChapterCall = { id: head.replace('# ', ''), turns: [], starts: [1] };
  for (const line of lines) {
    const start = call.turns.length * 4;
    if (line.startsWith('> ')) call.starts.push(call.turns.length);
    else call.turns.push({ role: line.startsWith('A: ') ? 'agent' : 'customer', text: line.slice(3), start, end: start + 3 }); // prettier-ignore
  }
  return call;
}
