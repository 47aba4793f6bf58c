import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Knowledge } from '../../src/knowledge/knowledge.ts';
import { createLog } from '../../src/lib/log.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { SentenceMeaning } from '../../src/meaning/meaning.ts';
import {
  labelledFolder,
  labelledQuestions,
  type LabelledQuestion,
} from '../support/knowledge-set.ts';
import { postgresMissing, startPostgres } from '../support/store/postgres.ts';
import { temporaryFolder, temporaryStore } from '../support/store/store.ts';
import { quantile } from './recognition/figures.ts';

/**
 * Articles found for questions of callers, by words alone and by meaning, on both stores; and the time of a look-up.
 *
 *   KNOWLEDGE_STORES=SQLite,Postgres
 *   KNOWLEDGE_PASSAGES=10000   of made words, for the times; with the model every twentieth is encoded and used again
 *   TRUNKLINE_MODELS           a folder with the sentence encoder; without it words alone are measured
 *   KNOWLEDGE_SCORES=1         the score of each question, for thresholds
 */
const passages = Number(process.env['KNOWLEDGE_PASSAGES'] ?? '10000');
const log = createLog({ level: 'error' });

export async function run(): Promise<void> {
  await using meaning = new SentenceMeaning(
    { models: process.env['TRUNKLINE_MODELS'] },
    systemClock,
    log,
  );
  for (const kind of (process.env['KNOWLEDGE_STORES'] ?? 'SQLite,Postgres').split(',')) {
    if (kind === 'Postgres' && postgresMissing !== undefined) {
      console.log(postgresMissing);
      continue;
    }
    await using opened = new AsyncDisposableStack();
    const server = kind === 'Postgres' ? opened.use(await startPostgres()) : undefined;
    const newStore = async () => {
      const databaseUrl = await server?.newDatabase();
      return opened.use(await temporaryStore(databaseUrl === undefined ? {} : { databaseUrl }));
    };
    const folder = opened.use(await temporaryFolder()).path;
    await labelledFolder(folder);
    const store = await newStore();
    const options = { folder, store, clock: systemClock, log };
    await figures(`${kind}, words alone`, opened.use(Knowledge.open(options)));
    if (await meaning.isThere()) {
      const knowledge = opened.use(Knowledge.open({ ...options, meaning }));
      await figures(`${kind}, with the model`, knowledge);
      await keptFigures(`${kind}, one question kept`, { ...options, meaning });
    } else console.log('there is no model: set TRUNKLINE_MODELS');
    await times(kind, { store: await newStore(), meaning });
  }
}

type RankFigures = { first: number; three: number; shown: number; wrong: number };

async function ranks(
  knowledge: Knowledge,
  questions: readonly LabelledQuestion[],
): Promise<RankFigures> {
  // prettier-ignore
  let [first, three, shown, wrong] = [0, 0, 0, 0];
  for (const { article, question } of questions) {
    const found = (await knowledge.ask(question, { limit: 3 })) ?? [];
    const names = found.map(({ name }) => name);
    if (names[0] === article) first++;
    if (names.includes(article)) three++;
    if (found[0]?.isSure === true) shown++;
    if (found[0]?.isSure === true && names[0] !== article) wrong++;
    if (process.env['KNOWLEDGE_SCORES'] !== undefined)
      console.log(`${found[0]?.score.toFixed(3) ?? '-'} ${names[0] === article ? 'right' : 'WRONG'} ${question} [${names.join(' ')}]`); // prettier-ignore
  }
  const of = questions.length;
  return { first: first / of, three: three / of, shown: shown / of, wrong: wrong / of };
}

async function figures(name: string, knowledge: Knowledge): Promise<void> {
  await knowledge.load();
  await knowledge.understand();
  const { questions, without_article: strangers } = await labelledQuestions();
  for (const kind of ['plain', 'seen hint', 'hint'] as const)
    tell(
      `${name}: ${kind}`,
      await ranks(
        knowledge,
        questions.filter((one) => one.kind === kind),
      ),
    );
  for (const part of [0, 1]) {
    const some = strangers.filter((_, at) => at % 2 === part);
    let silent = 0;
    for (const question of some) {
      const [first] = (await knowledge.ask(question, { limit: 1 })) ?? [];
      if (first?.isSure !== true) silent++;
      if (process.env['KNOWLEDGE_SCORES'] !== undefined)
        console.log(`${first?.score.toFixed(3) ?? '-'} none ${question} [${first?.name ?? ''}]`);
    }
    console.log(`${name}: silent for ${(silent / some.length).toFixed(2)} of ${some.length} questions without an article (${part === 0 ? 'learnt from' : 'the others'})`); // prettier-ignore
  }
}

/** One of the two hinting questions of each article was found useful; the other one is asked. */
async function keptFigures(
  name: string,
  options: Omit<Parameters<typeof Knowledge.open>[0], 'feedback'>,
): Promise<void> {
  const { questions } = await labelledQuestions();
  const hints = questions.filter(({ kind }) => kind === 'hint');
  for (const part of [0, 1]) {
    const verdicts = hints
      .filter((_, at) => at % 2 === part)
      .map(({ article: name, question }) => ({ name, question, isUseful: true }));
    await using knowledge = Knowledge.open({
      ...options,
      feedback: () => Promise.resolve(verdicts),
    });
    await knowledge.load();
    await knowledge.understand();
    await knowledge.readFeedback();
    const asked = hints.filter((_, at) => at % 2 !== part);
    tell(`${name}, half ${part + 1}`, await ranks(knowledge, asked));
  }
}

function tell(name: string, { first, three, shown, wrong }: RankFigures): void {
  console.log(`${name}: first ${first.toFixed(2)}, among three ${three.toFixed(2)}, shown ${shown.toFixed(2)}, of these wrong ${(shown === 0 ? 0 : wrong / shown).toFixed(2)}`); // prettier-ignore
}

/** Words as often as words are: their rank by Zipf's law. */
function newWords(seed: number): () => string {
  let state = seed;
  const scale = Math.log(20_000);
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return `w${Math.floor(Math.exp((state / 2 ** 32) * scale))}x`;
  };
}

async function times(
  kind: string,
  { store, meaning }: { store: Awaited<ReturnType<typeof temporaryStore>>; meaning: SentenceMeaning }, // prettier-ignore
): Promise<void> {
  await using folder = await temporaryFolder();
  const word = newWords(7);
  const some = (count: number) => Array.from({ length: count }, word).join(' ');
  await mkdir(folder.path, { recursive: true });
  for (let file = 0; file < passages / 20; file++) {
    const sections = Array.from({ length: 20 }, () => `## ${some(4)}\n${some(100)}.\n`);
    await writeFile(join(folder.path, `article-${file}.md`), `# ${some(5)}\n${sections.join('\n')}`); // prettier-ignore
  }
  const hasModel = await meaning.isThere();
  const directions: NonNullable<Awaited<ReturnType<SentenceMeaning['direction']>>>[] = [];
  // The time of a look-up does not depend on what directions say, so few sentences stand for all.
  const encoder = {
    isThere: () => meaning.isThere(),
    live: (text: string) => meaning.live(text),
    learn: meaning.learn.bind(meaning),
    direction: async (text: string) => {
      if (directions.length >= 200) return directions[text.length % 200];
      const made = await meaning.direction(text);
      if (made !== undefined) directions.push(made);
      return made;
    },
  };
  const beganMs = performance.now();
  await using knowledge = Knowledge.open({ folder: folder.path, store, clock: systemClock, log, ...(hasModel ? { meaning: encoder } : {}) }); // prettier-ignore
  await knowledge.load();
  const loadedMs = performance.now() - beganMs;
  await knowledge.understand();
  const took: number[] = [];
  for (let at = 0; at < 300; at++) {
    const question = `how do i ${some(9)}`;
    const askedMs = performance.now();
    await knowledge.ask(question, { limit: 3, isLive: true });
    took.push(performance.now() - askedMs);
  }
  console.log(`${kind}: ${knowledge.state.passages} passages read in ${(loadedMs / 1_000).toFixed(1)} s; a look-up ${hasModel ? 'with the model' : 'by words'} p50 ${quantile(took, 0.5).toFixed(0)} ms, p95 ${quantile(took, 0.95).toFixed(0)} ms`); // prettier-ignore
}
