import { sql, type RawBuilder, type Selectable } from 'kysely';
import type { Database } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { articleDigest, type KnowledgeArticle } from './article.ts';

/** Calls write to the same database: a transaction holds so many passages, and then others have their turn. */
const rowsAtOnce = 100;
const digestsAtOnce = 400;
/** The index gives so many passages, which are then compared word by word. */
const maxByWords = 80;
const namedAgainMs = 20 * 60_000;
const unusedMs = 2 * 3_600_000;

export type PassageRow = Omit<Selectable<Database['knowledge_passages']>, 'directions' | 'used_at'>;
export type LoadedPassage = PassageRow & { directions: string | null };

const shown = ['id', 'article', 'place', 'name', 'title', 'url', 'say', 'heading', 'text', 'asked'] as const; // prettier-ignore

/** The passages of the articles, as the database keeps and finds them. Nodes with the same articles share the rows. */
export class PassageRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Adds the articles that are new. Two nodes that do so at once have one row each. */
  async add(articles: ReadonlyMap<string, KnowledgeArticle>, nowMs: number): Promise<void> {
    const known = await this.#passagesOf([...articles.keys()]);
    // An article with fewer passages than it has was left half written by a process that ended.
    const rows = [...articles]
      .filter(([digest, { passages }]) => known.get(digest) !== passages.length)
      .flatMap(([digest, article]) => rowsOf(digest, article, nowMs));
    for (let at = 0; at < rows.length; at += rowsAtOnce)
      await this.#store.transaction(async (tx) => {
        await tx
          .insertInto('knowledge_passages')
          .values(rows.slice(at, at + rowsAtOnce))
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      });
  }

  async #passagesOf(digests: readonly string[]): Promise<Map<string, number>> {
    const known = new Map<string, number>();
    for (const some of inParts(digests)) {
      const rows = await this.#store.db
        .selectFrom('knowledge_passages')
        .select(['article', ({ fn }) => fn.countAll().as('passages')])
        .where('article', 'in', some)
        .groupBy('article')
        .execute();
      for (const { article, passages } of rows) known.set(article, Number(passages));
    }
    return known;
  }

  /**
   * Removes articles that are in no folder any more. Another node may have another folder for a while, as during a
   * change of all nodes: its articles stay until it has not named them for two hours.
   */
  async keepOnly(digests: ReadonlySet<string>, nowMs: number): Promise<void> {
    const { db, kind } = this.#store;
    if (kind === 'postgres') {
      for (const some of inParts([...digests]))
        await db
          .updateTable('knowledge_passages')
          .set({ used_at: nowMs })
          .where('article', 'in', some)
          .where('used_at', '<', nowMs - namedAgainMs)
          .execute();
      await db
        .deleteFrom('knowledge_passages')
        .where('used_at', '<', nowMs - unusedMs)
        .execute();
      return;
    }
    const rows = await db.selectFrom('knowledge_passages').select('article').distinct().execute();
    const gone = rows.map(({ article }) => article).filter((one) => !digests.has(one));
    for (const some of inParts(gone))
      await db.deleteFrom('knowledge_passages').where('article', 'in', some).execute();
  }

  async *load(digests: readonly string[]): AsyncGenerator<LoadedPassage> {
    for (const some of inParts(digests)) {
      const rows = await this.#store.db
        .selectFrom('knowledge_passages')
        .select([...shown, 'directions'])
        .where('article', 'in', some)
        .orderBy('id')
        .execute();
      for (const row of rows) yield row;
    }
  }

  async keepDirections(id: number, directions: string): Promise<void> {
    await this.#store.db
      .updateTable('knowledge_passages')
      .set({ directions })
      .where('id', '=', id)
      .execute();
  }

  async byIds(ids: readonly number[]): Promise<PassageRow[]> {
    if (ids.length === 0) return [];
    const rows = await this.#store.db
      .selectFrom('knowledge_passages')
      .select(shown)
      .where('id', 'in', ids)
      .execute();
    return rows;
  }

  /** The directions of these passages, as they are kept. */
  async directionsOf(ids: readonly number[]): Promise<Map<number, string>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#store.db
      .selectFrom('knowledge_passages')
      .select(['id', 'directions'])
      .where('id', 'in', ids)
      .where('directions', 'is not', null)
      .execute();
    return new Map(rows.map(({ id, directions }) => [id, directions ?? '']));
  }

  /** The passages of an article in their order. */
  async ofArticle(digest: string): Promise<PassageRow[]> {
    const rows = await this.#store.db
      .selectFrom('knowledge_passages')
      .select(shown)
      .where('article', '=', digest)
      .orderBy('place')
      .execute();
    return rows;
  }

  /** Passages that have one of the words or more, the likeliest first. */
  async byWords(words: readonly string[]): Promise<number[]> {
    if (words.length === 0) return [];
    const { rows } = await this.#byWords(words).execute(this.#store.db);
    return rows.map(({ id }) => Number(id));
  }

  #byWords(words: readonly string[]): RawBuilder<{ id: number | string }> {
    // Words have letters and digits alone, and each is quoted: none is read as an operator.
    if (this.#store.kind === 'sqlite')
      return sql`select rowid as id from knowledge_words where knowledge_words match ${words.map((word) => `"${word}"`).join(' OR ')}
        order by bm25(knowledge_words, 6, 6, 4, 1) limit ${maxByWords}`;
    const query = sql.join(
      words.map((word) => sql`plainto_tsquery('english', ${word})`),
      sql` || `,
    );
    return sql`select id from knowledge_passages, (select ${query} as asked) q where words @@ q.asked
      order by ts_rank('{0.1, 0.2, 0.6, 1.0}', words, q.asked) desc, id limit ${maxByWords}`;
  }
}

function inParts(digests: readonly string[]): string[][] {
  const parts: string[][] = [];
  for (let at = 0; at < digests.length; at += digestsAtOnce)
    parts.push(digests.slice(at, at + digestsAtOnce));
  return parts;
}

function rowsOf(digest: string, article: KnowledgeArticle, nowMs: number) {
  const { name, title, url = null, say = null, asked, passages } = article;
  return passages.map(({ heading, text }, place) => ({
    article: digest,
    place,
    name,
    title,
    url,
    say,
    heading,
    text,
    asked: place === 0 ? asked.join('\n') : '',
    directions: null,
    used_at: nowMs,
  }));
}

/** The articles by their digests. */
export function byDigest(articles: readonly KnowledgeArticle[]): Map<string, KnowledgeArticle> {
  return new Map(articles.map((article) => [articleDigest(article), article]));
}
