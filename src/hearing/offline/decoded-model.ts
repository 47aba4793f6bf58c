import { cpuSeconds, ReadingPrice } from '../engine/load.ts';
import type { ExpectedAnswer, ExpectedWord } from '../expected-words.ts';
import { type Lead, leadOf } from '../decoder/answer-lead.ts';
import { mailWordFor, mailWords } from '../decoder/mail-words.ts';
import type { TokenBias } from '../decoder/beam-search.ts';
import { BothBiases } from '../decoder/both-biases.ts';
import {
  AnswerPreference,
  expectedLetters,
  isAnswer,
  soundingLike,
  soundsLikeAnswer,
} from '../decoder/answer-preference.ts';
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
 * A text with a lower mean log-probability per token is read again with other margins. A limit of -0.05 costs twice as
 * much and gains little: 11 fewer wrong words of the 4,932 on which the value was chosen, and one more of 2,440 others.
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
  /** The text, if it is the expected answer. A later reading with other margins replaces it only by another answer. */
  answer: ReadText | undefined;
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
  readonly #preferences = new Map<ExpectedAnswer, TokenBias>();
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
      if (!open) text = this.#answerOf(text, [encoding], { given, expects });
    });
    const tookS = (performance.now() - startedMs) / 1e3;
    if (hurried) this.price.alsoSpent(cpuS);
    else this.price.note(samples.length / 16000, cpuS, tookS);
    const result: PieceResult = resultOf(text);
    if (text && text.givenLogProbability < contradiction) result.contradicted = true;
    if (text?.ended === false) result.unended = true;
    const sureness = text?.meanLogProbability ?? 0;
    const doubted = sureness < doubtful ? encoding : undefined;
    const answer = text && doubted && isAnswerBehind(text.text, expects) ? text : undefined;
    this.#made.set(result, { sureness, doubted, given, bias, expects, answer });
    return result;
  }

  /**
   * The text, or the expected answer instead. If the text is no such answer, the audio is read once more, and the
   * second text counts only if all of it is an answer, or all of it behind the words that promise one. A correct answer
   * therefore stays, and so does other speech.
   */
  #answerOf(
    text: ReadText,
    encodings: readonly EncodedAudio[],
    about: { given: readonly number[]; expects: ExpectedAnswer | undefined },
  ): ReadText {
    const { given, expects } = about;
    if (text.text === '') return text;
    const lead = leadIn(text.text, expects);
    const kind = lead?.kind ?? expects;
    // The names in an address are misspelled more often than not, so it is always read again.
    if (kind === undefined || (kind !== 'email' && isAnswer(text.text, kind))) return text;
    const behind = lead && tokensBehind(text, lead.text);
    if (behind && (behind.rest === '' || (kind !== 'email' && isAnswer(behind.rest, kind))))
      return text;
    const before = behind?.lead ?? [];
    const first = before.length;
    const answer = this.#reader.read(encodings, {
      beams,
      given: [...given, ...before.flatMap(({ ids }) => ids)],
      bias: this.#preference(kind),
    });
    const written = asAnswer(answer, kind);
    const isAbout = lead?.kind !== undefined || soundsLikeAnswer(text.text, kind);
    const isLikely =
      likelihoodOf(answer.tokens) >
      likelihoodOf(text.tokens.slice(first)) - mostLostOf(kind, isAbout);
    if (!answer.ended || !isLikely || !isAnswer(written.text, kind) || isLoop(written))
      return kind === 'email' ? asAnswer(text, kind) : text;
    if (!behind) return written;
    return {
      ...written,
      text: `${behind.text} ${written.text.replace(/^[^\p{L}\p{N}]+/u, '')}`,
      tokens: [...before, ...written.tokens],
      givenLogProbability: text.givenLogProbability,
    };
  }

  #preference(kind: ExpectedAnswer): TokenBias {
    const known = this.#preferences.get(kind);
    if (known) return known;
    const { table } = this.#reader;
    if (kind === 'email') {
      const mail = new VocabularyBias(mailWords(), table);
      this.#preferences.set(kind, mail);
      return mail;
    }
    const made =
      kind === 'code'
        ? new BothBiases(
            new AnswerPreference(kind, table),
            new VocabularyBias(expectedLetters, table),
          )
        : new AnswerPreference(kind, table);
    this.#preferences.set(kind, made);
    return made;
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
    const { doubted, given, bias, expects, answer } = this.#made.get(first) ?? {};
    let text: ReadText | undefined;
    const cpuS = cpuSeconds(() => {
      const encodings = variants.map(
        (samples, index) => (index === 0 && doubted) || this.#reader.encode(samples),
      );
      text = this.#reader.read(encodings, { beams, given, bias, sideBySide: sparing });
      const again = this.#answerOf(text, encodings, { given: given ?? [], expects });
      text = answer && !isAnswerBehind(again.text, expects) ? answer : again;
    });
    this.price.alsoSpent(cpuS);
    return resultOf(text);
  }
}

/** The words before an answer. "At" begins the second half of an address and leads to none. */
function leadIn(text: string, expects: ExpectedAnswer | undefined): Lead | undefined {
  const lead = leadOf(text);
  return lead?.kind === undefined && expects === 'email' ? undefined : lead;
}

/** True if a text is the expected answer, or the one that its own first words promise. */
function isAnswerBehind(text: string, expects: ExpectedAnswer | undefined): boolean {
  const lead = leadIn(text, expects);
  const kind = lead?.kind ?? expects;
  if (kind === undefined) return false;
  return (
    isAnswer(text, kind) || (lead !== undefined && isAnswer(text.slice(lead.text.length), kind))
  );
}

/** An answer that is less likely than the text by more, in nats, is not what was said. */
const mostLost = 6;
/** The same for a text in which nothing sounds like the expected answer. */
const mostLostOfOther = 2;
/** The same for an address of mail, in which the model writes names that nobody has. */
const mostLostOfMail = 4;

function mostLostOf(kind: ExpectedAnswer, isAbout: boolean): number {
  if (kind === 'email') return mostLostOfMail;
  return isAbout ? mostLost : mostLostOfOther;
}

function likelihoodOf(tokens: ReadText['tokens']): number {
  return tokens.reduce((sum, { logProbability }) => sum + logProbability, 0);
}

/** True when the model writes one letter or digit again and again. */
function isLoop({ text }: ReadText): boolean {
  return /(?:\b(\p{L}+|\d)\b)(?:[^\p{L}\d]+\1\b){4}/iu.test(text);
}

/** The text with words of the answer in place of those that sound like them. */
function asAnswer(read: ReadText, kind: ExpectedAnswer): ReadText {
  const tokens: ReadText['tokens'][number][] = [];
  for (let at = 0; at < read.tokens.length;) {
    const end = endOfWord(read.tokens, at);
    const own = read.tokens.slice(at, end);
    const written = own.map(({ text }) => text).join('');
    const form = kind === 'email' ? /^([\s.]*)(\p{L}+)$/u : /^(\s*)(\p{L}+)$/u;
    const [, space = '', word = ''] = form.exec(written) ?? [];
    const like =
      kind === 'email'
        ? mailWordFor(word, [...tokens, { text: space }], read.tokens[end]?.text)
        : soundingLike(word, kind);
    const [first] = own;
    // At the beginning "a" and "or" are words of a sentence.
    if (first && like !== undefined && (at > 0 || like !== 'oh' || word.toLowerCase() === 'of'))
      tokens.push({ ...first, text: space + like, ids: own.flatMap(({ ids }) => ids) });
    else tokens.push(...own);
    at = end;
  }
  return {
    ...read,
    tokens,
    text: tokens
      .map(({ text }) => text)
      .join('')
      .trim(),
  };
}

/** Returns the index after the letters of the word that begins at this token. */
function endOfWord(tokens: ReadText['tokens'], from: number): number {
  let end = from + 1;
  if (!/\p{L}$/u.test(tokens[from]?.text ?? '')) return end;
  while (/^[\p{L}']/u.test(tokens[end]?.text ?? '')) end++;
  return end;
}

/**
 * The tokens of the first words of a text, and the text after them. Undefined if no token ends exactly with those
 * words.
 */
function tokensBehind({ text, tokens }: ReadText, lead: string) {
  let written = '';
  for (const [at, token] of tokens.entries()) {
    if (written.trim().length >= lead.length && /^[^\p{L}\p{N}']/u.test(token.text)) {
      const begun = written.trim();
      return { lead: tokens.slice(0, at), text: begun, rest: text.slice(begun.length).trim() };
    }
    written += token.text;
  }
  return undefined;
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
