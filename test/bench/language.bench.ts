/**
 * The language part, on the labelled lines of test/fixtures/language.
 *
 * `dev` are the lines that the rules were written against, `held` those that are only scored; both were written
 * by the same people who wrote the rules, so lines of other people will score lower. An entity counts strictly when
 * type, start and end agree, and by overlap when the family agrees and the spans touch. A fact is held when its
 * words stand in one sentence of the summary; a chapter's boundary may be off by one turn. Weekdays alone and the
 * like, which may be given or left out, stand in no line. False changes: ten invented brand names as custom
 * vocabulary over all lines, none of which holds one. Time: entities, sentiment, vocabulary and spelling of one
 * utterance one after the other on one thread, after a warm-up, as the thread's CPU time (other work on the
 * machine does not count); memory: the process before and after its first call.
 */
import { performance } from 'node:perf_hooks';
import {
  Counts,
  factsIn,
  lines,
  scoreBoundaries,
  scoreEntities,
  scoreSentiments,
  turnsOf,
  type CallFixture,
  type EntityLine,
  type SentimentLine,
  type Split,
} from '../support/language/language-scores.ts';

const percent = (value: number): string => `${(value * 100).toFixed(1)} %`;
const three = (value: number): string => value.toFixed(3);
const megabytes = (): number => Math.round(process.memoryUsage().rss / 2 ** 20);

export async function run(): Promise<void> {
  const rssBefore = megabytes();
  const startedMs = performance.now();
  const { performTask } = await import('../../src/language/perform.ts');
  const { findEntities } = await import('../../src/language/entities/find-entities.ts');
  const { scoreSentiment } = await import('../../src/language/sentiment/score.ts');
  const { summarize } = await import('../../src/language/wrap-up/summarize.ts');
  const { boundariesOf } = await import('../../src/language/summary/boundaries.ts');
  findEntities('This is Laura Bennett.');
  scoreSentiment('I am fine.');
  console.log(
    `loaded in ${Math.round(performance.now() - startedMs)} ms, memory +${megabytes() - rssBefore} MB (process ${megabytes()} MB)`,
  );
  for (const split of ['dev', 'held'] as const) {
    printEntities(split, (text) => findEntities(text));
    printSentiment(split, (text) => scoreSentiment(text).label);
    printCalls(split, summarize, boundariesOf);
  }
  const all = (['dev', 'held'] as const).flatMap((split) => [
    ...lines<EntityLine>(`entities-${split}`),
    ...lines<SentimentLine>(`sentiment-${split}`),
  ]);
  const realtime = {
    custom_vocabulary: true,
    custom_vocabulary_config: {
      vocabulary:
        'Trunkline Zendesk Kubernetes Salesforce Xylotek Omnisphere Vantrix Quorvane Bellweather Nimbix'.split(
          ' ',
        ),
    },
    custom_spelling: true,
    custom_spelling_config: { spelling_dictionary: { Zyxwv: ['zixwif'] } },
  };
  const utteranceOf = (text: string) => ({
    start: 0,
    end: 5,
    confidence: 0.9,
    channel: 0,
    language: 'en',
    text: ` ${text}`,
    words: text
      .split(' ')
      .map((word, i) => ({ word: ` ${word}`, start: i / 4, end: i / 4 + 0.2, confidence: 0.9 })),
  });
  let changed = 0;
  for (const { text } of all)
    if (performTask('rewrite', { utterance: utteranceOf(text), realtime }).text !== ` ${text}`)
      changed += 1;
  console.log(
    `custom vocabulary: ${changed} of ${all.length} lines without the terms were changed`,
  );
  const times: number[] = [];
  for (let round = 0; round < 3; round++)
    for (const { text } of all) {
      const atUs = process.threadCpuUsage();
      const utterance = performTask('rewrite', { utterance: utteranceOf(text), realtime });
      performTask('entities', { utterance });
      performTask('sentiment', { utterance });
      const { user, system } = process.threadCpuUsage(atUs);
      if (round > 0) times.push((user + system) / 1000);
    }
  times.sort((a, b) => a - b);
  const at = (share: number): string =>
    `${(times[Math.floor(times.length * share)] ?? 0).toFixed(2)} ms`;
  console.log(
    `all live add-ons, CPU time of one utterance: median ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)} (${times.length} utterances)`,
  );
  printLinear(
    (turns) => void performTask('call', { turns, summaryType: 'general', language: 'en' }),
  );
  console.log(`memory at the end ${megabytes()} MB`);
  await printChapters();
  await printWrapUps();
}

function printEntities(split: Split, find: Parameters<typeof scoreEntities>[1]): void {
  const set = lines<EntityLine>(`entities-${split}`);
  const score = scoreEntities(set, find);
  console.log(`\nentities, ${split}: ${set.length} lines`);
  console.log(
    `  micro F1 strict ${three(score.strict.f1)} (P ${three(score.strict.precision)} R ${three(score.strict.recall)}), overlap ${three(score.overlap.f1)}`,
  );
  console.log(
    `  written ${three(score.byStyle.written.f1)}, spoken ${three(score.byStyle.spoken.f1)}; false on ${score.freeLinesHit} of ${score.freeLines} lines without entities (${percent(score.freeLinesHit / score.freeLines)})`,
  );
  for (const [type, counts] of [...score.byType].sort((a, b) => a[0].localeCompare(b[0])))
    console.log(
      `  ${type.padEnd(30)} P ${three(counts.precision)} R ${three(counts.recall)} F1 ${three(counts.f1)} (${counts.hits + counts.missed})`,
    );
}

function printSentiment(split: Split, label: Parameters<typeof scoreSentiments>[1]): void {
  const set = lines<SentimentLine>(`sentiment-${split}`);
  const score = scoreSentiments(set, label);
  console.log(`\nsentiment, ${split}: ${set.length} lines`);
  console.log(`  accuracy ${three(score.accuracy)}, macro F1 ${three(score.macroF1)}`);
  for (const [name, counts] of score.byLabel)
    console.log(
      `  ${name.padEnd(10)} P ${three(counts.precision)} R ${three(counts.recall)} F1 ${three(counts.f1)}`,
    );
}

function printCalls(
  split: Split,
  summarize: (turns: ReturnType<typeof turnsOf>, type: 'general') => string,
  boundariesOf: (turns: ReturnType<typeof turnsOf>) => number[],
): void {
  const calls = lines<CallFixture>(`calls-${split}`);
  const boundaries = new Counts();
  let held = 0;
  let facts = 0;
  let longest = 0;
  for (const call of calls) {
    const summary = summarize(turnsOf(call), 'general');
    longest = Math.max(longest, summary.split(/\s+/).length);
    const found = factsIn(summary, call.facts);
    held += found.filter(Boolean).length;
    facts += found.length;
    scoreBoundaries(call.chapters, boundariesOf(turnsOf(call)), boundaries);
  }
  console.log(`\ncalls, ${split}: ${calls.length}`);
  console.log(
    `  facts held ${held} of ${facts} (${three(held / facts)}) in at most ${longest} words; chapter boundaries F1 ${three(boundaries.f1)}`,
  );
}

/** Chapters behind the first one, in calls of several topics, of one, and in calls that were joined. */
async function printChapters(): Promise<void> {
  const { callsOfOneTopic, callsWithChapters, joinedCalls } = await import('../support/language/learn-boundaries.ts'); // prettier-ignore
  const { boundariesOf } = await import('../../src/language/summary/boundaries.ts');
  const single = callsOfOneTopic(['third', 'fourth', 'fifth']);
  const sets = {
    'dev, which taught the weights': callsWithChapters('dev'),
    held: callsWithChapters('held'),
    'joined, unseen': joinedCalls(single, 20),
    'one topic, unseen': single,
  };
  for (const [name, calls] of Object.entries(sets)) {
    const counts = new Counts();
    for (const { turns, starts } of calls)
      scoreBoundaries(starts.slice(1), boundariesOf(turns).slice(1), counts);
    console.log(`chapters, ${name}: F1 ${three(counts.f1)} (${counts.hits} right, ${counts.extra} extra, ${counts.missed} missed, ${calls.length} calls)`); // prettier-ignore
  }
}

/** The records of labelled calls, and the dispositions that are suggested for them: by words, and by meaning where the model is. */
async function printWrapUps(): Promise<void> {
  const { scoreWrapUps, wrapUpCalls } = await import('../support/language/wrap-up-calls.ts');
  for (const part of ['first', 'second', 'third', 'fourth', 'fifth'] as const) {
    const score = scoreWrapUps(wrapUpCalls(part));
    const fields = (['reason', 'done', 'outcome', 'promises', 'facts'] as const).map((field) => `${field} ${three(score[field].f1)}`); // prettier-ignore
    const { promises, withoutSource, wrongNames } = score;
    console.log(
      `wrap-ups, ${part} part: F1 ${fields.join(', ')}; promises P ${three(promises.precision)} R ${three(promises.recall)}; without a source ${withoutSource.length}, wrong names ${wrongNames.length}`,
    );
  }
  const { dispositionScore } = await import('../support/language/disposition-scores.ts');
  const { SentenceMeaning } = await import('../../src/meaning/meaning.ts');
  const { systemClock } = await import('../../src/lib/clock.ts');
  const { createLog } = await import('../../src/lib/log.ts');
  const models = process.env['TRUNKLINE_MODELS'];
  await using meaning = new SentenceMeaning(
    { models },
    systemClock,
    createLog({ level: 'silent' }),
  );
  const none = {
    isThere: () => Promise.resolve(false),
    direction: () => Promise.resolve(undefined),
  };
  const isThere = await meaning.isThere();
  for (const [by, how] of isThere
    ? ([
        ['words', none],
        ['meaning', meaning],
      ] as const)
    : ([['words', none]] as const))
    // prettier-ignore
    for (const learns of [false, true]) {
      const { calls, right, wrong, macroF1 } = await dispositionScore(how, { learns });
      console.log(
        `dispositions by ${by}${learns ? ', learning from the other calls' : ''}: coverage ${three((right + wrong) / calls)}, precision ${three(right / (right + wrong))}, where it speaks macro F1 ${three(macroF1)} (${calls} calls)`,
      );
    }
  if (!isThere) console.log('dispositions by meaning: the model sentence-encoder-en is not installed'); // prettier-ignore
}

/** A long call takes twice the time of one half as long: the calls of the sets, one after the other. */
function printLinear(work: (turns: ReturnType<typeof turnsOf>) => void): void {
  const one = (['dev', 'held'] as const).flatMap((split) =>
    lines<CallFixture>(`calls-${split}`).flatMap((call) => call.turns),
  );
  for (const copies of [1, 5, 10]) {
    const turns = Array.from({ length: copies }, () => one)
      .flat()
      .map((turn, i) => ({ ...turn, start: i * 4, end: i * 4 + 4 }));
    const atUs = process.threadCpuUsage();
    work(turns);
    const { user, system } = process.threadCpuUsage(atUs);
    const words = turns.reduce((sum, turn) => sum + turn.text.split(' ').length, 0);
    console.log(
      `a whole call of ${words} words: ${Math.round((user + system) / 1000)} ms for summary, chapters, entities and sentiment`,
    );
  }
}
