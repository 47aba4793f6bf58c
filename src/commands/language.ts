import type { Command } from 'commander';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { TrunklineError } from '../lib/errors.ts';
import { parseJson } from '../lib/json.ts';
import { printableJson } from '../lib/printable.ts';
import { printNote } from './terminal.ts';

const TextLine = z.looseObject({ id: z.union([z.string(), z.number()]), text: z.string() });
const CallLine = z.looseObject({
  id: z.union([z.string(), z.number()]),
  turns: z.array(z.looseObject({ role: z.string().default(''), text: z.string() })),
});

/** `trunkline language ...`: processes your own texts like a transcript, as JSON lines. */
export function registerLanguage(program: Command): void {
  const language = program
    .command('language')
    .description('what the language part makes of texts: JSON lines in, JSON lines out');
  language
    .command('entities')
    .description('{id, text} in; {id, entities: [{type, text, start, end}]} out')
    .action(async () => {
      const { findEntities } = await import('../language/entities/find-entities.ts');
      await overLines(TextLine, ({ id, text }) => ({ id, entities: findEntities(text) }));
    });
  language
    .command('sentiment')
    .description('{id, text} in; {id, label} out')
    .action(async () => {
      const { scoreSentiment } = await import('../language/sentiment/score.ts');
      await overLines(TextLine, ({ id, text }) => ({ id, label: scoreSentiment(text).label }));
    });
  language
    .command('calls')
    .description('{id, turns: [{role, text}]} in; {id, summary, chapters: [turn index]} out')
    .action(async () => {
      const { boundariesOf } = await import('../language/summary/boundaries.ts');
      const { summarize } = await import('../language/wrap-up/summarize.ts');
      await overLines(CallLine, ({ id, turns }) => {
        const timed = turns.map(({ role, text }, i) => ({ role, text, start: i, end: i + 1 }));
        return { id, summary: summarize(timed, 'general'), chapters: boundariesOf(timed) };
      });
    });
}

/** Answers each line as it comes. An unusable line is reported on stderr, and the others still get their answer. */
async function overLines<T>(schema: z.ZodType<T>, answer: (line: T) => object): Promise<void> {
  let number = 0;
  let refused = 0;
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    number += 1;
    const text = number === 1 ? line.replace(/^\uFEFF/, '') : line;
    if (text.trim() === '') continue;
    const parsed = schema.safeParse(parseJson(text));
    if (!parsed.success) {
      refused += 1;
      printNote(`line ${number}: ${z.prettifyError(parsed.error).replace(/\n/g, ' ')}`);
      continue;
    }
    if (!process.stdout.write(`${printableJson(answer(parsed.data))}\n`))
      await new Promise((resolve) => process.stdout.once('drain', resolve));
  }
  if (refused > 0)
    throw new TrunklineError('BAD_INPUT', `${refused} of ${number} lines were not understood`);
}
