import { cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const fixtures = join(import.meta.dirname, '../fixtures/knowledge');
const example = join(import.meta.dirname, '../../config/knowledge');

export type LabelledQuestion = {
  article: string;
  kind: 'plain' | 'hint' | 'seen hint';
  question: string;
};
type LabelledQuestions = { questions: LabelledQuestion[]; without_article: string[] };

/** The labelled articles in a folder: those that come with the program, and those of the fixtures. */
export async function labelledFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await cp(example, folder, { recursive: true });
  await cp(join(fixtures, 'articles'), folder, { recursive: true });
}

/**
 * Questions as callers ask them. Those that hint do not name the thing, and were not looked at while the ranking and its
 * thresholds were made; those of `seen hint` and the plain ones were, and every other one without an article.
 */
export async function labelledQuestions(): Promise<LabelledQuestions> {
  return JSON.parse(await readFile(join(fixtures, 'questions.json'), 'utf8')) as LabelledQuestions;
}
