import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KeptWeights } from '../../src/assist/means-rules.ts';
import { starterPlaybooks } from '../../src/assist/playbooks.ts';
import { ruleSetOf } from '../../src/assist/rule-set.ts';
import { createLog } from '../../src/lib/log.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { SentenceMeaning } from '../../src/meaning/meaning.ts';
import type { RecogniserPool } from '../../src/hearing/pool/pool.ts';
import { realModel } from '../support/recognition/real-model.ts';
import { recogniserOf } from '../support/recognition/recogniser.ts';
import { callsOf, conditionOf } from './assist/calls.ts';
import { heardCalls, writtenCalls, type CallAsHeard } from './assist/heard.ts';
import { KeptMeaning } from './assist/kept-meaning.ts';
import type { HalfOfCalls } from './assist/turns.ts';
import {
  figuresOf,
  figuresOfCalls,
  judgedCall,
  judgedTurns,
  type Directions,
  type JudgedTurn,
  type Share,
} from './assist/scores.ts';

/**
 * Hints of the starter playbook in calls that are spoken: 67 calls by several voices, over telephone lines, with every
 * rule said, said in other words, half said, denied, and said by the other party. The playbook was written by the calls
 * of `seen`; of those of `unseen`, with other voices, only figures are printed.
 *
 *   ASSIST_CONDITIONS=G.711,GSM,"G.711 babble 12"   lines; babble is so many decibels below the speech;
 *                            "written" is what was said, without a recogniser
 *   ASSIST_HALF=both         or seen, or unseen
 *   ASSIST_FOLDER=folder     what was spoken and heard is kept there, so that the rules are judged again in seconds
 *   ASSIST_SHOW=1            prints what is wrong in the seen calls
 *   TRUNKLINE_MODELS         a folder with the sentence encoder; without it phrases alone are measured
 *
 * Method: the recogniser without the service around it, each leg a stream that is sent at once; the words that the
 * playbook would bring to the call's vocabulary are not asked for. A turn is judged alone, as the only one of its call.
 */
const setting = (name: string, fallback: string): string => process.env[`ASSIST_${name}`] ?? fallback; // prettier-ignore
const folder = setting('FOLDER', join(tmpdir(), 'trunkline-bench-assist'));
const halves = (['seen', 'unseen'] as const).filter((half) =>
  ['both', half].includes(setting('HALF', 'both')),
);

export async function run(): Promise<void> {
  await using opened = new AsyncDisposableStack();
  let pool: Promise<RecogniserPool> | undefined;
  const recogniser = (): Promise<RecogniserPool> => (pool ??= openRecogniser(opened));
  const { set, direction } = await taughtRules(opened);
  for (const name of setting('CONDITIONS', 'G.711,GSM,G.711 babble 10').split(','))
    for (const half of halves) {
      const planned = callsOf(half);
      const calls =
        name === 'written'
          ? writtenCalls(planned)
          : await heardCalls(planned, conditionOf(name), { folder, recogniser });
      await report({ name, half, set, direction, calls });
    }
}

async function openRecogniser(opened: AsyncDisposableStack): Promise<RecogniserPool> {
  const model = await realModel();
  if (!model) throw new Error('npx trunkline models pull moonshine-tiny-en');
  return opened.use(await recogniserOf(model.model, { ...model, processes: 2 }));
}

type TaughtRules = { set: ReturnType<typeof ruleSetOf>; direction: Directions };

async function taughtRules(opened: AsyncDisposableStack): Promise<TaughtRules> {
  const log = createLog({ level: 'error' });
  const encoder = opened.use(new SentenceMeaning({ models: process.env['TRUNKLINE_MODELS'] }, systemClock, log)); // prettier-ignore
  const set = ruleSetOf(starterPlaybooks());
  const isTaught = await set.means.teach(new KeptMeaning(encoder, folder), new KeptWeights());
  if (!isTaught) console.log('no sentence encoder: phrases alone');
  console.log(`${String(set.phrases.size)} wordings`);
  return { set, direction: (text) => set.means.stored(text) };
}

const share = ({ part, of }: Share): string =>
  of === 0 ? '-' : `${(part / of).toFixed(3)} (${String(part)}/${String(of)})`;

async function report(
  about: TaughtRules & { name: string; half: HalfOfCalls; calls: readonly CallAsHeard[] },
): Promise<void> {
  const { set, direction, calls, name, half } = about;
  const turns = (await Promise.all(calls.map((call) => judgedTurns(set, call, direction)))).flat();
  const figures = figuresOf(turns);
  const whole = figuresOfCalls(await Promise.all(calls.map((call) => judgedCall(set, call, direction)))); // prettier-ignore
  const { traps } = figures;
  console.log(`\n${half}, ${name}: ${String(calls.length)} calls, ${String(turns.length)} turns`);
  const rows: [string, string][] = [
    ['word errors', share(figures.wordErrors)],
    ['phrases, recall in the usual words', share(figures.phraseRecall)],
    ['phrases, precision in all turns', share(figures.phrasePrecision)],
    ['phrases said that were found', share(figures.phrasesKept)],
    ['means, recall in other words', share(figures.meansRecall)],
    ['means, precision there and in neutral turns', share(figures.meansPrecision)],
    ['either, recall', share(figures.eitherRecall)],
    ['either, precision in all turns', share(figures.eitherPrecision)],
    ['false in neutral turns, by phrases', share(figures.falseByPhrase)],
    ['false in neutral turns, by either', share(figures.falseByEither)],
    ['fired though half said', share(traps.half)],
    ['fired though denied', share(traps.not)],
    ['fired though the other party said it', share(traps.other)],
    ['whole calls, recall', share(whole.recall)],
    ['whole calls, precision', share(whole.precision)],
  ];
  for (const [what, value] of rows) console.log(`  ${what.padEnd(46)} ${value}`);
  if (half === 'seen' && setting('SHOW', '') !== '') show(turns);
}

function show(turns: readonly JudgedTurn[]): void {
  for (const { turn, heard, phrases, phrasesAsSaid, means, either } of turns) {
    const wrong = either.filter((rule) => !turn.rules.includes(rule));
    const missed = turn.rules.filter((rule) => !either.includes(rule));
    const byPhrase = turn.kind !== 'said' || phrases.includes(turn.about);
    if (wrong.length === 0 && missed.length === 0 && byPhrase) continue;
    console.log(
      `${turn.about} ${turn.kind}: ${turn.text}\n     heard: ${heard}\n     phrases ${phrases.join(' ') || '-'} (as said ${phrasesAsSaid.join(' ') || '-'}), means ${means.join(' ') || '-'}`,
    );
  }
}
