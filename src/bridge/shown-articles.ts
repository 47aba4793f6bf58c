import { join } from 'node:path';
import { judgedArticles } from '../assist/hit-rows.ts';
import type { KnowledgeConfig } from '../knowledge/config.ts';
import { Knowledge, type KnowledgeOptions } from '../knowledge/knowledge.ts';

/** Opens the articles that calls show. The verdicts of agents in calls count for those that come later. */
export function openArticles(
  { folder }: KnowledgeConfig,
  dataDir: string,
  options: Omit<KnowledgeOptions, 'folder' | 'feedback'>,
): Knowledge {
  return Knowledge.open({
    folder: folder ?? join(dataDir, 'knowledge'),
    feedback: () => judgedArticles(options.store.db),
    ...options,
  });
}
