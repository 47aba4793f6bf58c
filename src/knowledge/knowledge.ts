import type { SentenceDirection } from '../meaning/directions.ts';
import { sentenceModelRemedy, type Meaning } from '../meaning/meaning.ts';
import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import { articleId, type KnowledgeArticle } from './article.ts';
import { articlesOf, filesBelow, type KnowledgeProblem } from './folder.ts';
import { KnowledgeIndex, type ArticleFeedback, type FoundArticle } from './knowledge-index.ts';
import { textOfDirections } from './passage-directions.ts';
import { byDigest, PassageRows, type PassageRow } from './passage-rows.ts';
import { Sayings } from './sayings.ts';

export type KnowledgeOptions = {
  folder: string;
  store: Store;
  clock: Clock;
  log: Logger;
  /** Understands what is meant. Without it articles are found by their words alone. */
  meaning?: Meaning | undefined;
  /** The words of agents on articles, by the articles' names. */
  feedback?: () => Promise<readonly ArticleVerdict[]>;
};

/** A verdict on an article that was shown for a question, the newest first. */
export type ArticleVerdict = { name: string; isUseful: boolean; question: string | undefined };

export type AskOptions = {
  limit: number;
  /** A call waits for the answer: it comes within a third of a second by meaning, or by words. */
  isLive?: boolean;
};

export type KnowledgeState = {
  articles: number;
  passages: number;
  problems: readonly KnowledgeProblem[];
  /** The command that installs the model, where articles are found by their words alone. */
  remedy: string | undefined;
};

/** The folder is looked at this often. */
const lookMs = 30_000;
/** The start of the process does not wait for articles. */
const firstLookMs = 3_000;
const feedbackMs = 60_000;
/** An article keeps at most this many questions that it answered, the newest. */
const maxKeptOfArticle = 20;
/** At most this many questions are looked up at once for calls. A call that asks beyond gets no article. */
export const maxAsksAtOnce = 4;
/** A longer question is cut: nobody says so much before there is an answer. */
export const maxQuestionLetters = 1_000;
/** A passage of 180 words has hardly more. */
const maxSentences = 20;

const noFeedback: ReadonlyMap<string, ArticleFeedback> = new Map();

/** The articles of a folder, and the one that answers a question. */
export class Knowledge implements AsyncDisposable {
  readonly #options: KnowledgeOptions;
  readonly #rows: PassageRows;
  readonly #looks: Loop;
  readonly #sayings = new Sayings();
  #files = '';
  #articles: ReadonlyMap<string, KnowledgeArticle> = new Map();
  #byId: ReadonlyMap<string, string> = new Map();
  #index: KnowledgeIndex | undefined;
  #problems: readonly KnowledgeProblem[] = [];
  #feedback = noFeedback;
  #feedbackAtMs = -Infinity;
  #asking = 0;
  #isClosed = false;
  #isWaiting = false;

  private constructor(options: KnowledgeOptions) {
    this.#options = options;
    this.#rows = new PassageRows(options.store);
    this.#looks = every(options.clock, lookMs, () => this.#look(), {
      firstMs: firstLookMs,
      failed: (error) => this.#failed(error),
    });
  }

  static open(options: KnowledgeOptions): Knowledge {
    return new Knowledge(options);
  }

  /** Waits for nothing: a database that is silent never answers, and the next start reads the folder again. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    void this.#looks.stop();
    return Promise.resolve();
  }

  #failed(error: unknown): void {
    if (this.#isClosed) return;
    const { log, folder } = this.#options;
    log.error({ folder, reason: reasonOf(error) }, 'the folder of articles could not be read; what was read before stays'); // prettier-ignore
  }

  get state(): KnowledgeState {
    return {
      articles: this.#articles.size,
      passages: this.#index?.passages ?? 0,
      problems: this.#problems,
      remedy: this.#isWaiting ? sentenceModelRemedy : undefined,
    };
  }

  get isEmpty(): boolean {
    return this.#articles.size === 0;
  }

  list(): { id: string; name: string; title: string; url: string | undefined }[] {
    return [...this.#articles.values()].map(({ name, title, url }) => ({
      id: articleId(name),
      name,
      title,
      url,
    }));
  }

  async #look(): Promise<void> {
    await this.load();
    await this.understand();
    await this.readFeedback();
  }

  /** Reads the folder again if it changed. */
  async load(): Promise<void> {
    const { folder, log, clock } = this.#options;
    const listed = await filesBelow(folder);
    const files = JSON.stringify([listed.files, listed.problems]);
    if (files !== this.#files) {
      const { articles, problems } = await articlesOf(listed);
      const found = byDigest(articles);
      await this.#rows.add(found, clock.now());
      this.#index = await KnowledgeIndex.of(this.#rows, new Set(found.keys()));
      this.#articles = found;
      this.#byId = new Map([...found].map(([digest, { name }]) => [articleId(name), digest]));
      this.#problems = problems;
      this.#files = files;
      if (found.size > 0) log.info({ articles: found.size, passages: this.#index.passages }, 'articles were read'); // prettier-ignore
      for (const { file, reason } of problems)
        log.error({ file, reason }, 'a file of the knowledge folder cannot be used');
    }
    await this.#rows.keepOnly(new Set(this.#articles.keys()), clock.now());
  }

  /** Takes in what agents said, at most once a minute. */
  async readFeedback(): Promise<void> {
    const { feedback, clock } = this.#options;
    if (feedback === undefined || this.isEmpty) return;
    if (clock.monotonicMs() - this.#feedbackAtMs < feedbackMs) return;
    this.#feedbackAtMs = clock.monotonicMs();
    const verdicts = await feedback();
    const names = Map.groupBy(verdicts, ({ name }) => name);
    const made = new Map<string, ArticleFeedback>();
    for (const [name, ofArticle] of names) {
      const useful = ofArticle.filter(({ isUseful }) => isUseful);
      const judged = { useful: useful.length, notUseful: ofArticle.length - useful.length };
      made.set(name, { judged, kept: await this.#directionsOf(useful) });
    }
    this.#feedback = made;
  }

  /** Questions that an article answered, as directions. Without the model none is kept. */
  async #directionsOf(useful: readonly ArticleVerdict[]): Promise<SentenceDirection[]> {
    const kept: SentenceDirection[] = [];
    if (this.#index?.isDirected !== true) return kept;
    const questions = new Set(useful.flatMap(({ question }) => question ?? []));
    for (const question of [...questions].slice(0, maxKeptOfArticle)) {
      const direction = await this.#options.meaning?.direction(question);
      if (direction !== undefined) kept.push(direction);
    }
    return kept;
  }

  /** Learns what passages mean. Calls go first, so many passages take their time; until then words alone decide. */
  async understand(): Promise<void> {
    const { meaning } = this.#options;
    const index = this.#index;
    if (index === undefined || index.passages === 0) return;
    if (index.undirected.length === 0 && this.#sayings.isLearnt) return;
    this.#isWaiting = meaning === undefined || !(await meaning.isThere());
    if (meaning === undefined || this.#isWaiting) return;
    if (!this.#sayings.isLearnt) await this.#sayings.learn(meaning);
    if (index.undirected.length === 0) return;
    for (const passage of index.undirected) {
      if (this.#isClosed || this.#index !== index) return;
      const [whole, sentences] = [textsOf(passage), sentencesOf(passage.text)];
      const directions = [];
      for (const text of [...whole, ...sentences]) {
        const direction = await meaning.direction(text);
        if (direction === undefined) return;
        directions.push(direction);
      }
      const ofSentences = directions.splice(whole.length);
      await this.#rows.keepDirections(passage.id, textOfDirections(directions, ofSentences));
    }
    const made = await KnowledgeIndex.of(this.#rows, index.digests);
    if (this.#index !== index) return;
    this.#index = made;
    this.#options.log.info({ passages: made.passages }, 'articles are found by what they mean');
  }

  /** The articles for a question, the likeliest first. A call that finds all places taken gets undefined. */
  async ask(
    question: string,
    { limit, isLive = false }: AskOptions,
  ): Promise<FoundArticle[] | undefined> {
    // prettier-ignore
    const index = this.#index;
    if (index === undefined || index.passages === 0) return [];
    if (isLive && this.#asking >= maxAsksAtOnce) return undefined;
    this.#asking++;
    try {
      const { meaning } = this.#options;
      const text = question.slice(0, maxQuestionLetters);
      const direction = index.isDirected
        ? await (isLive ? meaning?.live(text) : meaning?.direction(text))
        : undefined;
      const meant = direction === undefined ? undefined : this.#sayings.meantBy(direction);
      return await index.find(text, meant, { limit, feedback: this.#feedback });
    } finally {
      this.#asking--;
    }
  }

  /** An article with all its passages, by its id. */
  async article(id: string): Promise<PassageRow[]> {
    const digest = this.#byId.get(id);
    return digest === undefined ? [] : await this.#rows.ofArticle(digest);
  }
}

/** The texts whose meaning stands for a passage. */
function textsOf({ title, heading, text, asked }: PassageRow): string[] {
  const head = heading === '' ? title : `${title}. ${heading}`;
  return [`${head}. ${text}`, head, text, ...asked.split('\n').filter((one) => one !== '')];
}

/** The sentences of a passage, and its lines. A sentence of two words means little. */
function sentencesOf(text: string): string[] {
  const sentences = text
    .split(/(?<=[.!?])\s+|\n+/)
    .filter((one) => one.trim().split(/\s+/).length > 2);
  return sentences.slice(0, maxSentences);
}
