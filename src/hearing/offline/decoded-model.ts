import { cpuSeconds, ReadingPrice } from '../engine/load.ts';
import type { ExpectedAnswer, ExpectedWord } from '../expected-words.ts';
import { AnswerPreference, isAnswer } from '../decoder/answer-preference.ts';
import type { PieceModel, PieceResult, ReadingWishes } from './offline-model.ts';
import type { MoonshineReader, ReadText } from '../decoder/moonshine-reader.ts';
import type { EncodedAudio } from '../decoder/moonshine-steps.ts';
import { VocabularyBias } from '../decoder/vocabulary-bias.ts';

/**
 * The search follows this many texts at once, also for partials. Four cost a third more than one. For speech that ends
 * inside a word a greedy search repeats itself, and four beams do not.
 */
const beams = 4;
/**
 * A text with a lower mean log-probability per token is read again with other margins. At -0.05 reading costs twice as
 * much: 11 fewer words were wrong of the 4,932 on which the value was chosen, and one more of 2,440 others.
 */
const doubtful = -0.15;
/** Below this value a text is read again even under heavy load. */
const mostDoubtful = -0.25;
/** A one-beam text below this value is nearly always doubted after four beams, too. */
const surelyDoubtful = doubtful - 0.05;
/**
 * If each token of a one-beam text is at least this likely, in nats, four beams write nothing better: in each half of
 * the telephone prompts (plain, through GSM and in noise) no additional word was wrong. At -1, 0.3 points more words
 * were wrong in noise.
 */
const sureToken = -0.5;
/** If the known words are less likely than this, in nats per token, the audio does not begin with them. */
const contradiction = -6;
/** The longest piece. Our own decoder has no limit, but longer pieces are better in quiet and worse in noise. */
const longestS = 8.8;

type Made = {
  /** In nats per token. */
  sureness: number;
  /** The encoding of a doubted text. Other texts are hardly ever read again, so their encodings are dropped. */
  doubted: EncodedAudio | undefined;
  given: readonly number[];
  bias: VocabularyBias | undefined;
  expects: ExpectedAnswer | undefined;
};

/** A model read by our own decoder, behind the interface that the offline engine needs. */
export class DecodedModel implements PieceModel {
  readonly longestS = longestS;
  readonly languages: readonly string[];
  readonly estimatedTimes = false;
  readonly goesOn = true;
  readonly price = new ReadingPrice();
  readonly #reader: MoonshineReader;
  /** The circumstances of each reading, kept while somebody holds the reading. */
  readonly #made = new WeakMap<PieceResult, Made>();
  readonly #preferences = new Map<ExpectedAnswer, AnswerPreference>();
  readonly #biases = new WeakMap<readonly ExpectedWord[], VocabularyBias>();

  constructor(reader: MoonshineReader, languages: readonly string[]) {
    this.#reader = reader;
    this.languages = languages;
  }

  read(
    samples: Float32Array,
    _language: string,
    {
      given = [],
      hurried = false,
      sparing = false,
      firstOnly = false,
      open,
      draft,
      expected,
      expects,
    }: ReadingWishes = {},
  ): PieceResult {
    const startedMs = performance.now();
    const bias = this.#biasOf(expected);
    let encoding: EncodedAudio | undefined;
    let text: ReadText | undefined;
    const cpuS = cpuSeconds(() => {
      encoding = this.#reader.encode(samples);
      const about = { given, draft, bias, open };
      // With a draft, one beam costs a fraction of four, and is enough if no other text is likely. Without a draft, one
      // beam would be wasted half of the time.
      const tried = hurried || (sparing && !bias && draft !== undefined && draft.length > 0);
      text = tried ? this.#reader.read([encoding], { ...about, beams: 1 }) : undefined;
      const again = firstOnly && text !== undefined && text.meanLogProbability < surelyDoubtful;
      if (!text || (!hurried && !again && !isSure(text)))
        text = this.#reader.read([encoding], { ...about, beams });
      if (!hurried) text = this.#answerOf(text, [encoding], { given, expects });
    });
    const tookS = (performance.now() - startedMs) / 1e3;
    if (hurried) this.price.alsoSpent(cpuS);
    else this.price.note(samples.length / 16000, cpuS, tookS);
    const result: PieceResult = resultOf(text);
    if (text && text.givenLogProbability < contradiction) result.contradicted = true;
    if (text?.ended === false) result.unended = true;
    const sureness = text?.meanLogProbability ?? 0;
    const doubted = sureness < doubtful ? encoding : undefined;
    this.#made.set(result, { sureness, doubted, given, bias, expects });
    return result;
  }

  /**
   * The text, or the expected answer instead. If the text is no such answer, the audio is read once more, and the
   * second text counts only if all of it is an answer. A correct answer therefore stays, and so does other speech.
   */
  #answerOf(
    text: ReadText,
    encodings: readonly EncodedAudio[],
    about: { given: readonly number[]; expects: ExpectedAnswer | undefined },
  ): ReadText {
    const { given, expects } = about;
    if (!expects || text.text === '' || isAnswer(text.text, expects)) return text;
    let bias = this.#preferences.get(expects);
    if (!bias)
      this.#preferences.set(expects, (bias = new AnswerPreference(expects, this.#reader.table)));
    const answer = this.#reader.read(encodings, { beams, given, bias });
    return answer.ended && isAnswer(answer.text, expects) ? answer : text;
  }

  /** The bias for a stream's list, made once and dropped with the list. */
  #biasOf(expected: readonly ExpectedWord[] | undefined): VocabularyBias | undefined {
    if (!expected || expected.length === 0) return undefined;
    const known = this.#biases.get(expected);
    if (known) return known;
    const bias = new VocabularyBias(expected, this.#reader.table);
    this.#biases.set(expected, bias);
    return bias;
  }

  doubts(result: PieceResult, { sparing = false }: Pick<ReadingWishes, 'sparing'> = {}): boolean {
    const made = this.#made.get(result);
    return made !== undefined && made.sureness < (sparing ? mostDoubtful : doubtful);
  }

  readTogether(
    first: PieceResult,
    variants: readonly Float32Array[],
    { sparing }: Pick<ReadingWishes, 'sparing'> = {},
  ): PieceResult {
    const { doubted, given, bias, expects } = this.#made.get(first) ?? {};
    let text: ReadText | undefined;
    const cpuS = cpuSeconds(() => {
      const encodings = variants.map(
        (samples, index) => (index === 0 && doubted) || this.#reader.encode(samples),
      );
      text = this.#reader.read(encodings, { beams, given, bias, sideBySide: sparing });
      text = this.#answerOf(text, encodings, { given: given ?? [], expects });
    });
    this.price.alsoSpent(cpuS);
    return resultOf(text);
  }
}

/** An empty text is never sure. Before a voice counts as wordless, four beams must have listened. */
function isSure({ tokens, ended }: ReadText): boolean {
  if (tokens.length === 0 || !ended) return false;
  return tokens.every(({ logProbability }) => logProbability > sureToken);
}

function resultOf(text: ReadText | undefined): PieceResult {
  const tokens = text?.tokens ?? [];
  return {
    text: text?.text ?? '',
    lang: '',
    tokens: tokens.map((token) => token.text),
    ids: tokens.map(({ ids }) => ids),
    timestamps: tokens.map(({ start }) => start),
    durations: [],
    ys_log_probs: tokens.map(({ logProbability }) => logProbability),
    shared: tokens.map(({ shared }) => shared),
  };
}
