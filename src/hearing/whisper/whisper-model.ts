import { cpuSeconds, ReadingPrice } from '../engine/load.ts';
import type { PieceModel, PieceResult, ReadingWishes } from '../offline/offline-model.ts';
import { isLoop, isMisled, isNothing, windowOf, wordlessResult } from './window-rules.ts';
import { longestWindowS } from './whisper-mel.ts';
import type { WhisperReader, WindowText } from './whisper-reader.ts';

/** With its margins a piece of this length fits the shortest window, which is the cheapest one. */
const longestS = 9;
/** The margins around a piece are no speech. */
const marginsS = 0.25;
const partialEveryS = 2;

/**
 * Whisper for many languages behind the interface of the offline engine, for live speech: each piece in a window of its
 * own. Finals are searched with four beams, partials with one.
 */
export class WhisperModel implements PieceModel {
  readonly longestS = longestS;
  readonly languages: readonly string[];
  readonly estimatedTimes = false;
  readonly goesOn = false;
  readonly takesEarlier = true;
  readonly judgesLanguages = true;
  readonly partialEveryS = partialEveryS;
  readonly price = new ReadingPrice({ fixedMs: 200, eachSecondMs: 50 });
  readonly #reader: Pick<WhisperReader, 'encode' | 'read'>;

  constructor(reader: Pick<WhisperReader, 'encode' | 'read'>, languages: readonly string[]) {
    this.#reader = reader;
    this.languages = languages;
  }

  read(
    samples: Float32Array,
    language: string,
    { hurried = false, open = false, judge, given = [] }: ReadingWishes = {},
  ): PieceResult {
    const startedMs = performance.now();
    const seconds = samples.length / 16_000;
    let text: WindowText | undefined;
    const cpuS = cpuSeconds(() => {
      const wishes = {
        ...(hurried ? { beams: 1 } : {}),
        ...languageWish(language, judge, seconds - marginsS),
        given,
      };
      text = this.#reader.read(this.#reader.encode(samples, windowOf(seconds)), wishes);
      // A loop in a short window is hardly ever one in the longest.
      if (isLoop(text) && !open)
        text = this.#reader.read(this.#reader.encode(samples, longestWindowS), wishes);
    });
    const tookS = (performance.now() - startedMs) / 1e3;
    if (hurried) this.price.alsoSpent(cpuS);
    else this.price.note(seconds, cpuS, tookS);
    if (!text) return wordlessResult(language);
    // The signs of noise are known for pieces that are read alone. So a piece behind known words that has one of these
    // signs, or is no likely text, is read alone.
    const nothing = isNothing(text, seconds - marginsS);
    const contradicted = given.length > 0 && (nothing || isMisled(text, given));
    if (nothing || contradicted) return { ...wordlessResult(text.language), contradicted };
    const { words, tokens } =
      given.length > 0 ? withoutMark(text) : { words: text.text, tokens: text.tokens };
    return {
      text: words,
      lang: text.language,
      tokens: tokens.map((token) => token.text),
      timestamps: tokens.map(({ start }) => start),
      durations: [],
      ys_log_probs: tokens.map(({ logProbability }) => logProbability),
      ids: tokens.map(({ ids }) => ids),
    };
  }
}

/** The text without a mark that ends the known words: a final begins with a word. */
function withoutMark({ text, tokens }: WindowText) {
  const first = tokens.findIndex((token) => !/^[\s,.;:!?…]*$/.test(token.text));
  return { words: text.replace(/^[\s,.;:!?…]+/, ''), tokens: first < 0 ? [] : tokens.slice(first) };
}

function languageWish(language: string, judge: ReadingWishes['judge'], seconds: number) {
  if (language !== '') return { languageOf: () => language };
  return judge ? { languageOf: (found: WindowText['distribution']) => judge(found, seconds) } : {};
}
