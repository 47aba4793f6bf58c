import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { articleId } from '../knowledge/article.ts';
import { Knowledge } from '../knowledge/knowledge.ts';
import type { KnowledgeProblem } from '../knowledge/folder.ts';
import { systemClock } from '../lib/clock.ts';
import { TrunklineError } from '../lib/errors.ts';
import { createLog } from '../lib/log.ts';
import type { SentenceMeaning } from '../meaning/meaning.ts';
import type { KnowledgeFound } from '../protocol/articles.ts';
import { openStore } from '../store/store.ts';

/** Asks the articles of a folder in an index of its own, which is removed afterwards. No process need run. */
export async function foundInFolder(
  folder: string,
  question: string,
  ownMeaning: SentenceMeaning,
): Promise<KnowledgeFound & { problems: readonly KnowledgeProblem[] }> {
  await using meaning = ownMeaning;
  const log = createLog({ level: 'silent' });
  const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-ask-'));
  try {
    await using store = await openStore({ dataDir, log });
    await using knowledge = Knowledge.open({ folder, store, meaning, clock: systemClock, log });
    await knowledge.load();
    if (knowledge.isEmpty)
      throw new TrunklineError('BAD_INPUT', `there is no article in ${folder}`);
    await knowledge.understand();
    const found = (await knowledge.ask(question, { limit: 3 })) ?? [];
    return {
      problems: knowledge.state.problems,
      items: found.map(({ name, title, url, heading, text, say, score, isSure: sure }) => ({
        id: articleId(name),
        ...{ name, title, url, heading, text, say, score, sure },
      })),
    };
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
