import { cosine, type SentenceDirection } from '../meaning/directions.ts';
import { TimeSlice } from '../lib/time-slice.ts';
import { PassageDirections, meaningFrom, nearnessOf } from './passage-directions.ts';
import type { PassageRow, PassageRows } from './passage-rows.ts';
import {
  askedShare,
  isSure,
  maxLookedUp,
  priorOf,
  questionWords,
  scoreOf,
  wordScore,
  type ArticleVerdicts,
  type Scores,
} from './ranking.ts';
import type { QuestionDirections } from './sayings.ts';
import { TermCounts } from './terms.ts';

export type FoundArticle = PassageRow & { score: number; isSure: boolean };

/** The words of agents on an article. */
export type ArticleFeedback = {
  judged: ArticleVerdicts;
  /** The questions that the article answered. */
  kept: SentenceDirection[];
};

/** At most this many passages near in meaning are looked at word by word. */
const nearest = 40;
/** At most this many of those that were found by words or by meaning are compared sentence by sentence. */
const maxClose = 40;
const sliceMs = 4;

type CloseRow = { row: PassageRow; scores: Scores };

/** The articles of one state of the folder: what is needed in memory to find passages in the database. */
export class KnowledgeIndex {
  readonly #rows: PassageRows;
  readonly #counts = new TermCounts();
  readonly #places = new Map<number, number>();
  readonly #ids: number[] = [];
  readonly #names: string[] = [];
  #directions: PassageDirections | undefined = new PassageDirections();
  /** Passages without directions. */
  readonly undirected: PassageRow[] = [];
  readonly digests: ReadonlySet<string>;

  private constructor(rows: PassageRows, digests: ReadonlySet<string>) {
    this.#rows = rows;
    this.digests = digests;
  }

  static async of(rows: PassageRows, digests: ReadonlySet<string>): Promise<KnowledgeIndex> {
    const index = new KnowledgeIndex(rows, digests);
    const slice = new TimeSlice(sliceMs);
    for await (const { directions, ...row } of rows.load([...digests])) {
      index.#add(row, directions);
      await slice.stepped();
    }
    if (index.undirected.length > 0) index.#directions = undefined;
    index.#directions?.done();
    return index;
  }

  #add(row: PassageRow, directions: string | null): void {
    this.#places.set(row.id, this.#ids.length);
    this.#ids.push(row.id);
    this.#names.push(row.name);
    this.#counts.add(`${row.title} ${row.heading} ${row.asked} ${row.text}`);
    const made = directions === null ? undefined : meaningFrom(directions);
    if (made === undefined) this.undirected.push(row);
    else this.#directions?.add(made);
  }

  get passages(): number {
    return this.#ids.length;
  }

  /** True if every passage is known by its meaning. */
  get isDirected(): boolean {
    return this.#directions !== undefined && this.passages > 0;
  }

  /** The articles for a question, the likeliest first. Without a direction words alone decide. */
  async find(
    question: string,
    direction: QuestionDirections | undefined,
    { limit, feedback }: { limit: number; feedback: ReadonlyMap<string, ArticleFeedback> },
  ): Promise<FoundArticle[]> {
    const words = questionWords(question, this.#counts);
    const looked = words.terms.filter(({ term }) => this.#counts.has(term)).slice(0, maxLookedUp);
    const byWords = await this.#rows.byWords(looked.map(({ word }) => word));
    const near = direction === undefined ? undefined : await this.#nearness(direction, feedback);
    const here = byWords.filter((id) => this.#places.has(id));
    const ids = new Set([...here, ...(near === undefined ? [] : this.#nearest(near))]);
    const close: CloseRow[] = (await this.#rows.byIds([...ids]))
      .map((row) => ({
        row,
        scores: {
          words: wordScore(words, row),
          meaning: near?.[this.#places.get(row.id) ?? -1],
        },
      }))
      .toSorted((one, other) => scoreOf(other.scores) - scoreOf(one.scores))
      .slice(0, maxClose);
    if (direction !== undefined) await this.#readSentences(close, direction, feedback);
    const best = new Map<string, FoundArticle>();
    for (const { row, scores } of close) {
      const judged = feedback.get(row.name)?.judged;
      const score = scoreOf(scores) * (judged === undefined ? 1 : priorOf(judged));
      const before = best.get(row.article);
      if (score > 0 && (before === undefined || before.score < score))
        best.set(row.article, { ...row, score, isSure: isSure(scores) });
    }
    return [...best.values()]
      .toSorted((one, other) => other.score - one.score || (one.name < other.name ? -1 : 1))
      .slice(0, limit);
  }

  /** Compares the question with each sentence of these passages, and with the questions that they answered. */
  async #readSentences(
    close: readonly CloseRow[],
    direction: QuestionDirections,
    feedback: ReadonlyMap<string, ArticleFeedback>,
  ): Promise<void> {
    const known = await this.#rows.directionsOf(close.map(({ row }) => row.id));
    const slice = new TimeSlice(sliceMs);
    for (const { row, scores } of close) {
      const meant = meaningFrom(known.get(row.id) ?? '');
      if (meant !== undefined)
        scores.meaning = nearnessOf(meant, direction, feedback.get(row.name)?.kept ?? []);
      await slice.stepped();
    }
  }

  async #nearness(
    direction: QuestionDirections,
    feedback: ReadonlyMap<string, ArticleFeedback>,
  ): Promise<Float32Array | undefined> {
    const near = await this.#directions?.nearness(direction);
    if (near === undefined) return undefined;
    const kept = new Map<string, number>();
    for (const [name, one] of feedback)
      kept.set(name, Math.max(0, ...one.kept.map((asked) => cosine(asked, direction.said))));
    if (kept.size > 0)
      for (const [place, name] of this.#names.entries()) {
        const score = near[place] ?? 0;
        near[place] = score + askedShare * Math.max(0, (kept.get(name) ?? 0) - score);
      }
    return near;
  }

  #nearest(near: Float32Array): number[] {
    const best: { place: number; score: number }[] = [];
    let least = -1;
    for (const [place, score] of near.entries()) {
      if (best.length >= nearest && score <= least) continue;
      best.push({ place, score });
      best.sort((one, other) => other.score - one.score);
      best.length = Math.min(best.length, nearest);
      least = best.at(-1)?.score ?? -1;
    }
    return best.map(({ place }) => this.#ids[place] ?? -1);
  }
}
